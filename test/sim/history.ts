// The journal of a run, read back as history: for each delivery its tale, replayed step by step,
// and for each time at which something could have been sent, what may explain that it was not.
// Invariants look here; nothing is judged yet.

import type { BatchPolicy } from "../../src/core/delivery/batch.ts";
import type { Delivery, Stage } from "../../src/core/delivery/delivery.ts";
import { heldMs } from "../../src/core/delivery/flow.ts";
import { type Policy, policyOf } from "../../src/core/delivery/policy.ts";
import { profiles } from "../../src/core/delivery/profile.ts";
import { isSuccess } from "../../src/core/delivery/retry.ts";
import { isSplit } from "../../src/core/delivery/split.ts";
import type { Instant, Settlement } from "../../src/core/ports.ts";
import type {
  Subscription,
  SubscriptionDraft,
  SubscriptionId,
} from "../../src/core/subscription.ts";
import { FlowHistory } from "./flow-history.ts";
import type {
  Append,
  ClaimNote,
  FactNote,
  Hastening,
  Journal,
  LifeNote,
  Mark,
  Publication,
  SendNote,
  SettleNote,
  Skip,
  Version,
} from "./journal.ts";
import { type PullTale, tellPullTales } from "./pull-history.ts";
import type { Weather } from "./weather.ts";

/** How a subscription is to be served. */
export interface Terms {
  readonly policy: Policy;
  readonly batch: BatchPolicy | null;
  readonly splitOnFailure: boolean;
}

/** What the store should hold of a delivery. */
export interface Standing {
  readonly stage: Stage;
  readonly dueAt: Instant;
  readonly attempts: number;
  readonly since: Instant;
  /** An operator made it due then, or earlier. */
  readonly isHastened?: boolean;
}

/** From its claim to its end. */
export interface LostLease extends Span {
  readonly number: number;
  readonly life: number;
}

interface Lease extends LostLease {
  /** Settled or given back. */
  readonly isOver: boolean;
}

/** What every step in the tale of a delivery has: when, by whom, and what held before it. */
interface Moment {
  readonly mark: Mark;
  readonly life: number;
  readonly before: Standing;
  /** The latest, at that moment. */
  readonly lease: Lease | null;
}

export interface Claimed extends Moment {
  readonly kind: "claimed";
  readonly delivery: Delivery;
}

export interface Sent extends Moment {
  readonly kind: "sent";
  readonly send: SendNote;
  readonly delivery: Delivery;
  /** The claim that led to it. */
  readonly claim: Claimed | null;
}

export interface Settled extends Moment {
  readonly kind: "settled";
  readonly settlement: Settlement;
  readonly isCounted: boolean;
  readonly claim: Claimed | null;
  /** The send that it settles, if there was one. */
  readonly send: SendNote | null;
}

export type Step = Claimed | Sent | Settled;

/** One event on its way to one subscription. */
export interface Tale {
  readonly append: Append;
  readonly publication: Publication;
  readonly subscription: SubscriptionId;
  /** When its subscription was; what was a dead letter by then goes on, and is null here. */
  readonly removed: Mark | null;
  /** When an operator dropped it. */
  readonly skipped: Mark | null;
  readonly steps: readonly Step[];
  readonly sent: readonly Sent[];
  /** The settlement that counted, by the send. */
  readonly settledOf: ReadonlyMap<SendNote, Settled>;
  /** Leases that were neither settled nor given back, until someone else claimed it. */
  readonly lost: readonly LostLease[];
  /** When nothing was left to do, by the store. */
  readonly gone: Settled | null;
}

/** A time in which something explains why nothing was sent. */
export interface Span {
  readonly from: Instant;
  readonly until: Instant;
}

/** What small delays of the disk and of wakes may add up to. */
export const slackMs = 3_000;

/** How far what follows one upon the other from here on explains that nothing happened. */
export function excuse(from: Instant, spans: readonly Span[]): Instant {
  let at = from;
  for (const span of spans.toSorted((a, b) => a.from - b.from)) {
    if (span.from <= at + slackMs && span.until > at) at = span.until;
  }
  return at;
}

