// Keeps one pull queue for those who fetch from it: takes away what has expired and what was handed
// out as often as is allowed, into the dead letters or nowhere (N-36, N-42). Receivers do not need
// it: what is to end is never handed out (`Pull` in core/pull/pull-store.ts).
//
// It sleeps until the next lock or life ends, and learns from the store's wakes when that is. After
// a restart, and when the rules of the queue change, it begins with a look.

import type { Delivery } from "../core/delivery/delivery.ts";
import type { FlowState } from "../core/delivery/flow.ts";
import { gatherLetter, type LetterWindow } from "../core/delivery/letter-window.ts";
import type { Clock, Instant, Store } from "../core/ports.ts";
import {
  afterLock,
  expiredSince,
  expiresAt,
  type Fate,
  type PullRules,
  settlementOf,
} from "../core/pull/pull-rules.ts";
import type { Pull } from "../core/pull/pull-store.ts";
import type { Subscription } from "../core/subscription.ts";
import { earlier } from "../core/text/time.ts";
import { PullReport } from "./pull-report.ts";
import { Report, type ReportDeps } from "./report.ts";
import { storeRetryMs } from "./underway.ts";

/** How many are ended in one go, and how long they are ours. */
const pageMax = 500;
const leaseMs = 30_000;

export interface KeeperOptions {
  readonly subscription: Subscription;
  readonly rules: PullRules;
  readonly deps: ReportDeps & { readonly store: Store & Pull; readonly clock: Clock };
  readonly onBroken: (error: unknown) => void;
}

export class QueueKeeper {
  readonly #options: KeeperOptions;
  #rules: PullRules;
  readonly #report: PullReport;
  readonly #failures: Report;
  #letters: LetterWindow | null = null;
  #nextAt: Instant | null = null;
  #callOff: () => void = () => {};
  #holds = 0;
  #isClosed = false;
  /** The look in progress; null: none. */
  #look: Promise<void> | null = null;
  #isAgain = false;

  constructor(options: KeeperOptions) {
    const { subscription, deps, rules } = options;
    this.#options = options;
    this.#rules = rules;
    this.#report = new PullReport(subscription, deps);
    this.#failures = new Report(subscription, deps);
    this.#lookNow();
  }

  /** Something is available, or will be when a lock ends. */
  wake(dueAt: Instant, _deliveries: readonly Delivery[] = []): void {
    const now = this.#options.deps.clock.now();
    // What is new can expire only after a whole life.
    const at = dueAt > now ? dueAt : expiresAt(this.#rules, now, now);
    if (at !== null) this.#plan(earlier(this.#nextAt, at));
  }

  /** Paused queues age nothing. */
  steer(flowState: FlowState): void {
    this.#rules = { ...this.#rules, flowState };
    this.#lookNow();
  }

  hold(): () => void {
    this.#holds += 1;
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.#holds -= 1;
      this.#lookNow();
    };
  }

  /** There is no endpoint to test. */
  hasten(_dueAt: Instant | null): boolean {
    return false;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#callOff();
    await this.#look;
  }

  breakOff(): void {}

  #plan(at: Instant | null): void {
    if (this.#isClosed || (at !== null && at === this.#nextAt)) return;
    this.#callOff();
    this.#nextAt = at;
    if (at === null) return;
    const { clock } = this.#options.deps;
    this.#callOff = clock.after(Math.max(0, at - clock.now()), () => {
      this.#nextAt = null;
      this.#lookNow();
    });
  }

  #lookNow(): void {
    if (this.#isClosed || this.#holds > 0) return;
    if (this.#look !== null) {
      this.#isAgain = true;
      return;
    }
    this.#look = this.#run()
      .catch((error) => this.#break(error))
      .finally(() => {
        this.#look = null;
        if (this.#isAgain) this.#lookNow();
      });
  }

  async #run(): Promise<void> {
    const { deps } = this.#options;
    this.#isAgain = false;
    try {
      while (!this.#isClosed && this.#holds === 0) if (!(await this.#step())) return;
    } catch (error) {
      this.#failures.storeFailed("claim", error);
      this.#plan(deps.clock.now() + storeRetryMs);
    }
  }

  /** Whether there may be more to end now. */
  async #step(): Promise<boolean> {
    const { subscription, deps } = this.#options;
    const { store, clock } = deps;
    const rules = this.#rules;
    const now = clock.now();
    const isPaused = rules.flowState.flow.kind === "paused";
    const since = isPaused ? Number.MIN_SAFE_INTEGER : expiredSince(rules, now);
    const want = { max: pageMax, now, leaseMs, expiredSince: since };
    const { deliveries, nextDueAt, oldestAt } = await store.takeEnded(subscription.id, want);
    if (deliveries.length === 0) {
      const expiryAt = oldestAt === null ? null : expiresAt(rules, oldestAt, now);
      this.#plan(expiryAt === null ? nextDueAt : earlier(nextDueAt, expiryAt));
      return false;
    }
    const fates = deliveries.map((delivery) => this.#gather(afterLock(delivery, rules, now), now));
    const counted = await store.settle(
      deliveries.map((delivery, index) =>
        settlementOf(delivery, fates[index] as Fate, { now, isLocked: false }),
      ),
    );
    for (const [index, delivery] of deliveries.entries()) {
      if (!counted[index]) continue;
      this.#report.settled(delivery, fates[index] as Fate, { now, by: null, rules });
    }
    return true;
  }

  /** Dead letters that end together are written together (L-3). */
  #gather(fate: Fate, now: Instant): Fate {
    if (fate.kind !== "deadLetter") return fate;
    const { window, at } = gatherLetter(this.#letters, now, this.#rules.deadLetterPauseMs);
    this.#letters = window;
    return { ...fate, at };
  }

  #break(error: unknown): void {
    this.#isClosed = true;
    this.#callOff();
    this.#failures.broken(error);
    this.#options.onBroken(error);
  }
}
