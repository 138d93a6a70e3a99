// A heap: gives the first item in order, whatever order they were added in. For functions that step
// from one time to the next; the order must be total, so that the same input gives the same output.

export class Heap<T> {
  readonly #comesBefore: (one: T, other: T) => boolean;
  readonly #items: T[] = [];

  constructor(comesBefore: (one: T, other: T) => boolean) {
    this.#comesBefore = comesBefore;
  }

  get size(): number {
    return this.#items.length;
  }

  first(): T | undefined {
    return this.#items[0];
  }

  add(item: T): void {
    this.#items.push(item);
    this.#rise(this.#items.length - 1);
  }

  take(): T | undefined {
    const [first] = this.#items;
    const last = this.#items.pop();
    if (this.#items.length > 0 && last !== undefined) {
      this.#items[0] = last;
      this.#sink(0);
    }
    return first;
  }

  #rise(from: number): void {
    let place = from;
    while (place > 0) {
      const parent = (place - 1) >> 1;
      if (!this.#isBefore(place, parent)) return;
      this.#swap(place, parent);
      place = parent;
    }
  }

  #sink(from: number): void {
    let place = from;
    for (;;) {
      const [left, right] = [2 * place + 1, 2 * place + 2];
      let first = place;
      if (this.#isBefore(left, first)) first = left;
      if (this.#isBefore(right, first)) first = right;
      if (first === place) return;
      this.#swap(place, first);
      place = first;
    }
  }

  #isBefore(place: number, other: number): boolean {
    if (place >= this.#items.length) return false;
    return this.#comesBefore(this.#items[place] as T, this.#items[other] as T);
  }

  #swap(place: number, other: number): void {
    const held = this.#items[place] as T;
    this.#items[place] = this.#items[other] as T;
    this.#items[other] = held;
  }
}
