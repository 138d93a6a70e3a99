// An endpoint, shared by all its dispatchers: its health, the sends in flight, and its allowed
// rate. The rules of health and rate are in core/delivery/health.ts and core/delivery/rate.ts; here
// their state is kept, and dispatchers that wait for a send are nudged. An operator overrides the
// rules: a closed endpoint gets nothing until it is opened.

import {
  alwaysOpen,
  fold,
  type Gate,
  gate,
  type Health,
  type HealthFact,
  type HealthRules,
  healthRules,
  healthSentence,
  healthyStart,
} from "../core/delivery/health.ts";
import {
  type Closure,
  closureText,
  type HealthChange,
  type HealthKind,
  healthChangeText,
} from "../core/delivery/health-text.ts";
import type { Outcome } from "../core/delivery/outcome.ts";
import { changePace, type Pace, readyAhead, takeTurn, turnAt } from "../core/delivery/rate.ts";
import type { Clock, Instant, Log } from "../core/ports.ts";
import type { EndpointState, Trouble } from "../core/steering.ts";
import type { SendBudget } from "./send-budget.ts";

export interface EndpointOptions {
  /** Its name for people: the URL without its query. */
  readonly name: string;
  /** Sends that may be in flight together. */
  readonly sendsMax: number;
  /** Of all endpoints together; without it there is no such bound. */
  readonly budget?: SendBudget | undefined;
  /** Whether the profile makes deliveries to an unhealthy endpoint wait (P-10). */
  readonly delayedDelivery: boolean;
  readonly rules?: HealthRules;
  /** From before a restart; healthy if absent. */
  readonly health?: Health;
  readonly trouble?: Trouble | null;
  /** Called when the kind of its health has changed. */
  readonly onHealth?: (health: Health, trouble: Trouble | null) => void;
  /** What operators have closed, by name; kept by the roster. */
  readonly closures?: ReadonlyMap<string, Closure>;
  readonly clock: Clock;
  readonly log: Log;
}

const closedGate: Gate = { kind: "closed", until: Number.POSITIVE_INFINITY };
/** Changes of its health that are remembered. */
const changesMax = 50;

export class Endpoint {
  readonly #options: EndpointOptions;
  readonly #rules: HealthRules;
  #health: Health;
  /** The latest last. */
  #changes: HealthChange[] = [];
  /** As last logged. */
  #shownKind: HealthKind;
  #pace: Pace | null = null;
  /** Whether an alarm is set for the next allowed send. */
  #isTurnAwaited = false;
  #sends = 0;
  /** In a row, whatever its health: for people. */
  #failures = 0;
  #trouble: Trouble | null;
  /** Whether the last send that ended was a success. */
  #answers = false;
  /** Whether a send has succeeded since it was new or unhealthy. */
  #isKnown = false;
  /** Nudges of waiting dispatchers, in order. */
  readonly #waiting = new Set<() => void>();

  constructor(options: EndpointOptions) {
    this.#options = options;
    this.#rules = options.rules ?? healthRules;
    this.#health = options.health ?? healthyStart;
    // At least as many as make it unhealthy: the exact number is not kept over a restart.
    if (this.#health.kind === "unhealthy") this.#failures = this.#rules.failuresMax;
    this.#trouble = options.trouble ?? null;
    this.#shownKind = this.#kind;
  }

  get #closure(): Closure | null {
    return this.#options.closures?.get(this.#options.name) ?? null;
  }

  /** Its health, in a few words. */
  get words(): string {
    return this.#options.delayedDelivery ? healthSentence(this.#health) : "not watched";
  }

