// The store in memory: the reference implementation. It can be read as the specification of the
// port, and serves users who do not need persistence. Its parts are in memory/: what waits
// (lines.ts), topics and subscriptions (records.ts), pull queues and memos.
//
// Every operation does its whole work before it returns its promise, so nothing can happen in
// between. Deliberately absent: standing claims. A wake here never brings deliveries; the port
// allows that.

import { everythingIsMine, type Ownership } from "../core/cluster/ownership.ts";
import { noPeers, type Peers } from "../core/cluster/peers.ts";
import type { RedrivenNote } from "../core/deadletter/letter-store.ts";
import type { Delivery, DeliveryId, Queue, Stage } from "../core/delivery/delivery.ts";
import type { QueueCount } from "../core/ledger.ts";
import type {
  Claim,
  Instant,
  Routed,
  RoutedBy,
  Settlement,
  Wake,
  Want,
  WholeStore,
} from "../core/ports.ts";
import type { Ended, Ending, Receive, Received } from "../core/pull/pull-store.ts";
import type { Catalog, RecordNames } from "../core/registry.ts";
import type { Memo, SkipStep } from "../core/steering.ts";
import type { Subscription, SubscriptionDraft, SubscriptionId } from "../core/subscription.ts";
import { earlier } from "../core/text/time.ts";
import type { Topic, TopicDraft } from "../core/topic.ts";
import { Lines, leased, look, queueOf } from "./memory/lines.ts";
import { MemoryMemos } from "./memory/memos.ts";
import { countLocked, receive, takeEnded } from "./memory/pull.ts";
import { Records } from "./memory/records.ts";
import { checkRevision, checkRouting } from "./revision.ts";

const stages: readonly Stage[] = ["deliver", "deadLetter"];

export class MemoryStore implements WholeStore {
  readonly ownership: Ownership = everythingIsMine;
  readonly peers: Peers = noPeers;
  readonly #lines = new Lines();
  readonly #records = new Records();
  readonly #memos = new MemoryMemos();
  readonly #wakeListeners: ((wake: Wake) => void)[] = [];
  readonly #changeListeners: ((changed: RecordNames) => void)[] = [];
  readonly #droppedListeners: ((subscription: SubscriptionId, count: number) => void)[] = [];
  #eventsMade = 0;

  // The three verbs.