export class History {
  readonly journal: Journal;
  readonly weather: Weather;
  readonly tales: readonly Tale[];
  /** Of events that are fetched. */
  readonly pullTales: readonly PullTale[];
  readonly flows: FlowHistory;
  readonly #records: ReadonlyMap<string, Subscription>;
  readonly #lives: ReadonlyMap<number, LifeNote>;
  readonly #talesByKey: ReadonlyMap<string, Tale>;
  readonly #dropFacts = new Map<string, FactNote[]>();
  readonly #terms = new Map<string, Terms>();

  constructor(journal: Journal, weather: Weather) {
    this.journal = journal;
    this.weather = weather;
    this.flows = new FlowHistory(journal);
    this.#records = new Map(
      journal.records.map(({ record }) => [`${record.id}/${record.revision}`, record]),
    );
    this.#lives = new Map(journal.lives.map((life) => [life.number, life]));
    this.tales = tellTales(journal);
    this.pullTales = tellPullTales(journal);
    this.#talesByKey = new Map(
      this.tales.map((tale) => [`${tale.publication.number}/${tale.subscription}`, tale]),
    );
    for (const fact of journal.facts) {
      if (fact.name !== "delivery.dropped") continue;
      const key = `${fact.fields.event}/${fact.fields.subscription}`;
      this.#dropFacts.set(key, [...(this.#dropFacts.get(key) ?? []), fact]);
    }
  }

  life(number: number): LifeNote {
    const life = this.#lives.get(number);
    if (life === undefined) throw new Error(`there was no life ${number}`);
    return life;
  }

  tale(publication: number, subscription: SubscriptionId): Tale | undefined {
    return this.#talesByKey.get(`${publication}/${subscription}`);
  }

  dropFacts({ append, subscription }: Tale): readonly FactNote[] {
    const slot = this.journal.versions.find(({ id }) => id === subscription)?.slot;
    return this.drops(append.routed.event.systemId, slot ?? "");
  }

  /** What was told about an event that was dropped for a subscription of that name. */
  drops(systemId: string, name: string): readonly FactNote[] {
    return this.#dropFacts.get(`${systemId}/${name}`) ?? [];
  }

  /** The broker crashed between this and telling of it. */
  diedOver({ life, at }: { readonly life: number; readonly at: Instant }): boolean {
    const end = this.life(life).ended;
    if (end === null || end.how !== "crash") return false;
    return end.at <= excuse(at, this.journal.diskTroubles) + slackMs;
  }

  /** By what terms a send was to be made: those that its subscription was given. */
  terms({ subscription }: SendNote): Terms {
    const { id, revision } = subscription;
    const key = `${id}/${revision}`;
    const known = this.#terms.get(key);
    if (known !== undefined) return known;
    const terms = this.termsOf(this.#records.get(key) ?? subscription);
    this.#terms.set(key, terms);
    return terms;
  }

  /** What the store had at that revision. */
  record({ id, revision }: Subscription): Subscription | undefined {
    return this.#records.get(`${id}/${revision}`);
  }

  /** Whether its answer asks for it to be sent again in halves. */
  isHalved(send: SendNote): boolean {
    const heard = this.heard(send);
    if (heard === null) return false;
    const { policy, splitOnFailure } = this.terms(send);
    const { deliveries, stage } = send;
    return isSplit({ size: deliveries.length, stage, splitOnFailure }, policy, heard.outcome);
  }

  /** The shortest and the longest time that it may have been paused for, of all there was. */
  heldMs(tale: Tale, from: Instant, mark: Mark): { readonly least: number; readonly most: number } {
    const possible = this.flows.possible(tale.subscription, mark.seq, mark.seq);
    const held = possible.map((flowState) => heldMs(flowState, from, mark.at));
    return { least: Math.min(...held), most: Math.max(...held) };
  }

  termsOf(draft: SubscriptionDraft): Terms {
    const profile = profiles[this.journal.topicProfiles.get(draft.topic) ?? this.weather.profile];
    return {
      policy: policyOf(draft, profile),
      batch: profile.batching ? draft.batch : null,
      splitOnFailure: draft.splitOnFailure,
    };
  }

  /** How the send ended as far as the broker knows: nothing is heard by the dead. */
  heard(send: SendNote): SendNote["ended"] {
    return this.#isHeard(send, send.ended) ? send.ended : null;
  }

  heardLate(send: SendNote): SendNote["late"] {
    return this.#isHeard(send, send.late) ? send.late : null;
  }

  /** Whether the endpoint has taken the events, in the eyes of the subscription's profile. */
  isTaken(send: SendNote): boolean {
    if (send.taken === null) return false;
    const outcome = (send.late ?? send.ended)?.outcome;
    if (outcome?.kind !== "answered") return true;
    return send.stage === "deadLetter" || isSuccess(this.terms(send).policy.profile, outcome);
  }

  /** The states of a subscription that were possible at some time from one mark to the other. */
  versions(slot: string, from: number, until: number): readonly Version[] {
    return this.journal.versions.filter(
      (version) =>
        version.slot === slot && version.possibleFrom <= until && version.possibleUntil >= from,
    );
  }

  #isHeard(send: SendNote, mark: Mark | null): boolean {
    const end = this.life(send.life).ended;
    return mark !== null && (end === null || mark.seq < end.seq);
  }
}

