// An endpoint as all its dispatchers see it: how it is, how many sends to it are under way, and how
// fast it lets us send. The laws of its health and its pace are in core/delivery/health.ts and
// core/delivery/rate.ts; here their state is kept, and those who wait are told. An operator's word
// stands above the law: a closed endpoint gets nothing, whatever its health, until it is opened.

import {
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
import { changePace, type Pace, readyAhead, takeTurn, turnAt } from "../core/delivery/rate.ts";
import type { Clock, Instant, Log } from "../core/ports.ts";
import type { EndpointState } from "../core/steering.ts";

export interface EndpointOptions {
  /** What people call it: the URL without its query. */
  readonly name: string;
  readonly sendsMax: number;
  /** Whether the profile leaves a sick endpoint alone for a while (P-10). */
  readonly delayedDelivery: boolean;
  readonly rules?: HealthRules;
  /** As an operator left it, before a restart perhaps; null: open. */
  readonly closure?: Closure | null;
  readonly clock: Clock;
  readonly log: Log;
}

const alwaysOpen: Gate = { kind: "open", atOnce: Number.POSITIVE_INFINITY };
const closedGate: Gate = { kind: "closed", until: Number.POSITIVE_INFINITY };
/** Changes of its health that are remembered. */
const changesMax = 50;

export class Endpoint {
  readonly #options: EndpointOptions;
  readonly #rules: HealthRules;
  #health: Health = healthyStart;
  #closure: Closure | null;
  /** The latest last. */
  #changes: HealthChange[] = [];
  #pace: Pace | null = null;
  /** Whether those who wait will be told when the next send may go out. */
  #isTurnAwaited = false;
  #sends = 0;
  /** In the order of their turns: whoever was told last is told first next time. */
  readonly #waiting: (() => void)[] = [];

  constructor(options: EndpointOptions) {
    this.#options = options;
    this.#rules = options.rules ?? healthRules;
    this.#closure = options.closure ?? null;
  }

  /** How it is, in a few words. */
  get words(): string {
    return this.#options.delayedDelivery ? healthSentence(this.#health) : "not watched";
  }

  gate(now: Instant): Gate {
    if (this.#closure !== null) return closedGate;
    return this.#options.delayedDelivery ? gate(this.#health, now) : alwaysOpen;
  }

  /**
   * While a sick endpoint waits for the send that tests it (H-2): which turn that is, so that each
   * turn can be told from the next. Null otherwise.
   */
  probeTurn(now: Instant): Instant | null {
    const health = this.#health;
    if (this.#closure !== null) return null;
    return health.kind === "unhealthy" && health.until <= now ? health.until : null;
  }

  /** How many more sends may begin now; with a pace it is one at a time. */
  room(now: Instant): number {
    const state = this.gate(now);
    if (state.kind === "closed") return 0;
    if (this.#pace !== null && turnAt(this.#pace) > now) return 0;
    return Math.max(0, Math.min(this.#options.sendsMax, state.atOnce) - this.#sends);
  }

  /** How many sends to have ready beside those under way: no more than may soon go out. */
  get ahead(): number {
    return this.#pace === null ? Number.POSITIVE_INFINITY : readyAhead(this.#pace);
  }

  /** Requests a minute, as the endpoint allowed them; null: as fast as we can. */
  setRate(perMinute: number | null): void {
    this.#pace = changePace(this.#pace, perMinute);
  }

  begin(now: Instant): void {
    this.#sends += 1;
    this.#fold({ kind: "sent", at: now }, now);
    if (this.#pace === null) return;
    this.#pace = takeTurn(this.#pace, now);
    this.#awaitTurn(this.#pace, now);
  }

  /** `unsent`: we broke it off ourselves, which says nothing about the endpoint. */
  end(result: "succeeded" | "failed" | "unsent", times: { now: Instant; sentAt: Instant }): void {
    this.#sends -= 1;
    if (result === "unsent") this.#fold({ kind: "unsent" }, times.now);
    else this.#fold({ kind: result, at: times.now, sentAt: times.sentAt }, times.now);
    this.#tell();
  }

  /** A success that came after we had stopped waiting for it. */
  endLate(times: { now: Instant; sentAt: Instant }): void {
    this.#fold({ kind: "succeeded", at: times.now, sentAt: times.sentAt }, times.now);
    this.#tell();
  }

  /** Called whenever there may be room, or when the endpoint has turned sick. */
  wait(nudge: () => void): () => void {
    this.#waiting.push(nudge);
    return () => {
      const place = this.#waiting.indexOf(nudge);
      if (place >= 0) this.#waiting.splice(place, 1);
    };
  }

  /** For people. */
  look(): EndpointState {
    const { name, delayedDelivery } = this.#options;
    return {
      ...{ name, isDelayed: delayedDelivery, health: this.#health, closure: this.#closure },
      ...{ sends: this.#sends, changes: this.#changes, rules: this.#rules },
    };
  }

  /** Nothing is sent from now on. Sends under way end as they would have. */
  close(closure: Closure): void {
    const before = this.#kind;
    this.#closure = closure;
    this.#note(before, closure.at, closureText("closed", closure.because));
    this.#tell();
  }

  /** Sends may begin at once, whatever its health was. */
  open({ at, because }: Closure): void {
    this.#clear("opened", { at, because });
  }

  /** As if it were new. */
  reset({ at, because }: Closure): void {
    this.#changes = [];
    this.#clear("reset", { at, because });
  }

  /** Someone wants a send now. Answers whether a sick endpoint's turn has come because of it. */
  hasten(now: Instant): boolean {
    const health = this.#health;
    if (this.#closure !== null || health.kind !== "unhealthy" || health.until <= now) return false;
    this.#health = { ...health, until: now };
    return true;
  }

  #clear(order: "opened" | "reset", { at, because }: Closure): void {
    const before = this.#kind;
    this.#closure = null;
    this.#health = healthyStart;
    this.#note(before, at, closureText(order, because));
    this.#tell();
  }

  get #kind(): HealthKind {
    return this.#closure === null ? this.#health.kind : "closed";
  }

  #note(from: HealthKind, at: Instant, because: string): void {
    const { name, log } = this.#options;
    const to = this.#kind;
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
      // More may have gone out within the same millisecond.
      if (this.#pace !== null && turnAt(this.#pace) > rungAt) this.#awaitTurn(this.#pace, rungAt);
      else this.#tell();
    });
  }

  #tell(): void {
    const first = this.#waiting.shift();
    if (first !== undefined) this.#waiting.push(first);
    for (const nudge of [...this.#waiting]) nudge();
  }

  #fold(fact: HealthFact, now: Instant): void {
    if (!this.#options.delayedDelivery) return;
    const before = this.#health;
    this.#health = fold(before, fact, this.#rules);
    if (before.kind === this.#health.kind || this.#closure !== null) return;
    this.#note(before.kind, now, healthChangeText(before, this.#health, this.#rules));
  }
}
