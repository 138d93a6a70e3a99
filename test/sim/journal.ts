// The journal of a run: what was asked, what the store really did, what was sent and what came
// back, in one order. It is written from outside the broker (publishers, endpoints, the disk
// beneath the store) and read by the invariants when the run is over. Nothing is judged here.
//
// For readers, everything also leaves a line in the trace; the hash of all lines is what shows that
// two runs are the same.

import { createHash, type Hash } from "node:crypto";
import type { Delivery, DeliveryId, Queue, Stage } from "../../src/core/delivery/delivery.ts";
import type { Outcome } from "../../src/core/delivery/outcome.ts";
import type { ProfileName } from "../../src/core/delivery/profile.ts";
import type { Instant, Routed, Settlement } from "../../src/core/ports.ts";
import type {
  Subscription,
  SubscriptionDraft,
  SubscriptionId,
} from "../../src/core/subscription.ts";
import { healthMemo } from "../../src/dispatch/health-memory.ts";
import { type Handing, PullJournal } from "./pull-journal.ts";

/** A place in the order of everything, and its time. */
export interface Mark {
  readonly seq: number;
  readonly at: Instant;
}

/** One event in one publish request. A publisher who tries again makes another one. */
export interface Publication {
  readonly number: number;
  readonly topic: string;
  readonly subject: string;
  readonly eventType: string;
  readonly asked: Mark;
  answered: Mark | null;
  /** `lost`: the broker died over it. */
  answer: "accepted" | "refused" | "lost" | null;
}

/** An event that the store has taken. */
export interface Append extends Mark {
  readonly routed: Routed;
  readonly publication: number;
}

export interface ClaimNote extends Mark {
  readonly life: number;
  readonly delivery: Delivery;
}

export interface SettleNote extends Mark {
  readonly life: number;
  readonly settlement: Settlement;
  readonly counted: boolean;
}

export interface SendNote {
  readonly begun: Mark;
  readonly life: number;
  /** As the broker saw it; what it was to be stands in its version. */
  readonly subscription: Subscription;
  readonly stage: Stage;
  /** The URL without its query, or the container. */
  readonly endpoint: string;
  readonly deliveries: readonly Delivery[];
  readonly limits: { readonly waitMs: number; readonly lateMs: number };
  /** The broker's result, and when it came. */
  ended: (Mark & { readonly outcome: Outcome }) | null;
  late: (Mark & { readonly outcome: Outcome }) | null;
  /** When the endpoint took the events, whether or not the broker heard of it. */
  taken: Mark | null;
  brokenOff: Mark | null;
}

