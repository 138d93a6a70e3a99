// The subscriptions of one topic, indexed so that an event finds those that match without
// evaluating each: every subscription is filed under the values of its most selective clause, an
// event looks up its own values, and only the subscriptions found there evaluate the rest of their
// filter. One more or one less changes its own places alone.
//
// The most selective clause is estimated from the subscriptions there are when one is added: the
// one whose values the fewest name. So of a thousand subscriptions to one event type, each for
// another customer, all but the first are found by the customer. Subscriptions without an
// indexable clause are evaluated for every event.

import type { Subscription, SubscriptionId } from "../subscription.ts";
import { type Clause, clausesOf, holdAll, type Term, type ValuesTest } from "./filter/clause.ts";
import type { EventValues, Found, Key } from "./filter/event-values.ts";
import { PrefixTree } from "./filter/prefix-tree.ts";

/**
 * How often subscriptions with advanced filters were evaluated; survives a change of the catalog.
 */
export type Evaluations = Map<SubscriptionId, { count: number }>;

interface Candidate {
  readonly id: SubscriptionId;
  readonly matches: ValuesTest;
  /** The same for an event that has one value at the key, and was found by it. */
  readonly matchesFound: ValuesTest;
  /** Of a subscription with advanced filters. */
  readonly asked: { count: number } | null;
}

type Value = string | number | boolean;

/** A clause that can be indexed. */
type Handle = Clause & { readonly term: Term };

/** Where a subscription is: all its clauses are counted, and one of them files it. */
interface Place {
  readonly candidate: Candidate;
  readonly handles: readonly Handle[];
  readonly handle: Handle | null;
}

export class Audience {
  readonly #evaluations: Evaluations;
  readonly #places = new Map<SubscriptionId, Place>();
  readonly #keys = new Map<string, KeyIndex>();
  /** Those in which something is filed. */
  #lookups: readonly KeyIndex[] = [];
  readonly #always: Candidate[] = [];

  constructor(subscriptions: Iterable<Subscription>, evaluations: Evaluations = new Map()) {
    this.#evaluations = evaluations;
    for (const subscription of subscriptions) this.add(subscription);
  }

