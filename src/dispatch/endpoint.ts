// An endpoint as all its dispatchers see it: how it is, and how many sends to it are under way. The
// law of its health is core/health.ts; here its state is kept, and those who wait are told.

import {
  fold,
  type Gate,
  gate,
  type Health,
  type HealthFact,
  healthyStart,
} from "../core/health.ts";
import type { Instant, Log } from "../core/ports.ts";

export interface EndpointOptions {
  /** What people call it: the URL without its query. */
  readonly name: string;
  readonly sendsMax: number;
  /** Whether the profile leaves a sick endpoint alone for a while (P-10). */
  readonly delayedDelivery: boolean;
  readonly log: Log;
}

const alwaysOpen: Gate = { kind: "open", atOnce: Number.POSITIVE_INFINITY };

export class Endpoint {
  readonly #options: EndpointOptions;
  #health: Health = healthyStart;
  #sends = 0;
  /** In the order of their turns: whoever was told last is told first next time. */
  readonly #waiting: (() => void)[] = [];

  constructor(options: EndpointOptions) {
    this.#options = options;
  }

  gate(now: Instant): Gate {
    return this.#options.delayedDelivery ? gate(this.#health, now) : alwaysOpen;
  }

  /**
   * While a sick endpoint waits for the send that tests it (H-2): which turn that is, so that each turn
   * can be told from the next. Null otherwise.
   */
  probeTurn(now: Instant): Instant | null {
    const health = this.#health;
    return health.kind === "unhealthy" && health.until <= now ? health.until : null;
  }

  /** How many more sends may begin now. */
  room(now: Instant): number {
    const state = this.gate(now);
    if (state.kind === "closed") return 0;
    return Math.max(0, Math.min(this.#options.sendsMax, state.atOnce) - this.#sends);
  }

  begin(now: Instant): void {
    this.#sends += 1;
    this.#fold({ kind: "sent", at: now }, now);
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

  #tell(): void {
    const first = this.#waiting.shift();
    if (first !== undefined) this.#waiting.push(first);
    for (const nudge of [...this.#waiting]) nudge();
  }

  #fold(fact: HealthFact, now: Instant): void {
    if (!this.#options.delayedDelivery) return;
    const before = this.#health;
    this.#health = fold(before, fact);
    if (before.kind === this.#health.kind) return;
    const { name, log } = this.#options;
    const until = this.#health.kind === "unhealthy" ? this.#health.until : undefined;
    log.fact(until === undefined ? "info" : "warn", "endpoint.changed", {
      endpoint: name,
      from: before.kind,
      to: this.#health.kind,
      ...(until === undefined ? {} : { waitMs: until - now }),
    });
  }
}
