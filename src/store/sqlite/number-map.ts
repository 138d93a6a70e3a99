// A map from numbers to values, in no order: for what every event is entered into and taken out of.
// JavaScript's own keeps such values for longer than they are needed (see core/chain.ts), and makes
// an object of each number beyond 2^31.

const smallest = 8;

export class NumberMap<T> {
  /** 0: nothing is there. */
  #keys = new Float64Array(smallest);
  #values: (T | undefined)[] = new Array(smallest).fill(undefined);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  has(key: number): boolean {
    return this.#keys[this.#placeOf(key)] === key;
  }

  get(key: number): T | undefined {
    return this.#values[this.#placeOf(key)];
  }

  /** `key`: a whole number above 0. */
  set(key: number, value: T): void {
    const place = this.#placeOf(key);
    this.#values[place] = value;
    if (this.#keys[place] === key) return;
    this.#keys[place] = key;
    this.#size += 1;
    if (2 * this.#size > this.#keys.length) this.#resize(2 * this.#keys.length);
  }

  delete(key: number): boolean {
    const place = this.#placeOf(key);
    if (this.#keys[place] !== key) return false;
    this.#size -= 1;
    this.#close(place);
    const { length } = this.#keys;
    if (length > smallest && 16 * this.#size < length) this.#resize(length / 4);
    return true;
  }

  clear(): void {
    this.#size = 0;
    this.#resize(smallest);
  }

  *keys(): Generator<number> {
    for (const key of this.#keys) if (key !== 0) yield key;
  }

  *values(): Generator<T> {
    for (const [place, key] of this.#keys.entries()) {
      if (key !== 0) yield this.#values[place] as T;
    }
  }

  *[Symbol.iterator](): Generator<readonly [key: number, value: T]> {
    for (const [place, key] of this.#keys.entries()) {
      if (key !== 0) yield [key, this.#values[place] as T];
    }
  }

  /** Where the key is, or where it belongs: it and what shares its place follow each other. */
  #placeOf(key: number): number {
    const keys = this.#keys;
    const mask = keys.length - 1;
    let place = key & mask;
    while (keys[place] !== key && keys[place] !== 0) place = (place + 1) & mask;
    return place;
  }

  /** Empties a place, and moves up what would not be found behind an empty one. */
  #close(from: number): void {
    const keys = this.#keys;
    const mask = keys.length - 1;
    let empty = from;
    for (let place = (from + 1) & mask; keys[place] !== 0; place = (place + 1) & mask) {
      const home = (keys[place] as number) & mask;
      if (((place - home) & mask) < ((place - empty) & mask)) continue;
      keys[empty] = keys[place] as number;
      this.#values[empty] = this.#values[place];
      empty = place;
    }
    keys[empty] = 0;
    this.#values[empty] = undefined;
  }

  #resize(length: number): void {
    const [keys, values] = [this.#keys, this.#values];
    this.#keys = new Float64Array(length);
    this.#values = new Array(length).fill(undefined);
    if (this.#size === 0) return;
    for (let from = 0; from < keys.length; from += 1) {
      const key = keys[from] as number;
      if (key === 0) continue;
      const place = this.#placeOf(key);
      this.#keys[place] = key;
      this.#values[place] = values[from];
    }
  }
}
