// Whoever steers the simulated broker while it runs: pauses, resumes and drains subscriptions,
// skips and hastens what waits, closes and opens endpoints. Each act is written into the journal
// with the moments at which it was asked for and answered. When all is well, everything is let go
// on.

import type { Clock } from "../../src/core/ports.ts";
import { endpointOf, type SubscriptionId } from "../../src/core/subscription.ts";
import type { Rooms } from "../../src/wiring.ts";
import type { Life } from "./broker-life.ts";
import { Dice } from "./dice.ts";
import type { Act, Journal } from "./journal.ts";
import type { Weather } from "./weather.ts";

export interface OperatorOptions {
  readonly weather: Weather;
  readonly journal: Journal;
  readonly clock: Clock;
  /** The life that is ready for work now, or null. */
  readonly life: () => { readonly life: Life; readonly rooms: Rooms } | null;
}

const kinds = [
  ...(["pause", "pause", "pause", "resume", "resume", "drain", "drain"] as const),
  ...(["skip", "hasten", "hastenOne", "close", "open", "reset"] as const),
];
const retryMs = 1_000;

export class Operator {
  readonly #options: OperatorOptions;
  readonly #dice: Dice;
  readonly #underWay = new Set<Promise<unknown>>();

  constructor(options: OperatorOptions) {
    this.#options = options;
    this.#dice = new Dice(options.weather.seed, "operator");
  }

  /** One act, if the broker is there for it. */
  async act(): Promise<void> {
    const ready = this.#options.life();
    if (ready === null) return;
    const kind = this.#dice.pick(kinds);
    const subscriptions = ready.rooms
      .catalog()
      .subscriptions.filter(({ destination }) => destination.kind !== "pull");
    if (subscriptions.length === 0) return;
    const { id, name, destination } = this.#dice.pick(subscriptions);
    const endpoint = endpointOf(destination);
    const { operator } = ready.rooms;
    const { journal } = this.#options;
    const rate = this.#dice.pick([0.2, 1, 5, 40]);
    const event = journal.appends.length === 0 ? null : this.#dice.pick(journal.appends);
    const act = journal.act({ kind, life: ready.life.number, subscription: id, endpoint });
    journal.say(() => `operator: ${kind} ${name}`);
    const carried = this.#carry(ready.life, act, async () => {
      switch (kind) {
        case "pause":
          return nothing(await operator.pause(id));
        case "resume":
          return nothing(await operator.resume(id));
        case "drain":
          return nothing(await operator.drain(id, rate));
        case "skip":
          return await operator.skip(id);
        case "hasten":
          return nothing(await operator.hasten(id, null));
        case "hastenOne":
          return nothing(await operator.hasten(id, event?.routed.event.systemId ?? "none"));
        case "close":
          return nothing(await operator.close(endpoint, ""));
        case "open":
          return nothing(await operator.open(endpoint, ""));
        case "reset":
          return nothing(await operator.reset(endpoint, ""));
        default:
          return kind satisfies never;
      }
    });
    this.#underWay.add(carried);
    await carried;
    this.#underWay.delete(carried);
  }

  /** Lets everything go on, until it does; also what was just being stopped. */
  async calm(): Promise<void> {
    await Promise.all(this.#underWay);
    for (;;) {
      const ready = this.#options.life();
      if (ready !== null && (await this.#letGo(ready))) return;
      await new Promise<void>((go) => this.#options.clock.after(retryMs, go));
    }
  }

  async #letGo({ life, rooms }: { life: Life; rooms: Rooms }): Promise<boolean> {
    const { operator } = rooms;
    for (const { id, flow } of rooms.catalog().subscriptions) {
      if (flow.kind === "running") continue;
      if (!(await this.#resume(life, rooms, id))) return false;
    }
    for (const endpoint of [...rooms.switchboard.closures().keys()]) {
      const act = this.#note(life, { kind: "open", subscription: null, endpoint });
      if (!(await this.#carry(life, act, async () => nothing(await operator.open(endpoint, "")))))
        return false;
    }
    return life.isAlive;
  }

  #resume(life: Life, { operator }: Rooms, id: SubscriptionId): Promise<boolean> {
    const act = this.#note(life, { kind: "resume", subscription: id, endpoint: "" });
    return this.#carry(life, act, async () => nothing(await operator.resume(id)));
  }

  #note(life: Life, act: Pick<Act, "kind" | "subscription" | "endpoint">): Act {
    return this.#options.journal.act({ ...act, life: life.number });
  }

  /** False when it was refused, or nobody knows. */
  async #carry(life: Life, act: Act, make: () => Promise<number | null>) {
    const { journal } = this.#options;
    try {
      const answer = await life.outlive(make());
      if (answer.kind === "lost") return false;
      act.answered = journal.mark();
      act.count = answer.value;
      journal.say(() => `operator: ${act.kind} is done`);
      return true;
    } catch (error) {
      journal.say(() => `operator: ${act.kind} is refused: ${error}`);
      return false;
    }
  }
}

/** What an act is answered with that counts nothing. */
function nothing(_answer: unknown): null {
  return null;
}
