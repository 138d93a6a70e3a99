// The way of one life's store calls to the disk and back, through the disk's weather. A call that
// fails has not happened. A call that a crash catches before the disk has answered it may happen or
// not; on a store that others use too, it may even happen later.

import type { Clock } from "../../src/core/ports.ts";
import type { Dice } from "./dice.ts";
import { type DiskMood, type Episode, episodeAt, type Weather } from "./weather.ts";

export type Verb = "append" | "claim" | "settle" | "look" | "registry" | "round";

interface Pending {
  readonly verb: Verb;
  readonly perform: () => void;
  cancel: () => void;
}

/** The longest that a call takes on a disk that is erratic, and on one that is slow. */
export const erraticMsMax = 600_000;
export const slowMsMax = 10_000;

const diskErrors = ["disk I/O error", "database or disk is full"] as const;

export class DiskWeather {
  readonly #weather: Weather["disk"];
  readonly #episodes: readonly Episode<DiskMood>[];
  readonly #clock: Clock;
  readonly #dice: Dice;

  constructor(options: {
    readonly weather: Weather["disk"];
    readonly episodes: readonly Episode<DiskMood>[];
    readonly clock: Clock;
    readonly dice: Dice;
  }) {
    this.#weather = options.weather;
    this.#episodes = options.episodes;
    this.#clock = options.clock;
    this.#dice = options.dice;
  }

  get mood(): DiskMood {
    return episodeAt(this.#episodes, this.#clock.now())?.mood ?? "calm";
  }

  wakeDelayMs(): number {
    return this.#dice.whole(0, this.#weather.wakeDelayMsMax);
  }

  /** What is about to happen to a call. */
  plan(verb: Verb): { beforeMs: number; afterMs: number; failure: string | null } {
    const dice = this.#dice;
    const now = this.#clock.now();
    const episode = episodeAt(this.#episodes, now);
    const mood = episode?.mood ?? "calm";
    const { latencyMsMax } = this.#weather;
    const latencyMs = dice.whole(0, latencyMsMax);
    const beforeMs = dice.whole(0, latencyMs);
    const usual = { beforeMs, afterMs: latencyMs - beforeMs, failure: null };
    switch (mood) {
      case "calm":
        return usual;
      case "slow":
        return { ...usual, beforeMs: dice.spread(50, slowMsMax), afterMs: dice.spread(1, 1_000) };
      case "stalled":
        return { ...usual, beforeMs: (episode?.until ?? now) - now + latencyMs };
      case "erratic":
        return dice.isHit(0.1) ? { ...usual, beforeMs: dice.spread(10_000, erraticMsMax) } : usual;
      case "flaky":
        return dice.isHit(0.3) ? { ...usual, failure: diskErrors[0] } : usual;
      case "broken":
        return { ...usual, failure: diskErrors[0] };
      case "full":
        // The embedded store finds out by itself; see SqliteDisk.
        return verb === "round" || verb === "look" ? usual : { ...usual, failure: diskErrors[1] };
      default:
        return mood satisfies never;
    }
  }
}

export class FaultyDiskCalls {
  readonly #weather: DiskWeather;
  readonly #clock: Clock;
  readonly #dice: Dice;
  readonly #pending = new Set<Pending>();

  constructor(options: {
    readonly weather: DiskWeather;
    readonly clock: Clock;
    readonly dice: Dice;
  }) {
    this.#weather = options.weather;
    this.#clock = options.clock;
    this.#dice = options.dice;
  }

  /** `act` does its work before it returns its promise. `fail`: what to answer instead. */
  through<T>(verb: Verb, act: () => Promise<T>, fail: (words: string) => Promise<T>): Promise<T> {
    const { beforeMs, afterMs, failure } = this.#weather.plan(verb);
    return new Promise((resolve, reject) => {
      const perform = () => {
        this.#pending.delete(call);
        const answer = failure === null ? act() : fail(failure);
        answer.then(
          (value) => this.#later(afterMs, () => resolve(value)),
          (error) => this.#later(afterMs, () => reject(error)),
        );
      };
      const call: Pending = { verb, perform, cancel: () => {} };
      if (beforeMs === 0) {
        perform();
      } else {
        this.#pending.add(call);
        call.cancel = this.#clock.after(beforeMs, perform);
      }
    });
  }

  /** Resolves when everything asked so far has been done. */
  async idle(): Promise<void> {
    while (this.#pending.size > 0) await new Promise<void>((go) => this.#clock.after(1_000, go));
  }

  /** The power fails. `isShared`: what is on its way to the store may still arrive there. */
  cut(isShared: boolean): void {
    for (const { verb, perform, cancel } of [...this.#pending]) {
      if (isShared && (verb === "append" || verb === "claim" || verb === "settle")) continue;
      cancel();
      if (this.#dice.isHit(0.5)) perform();
    }
    this.#pending.clear();
  }

  #later(ms: number, act: () => void): void {
    if (ms === 0) act();
    else this.#clock.after(ms, act);
  }
}
