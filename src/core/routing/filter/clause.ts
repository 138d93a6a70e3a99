// The parts of a filter, each a clause that holds for an event or does not. A clause has three
// uses: the compiled filter evaluates it, the index of subscriptions finds it by the values it
// names, and a dry run shows it as text.
//
// Values of another JSON type than the operator's never match: "5" is not a number. The elements of
// an array are compared only if the filter allows it, and then one match is enough; an operator
// with "not" holds when none matches. What cannot be compared (an object, an array of objects, an
// array without the switch) satisfies no operator but IsNotNull.

import { foldCase } from "../../text/compare.ts";
import type { AdvancedFilter, Filter } from "../filter.ts";
import {
  type EventValues,
  eventTypeKey,
  type Found,
  type Key,
  parseKey,
  subjectKey,
} from "./event-values.ts";
import { type Operand, operators } from "./operator.ts";

export type ValuesTest = (values: EventValues) => boolean;

/**
 * Values of the key of which the clause needs at least one: texts folded, each once; no beginning
 * or end that has another one.
 */
export type Term = {
  /** Whether one value of an event that is named, and no array, is all that the clause asks. */
  readonly isEnough: boolean;
} & (
  | { readonly kind: "equals"; readonly values: readonly (string | number | boolean)[] }
  | { readonly kind: "begins" | "ends"; readonly values: readonly string[] }
);

export interface Clause {
  readonly key: Key;
  /** The setting it comes from, for people. */
  readonly setting: string;
  /** The values it compares with, and their kind. */
  readonly values: readonly unknown[];
  readonly operand: Operand;
  /** Null: cannot be indexed. */
  readonly term: Term | null;
  readonly holds: ValuesTest;
}

/** The cheapest first. */
export function clausesOf(filter: Filter): readonly Clause[] {
  const { onArrays } = filter;
  return [
    ...typesClause(filter),
    ...beginningClause(filter),
    ...endClause(filter),
    ...filter.advanced.map((advanced) => advancedClause(advanced, onArrays)),
  ];
}

export function holdAll(clauses: readonly Clause[]): ValuesTest {
  const [first, ...rest] = clauses;
  if (first === undefined) return () => true;
  if (rest.length === 0) return first.holds;
  return (values) => clauses.every(({ holds }) => holds(values));
}

function typesClause({ includedEventTypes: types }: Filter): Clause[] {
  if (types === null || types.length === 0) return [];
  const wanted = new Set(types.map(foldCase));
  const key = eventTypeKey;
  return [
    {
      key,
      setting: "includedEventTypes",
      values: types,
      operand: "texts",
      term: { kind: "equals", values: [...wanted], isEnough: true },
      holds: (values) => values.find(key).texts.some((type) => wanted.has(type)),
    },
  ];
}

function beginningClause({ subjectBeginsWith, isSubjectCaseSensitive }: Filter): Clause[] {
  if (subjectBeginsWith === "") return [];
  const key = subjectKey;
  const folded = foldCase(subjectBeginsWith);
  return [
    {
      key,
      setting: "subjectBeginsWith",
      values: [subjectBeginsWith],
      operand: "texts",
      term: { kind: "begins", values: [folded], isEnough: !isSubjectCaseSensitive },
      holds: isSubjectCaseSensitive
        ? (values) => String(values.find(key).value).startsWith(subjectBeginsWith)
        : (values) => values.find(key).texts.some((subject) => subject.startsWith(folded)),
    },
  ];
}

function endClause({ subjectEndsWith, isSubjectCaseSensitive }: Filter): Clause[] {
  if (subjectEndsWith === "") return [];
  const key = subjectKey;
  const folded = foldCase(subjectEndsWith);
  return [
    {
      key,
      setting: "subjectEndsWith",
      values: [subjectEndsWith],
      operand: "texts",
      term: { kind: "ends", values: [folded], isEnough: !isSubjectCaseSensitive },
      holds: isSubjectCaseSensitive
        ? (values) => String(values.find(key).value).endsWith(subjectEndsWith)
        : (values) => values.find(key).texts.some((subject) => subject.endsWith(folded)),
    },
  ];
}

