// Receivers of pull queues: they get what is available at once, or wait in line for the next wake
// of the store, the end of a lock, or the end of their patience (N-22 to N-44). A request that
// waits costs a timer and a place in the line, and the store nothing.
//
// Nothing here must outlive the process: locks are in the store, and any broker on it may serve any
// receiver. What was handed out here is remembered for a while only so that an acknowledgement need
// not read it again.

import type { Delivery } from "../core/delivery/delivery.ts";
import type { PolicyDefaults } from "../core/delivery/policy.ts";
import type { Ledger, Seen } from "../core/ledger.ts";
import type { Clock, Instant, Store, Wake } from "../core/ports.ts";
import {
  afterRejection,
  afterRelease,
  afterRenewal,
  expiredSince,
  type Fate,
  type Handed,
  handOut,
  lastReason,
  type PullRules,
  pullRulesOf,
  settlementOf,
  takeBack,
} from "../core/pull/pull-rules.ts";
import type { Pull, Received } from "../core/pull/pull-store.ts";
import type {
  Lock,
  LockOrder,
  PullQueue,
  ReceiveOrder,
  Receivers,
} from "../core/pull/receivers.ts";
import { Refusal } from "../core/refusal.ts";
import type { Subscription, SubscriptionId } from "../core/subscription.ts";
import { PullReport } from "./pull-report.ts";
import type { ReportDeps } from "./report.ts";

/** Event text in one answer. */
const answerCharsMax = 4 * 1024 * 1024;
/** Requests that are put to the store together. */
const askedAtOnce = 16;
/** What is due and not to be had is being handed out by another broker: then it is asked again. */
const elsewhereMs = 100;
/** What is remembered of events that were handed out. */
const rememberedMax = 10_000;
const rememberedCharsMax = 32 * 1024 * 1024;
/** As many as the store reads at a time. */
const lookMax = 1_000;

export interface ReceiversOptions {
  readonly deps: ReportDeps & { readonly store: Store & Pull & Ledger; readonly clock: Clock };
  readonly defaults: PolicyDefaults;
  /** Real time, where the clock is another one: nobody's patience is virtual. */
  readonly patience?: Clock["after"] | undefined;
}

interface Waiter extends ReceiveOrder {
  readonly answer: (deliveries: readonly Delivery[]) => void;
  readonly refuse: (error: unknown) => void;
  /** The store had nothing for it. */
  wasAsked: boolean;
  /** The store is being asked: what it locks is for this one, however long it has waited. */
  isAsking: boolean;
  isDismissed: boolean;
  isGone: boolean;
}

function dismiss(waiter: Waiter): void {
  if (waiter.isAsking) waiter.isDismissed = true;
  else waiter.answer([]);
}

/** Who waits at one queue, in the order of arrival. */
interface Line {
  queue: PullQueue;
  rules: PullRules;
  report: PullReport;
  readonly waiters: Set<Waiter>;
  isServing: boolean;
  /** Something may have become available since the store was asked. */
  isStale: boolean;
  callOff: () => void;
  alarmAt: Instant | null;
}

export class PullReceivers implements Receivers {
  readonly #options: ReceiversOptions;
  readonly #lines = new Map<SubscriptionId, Line>();
  readonly #remembered = new Map<number, Delivery>();
  #rememberedChars = 0;
  #isClosed = false;

