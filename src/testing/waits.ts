// Waiting for something that a test can only observe: a wait ends when what it waits for is so, and
// is looked at again after each change. Nothing is polled, and nothing sleeps.

export type After = (ms: number, ring: () => void) => () => void;

export interface Wait<T> {
  /** Undefined: not yet. */
  readonly look: () => T | undefined;
  /** What is known, when it has lasted too long. */
  readonly describe: () => string;
}

export class Waits {
  readonly #looks = new Set<() => void>();
  readonly #after: After;
  readonly #patienceMs: number;

  /** `after`: a clock of real time. */
  constructor(after: After, patienceMs: number) {
    this.#after = after;
    this.#patienceMs = patienceMs;
  }

  /** Something has changed. */
  note(): void {
    for (const look of this.#looks) look();
  }

  /** Rejects with what is known if it has not come true within the patience, in real time. */
  until<T>({ look, describe }: Wait<T>): Promise<T> {
    const now = look();
    if (now !== undefined) return Promise.resolve(now);
    return new Promise((resolve, reject) => {
      const again = () => {
        const found = look();
        if (found === undefined) return;
        callOff();
        this.#looks.delete(again);
        resolve(found);
      };
      const callOff = this.#after(this.#patienceMs, () => {
        this.#looks.delete(again);
        reject(new Error(`${describe()} (waited ${this.#patienceMs} ms of real time)`));
      });
      this.#looks.add(again);
    });
  }
}
