// A list in the order of adding, from which anything is taken out at once: for what comes and goes
// with every event. A `Set` can do the same, but costs more than it shows: a table that it has
// outgrown still points at what was in it and at the next table, so that once one of them was kept
// for long, everything that passes through the set afterwards is kept, too, until all of the heap
// is collected. What was taken out of a chain points at nothing.

/** What can be in a chain: in one at a time. */
export interface Linked<T> {
  before: T | null;
  after: T | null;
}

export class Chain<T extends Linked<T>> {
  #first: T | null = null;
  #last: T | null = null;

  /** The oldest; null: it is empty. */
  get first(): T | null {
    return this.#first;
  }

  add(item: T): void {
    const last = this.#last;
    item.before = last;
    if (last === null) this.#first = item;
    else last.after = item;
    this.#last = item;
  }

  /** False: it is not there. */
  remove(item: T): boolean {
    const { before, after } = item;
    if (before === null && this.#first !== item) return false;
    if (before === null) this.#first = after;
    else before.after = after;
    if (after === null) this.#last = before;
    else after.before = before;
    item.before = null;
    item.after = null;
    return true;
  }

  /** As it is now, the oldest first. */
  list(): T[] {
    const items: T[] = [];
    for (let item = this.#first; item !== null; item = item.after) items.push(item);
    return items;
  }
}