function advancedClause(filter: AdvancedFilter, onArrays: boolean): Clause {
  const key = parseKey(filter.key);
  const { isNegative, holdsOfNothing, operand } = operators[filter.operatorType];
  const hits = hitsOf(filter);
  return {
    key,
    setting: filter.operatorType,
    values: "values" in filter ? filter.values : "value" in filter ? [filter.value] : [],
    operand,
    term: termOf(filter),
    holds(values) {
      const found = values.find(key);
      if (found.kind === "nothing") return holdsOfNothing;
      if (operand !== "none" && !isComparable(found, onArrays)) return false;
      return hits(found) !== isNegative;
    },
  };
}

function isComparable({ kind }: Found, onArrays: boolean): boolean {
  return kind === "one" || (kind === "many" && onArrays);
}

/** Whether any value that was found is named by the operator. Null never gets here. */
function hitsOf(filter: AdvancedFilter): (found: Found) => boolean {
  switch (filter.operatorType) {
    case "NumberIn":
    case "NumberNotIn": {
      const wanted = new Set(filter.values);
      return ({ numbers }) => numbers.some((number) => wanted.has(number));
    }
    case "NumberLessThan":
      return ({ numbers }) => numbers.some((number) => number < filter.value);
    case "NumberLessThanOrEquals":
      return ({ numbers }) => numbers.some((number) => number <= filter.value);
    case "NumberGreaterThan":
      return ({ numbers }) => numbers.some((number) => number > filter.value);
    case "NumberGreaterThanOrEquals":
      return ({ numbers }) => numbers.some((number) => number >= filter.value);
    case "NumberInRange":
    case "NumberNotInRange":
      return ({ numbers }) =>
        numbers.some((number) =>
          filter.values.some(([from, to]) => from <= number && number <= to),
        );
    case "BoolEquals":
      return ({ truths }) => truths.includes(filter.value);
    case "StringIn":
    case "StringNotIn": {
      const wanted = new Set(filter.values.map(foldCase));
      return ({ texts }) => texts.some((text) => wanted.has(text));
    }
    case "StringContains":
    case "StringNotContains":
      return hitsText(filter.values, (text, part) => text.includes(part));
    case "StringBeginsWith":
    case "StringNotBeginsWith":
      return hitsText(filter.values, (text, part) => text.startsWith(part));
    case "StringEndsWith":
    case "StringNotEndsWith":
      return hitsText(filter.values, (text, part) => text.endsWith(part));
    case "IsNullOrUndefined":
    case "IsNotNull":
      return () => false;
  }
}

function hitsText(values: readonly string[], isHit: (text: string, part: string) => boolean) {
  const parts = values.map(foldCase);
  return ({ texts }: Found) => texts.some((text) => parts.some((part) => isHit(text, part)));
}

function termOf(filter: AdvancedFilter): Term | null {
  const isEnough = true;
  switch (filter.operatorType) {
    case "NumberIn":
      return { kind: "equals", values: [...new Set(filter.values)], isEnough };
    case "BoolEquals":
      return { kind: "equals", values: [filter.value], isEnough };
    case "StringIn":
      return { kind: "equals", values: [...new Set(filter.values.map(foldCase))], isEnough };
    case "StringBeginsWith": {
      const values = shortest(filter.values, (long, short) => long.startsWith(short));
      return { kind: "begins", values, isEnough };
    }
    case "StringEndsWith": {
      const values = shortest(filter.values, (long, short) => long.endsWith(short));
      return { kind: "ends", values, isEnough };
    }
    default:
      return null;
  }
}

/** Whatever has the longer of two also has the shorter. */
function shortest(
  texts: readonly string[],
  has: (long: string, short: string) => boolean,
): readonly string[] {
  return [...new Set(texts.map(foldCase))].filter(
    (one, _, all) => !all.some((other) => other !== one && has(one, other)),
  );
}
