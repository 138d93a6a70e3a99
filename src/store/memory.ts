// The store in memory: the reference implementation. It can be read as the specification of the
// port, and serves users who do not need persistence. Queues are sorted arrays, so that a backlog
// costs a binary search and not a sort.
//
// Every operation does its whole work before it returns its promise, so nothing can happen in
// between. Deliberately absent: standing claims. A wake here never brings deliveries; the port
// allows that.

import { everythingIsMine, type Ownership } from "../core/cluster/ownership.ts";
import { noPeers, type Peers } from "../core/cluster/peers.ts";
import type { RedrivenNote } from "../core/deadletter/letter-store.ts";
import { redriveLimits } from "../core/deadletter/redrive.ts";
import type { Event } from "../core/event.ts";
import type {
  Catalog,
  Claim,
  Delivery,
  DeliveryId,
  Ended,
  Ending,
  Instant,
  LastAttempt,
  Queue,
  QueueCount,
  Receive,
  Received,
  RecordNames,
  Routed,
  RoutedBy,
  Seen,
  Settlement,
  Stage,
  Wake,
  Want,
  WholeStore,
} from "../core/ports.ts";
import { receivedOutcome } from "../core/pull/pull-rules.ts";
import { Refusal } from "../core/refusal.ts";
import { routingMark } from "../core/routing/routing-mark.ts";
import type { Memo, SkipStep } from "../core/steering.ts";
import type { Subscription, SubscriptionDraft, SubscriptionId } from "../core/subscription.ts";
import { earlier } from "../core/text/time.ts";
import type { Topic, TopicDraft } from "../core/topic.ts";
import { checkRevision, checkRouting } from "./revision.ts";

interface Row {
  readonly id: DeliveryId;
  readonly event: Event;
  stage: Stage;
  dueAt: Instant;
  since: Instant;
  attempts: number;
  last: LastAttempt | null;
  reason: string | null;
  /** The latest lease ever given; 0 before the first. */
  lease: number;
  /** Null when it is not leased. */
  leasedUntil: Instant | null;
}

const stages: readonly Stage[] = ["deliver", "deadLetter"];

export class MemoryStore implements WholeStore {
  readonly ownership: Ownership = everythingIsMine;
  readonly peers: Peers = noPeers;
  readonly #rows = new Map<string, Row>();
  /** The rows of each queue, by due time and then by event. */
  readonly #lines = new Map<string, Row[]>();
  readonly #topics = new Map<string, Topic>();
  readonly #subscriptions = new Map<SubscriptionId, Subscription>();
  /** By topic and name. */
  readonly #subscriptionIds = new Map<string, SubscriptionId>();
  readonly #notes = new Map<string, Map<string, object>>();
  /** In the order in which they were last noted. */
  readonly #redriven = new Map<string, number>();
  readonly #wakeListeners: ((wake: Wake) => void)[] = [];
  readonly #changeListeners: ((changed: RecordNames) => void)[] = [];
  readonly #droppedListeners: ((subscription: SubscriptionId, count: number) => void)[] = [];
  #eventsMade = 0;
  #leasesMade = 0;
  /** Deleted, with dead letters that are yet to be written. */
  readonly #retired = new Map<SubscriptionId, Subscription>();
  #subscriptionsMade = 0;
  #revisionsMade = 0;

  // The three verbs.