  gate(now: Instant): Gate {
    if (this.#closure !== null) return closedGate;
    return this.#options.delayedDelivery ? gate(this.#health, now) : alwaysOpen;
  }

  /**
   * While an unhealthy endpoint waits for its probe (H-2): which probe that is, so that each
   * differs from the next. Null otherwise.
   */
  probeTurn(now: Instant): Instant | null {
    const health = this.#health;
    if (this.#closure !== null) return null;
    return health.kind === "unhealthy" && health.until <= now ? health.until : null;
  }

  /** How many more sends may begin now; with a rate it is one at a time. */
  room(now: Instant): number {
    const state = this.gate(now);
    if (state.kind === "closed") return 0;
    if (this.#pace !== null && turnAt(this.#pace) > now) return 0;
    const atOnce = Math.min(this.#options.sendsMax, state.atOnce, this.#untriedMax);
    const own = Math.max(0, atOnce - this.#sends);
    return Math.min(own, this.#options.budget?.room(this.#answers) ?? own);
  }

  /** More to one that has never answered would only fail with those that make it unhealthy. */
  get #untriedMax(): number {
    const isOpen = this.#isKnown || !this.#options.delayedDelivery;
    return isOpen ? Number.POSITIVE_INFINITY : this.#rules.failuresMax;
  }

  /** How many sends to have ready besides those in flight: no more than may soon be sent. */
  get ahead(): number {
    return this.#pace === null ? Number.POSITIVE_INFINITY : readyAhead(this.#pace);
  }

  /** Requests a minute, as the endpoint allowed them; null: no limit. */
  setRate(perMinute: number | null): void {
    this.#pace = changePace(this.#pace, perMinute);
  }

  begin(now: Instant): void {
    this.#options.budget?.begin();
    this.#sends += 1;
    this.#fold({ kind: "sent", at: now }, now);
    if (this.#pace === null) return;
    this.#pace = takeTurn(this.#pace, now);
    this.#awaitTurn(this.#pace, now);
  }

  /** `unsent`: we aborted it ourselves, which says nothing about the endpoint. */
  end(
    result: "succeeded" | "failed" | "unsent",
    times: { now: Instant; sentAt: Instant },
    outcome?: Outcome,
  ): void {
    this.#sends -= 1;
    if (result === "failed") this.#failed(times.now, outcome);
    else if (result === "succeeded") this.#succeeded({ isLate: false });
    this.#options.budget?.end();
    const { now, sentAt } = times;
    this.#hear(result === "unsent" ? { kind: result } : { kind: result, at: now, sentAt }, now);
  }

  /** A success that came after the timeout. */
  endLate({ now, sentAt }: { now: Instant; sentAt: Instant }): void {
    this.#succeeded({ isLate: true });
    this.#hear({ kind: "succeeded", at: now, sentAt }, now);
  }

  #failed(now: Instant, outcome: Outcome | undefined): void {
    this.#failures += 1;
    this.#answers = false;
    if (outcome === undefined) return;
    const { late: _late, exchanged: _exchanged, ...said } = { late: null, ...outcome };
    this.#trouble = { since: this.#trouble?.since ?? now, outcome: said as Outcome };
  }

  #succeeded({ isLate }: { readonly isLate: boolean }): void {
    this.#failures = 0;
    // One that needs longer than it has is not given room ahead of others.
    if (!isLate) this.#answers = true;
    this.#isKnown = true;
    this.#trouble = null;
  }

  #hear(fact: HealthFact, now: Instant): void {
    if (this.#fold(fact, now)) this.nudgeAll();
    else this.#nudgeForRoom(now);
  }

  /**
   * For a dispatcher that cannot send or claim now: it is nudged once, when there is room for it or
   * when the gate opens or closes. If it still has to wait then, it calls this again.
   */
  wait(nudge: () => void): void {
    this.#waiting.add(nudge);
    this.#waitForBudget();
  }

  #waitForBudget(): void {
    const { budget } = this.#options;
    const answers = this.#answers;
    if (budget?.room(answers) === 0) budget.wait(this.#nudgeByBudget, answers);
  }

  leave(nudge: () => void): void {
    this.#waiting.delete(nudge);
  }

  /** What may be sent has changed for all that wait. */
  nudgeAll(): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const nudge of waiting) nudge();
  }

  /** A send of any endpoint has ended. */
  readonly #nudgeByBudget = () => {
    this.#nudgeForRoom(this.#options.clock.now());
    if (this.#waiting.size > 0) this.#waitForBudget();
  };

  /** Those that have waited longest first, as long as there is room. */
  #nudgeForRoom(now: Instant): void {
    let left = this.#waiting.size;
    for (const nudge of this.#waiting) {
      if (left === 0 || this.room(now) === 0) return;
      left -= 1;
      this.#waiting.delete(nudge);
      nudge();
    }
  }

  /** For people. */
  look(): EndpointState {
    const { name, delayedDelivery } = this.#options;
    return {
      ...{ name, isDelayed: delayedDelivery, health: this.#health, closure: this.#closure },
      ...{ sends: this.#sends, failures: this.#failures, trouble: this.#trouble },
      ...{ changes: this.#changes, rules: this.#rules },
    };
  }

  /** An operator has closed it. Sends in flight are not aborted. */
  closed({ at, because }: Closure): void {
    this.#note(at, closureText("closed", because));
    this.nudgeAll();
  }

  /** Sends may begin at once, whatever its health was; after a reset it is as if it were new. */
  opened(order: "opened" | "reset", { at, because }: Closure): void {
    if (order === "reset") this.#changes = [];
    this.#failures = 0;
    this.#trouble = null;
    this.#health = healthyStart;
    this.#options.onHealth?.(this.#health, null);
    this.#note(at, closureText(order, because));
    this.nudgeAll();
  }

  /** An operator wants a send now. Returns whether that has brought the next probe forward. */
  hasten(now: Instant): boolean {
    const health = this.#health;
    if (this.#closure !== null || health.kind !== "unhealthy" || health.until <= now) return false;
    this.#health = { ...health, until: now };
    return true;
  }

  get #kind(): HealthKind {
    return this.#closure === null ? this.#health.kind : "closed";
  }

  #note(at: Instant, because: string): void {
    const { name, log } = this.#options;
    const from = this.#shownKind;
    const to = this.#kind;
    this.#shownKind = to;
    this.#changes = [...this.#changes.slice(1 - changesMax), { at, from, to, because }];
    if (from === to) return;
    const until = to === "unhealthy" && "until" in this.#health ? this.#health.until : null;
    log.fact(to === "unhealthy" || to === "closed" ? "warn" : "info", "endpoint.changed", {
      ...{ endpoint: name, from, to, because },
      ...(until === null ? {} : { waitMs: until - at }),
    });
  }

  #awaitTurn(pace: Pace, now: Instant): void {
    if (this.#isTurnAwaited) return;
    this.#isTurnAwaited = true;
    const { clock } = this.#options;
    clock.after(Math.max(0, turnAt(pace) - now), () => {
      this.#isTurnAwaited = false;
      const rungAt = clock.now();
      // More may have been sent within the same millisecond.
      if (this.#pace !== null && turnAt(this.#pace) > rungAt) this.#awaitTurn(this.#pace, rungAt);
      else this.#nudgeForRoom(rungAt);
    });
  }

  /** Returns whether its kind of health has changed. */
  #fold(fact: HealthFact, now: Instant): boolean {
    if (!this.#options.delayedDelivery) return false;
    const before = this.#health;
    this.#health = fold(before, fact, this.#rules);
    if (before.kind === this.#health.kind) return false;
    if (this.#health.kind === "unhealthy") this.#isKnown = false;
    this.#options.onHealth?.(this.#health, this.#trouble);
    const isShown = this.#closure === null;
    if (isShown) this.#note(now, healthChangeText(before, this.#health, this.#rules));
    return true;
  }
}