type Entry = { readonly seq: number } & (
  | { readonly kind: "skip"; readonly skip: Skip }
  | { readonly kind: "hasten"; readonly hastening: Hastening }
  | { readonly kind: "claim"; readonly claim: ClaimNote }
  | { readonly kind: "settle"; readonly settle: SettleNote }
  | { readonly kind: "send"; readonly send: SendNote; readonly delivery: Delivery }
);

function tellTales(journal: Journal): Tale[] {
  const entries = entriesByDelivery(journal);
  const publications = new Map(journal.publications.map((one) => [one.number, one]));
  const removals = new Map<SubscriptionId, Mark>();
  for (const removal of journal.removals) {
    if (!removals.has(removal.subscription)) removals.set(removal.subscription, removal);
  }
  return journal.appends.flatMap((append) =>
    append.routed.to.flatMap((subscription) => {
      const removed = removals.get(subscription) ?? null;
      if (removed !== null && removed.seq < append.seq) return [];
      const key = keyOf(append.routed.event.systemId, subscription);
      const until = removed?.seq ?? Number.POSITIVE_INFINITY;
      const steering = steeringOf(journal, { append, subscription, until });
      const ordered = [...(entries.get(key) ?? []), ...steering].toSorted((a, b) => a.seq - b.seq);
      const publication = publications.get(append.publication);
      if (publication === undefined) throw new Error("an event came from nowhere");
      const tale = replay(append, ordered);
      const isLetter = removed !== null && stageAt(tale.steps, removed.seq) === "deadLetter";
      return { append, publication, subscription, removed: isLetter ? null : removed, ...tale };
    }),
  );
}

/** What operators did to the queue that it waits in first, while it may have been there. */
function steeringOf(
  journal: Journal,
  of: { readonly append: Append; readonly subscription: SubscriptionId; readonly until: number },
): readonly Entry[] {
  const { append, subscription, until } = of;
  const isOf = ({ seq, ...queue }: Skip | Hastening) =>
    queue.subscription === subscription &&
    queue.stage === "deliver" &&
    seq > append.seq &&
    seq < until;
  const number = journal.storeNumber(append.routed.event.systemId);
  return [
    ...journal.skips
      .filter(isOf)
      .map((skip) => ({ kind: "skip", seq: skip.seq, skip }) satisfies Entry),
    ...journal.hastenings
      .filter((one) => isOf(one) && (one.event === null || one.event === number))
      .map((hastening) => ({ kind: "hasten", seq: hastening.seq, hastening }) satisfies Entry),
  ];
}