  async append(routed: readonly Routed[], now: Instant, by?: RoutedBy) {
    checkRouting(by, by && this.#markOf(by.topic));
    const numbers: number[] = [];
    const woken = new Set<SubscriptionId>();
    for (const { event, to } of routed) {
      const number = ++this.#eventsMade;
      numbers.push(number);
      for (const subscription of to) {
        if (!this.#subscriptions.has(subscription)) continue;
        const row: Row = {
          id: { event: number, subscription },
          event,
          stage: "deliver",
          dueAt: now,
          since: event.publishedAt,
          attempts: 0,
          last: null,
          reason: null,
          lease: 0,
          leasedUntil: null,
        };
        this.#rows.set(rowKey(row.id), row);
        this.#enqueue(row);
        woken.add(subscription);
      }
    }
    for (const subscription of woken) this.#wake({ subscription, stage: "deliver" }, now);
    return numbers;
  }

  async claim(queue: Queue, want: Want): Promise<Claim> {
    const claimed: Delivery[] = [];
    let chars = 0;
    let nextDueAt: Instant | null = null;
    for (const row of this.#line(queue)) {
      if (row.leasedUntil !== null && row.leasedUntil > want.now) {
        nextDueAt = earlier(nextDueAt, row.leasedUntil);
        continue;
      }
      const isWanted = want.sinceBefore === undefined || row.since <= want.sinceBefore;
      const size = row.event.text.length;
      const fits = claimed.length < want.max && (chars === 0 || chars + size <= want.charsMax);
      if (row.dueAt > want.now || (isWanted && !fits)) {
        nextDueAt = earlier(nextDueAt, row.dueAt);
        break;
      }
      if (!isWanted) {
        nextDueAt = earlier(nextDueAt, row.dueAt);
        continue;
      }
      row.lease = ++this.#leasesMade;
      row.leasedUntil = want.now + want.leaseMs;
      nextDueAt = earlier(nextDueAt, row.leasedUntil);
      chars += size;
      claimed.push({ ...look(row), lease: row.lease, leasedUntil: row.leasedUntil });
    }
    return { deliveries: claimed, nextDueAt };
  }

  async settle(settlements: readonly Settlement[]): Promise<readonly boolean[]> {
    return settlements.map((settlement) => this.#settleOne(settlement));
  }

  #settleOne(settlement: Settlement): boolean {
    const row = this.#rows.get(rowKey(settlement.delivery));
    if (row === undefined || row.lease !== settlement.lease) return false;
    const { lockedAt } = settlement;
    if (lockedAt !== undefined && row.dueAt <= lockedAt) return false;
    const isOpen = this.#subscriptions.has(row.id.subscription);
    if (settlement.kind === "due" && settlement.stage === "deliver" && !isOpen) return false;
    switch (settlement.kind) {
      case "gone":
        this.#dequeue(row);
        this.#rows.delete(rowKey(row.id));
        this.#forgetRetired(row.id.subscription);
        return true;
      case "back":
        if (row.leasedUntil === null) return false;
        row.leasedUntil = null;
        this.#wake({ subscription: row.id.subscription, stage: row.stage }, row.dueAt);
        return true;
      case "due":
        this.#dequeue(row);
        row.leasedUntil = null;
        row.dueAt = settlement.at;
        row.stage = settlement.stage;
        row.since = settlement.since;
        row.attempts = settlement.attempts;
        row.last = settlement.last;
        row.reason = settlement.reason;
        this.#enqueue(row);
        this.#wake({ subscription: row.id.subscription, stage: row.stage }, row.dueAt);
        return true;
      default:
        return settlement satisfies never;
    }
  }

  onWake(listener: (wake: Wake) => void): void {
    this.#wakeListeners.push(listener);
  }

  // Pull.

  async receive(subscription: SubscriptionId, want: Receive): Promise<Received> {
    const queue = { subscription, stage: "deliver" } as const;
    const { now, lockMs, attemptsMax, lastReason } = want;
    const handed: Row[] = [];
    let chars = 0;
    for (const row of this.#line(queue)) {
      if (row.dueAt > now) break;
      if (row.reason !== null || row.since <= want.expiredSince) continue;
      if (row.attempts >= attemptsMax) {
        row.reason = lastReason;
        continue;
      }
      const size = row.event.text.length;
      if (handed.length >= want.max || (chars > 0 && chars + size > want.charsMax)) break;
      chars += size;
      handed.push(row);
    }
    const deliveries = handed.map((row): Delivery => {
      const { dueAt, last } = row;
      const number = row.attempts + 1;
      row.attempts = number;
      row.last = { at: now, number, outcome: receivedOutcome, status: null };
      row.reason = number >= attemptsMax ? lastReason : null;
      this.#lock(row, now + lockMs);
      return { ...leased(row), dueAt, last };
    });
    if (handed.length > 0) this.#wake(queue, now + lockMs);
    const next = this.#line(queue).find(
      ({ reason, since }) => reason === null && since > want.expiredSince,
    );
    return { deliveries, nextDueAt: next?.dueAt ?? null };
  }

  async takeEnded(subscription: SubscriptionId, want: Ending): Promise<Ended> {
    const { now, expiredSince, leaseMs } = want;
    const line = this.#line({ subscription, stage: "deliver" });
    const isToEnd = ({ reason, since }: Row) => reason !== null || since <= expiredSince;
    const taken = line.filter((row) => isToEnd(row) && row.dueAt <= now).slice(0, want.max);
    for (const row of taken) this.#lock(row, now + leaseMs);
    const next = line.find((row) => isToEnd(row) && !taken.includes(row));
    const lives = line.filter((row) => !isToEnd(row)).map(({ since }) => since);
    return {
      deliveries: taken.map(leased),
      nextDueAt: next?.dueAt ?? null,
      oldestAt: lives.length === 0 ? null : Math.min(...lives),
    };
  }

  async locked(subscriptions: readonly SubscriptionId[], now: Instant): Promise<readonly number[]> {
    return subscriptions.map((subscription) => {
      const line = this.#line({ subscription, stage: "deliver" });
      return line.filter(({ dueAt }) => dueAt > now).length;
    });
  }

  /** Leased until then, for whoever asks. */
  #lock(row: Row, until: Instant): void {
    this.#dequeue(row);
    row.lease = ++this.#leasesMade;
    row.leasedUntil = null;
    row.dueAt = until;
    this.#enqueue(row);
  }

