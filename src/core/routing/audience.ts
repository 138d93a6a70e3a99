// The subscriptions of one topic, indexed so that an event finds those that match without
// evaluating each: every subscription is filed under the values of its most selective clause, an
// event looks up its own values, and only the subscriptions found there evaluate their whole
// filter.
//
// The most selective clause is estimated from the subscriptions themselves: the one whose values
// the fewest others name. So a thousand subscriptions to one event type, each for another customer,
// are found by the customer. Subscriptions without an indexable clause are evaluated for every
// event.

import type { Subscription, SubscriptionId } from "../subscription.ts";
import { type Clause, clausesOf, holdAll, type Term, type ValuesTest } from "./filter/clause.ts";
import type { EventValues, Found, Key } from "./filter/event-values.ts";
import { countWithin, type PrefixTable, tabulate } from "./filter/prefixes.ts";
import type { Filter } from "./filter.ts";

export interface Audience {
  /** Those whose filters match, each once. */
  choose(values: EventValues): SubscriptionId[];
}

/**
 * How often subscriptions with advanced filters were evaluated; survives a change of the catalog.
 */
export type Evaluations = Map<SubscriptionId, { count: number }>;

interface Candidate {
  readonly id: SubscriptionId;
  readonly matches: ValuesTest;
  /** Of a subscription with advanced filters. */
  readonly asked: { count: number } | null;
}

type Value = string | number | boolean;

/** A clause that can be indexed. */
type Handle = Clause & { readonly term: Term };

/** Everything filed under the values of one key. */
interface KeyIndex {
  readonly key: Key;
  readonly equal: Map<Value, Candidate[]>;
  readonly beginning: Map<string, Candidate[]>;
}

/** The index as it is searched. */
interface Lookup {
  readonly key: Key;
  readonly equal: ReadonlyMap<Value, readonly Candidate[]>;
  readonly beginning: PrefixTable<readonly Candidate[]> | null;
}

export function gatherAudience(
  subscriptions: readonly Subscription[],
  evaluations: Evaluations = new Map(),
): Audience {
  const members = subscriptions.map(({ id, filter }) => {
    const { matches, handles } = compiledOf(filter);
    const asked =
      filter.advanced.length === 0 ? null : getOrAdd(evaluations, id, () => ({ count: 0 }));
    return { candidate: { id, matches, asked }, handles };
  });
  const crowd = countCrowd(members.flatMap(({ handles }) => handles));
  const readers = new Map<string, KeyIndex>();
  const always: Candidate[] = [];
  for (const { candidate, handles } of members) {
    const handle = pickLeast(handles, crowd);
    if (handle === null) always.push(candidate);
    else file(readers, handle, candidate);
  }
  const lookups = [...readers.values()].map(openKeyIndex);
  return { choose: (values) => choose(always, lookups, values) };
}

interface Compiled {
  readonly matches: ValuesTest;
  readonly handles: readonly Handle[];
}

/** When one subscription changes, the filters of the others of its topic stay as they are. */
const compiled = new WeakMap<Filter, Compiled>();

function compiledOf(filter: Filter): Compiled {
  const known = compiled.get(filter);
  if (known !== undefined) return known;
  const clauses = clausesOf(filter);
  const made = { matches: holdAll(clauses), handles: clauses.filter(isHandle) };
  compiled.set(filter, made);
  return made;
}

function isHandle(clause: Clause): clause is Handle {
  return clause.term !== null;
}

/** How many subscriptions share a value with this one, over all values of the clause. */
type Crowd = (handle: Handle) => number;

function countCrowd(handles: readonly Handle[]): Crowd {
  const named = new Map<string, Map<Value, number>>();
  const beginnings = new Map<string, string[]>();
  for (const { key, term } of handles) {
    if (term.kind === "begins") {
      const texts = getOrAdd(beginnings, key.id, () => []);
      for (const value of term.values) texts.push(value);
    } else {
      const counts = getOrAdd(named, key.id, () => new Map<Value, number>());
      for (const value of term.values) counts.set(value, (counts.get(value) ?? 0) + 1);
    }
  }
  for (const texts of beginnings.values()) texts.sort();
  return ({ key, term }) => {
    let crowd = 0;
    // A short prefix is shared with everything that begins with it.
    if (term.kind === "begins") {
      const texts = beginnings.get(key.id) ?? [];
      for (const value of term.values) crowd += countWithin(texts, value);
    } else {
      const counts = named.get(key.id);
      for (const value of term.values) crowd += counts?.get(value) ?? 0;
    }
    return crowd;
  };
}

function pickLeast(handles: readonly Handle[], crowd: Crowd): Handle | null {
  let best: Handle | null = null;
  let bestCrowd = Number.POSITIVE_INFINITY;
  for (const handle of handles) {
    const found = crowd(handle);
    if (found >= bestCrowd) continue;
    best = handle;
    bestCrowd = found;
  }
  return best;
}

function file(readers: Map<string, KeyIndex>, { key, term }: Handle, candidate: Candidate): void {
  const reader = getOrAdd(readers, key.id, () => ({ key, equal: new Map(), beginning: new Map() }));
  if (term.kind === "begins") {
    for (const value of term.values) getOrAdd(reader.beginning, value, () => []).push(candidate);
  } else {
    for (const value of term.values) getOrAdd(reader.equal, value, () => []).push(candidate);
  }
}

function getOrAdd<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  let value = map.get(key);
  if (value === undefined) {
    value = make();
    map.set(key, value);
  }
  return value;
}

function openKeyIndex({ key, equal, beginning }: KeyIndex): Lookup {
  return { key, equal, beginning: beginning.size === 0 ? null : tabulate(beginning) };
}

function choose(
  always: readonly Candidate[],
  lookups: readonly Lookup[],
  values: EventValues,
): SubscriptionId[] {
  const chosen: SubscriptionId[] = [];
  const ask = (candidates: readonly Candidate[]) => {
    for (const { id, matches, asked } of candidates) {
      if (asked !== null) asked.count += 1;
      if (matches(values)) chosen.push(id);
    }
  };
  for (const lookup of lookups) {
    const found = values.find(lookup.key);
    if (found.kind === "one") search(lookup, found, ask);
    // Two elements may lead to the same subscription.
    else if (found.kind === "many") ask(searchOnce(lookup, found));
  }
  ask(always);
  return chosen;
}

function searchOnce(lookup: Lookup, found: Found): readonly Candidate[] {
  const candidates = new Set<Candidate>();
  search(lookup, found, (some) => {
    for (const candidate of some) candidates.add(candidate);
  });
  return [...candidates];
}

function search(
  { equal, beginning }: Lookup,
  { texts, numbers, truths }: Found,
  take: (candidates: readonly Candidate[]) => void,
): void {
  for (const values of [texts, numbers, truths]) {
    for (const value of values) {
      const candidates = equal.get(value);
      if (candidates !== undefined) take(candidates);
    }
  }
  if (beginning !== null) for (const text of texts) beginning.visit(text, take);
}
