// The books of a run: what was accepted, where it arrived, and every attempt held against the law:
// none early, none after it was accepted or given up, none beyond its count, none beside another;
// unless a fault at that moment explains it. Judged from outside, by what endpoints saw.

import type { Arrival, ClusterEndpoints } from "./endpoints.ts";

/** Something was wrong with a broker, the network or the database. */
export interface Fault {
  readonly name: string;
  readonly from: number;
  to: number;
}

/** The first step of the schedule; the endpoints fail with 500. */
export const firstWaitMs = 10_000;
/** The subscription to the endpoint that never accepts. */
export const attemptsMax = 2;
/** Between an answer and its settlement, on a busy machine. */
const settleMs = 3_000;
/** Timers of the broker and of us. */
const clockMs = 60;

export class ClusterLedger {
  readonly accepted = new Set<string>();
  readonly #faults: Fault[] = [];
  readonly #leasesLost: Fault[] = [];
  /** Tries of publishes that got no 200. */
  failedTries = 0;
  /** Publishes that no try of an ordinary client got through. */
  readonly given: string[] = [];
  /** The longest time without an accepted event at the steady endpoint. */
  longestPauseMs = 0;

  /** The result ends it. */
  fault(name: string): () => void {
    const fault = { name, from: performance.now(), to: Number.POSITIVE_INFINITY };
    this.#faults.push(fault);
    return () => {
      fault.to = performance.now();
    };
  }

  /** A broker could not renew its lease in time, and noticed it: until then others took over. */
  lostLease(from: number, to: number): void {
    this.#leasesLost.push({ name: "lease lost", from, to });
  }

  #isExplained(from: number, to: number): boolean {
    const isNear = (one: Fault) => one.from - settleMs <= to && one.to + settleMs >= from;
    return this.#faults.some(isNear) || this.#leasesLost.some(isNear);
  }

  lost(endpoints: ClusterEndpoints): readonly string[] {
    return (["steady", "moody"] as const).flatMap((name) => {
      const there = endpoints.accepted(name);
      return [...this.accepted].filter((id) => !there.has(id)).map((id) => `${name} ${id}`);
    });
  }

  /** Sentences: what was against the law. */
  trespasses({ arrivals, crowds }: ClusterEndpoints, concurrency: number): readonly string[] {
    const found: string[] = [];
    for (const [name, all] of Map.groupBy(arrivals, ({ endpoint, id }) => `${endpoint} ${id}`)) {
      const inOrder = all.toSorted((one, other) => one.at - other.at);
      for (const [index, arrival] of inOrder.entries()) {
        const before = inOrder[index - 1];
        if (before !== undefined) found.push(...this.#compare(name, before, arrival));
        if (arrival.endpoint === "never" && arrival.count >= attemptsMax) {
          found.push(`${name}: attempt ${arrival.count + 1} of ${attemptsMax}`);
        }
      }
    }
    for (const [name, { most, at }] of crowds) {
      if (most > concurrency && !this.#isExplained(at, at)) {
        found.push(`${name}: ${most} requests at once, of ${concurrency}`);
      }
    }
    return found;
  }

  *#compare(name: string, before: Arrival, next: Arrival): Iterable<string> {
    const gap = Math.round(next.at - before.answeredAt);
    const isExplained = this.#isExplained(before.at, Math.min(before.answeredAt, next.at));
    if (next.at < before.answeredAt) {
      if (!isExplained) yield `${name}: attempt ${next.count + 1} beside the one before`;
      return;
    }
    if (before.status === 200) {
      if (!isExplained) yield `${name}: sent again ${gap} ms after it was accepted`;
      return;
    }
    if (next.count === before.count) {
      // The one before was not counted: whoever sent it died before that.
      if (!isExplained) yield `${name}: attempt ${next.count + 1} twice, ${gap} ms apart`;
      return;
    }
    if (next.count < before.count) yield `${name}: the count of attempts went back`;
    if (gap < firstWaitMs - clockMs) yield `${name}: sent after ${gap} ms, too early`;
  }

  tell(endpoints: ClusterEndpoints, trespasses: readonly string[]): readonly string[] {
    const lost = this.lost(endpoints);
    const { arrivals } = endpoints;
    const steady = arrivals.filter(({ endpoint }) => endpoint === "steady");
    const again = steady.length - new Set(steady.map(({ id }) => id)).size;
    return [
      `faults ${this.#faults.length}, leases lost ${this.#leasesLost.length}, accepted ${this.accepted.size}, arrivals ${arrivals.length}`,
      `tries without a 200: ${this.failedTries}, publishes given up: ${this.given.length}`,
      `sent again to the steady endpoint: ${again}, longest pause ${Math.round(this.longestPauseMs)} ms`,
      `against the law: ${trespasses.length}, lost: ${lost.length}`,
      ...[...trespasses, ...lost].slice(0, 10).map((words) => `  ${words}`),
    ];
  }
}