  constructor(options: ReceiversOptions) {
    this.#options = options;
    options.deps.store.onWake((wake) => this.#wake(wake));
  }

  async receive(queue: PullQueue, order: ReceiveOrder): Promise<readonly Delivery[]> {
    if (this.#isClosed) return [];
    const line = this.#lineOf(queue);
    const { clock } = this.#options.deps;
    const end = Promise.withResolvers<readonly Delivery[]>();
    const waiter: Waiter = {
      ...{ ...order, answer: end.resolve, refuse: end.reject },
      ...{ wasAsked: false, isAsking: false, isDismissed: false, isGone: false },
    };
    line.waiters.add(waiter);
    const after = [
      clock.after.bind(clock),
      ...(this.#options.patience ? [this.#options.patience] : []),
    ];
    const timers = after.map((each) => each(order.waitMs, () => dismiss(waiter)));
    order.onGone?.(() => {
      waiter.isGone = true;
      line.waiters.delete(waiter);
      waiter.answer([]);
    });
    this.#serve(line);
    try {
      return await end.promise;
    } finally {
      line.waiters.delete(waiter);
      for (const cancel of timers) cancel();
      if (line.waiters.size === 0 && !line.isServing) this.#forget(line);
    }
  }

  async settle(
    queue: PullQueue,
    locks: readonly Lock[],
    order: LockOrder & { readonly by: string },
  ): Promise<readonly boolean[]> {
    const { subscription, topic } = queue;
    const { deps, defaults } = this.#options;
    const now = deps.clock.now();
    const rules = pullRulesOf(subscription, topic, defaults);
    const known = await this.#recall(subscription.id, locks);
    const fates = known.map((one) => (one === null ? null : fateOf(one, order, rules, now)));
    const places = fates.flatMap((fate, place) => (fate === null ? [] : place));
    const settlements = places.map((place) => {
      const handed = { ...(known[place] as Seen), lease: locks[place]?.lease as number };
      return settlementOf(handed, fates[place] as Fate, { now, isLocked: true });
    });
    const told = settlements.length === 0 ? [] : await deps.store.settle(settlements);
    const counted = locks.map(() => false);
    const report = new PullReport(subscription, deps);
    for (const [index, place] of places.entries()) {
      if (told[index] !== true) continue;
      counted[place] = true;
      const fate = fates[place] as Fate;
      if (fate.kind !== "renewed") this.#forgetHanded(locks[place]?.lease as number);
      report.settled(known[place] as Seen, fate, { now, by: order.by, rules });
    }
    report.ordered(order, counted);
    return counted;
  }

  waiting(): ReadonlyMap<SubscriptionId, number> {
    return new Map([...this.#lines].map(([id, { waiters }]) => [id, waiters.size]));
  }

  /** Its settings have changed, or it was paused or resumed. */
  changed(queue: PullQueue): void {
    const line = this.#lines.get(queue.subscription.id);
    if (line === undefined) return;
    this.#renew(line, queue);
    this.#rouse(line);
  }

  /** Whoever waits is refused. */
  removed({ id, name }: Pick<Subscription, "id" | "name">): void {
    const line = this.#lines.get(id);
    if (line === undefined) return;
    const words = `The event subscription '${name}' was deleted while the request waited.`;
    for (const { refuse } of line.waiters) refuse(new Refusal("NotFound", words));
    this.#forget(line);
  }

  /** Whoever waits gets an empty answer, unless the store has one for it. */
  close(): void {
    this.#isClosed = true;
    for (const line of this.#lines.values()) {
      for (const waiter of line.waiters) dismiss(waiter);
      this.#forget(line);
    }
  }

  // The lines.

  #lineOf(queue: PullQueue): Line {
    const { deps, defaults } = this.#options;
    const { subscription, topic } = queue;
    const known = this.#lines.get(subscription.id);
    if (known !== undefined) return known;
    const line: Line = {
      queue,
      rules: pullRulesOf(subscription, topic, defaults),
      report: new PullReport(subscription, deps),
      waiters: new Set(),
      ...{ isServing: false, isStale: false, callOff: () => {}, alarmAt: null },
    };
    this.#lines.set(subscription.id, line);
    return line;
  }

  #renew(line: Line, queue: PullQueue): void {
    const { deps, defaults } = this.#options;
    line.queue = queue;
    line.rules = pullRulesOf(queue.subscription, queue.topic, defaults);
    line.report = new PullReport(queue.subscription, deps);
  }

  #forget(line: Line): void {
    const { id } = line.queue.subscription;
    line.callOff();
    if (this.#lines.get(id) === line) this.#lines.delete(id);
  }

  #wake({ queue, dueAt }: Wake): void {
    if (queue.stage !== "deliver") return;
    const line = this.#lines.get(queue.subscription);
    if (line === undefined) return;
    if (dueAt <= this.#options.deps.clock.now()) this.#rouse(line);
    else this.#alarm(line, dueAt);
  }

  /** Something may be available. */
  #rouse(line: Line): void {
    for (const waiter of line.waiters) waiter.wasAsked = false;
    line.isStale = true;
    this.#serve(line);
  }

  #alarm(line: Line, at: Instant): void {
    if (line.alarmAt !== null && line.alarmAt <= at) return;
    const { clock } = this.#options.deps;
    line.callOff();
    line.alarmAt = at;
    line.callOff = clock.after(Math.max(0, at - clock.now()), () => {
      line.alarmAt = null;
      this.#rouse(line);
    });
  }

  #serve(line: Line): void {
    if (line.isServing) return;
    line.isServing = true;
    void this.#serveAll(line);
  }

