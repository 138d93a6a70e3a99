// Counts what is noted, for the figures: a few additions for each note, in the cell of its
// subscription. Topics, endpoints and the broker as a whole are summed up only when the rows are
// taken. Nothing waits for it, and a crash loses what was not taken yet.
//
// Time comes with the notes: one that belongs to a later minute closes the minute before.

import type { Instant } from "../ports.ts";
import type { AcceptedNote, AttemptedNote, StoryNote } from "../story/note.ts";
import { endpointOf, type Subscription, type SubscriptionId } from "../subscription.ts";
import { type FigureRow, type Scope, scopeKey, wholeBroker } from "./figures.ts";
import { bucketOf } from "./histogram.ts";
import { finestMs, startOf } from "./steps.ts";
import { addSums, emptySums, packSums, type Sums, sawWaiting } from "./sums.ts";

interface Cell {
  readonly subscription: Subscription;
  readonly sums: Sums;
}

/** How many deliveries wait for a subscription. */
export interface Backlog {
  readonly subscription: Subscription;
  readonly waiting: number;
}

export class Tally {
  /** The id of the broker that counts. */
  readonly #member: string;
  #minute = 0;
  #cells = new Map<SubscriptionId, Cell>();
  /** By topic. */
  #published = new Map<string, number>();
  #rows: FigureRow[] = [];
  /** As last seen, and in which minute. */
  #backlogs: readonly Backlog[] = [];
  #seenMinute: Instant | null = null;

  constructor(member: string) {
    this.#member = member;
  }

  note(note: StoryNote): void {
    switch (note.kind) {
      case "accepted":
        this.#accepted(note);
        return;
      case "attempted":
        this.#attempted(note);
        return;
      case "ended":
        if (note.decision === "drop") this.#cell(note.subscription, note.at).sums.dropped += 1;
        return;
      default:
    }
  }

  /** What was counted since the last time, with what waits now. */
  take(now: Instant, backlogs: readonly Backlog[]): readonly FigureRow[] {
    this.#turnTo(now);
    this.#see(backlogs);
    this.#seal();
    const rows = this.#rows;
    this.#rows = [];
    return rows;
  }

  #see(backlogs: readonly Backlog[]): void {
    this.#backlogs = backlogs;
    this.#seenMinute = this.#minute;
    for (const { subscription, waiting } of backlogs) {
      sawWaiting(this.#cell(subscription, this.#minute).sums, waiting);
    }
  }

  #accepted({ at, event, to, roll, acceptedWith }: AcceptedNote): void {
    // A dead letter that is sent again was published before.
    if (acceptedWith === "redrive") return;
    this.#turnTo(at);
    this.#published.set(event.topic, (this.#published.get(event.topic) ?? 0) + 1);
    for (const id of to) {
      const cell = this.#cells.get(id);
      const member = cell === undefined ? roll.get(id) : undefined;
      if (cell !== undefined) cell.sums.published += 1;
      else if (member !== undefined) this.#cell(member, at).sums.published += 1;
    }
  }

  #attempted(note: AttemptedNote): void {
    const { delivery, decision, counts, startedAt, endedAt } = note;
    const { sums } = this.#cell(note.subscription, endedAt);
    const isDelivered = decision.kind === "delivered";
    if (delivery.stage === "deadLetter") {
      if (isDelivered && counts) sums.deadLettered += 1;
    } else {
      bump(sums.answer, endedAt - startedAt);
      if (!isDelivered) sums.failed += 1;
      else if (counts) {
        sums.delivered += 1;
        bump(sums.delivery, endedAt - delivery.event.publishedAt);
      }
    }
    if (decision.kind === "drop" && counts) sums.dropped += 1;
  }

  #cell(subscription: Subscription, at: Instant): Cell {
    this.#turnTo(at);
    const known = this.#cells.get(subscription.id);
    if (known !== undefined) return known;
    const made = { subscription, sums: emptySums() };
    this.#cells.set(subscription.id, made);
    return made;
  }

  #turnTo(at: Instant): void {
    if (at < this.#minute + finestMs) return;
    if (this.#cells.size > 0 || this.#published.size > 0) {
      // On a clock that jumps a minute may pass unseen: what waited before still did.
      if (this.#seenMinute !== this.#minute) this.#see(this.#backlogs);
      this.#seal();
    }
    this.#minute = startOf(at, finestMs);
  }

  /** The rows of the minute: of each subscription, and of what they belong to. */
  #seal(): void {
    const sums = new Map<string, { readonly scope: Scope; readonly sums: Sums }>();
    const sumsOf = (scope: Scope) => {
      const key = scopeKey(scope);
      const found = sums.get(key) ?? { scope, sums: emptySums() };
      sums.set(key, found);
      return found.sums;
    };
    const broker = sumsOf(wholeBroker);
    broker.waiting = 0;
    for (const cell of this.#cells.values()) {
      const { topic, domainTopic, name, destination } = cell.subscription;
      addSums(sumsOf({ kind: "subscription", name, topic, domainTopic }), cell.sums);
      addApart(
        sumsOf({ ...wholeBroker, kind: "endpoint", name: endpointOf(destination) }),
        cell.sums,
      );
      // An event is published to a topic once, however many subscriptions get it.
      const own = { ...cell.sums, published: 0 };
      addApart(sumsOf({ ...wholeBroker, kind: "topic", name: topic }), own);
      addApart(broker, own);
    }
    for (const [name, published] of this.#published) {
      sumsOf({ ...wholeBroker, kind: "topic", name }).published += published;
      broker.published += published;
    }
    // What waits is counted by one broker for all of them; a number says that this one ran.
    addSums(sumsOf({ ...wholeBroker, kind: "member", name: this.#member }), {
      ...broker,
      waiting: 0,
    });
    for (const one of sums.values()) {
      this.#rows.push({ scope: one.scope, at: this.#minute, packed: packSums(one.sums) });
    }
    this.#cells = new Map();
    this.#published = new Map();
  }
}

/** Of different subscriptions: what waits for one does not wait for the other. */
function addApart(into: Sums, from: Sums): void {
  const { waiting } = into;
  addSums(into, from);
  into.waiting = from.waiting === null ? waiting : (waiting ?? 0) + from.waiting;
}

function bump(histogram: Sums["answer"], ms: number): void {
  const bucket = bucketOf(ms);
  histogram[bucket] = (histogram[bucket] ?? 0) + 1;
}
