// One process of the simulated cluster: it can crash, be frozen and thawed, be cut off from the
// database, and its clock may differ from everyone else's. Everything that comes back to it, an
// answer or an alarm, comes through here. A dead process hears nothing more; a frozen one hears it
// all when it thaws, in any order.

import type { Clock } from "../../../src/core/ports.ts";
import type { Dice } from "../dice.ts";

/** When something was wrong with the process; `until` is open while it is. */
export interface Disturbance {
  readonly kind: "crash" | "freeze" | "cut" | "stop";
  readonly from: number;
  until: number;
}

export class Process {
  readonly name: string;
  readonly disturbances: Disturbance[] = [];
  readonly #clock: Clock;
  readonly #dice: Dice;
  /** How far its clock is ahead of the database's. */
  readonly skewMs: number;
  #isAlive = true;
  #isCut = false;
  #held: (() => void)[] | null = null;

  constructor(name: string, options: { clock: Clock; dice: Dice; skewMs: number }) {
    this.name = name;
    this.#clock = options.clock;
    this.#dice = options.dice;
    this.skewMs = options.skewMs;
  }

  get isAlive(): boolean {
    return this.#isAlive;
  }

  get isFrozen(): boolean {
    return this.#held !== null;
  }

  get isCut(): boolean {
    return this.#isCut;
  }

  /** Milliseconds that only count. */
  elapsed = () => this.#clock.now();

  clock: Clock = {
    now: () => this.#clock.now() + this.skewMs,
    after: (ms, ring) => {
      let isOff = false;
      const cancel = this.#clock.after(Math.max(0, Math.round(ms)), () =>
        this.#hear(() => {
          if (!isOff) ring();
        }),
      );
      return () => {
        isOff = true;
        cancel();
      };
    },
  };

  /** What comes from outside: an answer, a notice. */
  hear<T>(answer: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      answer.then(
        (value) => this.#hear(() => resolve(value)),
        (error) => this.#hear(() => reject(error)),
      );
    });
  }

  /** A notice from the database: lost while there is no way to it. */
  notice(act: () => void): void {
    if (!this.#isCut) this.#hear(act);
  }

  crash(): void {
    this.#begin("crash");
    this.#isAlive = false;
    this.#held = null;
  }

  /** It has left politely. */
  stopped(): void {
    this.#begin("stop");
    this.#isAlive = false;
  }

  freeze(): void {
    this.#begin("freeze");
    this.#held = [];
  }

  thaw(): void {
    this.#end("freeze");
    const held = this.#held ?? [];
    this.#held = null;
    while (held.length > 0) {
      const [act] = held.splice(this.#dice.whole(0, held.length - 1), 1);
      this.#hear(act ?? (() => {}));
    }
  }

  cut(): void {
    this.#begin("cut");
    this.#isCut = true;
  }

  join(): void {
    this.#end("cut");
    this.#isCut = false;
  }

  /** Whether anything was wrong with it in this time, or shortly before or after. */
  isDisturbed(from: number, until: number, slackMs: number): boolean {
    return this.disturbances.some(
      (one) => one.from <= until + slackMs && one.until >= from - slackMs,
    );
  }

  #begin(kind: Disturbance["kind"]): void {
    this.disturbances.push({ kind, from: this.#clock.now(), until: Number.POSITIVE_INFINITY });
  }

  #end(kind: Disturbance["kind"]): void {
    const open = this.disturbances.findLast((one) => one.kind === kind);
    if (open !== undefined) open.until = this.#clock.now();
  }

  #hear(act: () => void): void {
    if (!this.#isAlive) return;
    if (this.#held !== null) this.#held.push(act);
    else act();
  }
}
