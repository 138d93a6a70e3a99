// What happened to each event, from the broker's notes, and waiting for it. Nothing is polled: a
// wait ends with the note it waits for, or with an explanation when it has lasted too long.

import type { AttemptedNote, EndedNote, StoryNote } from "../core/story/note.ts";

/** What can be waited for. */
export type Fate = "accepted" | "delivered" | "deadLettered" | "dropped";

/** One delivery of one event. */
interface Course {
  attempts: number;
  fate: Fate | null;
}

/** An event by the publisher's id; one published again under the same id starts over. */
interface Known {
  readonly id: string;
  /** By subscription. */
  readonly courses: Map<string, Course>;
}

export interface Wish {
  readonly id: string;
  readonly fate: Fate | { readonly attempts: number };
  /** One subscription. Default: all that matched the event. */
  readonly to?: string | undefined;
}

interface Waiter extends Wish {
  readonly resolve: () => void;
}

export class Facts {
  /** By our own id. */
  readonly #events = new Map<string, Known>();
  /** By the publisher's: the latest. */
  readonly #latest = new Map<string, Known>();
  readonly #waiters = new Set<Waiter>();
  readonly #after: (ms: number, ring: () => void) => () => void;

  /** `after`: a clock of real time. */
  constructor(after: (ms: number, ring: () => void) => () => void) {
    this.#after = after;
  }

  note(note: StoryNote): void {
    switch (note.kind) {
      case "accepted": {
        const wanting = note.roll.members.filter(({ id }) => note.to.includes(id));
        const begun = (): Course => ({ attempts: 0, fate: null });
        const courses = new Map(wanting.map(({ name }) => [name, begun()]));
        const known = { id: note.id, courses };
        this.#events.set(note.event.systemId, known);
        this.#latest.set(note.id, known);
        break;
      }
      case "attempted":
        this.#attempted(note);
        break;
      case "ended": {
        const flowState = this.#courseOf(note);
        if (flowState !== undefined && note.decision === "drop") flowState.fate = "dropped";
        break;
      }
      default:
        break;
    }
    for (const waiter of this.#waiters) {
      if (this.#holds(waiter)) waiter.resolve();
    }
  }

  #attempted(note: AttemptedNote): void {
    const { decision, delivery, counts } = note;
    const flowState = this.#courseOf(note);
    if (flowState === undefined) return;
    if (delivery.stage === "deliver") flowState.attempts = note.number;
    if (!counts) return;
    if (decision.kind === "drop") flowState.fate = "dropped";
    else if (decision.kind === "delivered") {
      flowState.fate = delivery.stage === "deliver" ? "delivered" : "deadLettered";
    }
  }

  #courseOf({ delivery, subscription }: AttemptedNote | EndedNote): Course | undefined {
    return this.#events.get(delivery.event.systemId)?.courses.get(subscription.name);
  }

  #holds({ id, fate, to }: Wish): boolean {
    const known = this.#latest.get(id);
    if (known === undefined) return false;
    if (fate === "accepted") return true;
    const { courses } = known;
    const asked = to === undefined ? [...courses.values()] : [courses.get(to)];
    return (
      asked.length > 0 &&
      asked.every((flowState) =>
        typeof fate === "string"
          ? flowState?.fate === fate
          : flowState !== undefined && flowState.attempts >= fate.attempts,
      )
    );
  }

  /** Rejects with what is known if it has not happened within `withinMs` of real time. */
  wait(wish: Wish, withinMs: number): Promise<void> {
    if (this.#holds(wish)) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        ...wish,
        resolve: () => {
          callOff();
          this.#waiters.delete(waiter);
          resolve();
        },
      };
      const callOff = this.#after(withinMs, () => {
        this.#waiters.delete(waiter);
        reject(new Error(this.#tell(wish, withinMs)));
      });
      this.#waiters.add(waiter);
    });
  }

  #tell({ id, fate, to }: Wish, withinMs: number): string {
    const what = typeof fate === "string" ? fate : `attempted ${fate.attempts} times`;
    const whom = to === undefined ? "" : ` to ${to}`;
    const known = this.#latest.get(id);
    const state =
      known === undefined
        ? "it was not accepted"
        : known.courses.size === 0
          ? "no subscription wanted it"
          : [...known.courses]
              .map(([name, flowState]) => `${name}: ${describeDelivered(flowState)}`)
              .join("; ");
    return `event ${id} was not ${what}${whom} within ${withinMs} ms of real time: ${state}`;
  }
}

function describeDelivered({ attempts, fate }: Course): string {
  const tried = attempts === 1 ? "1 attempt" : `${attempts} attempts`;
  return `${fate ?? "waiting"} after ${tried}`;
}