export interface FactNote extends Mark {
  readonly life: number;
  readonly name: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** One life of the broker, from its start to a crash or a stop. */
export interface LifeNote {
  readonly number: number;
  readonly started: Mark;
  ready: Mark | null;
  ended: (Mark & { readonly how: "crash" | "stop" }) | null;
  /** Counted drops, by the meter. */
  drops: number;
}

/**
 * A state of a subscription, and when it held. Between the moment a change is asked for and the
 * moment it is in effect for certain, both the old state and the new one are possible.
 */
export interface Version {
  readonly slot: string;
  /** Null: there is no such subscription. */
  readonly draft: SubscriptionDraft | null;
  id: SubscriptionId | null;
  revision: number | null;
  readonly possibleFrom: number;
  possibleUntil: number;
  /** When it was in effect for certain. */
  certainAt: Instant;
}

export interface Removal extends Mark {
  readonly subscription: SubscriptionId;
}

/** A subscription as the store has it from then on. */
export interface RecordNote extends Mark {
  readonly record: Subscription;
}

/** What an operator asked for. */
export interface Act {
  readonly kind: string;
  readonly life: number;
  readonly subscription: SubscriptionId | null;
  readonly endpoint: string;
  readonly asked: Mark;
  /** Null: refused, or nobody knows. */
  answered: Mark | null;
  /** What it was answered with, if with a number. */
  count: number | null;
}

/** The store remembers that an endpoint is closed, or does so no more. */
export interface ClosureNote extends Mark {
  readonly endpoint: string;
  readonly isClosed: boolean;
}

/** The store remembers how the health of an endpoint is; null: nothing. */
export interface HealthNote extends Mark {
  readonly key: string;
  readonly record: object | null;
}

/** An operator dropped what waited in a queue. */
export interface Skip extends Mark, Queue {}

/** An operator made what waited in a queue due, or one of it. */
export interface Hastening extends Mark, Queue {
  readonly event: number | null;
  readonly now: Instant;
}

interface Line {
  readonly at: Instant;
  readonly text: string;
  readonly about: readonly number[];
}

export class Journal {
  readonly publications: Publication[] = [];
  readonly appends: Append[] = [];
  readonly claims: ClaimNote[] = [];
  readonly settles: SettleNote[] = [];
  readonly sends: SendNote[] = [];
  readonly facts: FactNote[] = [];
  readonly lives: LifeNote[] = [];
  readonly versions: Version[] = [];
  readonly removals: Removal[] = [];
  readonly skips: Skip[] = [];
  readonly hastenings: Hastening[] = [];
  readonly records: RecordNote[] = [];
  readonly acts: Act[] = [];
  readonly closures: ClosureNote[] = [];
  readonly healths: HealthNote[] = [];
  /** Of deliveries that are fetched; the lists above are about those that are sent. */
  readonly pull = new PullJournal();
  /** When the disk was not well. */
  readonly diskTroubles: { readonly from: Instant; readonly until: Instant }[] = [];
  /** Faults seen during the run, as text. */
  readonly faults: string[] = [];
  readonly topicProfiles = new Map<string, ProfileName>();
  readonly startAt: Instant;
  /** Filled in when the first phase is over, and when all is over. */
  calmAt: Instant = Number.POSITIVE_INFINITY;
  endAt: Instant = Number.POSITIVE_INFINITY;
  readonly #now: () => Instant;
  readonly #hash: Hash = createHash("sha256");
  readonly #lines: Line[] = [];
  /** Publications by the broker's id of the event, and by the store's number of it. */
  readonly #numbers = new Map<string, number>();
  readonly #stored = new Map<number, number>();
  readonly #storeNumbers = new Map<string, number>();
  #seq = 0;

  readonly #isTraced: boolean;

  constructor(options: { readonly now: () => Instant; readonly isTraced: boolean }) {
    this.#now = options.now;
    this.#isTraced = options.isTraced;
    this.startAt = options.now();
  }

