// What happened to each event, from the broker's notes, and waiting for it.

import type { AcceptedNote, AttemptedNote, EndedNote, StoryNote } from "../core/story/note.ts";
import type { Waits } from "./waits.ts";

/** What can be waited for. */
export type Fate = "accepted" | "delivered" | "deadLettered" | "dropped";

/** One delivery of one event. */
interface Course {
  attempts: number;
  fate: Fate | null;
}

/** An event that was published, by a test or by the code it tests. */
export interface PublishedEvent {
  readonly id: string;
  readonly topic: string;
  readonly type: string;
  readonly subject: string;
  readonly data: unknown;
}

/** An event by the publisher's id; one published again under the same id starts over. */
interface Known {
  readonly published: () => PublishedEvent;
  readonly head: Omit<PublishedEvent, "data">;
  /** By subscription. */
  readonly courses: Map<string, Course>;
}

export interface Wish {
  readonly id: string;
  readonly fate: Fate | { readonly attempts: number };
  /** One subscription. Default: all that matched the event. */
  readonly to?: string | undefined;
}

/** All that are given must be so. */
export interface PublishedQuery {
  readonly id?: string;
  readonly topic?: string;
  readonly type?: string;
  readonly subject?: string;
}

export class Facts {
  /** By our own id, in the order they came. */
  readonly #events = new Map<string, Known>();
  /** By the publisher's: the latest. */
  readonly #latest = new Map<string, Known>();
  readonly #waits: Waits;

  constructor(waits: Waits) {
    this.#waits = waits;
  }

  /** As if nothing had been published. */
  forget(): void {
    this.#events.clear();
    this.#latest.clear();
  }

  note(note: StoryNote): void {
    switch (note.kind) {
      case "accepted": {
        const known = knownOf(note);
        this.#events.set(note.event.systemId, known);
        this.#latest.set(note.id, known);
        break;
      }
      case "attempted":
        this.#attempted(note);
        break;
      case "ended": {
        const course = this.#courseOf(note);
        if (course !== undefined && note.decision === "drop") course.fate = "dropped";
        break;
      }
      default:
        break;
    }
    this.#waits.note();
  }

  #attempted(note: AttemptedNote): void {
    const { decision, delivery, counts } = note;
    const course = this.#courseOf(note);
    if (course === undefined) return;
    if (delivery.stage === "deliver") course.attempts = note.number;
    if (!counts) return;
    if (decision.kind === "drop") course.fate = "dropped";
    else if (decision.kind === "delivered") {
      course.fate = delivery.stage === "deliver" ? "delivered" : "deadLettered";
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
      asked.every((course) =>
        typeof fate === "string"
          ? course?.fate === fate
          : course !== undefined && course.attempts >= fate.attempts,
      )
    );
  }

  async wait(wish: Wish): Promise<void> {
    await this.#waits.until({
      look: () => this.#holds(wish) || undefined,
      describe: () => this.#describe(wish),
    });
  }

  /** The first event that fits, published already or later. */
  published(query: PublishedQuery): Promise<PublishedEvent> {
    return this.#waits.until({
      look: () => [...this.#events.values()].find(({ head }) => fits(head, query))?.published(),
      describe: () => {
        const types = [...this.#events.values()].map(({ head }) => head.type);
        const came = types.length === 0 ? "nothing was" : `published were ${types.join(", ")}`;
        return `no event with ${wordsOf(query)} was published: ${came}`;
      },
    });
  }

  /** Resolves when every event has ended, or has been tried and waits for a later time. */
  async tried(): Promise<void> {
    await this.#waits.until({
      look: () => this.#untried().length === 0 || undefined,
      describe: () => `not yet tried: ${this.#untried().join("; ")}`,
    });
  }

  #untried(): readonly string[] {
    return [...this.#events.values()].flatMap(({ head, courses }) =>
      [...courses].flatMap(([name, { fate, attempts }]) =>
        fate === null && attempts === 0 ? [`event ${head.id} to ${name}`] : [],
      ),
    );
  }

  #describe({ id, fate, to }: Wish): string {
    const what = typeof fate === "string" ? fate : `attempted ${fate.attempts} times`;
    const whom = to === undefined ? "" : ` to ${to}`;
    const known = this.#latest.get(id);
    const state =
      known === undefined
        ? "it was not accepted"
        : known.courses.size === 0
          ? "no subscription wanted it"
          : [...known.courses]
              .map(([name, course]) => `${name}: ${wordsOfCourse(course)}`)
              .join("; ");
    return `event ${id} was not ${what}${whom}: ${state}`;
  }
}

function knownOf({ id, subject, type, event, roll, to }: AcceptedNote): Known {
  const head = { id, topic: event.topic, type, subject };
  const wanting = to.flatMap((each) => roll.get(each) ?? []);
  const begun = (): Course => ({ attempts: 0, fate: null });
  return {
    head,
    courses: new Map(wanting.map(({ name }) => [name, begun()])),
    published() {
      const whole = JSON.parse(event.text) as { data?: unknown };
      return { ...head, data: event.envelope === null ? whole.data : whole };
    },
  };
}

function fits(head: Known["head"], query: PublishedQuery): boolean {
  const { id, topic, type, subject } = query;
  return (
    (id ?? head.id) === head.id &&
    (topic ?? head.topic) === head.topic &&
    (type ?? head.type) === head.type &&
    (subject ?? head.subject) === head.subject
  );
}

function wordsOf(query: object): string {
  const parts = Object.entries(query).map(([name, value]) => `${name} ${String(value)}`);
  return parts.length === 0 ? "anything" : parts.join(" and ");
}

function wordsOfCourse({ attempts, fate }: Course): string {
  const tried = attempts === 1 ? "1 attempt" : `${attempts} attempts`;
  return `${fate ?? "waiting"} after ${tried}`;
}