function entriesByDelivery(journal: Journal): ReadonlyMap<string, readonly Entry[]> {
  const entries = new Map<string, Entry[]>();
  const add = (key: string, entry: Entry) => {
    const known = entries.get(key);
    if (known === undefined) entries.set(key, [entry]);
    else known.push(entry);
  };
  const systemIds = new Map<number, string>();
  for (const claim of journal.claims) {
    const { id, event } = claim.delivery;
    systemIds.set(id.event, event.systemId);
    add(keyOf(event.systemId, id.subscription), { kind: "claim", seq: claim.seq, claim });
  }
  for (const settle of journal.settles) {
    const { event, subscription } = settle.settlement.delivery;
    const key = keyOf(systemIds.get(event) ?? "", subscription);
    add(key, { kind: "settle", seq: settle.seq, settle });
  }
  for (const send of journal.sends) {
    for (const delivery of send.deliveries) {
      const key = keyOf(delivery.event.systemId, delivery.id.subscription);
      add(key, { kind: "send", seq: send.begun.seq, send, delivery });
    }
  }
  return entries;
}

/** What happened to one delivery, with what the store should have held of it all the while. */
function replay(append: Append, entries: readonly Entry[]) {
  const { publishedAt } = append.routed.event;
  let before: Standing = { stage: "deliver", dueAt: publishedAt, attempts: 0, since: publishedAt };
  let lease = null as Lease | null;
  let gone: Settled | null = null;
  let skipped = null as Mark | null;
  const steps: Step[] = [];
  const sent: Sent[] = [];
  const lost: LostLease[] = [];
  const claims = new Map<number, Claimed>();
  const settledOf = new Map<SendNote, Settled>();
  for (const entry of entries) {
    if (entry.kind === "skip" || entry.kind === "hasten") {
      if (gone !== null || skipped !== null || before.stage !== "deliver") continue;
      if (entry.kind === "skip") {
        skipped = { seq: entry.seq, at: entry.skip.at };
      } else if (before.dueAt > entry.hastening.now || entry.hastening.event !== null) {
        const dueAt = Math.min(before.dueAt, entry.hastening.now);
        before = { ...before, dueAt, isHastened: true };
      }
    } else if (entry.kind === "claim") {
      const { delivery, life, seq, at } = entry.claim;
      const mark = { seq, at };
      const step: Claimed = { kind: "claimed", mark, life, before, lease, delivery };
      steps.push(step);
      if (lease?.isOver === false) lost.push(lease);
      claims.set(delivery.lease, step);
      const [from, until] = [at, delivery.leasedUntil];
      lease = { number: delivery.lease, from, until, life, isOver: false };
    } else if (entry.kind === "send") {
      const { send, delivery } = entry;
      const { begun: mark, life } = send;
      const claim = claims.get(delivery.lease) ?? null;
      const step: Sent = { kind: "sent", mark, life, before, lease, send, delivery, claim };
      steps.push(step);
      sent.push(step);
    } else {
      const { settlement, counted: isCounted, life, seq, at } = entry.settle;
      const step: Settled = {
        kind: "settled",
        ...{ mark: { seq, at }, life, before, lease, settlement, isCounted },
        claim: claims.get(settlement.lease) ?? null,
        send: sent.find(({ delivery }) => delivery.lease === settlement.lease)?.send ?? null,
      };
      steps.push(step);
      if (!isCounted) continue;
      if (step.send !== null && !settledOf.has(step.send)) settledOf.set(step.send, step);
      if (lease?.number === settlement.lease) lease = { ...lease, isOver: true };
      if (settlement.kind === "gone") gone ??= step;
      if (settlement.kind !== "due") continue;
      const { stage, at: dueAt, attempts, since } = settlement;
      before = { stage, dueAt, attempts, since };
    }
  }
  return { steps, sent, lost, settledOf, gone, skipped };
}

/** The stage that the store holds at a moment. */
function stageAt(steps: readonly Step[], seq: number): Stage {
  let stage: Stage = "deliver";
  for (const step of steps) {
    if (step.mark.seq > seq) break;
    if (step.kind !== "settled" || !step.isCounted) continue;
    if (step.settlement.kind === "due") stage = step.settlement.stage;
  }
  return stage;
}

function keyOf(systemId: string, subscription: SubscriptionId): string {
  return `${systemId}/${subscription}`;
}