  async append(routed: readonly Routed[], now: Instant, by?: RoutedBy) {
    checkRouting(by, by && this.#records.markOf(by.topic));
    const numbers: number[] = [];
    const woken = new Set<SubscriptionId>();
    for (const { event, to } of routed) {
      const number = ++this.#eventsMade;
      numbers.push(number);
      for (const subscription of to) {
        if (this.#records.subscription(subscription) === undefined) continue;
        this.#lines.add({
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
        });
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
    for (const row of this.#lines.of(queue)) {
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
      row.lease = this.#lines.newLease();
      row.leasedUntil = want.now + want.leaseMs;
      nextDueAt = earlier(nextDueAt, row.leasedUntil);
      chars += size;
      claimed.push(leased(row, row.leasedUntil));
    }
    return { deliveries: claimed, nextDueAt };
  }

  async settle(settlements: readonly Settlement[]): Promise<readonly boolean[]> {
    return settlements.map((settlement) => this.#settleOne(settlement));
  }

  #settleOne(settlement: Settlement): boolean {
    const row = this.#lines.row(settlement.delivery);
    if (row === undefined || row.lease !== settlement.lease) return false;
    const { lockedAt } = settlement;
    if (lockedAt !== undefined && row.dueAt <= lockedAt) return false;
    const isOpen = this.#records.subscription(row.id.subscription) !== undefined;
    if (settlement.kind === "due" && settlement.stage === "deliver" && !isOpen) return false;
    switch (settlement.kind) {
      case "gone":
        this.#lines.remove(row);
        this.#forgetRetired(row.id.subscription);
        return true;
      case "back":
        if (row.leasedUntil === null) return false;
        row.leasedUntil = null;
        this.#wake(queueOf(row), row.dueAt);
        return true;
      case "due": {
        const { at: dueAt, stage, since, attempts, last, reason } = settlement;
        const change = { dueAt, stage, since, attempts, last, reason };
        this.#lines.move(row, { ...change, leasedUntil: null });
        this.#wake(queueOf(row), dueAt);
        return true;
      }
      default:
        return settlement satisfies never;
    }
  }

  onWake(listener: (wake: Wake) => void): void {
    this.#wakeListeners.push(listener);
  }

  // Pull.

  async receive(subscription: SubscriptionId, want: Receive): Promise<Received> {
    const { spent, ...received } = receive(this.#lines, subscription, want);
    if (spent + received.deliveries.length > 0) {
      this.#wake({ subscription, stage: "deliver" }, want.now + want.lockMs);
    }
    return received;
  }

  async takeEnded(subscription: SubscriptionId, want: Ending): Promise<Ended> {
    return takeEnded(this.#lines, subscription, want);
  }

  async locked(subscriptions: readonly SubscriptionId[], now: Instant): Promise<readonly number[]> {
    return subscriptions.map((subscription) => countLocked(this.#lines, subscription, now));
  }

  // Reading.

  async counts(): Promise<readonly QueueCount[]> {
    return this.#records.ids
      .flatMap((subscription) => stages.map((stage) => ({ subscription, stage })))
      .map((queue) => {
        const line = this.#lines.of(queue);
        const oldestAt = line.reduce((least, row) => Math.min(least, row.since), Infinity);
        const nextDueAt = line.reduce((least, row) => Math.min(least, row.dueAt), Infinity);
        return { ...queue, waiting: line.length, oldestAt, nextDueAt };
      })
      .filter((count) => count.waiting > 0);
  }

  async waiting(queue: Queue, page: { after: number; limit: number }) {
    return this.#lines
      .of(queue)
      .filter((row) => row.id.event > page.after)
      .sort((a, b) => a.id.event - b.id.event)
      .slice(0, Math.min(page.limit, 1000))
      .map(look);
  }

  async look(ids: readonly DeliveryId[]) {
    return ids.map((id) => {
      const row = this.#lines.row(id);
      return row === undefined ? null : look(row);
    });
  }

  // Steering.

  async skip(queue: Queue, _step: SkipStep | null): Promise<{ dropped: number; next: null }> {
    const dropped = this.#lines.clear(queue);
    this.#forgetRetired(queue.subscription);
    return { dropped, next: null };
  }

  async hasten(
    queue: Queue,
    { event, now }: { event: number | null; now: Instant },
  ): Promise<{ hastened: number; isOver: boolean }> {
    const line = this.#lines.of(queue);
    const [head] = line;
    const rows = line.filter((row) => (event === null ? row.dueAt > now : row.id.event === event));
    const isFirst = head === undefined || head.id.event === event;
    const at = event === null || isFirst ? now : Math.min(now, head.dueAt - 1);
    for (const row of rows) this.#lines.move(row, { dueAt: Math.min(row.dueAt, at) });
    if (rows.length > 0) this.#wake(queue, at);
    return { hastened: rows.length, isOver: true };
  }

  async find(systemId: string, after: number): Promise<{ event: number | null; next: null }> {
    for (const { id, event } of this.#lines.rows) {
      if (event.systemId === systemId && id.event > after) return { event: id.event, next: null };
    }
    return { event: null, next: null };
  }

  // Memos.

  notes(kind: string): Promise<readonly Memo[]> {
    return this.#memos.notes(kind);
  }

  putMemo(kind: string, key: string, record: object | null): Promise<void> {
    return this.#memos.putMemo(kind, key, record);
  }

  keepMemo(kind: string, key: string, record: object): Promise<object> {
    return this.#memos.keepMemo(kind, key, record);
  }

  redriven(keys: readonly string[]): Promise<readonly number[]> {
    return this.#memos.redriven(keys);
  }

  noteRedriven(notes: readonly RedrivenNote[]): Promise<void> {
    return this.#memos.noteRedriven(notes);
  }

  // The registry.

  async catalog(only?: RecordNames): Promise<Catalog> {
    return this.#records.read(only);
  }

  async putTopic(draft: TopicDraft, revision?: number): Promise<Topic> {
    const topic = this.#records.putTopic(draft, revision);
    this.#changed([topic.name], []);
    return topic;
  }

  async putSubscription(draft: SubscriptionDraft, revision?: number): Promise<Subscription> {
    const subscription = this.#records.putSubscription(draft, revision);
    this.#changed([], [subscription.id]);
    return subscription;
  }

  async removeTopic(name: string): Promise<readonly SubscriptionId[]> {
    const topic = this.#records.topic(name);
    if (topic === undefined) return [];
    const own = this.#records.subscriptionsOf(topic);
    for (const subscription of own) this.#drop(subscription);
    this.#records.removeTopic(topic);
    const ids = own.map(({ id }) => id);
    this.#changed([topic.name], ids);
    return ids;
  }

  async removeSubscription(id: SubscriptionId, revision?: number): Promise<boolean> {
    const subscription = this.#records.subscription(id);
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

  #drop(subscription: Subscription): void {
    const { id } = subscription;
    const count = this.#lines.clear({ subscription: id, stage: "deliver" });
    this.#records.retire(subscription);
    this.#forgetRetired(id);
    for (const listener of this.#droppedListeners) listener(id, count);
  }

  /** Once the last dead letter of a deleted subscription is gone. */
  #forgetRetired(id: SubscriptionId): void {
    if (this.#lines.of({ subscription: id, stage: "deadLetter" }).length > 0) return;
    this.#records.forgetRetired(id);
  }

  #wake(queue: Queue, dueAt: Instant): void {
    for (const listener of this.#wakeListeners) listener({ queue, dueAt, deliveries: [] });
  }

  #changed(topics: readonly string[], subscriptions: readonly SubscriptionId[]): void {
    for (const listener of this.#changeListeners) listener({ topics, subscriptions });
  }
}