  mark(): Mark {
    this.#seq += 1;
    return { seq: this.#seq, at: this.#now() };
  }

  /** One line of the trace; `about`: the numbers of the publications it concerns. */
  say(tell: () => string, about: readonly number[] = []): void {
    if (!this.#isTraced) return;
    const text = tell();
    const line = { at: this.#now(), text, about };
    this.#hash.update(`${line.at} ${text}\n`);
    this.#lines.push(line);
  }

  fault(words: string): void {
    this.faults.push(words);
    this.say(() => `FAULT ${words}`);
  }

  /** By the text of an event, which carries the number that its publisher gave it. */
  numberOf(event: { readonly systemId: string; readonly text: string }): number {
    let number = this.#numbers.get(event.systemId);
    if (number === undefined) {
      number = Number(/"number":(\d+)/.exec(event.text)?.[1]);
      this.#numbers.set(event.systemId, number);
    }
    return number;
  }

  appended(routed: readonly Routed[]): void {
    for (const one of routed) {
      const publication = this.numberOf(one.event);
      const { appends } = one.to.some((id) => this.pull.owns(id)) ? this.pull : this;
      appends.push({ ...this.mark(), routed: one, publication });
      this.say(() => `store: appended for ${one.to.join(", ")}`, [publication]);
    }
  }

  /** `mark`: when the store did it, if that was before it is reported here. */
  claimed(life: number, deliveries: readonly Delivery[], mark = this.mark()): void {
    for (const delivery of deliveries) {
      const { id, stage, lease } = delivery;
      if (!this.pull.owns(id.subscription)) this.claims.push({ ...mark, life, delivery });
      const number = this.#known(delivery);
      const queue = `${id.subscription} ${stage}`;
      this.say(() => `store: life ${life} leases ${queue}, lease ${lease}`, [number]);
    }
  }

  handed(
    handing: Omit<Handing, "delivery" | keyof Mark>,
    deliveries: readonly Delivery[],
    mark = this.mark(),
  ): void {
    const { life, to } = handing;
    for (const delivery of deliveries) {
      const { id, lease, attempts } = delivery;
      this.pull.handings.push({ ...mark, ...handing, delivery });
      const words = `hands ${id.subscription} to the ${to}, lease ${lease}, count ${attempts}`;
      this.say(() => `store: life ${life} ${words}`, [this.#known(delivery)]);
    }
  }

  settled(
    life: number,
    settlements: readonly Settlement[],
    counted: readonly boolean[],
    mark = this.mark(),
  ): void {
    for (const [index, settlement] of settlements.entries()) {
      const isCounted = counted[index] ?? false;
      const { delivery, lease, kind } = settlement;
      const { settles } = this.pull.owns(delivery.subscription) ? this.pull : this;
      settles.push({ ...mark, life, settlement, counted: isCounted });
      this.say(() => {
        const isDue = kind === "due";
        const what = isDue ? `due ${settlement.stage} ${this.clockOf(settlement.at)}` : kind;
        const words = `settles ${delivery.subscription}, lease ${lease}: ${what}`;
        return `store: life ${life} ${words}${isCounted ? "" : " (ignored)"}`;
      }, this.#aboutStored(delivery));
    }
  }

  sending(note: SendNote): void {
    const { sends } = this.pull.owns(note.subscription.id) ? this.pull : this;
    sends.push(note);
  }

  recorded(record: Subscription, mark = this.mark()): void {
    this.records.push({ ...mark, record });
  }

  act(asked: Pick<Act, "kind" | "life" | "subscription" | "endpoint">): Act {
    const act = { ...asked, asked: this.mark(), answered: null, count: null };
    this.acts.push(act);
    return act;
  }

  noted(kind: string, key: string, record: object | null): void {
    if (kind === healthMemo) this.healths.push({ ...this.mark(), key, record });
    else this.closures.push({ ...this.mark(), endpoint: key, isClosed: record !== null });
  }

  skipped(queue: Queue): void {
    this.skips.push({ ...this.mark(), ...queue });
    this.say(() => `store: skips ${queue.subscription} ${queue.stage}`);
  }

  hastened(queue: Queue, which: { readonly event: number | null; readonly now: Instant }): void {
    this.hastenings.push({ ...this.mark(), ...queue, ...which });
    const what = which.event === null ? "all" : "one";
    this.say(() => `store: hastens ${what} of ${queue.subscription} ${queue.stage}`);
  }

  /** The store's number of an event, as far as it was ever claimed. */
  storeNumber(systemId: string): number | null {
    return this.#storeNumbers.get(systemId) ?? null;
  }

  fact(life: number, name: string, fields: Readonly<Record<string, unknown>>): void {
    this.facts.push({ ...this.mark(), life, name, fields });
    const number = this.#numbers.get(String(fields.event));
    const about = number === undefined ? [] : [number];
    this.say(() => `life ${life}: ${name} ${JSON.stringify(fields)}`, about);
  }

  hash(): string {
    return this.#hash.copy().digest("hex");
  }

  /** Lines in the trace. */
  get length(): number {
    return this.#lines.length;
  }

  /** The trace, or the lines about one publication and those that concern everyone. */
  *tell(about?: number): Iterable<string> {
    for (const line of this.#lines) {
      const concerns = about === undefined || line.about.length === 0 || line.about.includes(about);
      if (!concerns) continue;
      const names = line.about.length === 0 ? "" : ` [${line.about.map((n) => `e${n}`).join(" ")}]`;
      yield `${this.clockOf(line.at)} ${line.text}${names}`;
    }
  }

  /** The publication's number, now that the store has numbered the event. */
  #known({ id, event }: Delivery): number {
    const number = this.numberOf(event);
    this.#stored.set(id.event, number);
    this.#storeNumbers.set(event.systemId, id.event);
    return number;
  }

  #aboutStored(id: DeliveryId): number[] {
    const number = this.#stored.get(id.event);
    return number === undefined ? [] : [number];
  }

  /** Hours, minutes and seconds since the start. */
  clockOf(at: Instant): string {
    const ms = at - this.startAt;
    const part = (value: number, digits = 2) => String(Math.floor(value)).padStart(digits, "0");
    const time = `${part((ms / 60_000) % 60)}:${part((ms / 1000) % 60)}.${part(ms % 1000, 3)}`;
    return `${part(ms / 3_600_000)}:${time}`;
  }
}
