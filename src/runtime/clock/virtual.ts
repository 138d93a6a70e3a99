// Time that stands still until it is moved, for `--clock virtual`. It moves from one alarm to the
// next and never past a moment at which something is still in progress, so that a day of retries
// against real endpoints takes seconds with the same result.
//
// Assumes that real work is announced with `begin`, and that between two such pieces of work there
// are only promises and a few turns of the event loop. Due alarms ring by themselves; nothing here
// makes a later one ring.

import type { Activity, Clock, Instant } from "../../core/ports.ts";
import { Refusal } from "../../core/refusal.ts";
import { isoInstant } from "../../core/text/time.ts";
import { AlarmHeap } from "./alarms.ts";

/** The target. `next`: the earliest alarm, or no move if there is none. */
export type Target = { readonly to: Instant | "next" } | { readonly byMs: number };

/** Turns of the event loop without any activity after which everything counts as idle. */
const calmTurns = 4;

/** Alarms set for the very moment they ring at, again and again: this many times is a bug. */
const roundsPerMomentMax = 100_000;

/** The last moment with a four-digit year in ISO 8601. */
const lastMoment = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

export class VirtualClock implements Clock, Activity {
  readonly #patienceMs: number;
  readonly #alarms = new AlarmHeap();
  #now: Instant;
  /** Pieces of work that time waits for. */
  #underWay = 0;
  /** Grows whenever anything happens at all. */
  #stirs = 0;
  /** Rounds of alarms rung at the current moment since somebody began to wait for idleness. */
  #rounds = 0;
  #isRingingSoon = false;
  #waiting: (() => void)[] = [];
  #turn: Promise<unknown> = Promise.resolve();
  #keep: (now: Instant) => Promise<void> = async () => {};

  /** `patienceMs`: how long, in real time, an endpoint may hold time back. */
  constructor(options: { readonly startAt: Instant; readonly patienceMs: number }) {
    this.#now = options.startAt;
    this.#patienceMs = options.patienceMs;
  }

  /**
   * Called before anything happens: goes to the time reached in an earlier run, unless that is
   * past, and from now on stores each time before anything happens at it. So a later start is never
   * before what was already done.
   */
  resume(reached: Instant, keep: (now: Instant) => Promise<void>): void {
    this.#now = Math.max(this.#now, reached);
    this.#keep = keep;
  }

  now(): Instant {
    return this.#now;
  }

  after(ms: number, ring: () => void): () => void {
    this.#stirs++;
    const due = this.#now + Math.max(0, ms || 0);
    // What would ring after the end of the calendar never does.
    const at = due > lastMoment ? Number.POSITIVE_INFINITY : due;
    const alarm = this.#alarms.add(at, ring);
    if (at <= this.#now) this.#ringSoon();
    return () => this.#alarms.remove(alarm);
  }

  begin(kind: "inside" | "outside"): () => void {
    this.#stirs++;
    this.#underWay++;
    let holds = true;
    const release = () => {
      this.#stirs++;
      if (!holds) return;
      holds = false;
      clearTimeout(patience);
      this.#underWay--;
      if (this.#underWay === 0) for (const go of this.#waiting.splice(0)) go();
    };
    const patience = kind === "outside" ? setTimeout(release, this.#patienceMs) : undefined;
    return release;
  }

  /** Resolves with the new time. Refusal: InvalidSetting, for a time that has passed. */
  advance(target: Target): Promise<Instant> {
    return this.#inTurn(() => this.#advance(target));
  }

  /** The earliest alarm once everything is idle, or null. */
  nextDueAt(): Promise<Instant | null> {
    return this.#inTurn(async () => {
      this.#rounds = 0;
      await this.#quiet();
      return this.#next();
    });
  }

  async #advance(target: Target): Promise<Instant> {
    this.#rounds = 0;
    await this.#quiet();
    const until = this.#resolve(target);
    for (;;) {
      const next = this.#alarms.first();
      if (next === undefined || next.at > until) break;
      await this.#moveTo(next.at);
      this.#rounds = 0;
      this.#ringDue();
      await this.#quiet();
    }
    await this.#moveTo(until);
    return until;
  }

  #next(): Instant | null {
    const at = this.#alarms.first()?.at ?? Number.POSITIVE_INFINITY;
    return at === Number.POSITIVE_INFINITY ? null : at;
  }

  async #moveTo(at: Instant): Promise<void> {
    if (at <= this.#now) return;
    await this.#keep(at);
    this.#now = at;
  }

  #resolve(target: Target): Instant {
    const until =
      "byMs" in target
        ? this.#now + target.byMs
        : target.to === "next"
          ? (this.#next() ?? this.#now)
          : target.to;
    if (until >= this.#now && until <= lastMoment) return until;
    const field = "byMs" in target ? "advance" : "to";
    const limits = `from now (${isoInstant(this.#now)}) to ${isoInstant(lastMoment)}`;
    throw new Refusal("InvalidSetting", `${field} must lead to a moment ${limits}`);
  }

  /** One caller at a time: each result describes a moment between two moves. */
  #inTurn<T>(act: () => Promise<T>): Promise<T> {
    const answer = this.#turn.then(act);
    this.#turn = answer.catch(() => {});
    return answer;
  }

  /** Resolves when nothing is in progress, nothing is due and there is no activity any more. */
  async #quiet(): Promise<void> {
    let calm = 0;
    while (calm < calmTurns) {
      if (this.#underWay > 0) await new Promise<void>((go) => this.#waiting.push(go));
      const seen = this.#stirs;
      await new Promise<void>((go) => setImmediate(go));
      calm = this.#underWay === 0 && this.#stirs === seen ? calm + 1 : 0;
      if (this.#rounds > roundsPerMomentMax) {
        throw new Error(`alarms are set for ${isoInstant(this.#now)} without end`);
      }
    }
  }

  /** Due alarms ring by themselves, but never within the call that set them. */
  #ringSoon(): void {
    if (this.#isRingingSoon) return;
    this.#isRingingSoon = true;
    setImmediate(() => {
      this.#isRingingSoon = false;
      this.#ringDue();
    });
  }

  /** Rings what is due, in order. What is set meanwhile waits for the next round. */
  #ringDue(): void {
    this.#stirs++;
    this.#rounds++;
    const limit = this.#alarms.created;
    try {
      for (;;) {
        const alarm = this.#alarms.first();
        if (alarm === undefined || alarm.at > this.#now || alarm.order >= limit) return;
        this.#alarms.remove(alarm);
        alarm.ring();
      }
    } finally {
      const left = this.#alarms.first();
      if (left !== undefined && left.at <= this.#now) this.#ringSoon();
    }
  }
}