  /**
   * Those who have not been asked for yet, a few at a time. When one gets nothing, the others would
   * not either, unless something has happened meanwhile.
   */
  async #serveAll(line: Line): Promise<void> {
    for (;;) {
      const isPaused = line.queue.subscription.flow.kind === "paused";
      const unasked = line.waiters.values().filter(({ wasAsked }) => !wasAsked);
      const next = isPaused ? [] : [...unasked.take(askedAtOnce)];
      if (next.length === 0) break;
      line.isStale = false;
      // Alone first: after a wake there may be one event for many who wait.
      const few = line.waiters.size > askedAtOnce ? next.slice(0, 1) : next;
      const more = await Promise.all(few.map((waiter) => this.#ask(line, waiter)));
      if (more.includes(true) || line.isStale) continue;
      for (const waiter of line.waiters) waiter.wasAsked = true;
    }
    line.isServing = false;
    if (line.waiters.size === 0) this.#forget(line);
  }

  /** Whether there may be more. */
  async #ask(line: Line, waiter: Waiter): Promise<boolean> {
    const { store, clock } = this.#options.deps;
    const { rules, queue, report } = line;
    const now = clock.now();
    waiter.wasAsked = true;
    waiter.isAsking = true;
    let received: Received;
    try {
      received = await store.receive(queue.subscription.id, {
        ...{ max: waiter.max, charsMax: answerCharsMax, now },
        ...{ lockMs: rules.lockMs, attemptsMax: rules.countMax, lastReason },
        expiredSince: expiredSince(rules, now),
      });
    } catch (error) {
      waiter.refuse(error);
      return line.waiters.size > 1;
    } finally {
      waiter.isAsking = false;
    }
    const { deliveries, nextDueAt } = received;
    if (waiter.isGone && deliveries.length > 0) {
      // If the store fails now, the locks run out.
      await store.settle(deliveries.map(takeBack)).catch(() => {});
      return true;
    }
    if (deliveries.length > 0) {
      for (const delivery of deliveries) this.#remember(handOut(delivery, now));
      report.received(deliveries, { by: waiter.by, at: now, rules });
      line.waiters.delete(waiter);
      waiter.answer(deliveries);
    } else if (waiter.isDismissed) waiter.answer([]);
    if (nextDueAt === null) return false;
    if (nextDueAt <= now && deliveries.length > 0) return true;
    this.#alarm(line, nextDueAt > now ? nextDueAt : now + elsewhereMs);
    return false;
  }

  // What was handed out.

  #remember(delivery: Delivery): void {
    this.#remembered.set(delivery.lease, delivery);
    this.#rememberedChars += delivery.event.text.length;
    for (const lease of this.#remembered.keys()) {
      const isMuch = this.#rememberedChars > rememberedCharsMax;
      if (this.#remembered.size <= rememberedMax && !isMuch) break;
      this.#forgetHanded(lease);
    }
  }

  #forgetHanded(lease: number): void {
    const known = this.#remembered.get(lease);
    if (known === undefined) return;
    this.#remembered.delete(lease);
    this.#rememberedChars -= known.event.text.length;
  }

  /** What each lock is about; null: it is gone. */
  async #recall(subscription: SubscriptionId, locks: readonly Lock[]): Promise<(Seen | null)[]> {
    const found = locks.map(({ lease }): Seen | null => this.#remembered.get(lease) ?? null);
    const missing = found.flatMap((one, place) => (one === null ? place : []));
    for (let from = 0; from < missing.length; from += lookMax) {
      const places = missing.slice(from, from + lookMax);
      const ids = places.map((place) => ({ event: locks[place]?.event as number, subscription }));
      const seen = await this.#options.deps.store.look(ids);
      for (const [index, place] of places.entries()) {
        const one = seen[index] ?? null;
        found[place] = one?.stage === "deliver" ? one : null;
      }
    }
    return found;
  }
}

/** Null: the order comes too late. */
function fateOf(handed: Handed, order: LockOrder, rules: PullRules, now: Instant): Fate | null {
  switch (order.kind) {
    case "acknowledge":
      return { kind: "acknowledged" };
    case "reject":
      return afterRejection(rules, now);
    case "renewLock":
      return afterRenewal(handed, rules, now);
    case "release":
      return afterRelease(handed, rules, { now, delayMs: order.delayMs });
    default:
      return order satisfies never;
  }
}