  /** One that is not here yet. */
  add({ id, filter }: Subscription): void {
    const clauses = clausesOf(filter);
    const handles = clauses.filter((clause): clause is Handle => clause.term !== null);
    for (const { key, term } of handles) this.#indexOf(key).name(term);
    const handle = this.#pickLeast(handles);
    const matches = holdAll(clauses);
    const matchesFound = handle?.term.isEnough
      ? holdAll(clauses.filter((clause) => clause !== handle))
      : matches;
    const candidate = { id, matches, matchesFound, asked: this.#countOf(id, filter) };
    this.#places.set(id, { candidate, handles, handle });
    if (handle === null) {
      this.#always.push(candidate);
      return;
    }
    const index = this.#indexOf(handle.key);
    index.file(handle.term, candidate);
    if (index.filed === 1) this.#lookups = [...this.#lookups, index];
  }

  remove(id: SubscriptionId): void {
    const place = this.#places.get(id);
    if (place === undefined) return;
    const { candidate, handles, handle } = place;
    this.#places.delete(id);
    if (handle === null) takeOut(this.#always, candidate);
    else {
      const index = this.#indexOf(handle.key);
      index.unfile(handle.term, candidate);
      if (index.filed === 0) this.#lookups = this.#lookups.filter((each) => each !== index);
    }
    for (const { key, term } of handles) {
      const index = this.#indexOf(key);
      index.forget(term);
      if (index.named === 0) this.#keys.delete(key.id);
    }
  }

  /** Those whose filters match, each once. */
  choose(values: EventValues): SubscriptionId[] {
    let chosen: SubscriptionId[] = [];
    const takeFound = (candidates: readonly Candidate[]) => {
      for (const one of candidates) chosen = ask(one, one.matchesFound, values, chosen);
    };
    for (const index of this.#lookups) {
      const found = values.find(index.key);
      if (found.kind === "one") index.search(found, takeFound);
      // Two elements may lead to the same subscription.
      else if (found.kind === "many") {
        for (const one of index.searchOnce(found)) chosen = ask(one, one.matches, values, chosen);
      }
    }
    for (const one of this.#always) chosen = ask(one, one.matches, values, chosen);
    return chosen;
  }

  #countOf(id: SubscriptionId, { advanced }: Subscription["filter"]): Candidate["asked"] {
    return advanced.length === 0 ? null : getOrAdd(this.#evaluations, id, () => ({ count: 0 }));
  }

  #indexOf(key: Key): KeyIndex {
    return getOrAdd(this.#keys, key.id, () => new KeyIndex(key));
  }

  #pickLeast(handles: readonly Handle[]): Handle | null {
    let best: Handle | null = null;
    let bestCrowd = Number.POSITIVE_INFINITY;
    for (const handle of handles) {
      const crowd = this.#indexOf(handle.key).crowd(handle.term);
      if (crowd >= bestCrowd) continue;
      best = handle;
      bestCrowd = crowd;
    }
    return best;
  }
}

/** Most events have one subscriber, and an array that grows has room for many. */
function ask(
  { id, asked }: Candidate,
  matches: ValuesTest,
  values: EventValues,
  chosen: SubscriptionId[],
): SubscriptionId[] {
  if (asked !== null) asked.count += 1;
  if (!matches(values)) return chosen;
  if (chosen.length === 0) return [id];
  chosen.push(id);
  return chosen;
}

/** Everything named and filed under the values of one key. */
class KeyIndex {
  readonly key: Key;
  /** How many terms name a value. */
  readonly #namings = new Map<Value, number>();
  readonly #filed = new Map<Value, Candidate[]>();
  #trees: Readonly<Record<"begins" | "ends", PrefixTree<Candidate>>> | null = null;
  /** How many terms. */
  named = 0;
  filed = 0;

  constructor(key: Key) {
    this.key = key;
  }

  name(term: Term): void {
    this.named += 1;
    if (term.kind === "equals") {
      for (const value of term.values) this.#namings.set(value, this.#namingsOf(value) + 1);
    } else for (const value of term.values) this.#tree(term.kind).add(value);
  }

  forget(term: Term): void {
    this.named -= 1;
    if (term.kind !== "equals") {
      for (const value of term.values) this.#tree(term.kind).remove(value);
      return;
    }
    for (const value of term.values) {
      const left = this.#namingsOf(value) - 1;
      if (left > 0) this.#namings.set(value, left);
      else this.#namings.delete(value);
    }
  }

  /** How many subscriptions share a value with this term, over all its values. */
  crowd(term: Term): number {
    let crowd = 0;
    if (term.kind === "equals") {
      for (const value of term.values) crowd += this.#namingsOf(value);
    } else for (const value of term.values) crowd += this.#tree(term.kind).count(value);
    return crowd;
  }

  file(term: Term, candidate: Candidate): void {
    this.filed += 1;
    if (term.kind === "equals") {
      for (const value of term.values) getOrAdd(this.#filed, value, () => []).push(candidate);
    } else for (const value of term.values) this.#tree(term.kind).filedAt(value).push(candidate);
  }

  unfile(term: Term, candidate: Candidate): void {
    this.filed -= 1;
    if (term.kind !== "equals") {
      for (const value of term.values) takeOut(this.#tree(term.kind).filedAt(value), candidate);
      return;
    }
    for (const value of term.values) {
      const filed = this.#filed.get(value) ?? [];
      takeOut(filed, candidate);
      if (filed.length === 0) this.#filed.delete(value);
    }
  }

  search(
    { texts, numbers, truths }: Found,
    take: (candidates: readonly Candidate[]) => void,
  ): void {
    if (this.#filed.size > 0) {
      for (const text of texts) this.#look(text, take);
      for (const number of numbers) this.#look(number, take);
      for (const truth of truths) this.#look(truth, take);
    }
    if (this.#trees === null) return;
    for (const text of texts) {
      this.#trees.begins.visit(text, take);
      this.#trees.ends.visit(text, take);
    }
  }

  searchOnce(found: Found): ReadonlySet<Candidate> {
    const candidates = new Set<Candidate>();
    this.search(found, (some) => {
      for (const candidate of some) candidates.add(candidate);
    });
    return candidates;
  }

  #look(value: Value, take: (candidates: readonly Candidate[]) => void): void {
    const filed = this.#filed.get(value);
    if (filed !== undefined) take(filed);
  }

  #namingsOf(value: Value): number {
    return this.#namings.get(value) ?? 0;
  }

  #tree(kind: "begins" | "ends"): PrefixTree<Candidate> {
    this.#trees ??= { begins: new PrefixTree("front"), ends: new PrefixTree("back") };
    return this.#trees[kind];
  }
}

function takeOut<T>(list: T[], one: T): void {
  list.splice(list.indexOf(one), 1);
}

function getOrAdd<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  let value = map.get(key);
  if (value === undefined) {
    value = make();
    map.set(key, value);
  }
  return value;
}
