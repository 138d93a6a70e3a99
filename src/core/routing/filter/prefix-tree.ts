// A tree of beginnings, or of ends: which of them does a text have? The answer takes as many steps
// as there are branches on the way, however many there are in all; one more or one less changes one
// branch. Edges hold whole pieces of text, so that a tree is as large as what is filed in it.

/** From which side a text is read. Positions are counted from there. */
interface Side {
  unitAt(text: string, place: number): number;
  has(text: string, piece: string, from: number): boolean;
  piece(text: string, from: number, to?: number): string;
}

const front: Side = {
  unitAt: (text, place) => text.charCodeAt(place),
  has: (text, piece, from) => text.startsWith(piece, from),
  piece: (text, from, to) => text.slice(from, to),
};

const back: Side = {
  unitAt: (text, place) => text.charCodeAt(text.length - 1 - place),
  has: (text, piece, from) => from <= text.length && text.endsWith(piece, text.length - from),
  piece: (text, from, to = text.length) => text.slice(text.length - to, text.length - from),
};

interface Branch<T> {
  /** From its parent on. */
  piece: string;
  /** How often exactly this text was added, and how often this or one that continues it. */
  own: number;
  within: number;
  readonly filed: T[];
  readonly next: Map<number, Branch<T>>;
}

export class PrefixTree<T> {
  readonly #side: Side;
  readonly #root: Branch<T> = newBranch("", 0);

  constructor(side: "front" | "back") {
    this.#side = side === "front" ? front : back;
  }

  /** What is filed under each beginning of the text. Every event comes here: so, without calls. */
  visit(text: string, take: (filed: readonly T[]) => void): void {
    const { length } = text;
    const isFront = this.#side === front;
    let branch = this.#root;
    for (let place = 0; ; ) {
      if (branch.filed.length > 0) take(branch.filed);
      if (place === length) return;
      const unit = text.charCodeAt(isFront ? place : length - 1 - place);
      const next = branch.next.get(unit);
      if (next === undefined) return;
      const { piece } = next;
      const end = place + piece.length;
      if (end > length) return;
      // The first unit is the same.
      const from = isFront ? place : length - end;
      const [first, last] = isFront ? [1, piece.length] : [0, piece.length - 1];
      for (let at = first; at < last; at++) {
        if (text.charCodeAt(from + at) !== piece.charCodeAt(at)) return;
      }
      place = end;
      branch = next;
    }
  }

  /** How many of those added may be had together with this one: they begin it, or go on with it. */
  count(text: string): number {
    const way = this.#follow(text);
    const last = way.at(-1) as Branch<T>;
    const length = way.reduce((sum, { piece }) => sum + piece.length, 0);
    const before = way.reduce((sum, { own }) => sum + own, 0);
    if (length === text.length) return before - last.own + last.within;
    const rest = this.#side.piece(text, length);
    const further = last.next.get(this.#side.unitAt(rest, 0));
    const goesOn = further !== undefined && this.#side.has(further.piece, rest, 0);
    return before + (goesOn ? further.within : 0);
  }

  add(text: string): void {
    const last = this.#make(text);
    last.own += 1;
    for (const branch of this.#follow(text)) branch.within += 1;
  }

  /** One that was added, and is not filed. */
  remove(text: string): void {
    const way = this.#follow(text);
    (way.at(-1) as Branch<T>).own -= 1;
    for (const [index, branch] of way.entries()) {
      branch.within -= 1;
      const parent = way[index - 1];
      if (branch.within === 0) parent?.next.delete(this.#side.unitAt(branch.piece, 0));
    }
  }

  /** What is filed under a text that was added. */
  filedAt(text: string): T[] {
    return (this.#follow(text).at(-1) as Branch<T>).filed;
  }

  /** The branches whose texts this one begins with, the shortest first. */
  #follow(text: string): Branch<T>[] {
    const way: Branch<T>[] = [];
    this.#walk(text, (branch) => way.push(branch));
    return way;
  }

  #walk(text: string, step: (branch: Branch<T>) => void): void {
    let branch: Branch<T> | undefined = this.#root;
    step(branch);
    for (let place = 0; place < text.length; place += branch.piece.length) {
      branch = branch.next.get(this.#side.unitAt(text, place));
      if (branch === undefined || !this.#side.has(text, branch.piece, place)) return;
      step(branch);
    }
  }

  #make(text: string): Branch<T> {
    const side = this.#side;
    const way = this.#follow(text);
    const last = way.at(-1) as Branch<T>;
    const rest = side.piece(
      text,
      way.reduce((sum, { piece }) => sum + piece.length, 0),
    );
    if (rest === "") return last;
    const fork = last.next.get(side.unitAt(rest, 0));
    const made = newBranch<T>(rest, 0);
    if (fork === undefined) {
      last.next.set(side.unitAt(rest, 0), made);
      return made;
    }
    let same = 1;
    while (side.unitAt(rest, same) === side.unitAt(fork.piece, same)) same += 1;
    const common = newBranch<T>(side.piece(rest, 0, same), fork.within);
    fork.piece = side.piece(fork.piece, same);
    common.next.set(side.unitAt(fork.piece, 0), fork);
    last.next.set(side.unitAt(common.piece, 0), common);
    if (same === rest.length) return common;
    made.piece = side.piece(rest, same);
    common.next.set(side.unitAt(made.piece, 0), made);
    return made;
  }
}

function newBranch<T>(piece: string, within: number): Branch<T> {
  return { piece, own: 0, within, filed: [], next: new Map() };
}