  // Reading.

  async counts(): Promise<readonly QueueCount[]> {
    return [...this.#subscriptions.keys(), ...this.#retired.keys()]
      .flatMap((subscription) => stages.map((stage) => ({ subscription, stage })))
      .map((queue) => {
        const line = this.#line(queue);
        const oldestAt = line.reduce((least, row) => Math.min(least, row.since), Infinity);
        const nextDueAt = line.reduce((least, row) => Math.min(least, row.dueAt), Infinity);
        return { ...queue, waiting: line.length, oldestAt, nextDueAt };
      })
      .filter((count) => count.waiting > 0);
  }

  async waiting(queue: Queue, page: { after: number; limit: number }) {
    return this.#line(queue)
      .filter((row) => row.id.event > page.after)
      .sort((a, b) => a.id.event - b.id.event)
      .slice(0, Math.min(page.limit, 1000))
      .map(look);
  }

  async look(ids: readonly DeliveryId[]) {
    return ids.map((id) => {
      const row = this.#rows.get(rowKey(id));
      return row === undefined ? null : look(row);
    });
  }

  // Steering.

  async skip(queue: Queue, _step: SkipStep | null): Promise<{ dropped: number; next: null }> {
    const line = this.#line(queue);
    for (const row of line) this.#rows.delete(rowKey(row.id));
    const dropped = line.splice(0).length;
    this.#forgetRetired(queue.subscription);
    return { dropped, next: null };
  }

  async hasten(
    queue: Queue,
    { event, now }: { event: number | null; now: Instant },
  ): Promise<{ hastened: number; isOver: boolean }> {
    const line = this.#line(queue);
    const [head] = line;
    const rows = line.filter((row) => (event === null ? row.dueAt > now : row.id.event === event));
    const isFirst = head === undefined || head.id.event === event;
    const at = event === null || isFirst ? now : Math.min(now, head.dueAt - 1);
    for (const row of rows) {
      this.#dequeue(row);
      row.dueAt = Math.min(row.dueAt, at);
      this.#enqueue(row);
    }
    if (rows.length > 0) this.#wake(queue, at);
    return { hastened: rows.length, isOver: true };
  }

  async find(systemId: string, after: number): Promise<{ event: number | null; next: null }> {
    for (const { id, event } of this.#rows.values()) {
      if (event.systemId === systemId && id.event > after) return { event: id.event, next: null };
    }
    return { event: null, next: null };
  }

  // Notes.

  async notes(kind: string): Promise<readonly Memo[]> {
    return [...(this.#notes.get(kind) ?? [])]
      .map(([key, record]) => ({ key, record }))
      .toSorted((a, b) => (a.key < b.key ? -1 : 1));
  }

  async putMemo(kind: string, key: string, record: object | null): Promise<void> {
    const notes = this.#notes.get(kind) ?? new Map<string, object>();
    this.#notes.set(kind, notes);
    if (record === null) notes.delete(key);
    else notes.set(key, structuredClone(record));
  }

  async keepMemo(kind: string, key: string, record: object): Promise<object> {
    const kept = this.#notes.get(kind)?.get(key);
    if (kept === undefined) await this.putMemo(kind, key, record);
    return kept ?? record;
  }

  async redriven(keys: readonly string[]): Promise<readonly number[]> {
    return keys.map((key) => this.#redriven.get(key) ?? 0);
  }

  async noteRedriven(notes: readonly RedrivenNote[]): Promise<void> {
    for (const { key, times } of notes) {
      const known = this.#redriven.get(key) ?? 0;
      this.#redriven.delete(key);
      this.#redriven.set(key, Math.max(known + 1, times));
    }
    for (const key of this.#redriven.keys()) {
      if (this.#redriven.size <= redriveLimits.rememberedMax) break;
      this.#redriven.delete(key);
    }
  }

  // The registry.

  async catalog(only?: RecordNames): Promise<Catalog> {
    const names = only?.topics.map((name) => name.toLowerCase()) ?? this.#topics.keys();
    const ids = only?.subscriptions ?? this.#subscriptions.keys();
    const retired = (only?.subscriptions ?? [...this.#retired.keys()]).flatMap(
      (id) => this.#retired.get(id) ?? [],
    );
    return {
      topics: [...names].flatMap((name) => this.#topics.get(name) ?? []),
      subscriptions: [...ids].flatMap((id) => this.#subscriptions.get(id) ?? []),
      ...(retired.length > 0 && { retired }),
    };
  }

  async putTopic(draft: TopicDraft, revision?: number): Promise<Topic> {
    const old = this.#topics.get(draft.name.toLowerCase());
    checkRevision(old?.revision, revision);
    const topic: Topic = {
      ...draft,
      name: old?.name ?? draft.name,
      revision: this.#nextRevision(),
    };
    this.#topics.set(topic.name.toLowerCase(), topic);
    this.#changed([topic.name], []);
    return topic;
  }

  async putSubscription(draft: SubscriptionDraft, revision?: number): Promise<Subscription> {
    const topic = this.#topics.get(draft.topic.toLowerCase());
    if (topic === undefined) throw new Refusal("NotFound", `There is no topic '${draft.topic}'.`);
    const old = this.#subscriptions.get(this.#subscriptionIds.get(nameKey(draft)) ?? 0);
    checkRevision(old?.revision, revision);
    const subscription: Subscription = {
      ...draft,
      topic: topic.name,
      name: old?.name ?? draft.name,
      id: old?.id ?? ++this.#subscriptionsMade,
      revision: this.#nextRevision(),
    };
    this.#subscriptions.set(subscription.id, subscription);
    this.#subscriptionIds.set(nameKey(subscription), subscription.id);
    this.#changed([], [subscription.id]);
    return subscription;
  }

  async removeTopic(name: string): Promise<readonly SubscriptionId[]> {
    const topic = this.#topics.get(name.toLowerCase());
    if (topic === undefined) return [];
    const own = [...this.#subscriptions.values()].filter((one) => one.topic === topic.name);
    for (const subscription of own) this.#drop(subscription);
    this.#topics.delete(name.toLowerCase());
    const ids = own.map(({ id }) => id);
    this.#changed([topic.name], ids);
    return ids;
  }

  async removeSubscription(id: SubscriptionId, revision?: number): Promise<boolean> {
    const subscription = this.#subscriptions.get(id);
    if (subscription === undefined) return false;
    checkRevision(subscription.revision, revision);
    this.#drop(subscription);
    this.#changed([], [id]);
    return true;
  }

  onChange(listener: (changed: RecordNames) => void): void {
    this.#changeListeners.push(listener);
  }

  onDropped(listener: (subscription: SubscriptionId, count: number) => void): void {
    this.#droppedListeners.push(listener);
  }

  // Inside.

  #markOf(name: string): number | null {
    const topic = this.#topics.get(name.toLowerCase());
    if (topic === undefined) return null;
    const own = [...this.#subscriptions.values()].filter((one) => one.topic === topic.name);
    return routingMark(topic.revision, own);
  }

  #drop(subscription: Subscription): void {
    const { id } = subscription;
    const queue = { subscription: id, stage: "deliver" } as const;
    const count = this.#line(queue).length;
    for (const row of this.#line(queue)) this.#rows.delete(rowKey(row.id));
    this.#lines.delete(lineKey(queue));
    this.#retired.set(id, subscription);
    this.#forgetRetired(id);
    this.#subscriptions.delete(id);
    this.#subscriptionIds.delete(nameKey(subscription));
    for (const listener of this.#droppedListeners) listener(id, count);
  }

  /** Once its last dead letter is gone. */
  #forgetRetired(id: SubscriptionId): void {
    const queue = { subscription: id, stage: "deadLetter" } as const;
    if (!this.#retired.has(id) || this.#line(queue).length > 0) return;
    this.#retired.delete(id);
    this.#lines.delete(lineKey(queue));
  }

  #line(queue: Queue): Row[] {
    const key = lineKey(queue);
    let line = this.#lines.get(key);
    if (line === undefined) {
      line = [];
      this.#lines.set(key, line);
    }
    return line;
  }

  #enqueue(row: Row): void {
    const line = this.#line({ subscription: row.id.subscription, stage: row.stage });
    line.splice(placeOf(line, row), 0, row);
  }

  #dequeue(row: Row): void {
    const line = this.#line({ subscription: row.id.subscription, stage: row.stage });
    line.splice(placeOf(line, row), 1);
  }

  #wake(queue: Queue, dueAt: Instant): void {
    for (const listener of this.#wakeListeners) listener({ queue, dueAt, deliveries: [] });
  }

  #changed(topics: readonly string[], subscriptions: readonly SubscriptionId[]): void {
    for (const listener of this.#changeListeners) listener({ topics, subscriptions });
  }

  #nextRevision(): number {
    this.#revisionsMade += 1;
    return this.#revisionsMade;
  }
}

function leased(row: Row): Delivery {
  return { ...look(row), lease: row.lease, leasedUntil: row.dueAt };
}

function look(row: Row): Seen {
  const { id, stage, dueAt, attempts, since, last, reason, event } = row;
  return { id, stage, dueAt, attempts, since, last, reason, event };
}

/** The row's position in the sorted queue, or where it would be inserted. */
function placeOf(line: readonly Row[], row: Row): number {
  let low = 0;
  let high = line.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const other = line[middle] as Row;
    if (other.dueAt < row.dueAt || (other.dueAt === row.dueAt && other.id.event < row.id.event)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

function nameKey({ topic, domainTopic, name }: SubscriptionDraft): string {
  return `${topic}/${domainTopic ?? ""}/${name}`.toLowerCase();
}

function rowKey(id: DeliveryId): string {
  return `${id.event}/${id.subscription}`;
}

function lineKey(queue: Queue): string {
  return `${queue.subscription}/${queue.stage}`;
}
