// Which values the other side was told of, and the numbers they were given.

/** Those that are recognised by what they contain. */
const keysMax = 1_000;

export class Told<T extends object> {
  readonly #numbers = new WeakMap<T, number>();
  /** A reloaded catalog has new values; most of them are equal to the old ones. */
  readonly #keys = new Map<string | number, number>();
  readonly #sent = new Set<number>();
  #made = 0;

  /** Its number, if the other side knows it. */
  sent(value: T): number | undefined {
    const number = this.#numbers.get(value);
    return number !== undefined && this.#sent.has(number) ? number : undefined;
  }

  /** `key`: the same for equal values. `isNew`: it has to be sent. */
  send(value: T, key: string | number): { readonly number: number; readonly isNew: boolean } {
    const number = this.#keys.get(key) ?? this.#numbers.get(value) ?? ++this.#made;
    this.#numbers.set(value, number);
    this.#keys.set(key, number);
    const oldest = this.#keys.keys().next().value;
    if (this.#keys.size > keysMax && oldest !== undefined) this.#keys.delete(oldest);
    const isNew = !this.#sent.has(number);
    this.#sent.add(number);
    return { number, isNew };
  }

  forget(numbers: readonly number[]): void {
    for (const number of numbers) this.#sent.delete(number);
  }

  forgetAll(): void {
    this.#sent.clear();
  }
}
