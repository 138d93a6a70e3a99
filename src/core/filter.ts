// Which events a subscription wants. A filter is compiled once, when the subscription is written,
// into a plain test; all its parts must agree.
//
// An empty list of types and an empty beginning or end ask for nothing in particular and so match
// everything, like leaving them out.

import type { EventFields } from "./event.ts";

export interface Filter {
  /** Null: all. Compared without regard to letter case. */
  readonly includedEventTypes: readonly string[] | null;
  readonly subjectBeginsWith: string;
  readonly subjectEndsWith: string;
  /** Concerns the two above. */
  readonly isSubjectCaseSensitive: boolean;
}

export type EventTest = (fields: EventFields) => boolean;

export const filterForAll: Filter = {
  includedEventTypes: null,
  subjectBeginsWith: "",
  subjectEndsWith: "",
  isSubjectCaseSensitive: false,
};

export function compileFilter(filter: Filter): EventTest {
  const tests = [testTypes(filter), testSubject(filter)].filter((test) => test !== null);
  const [first, ...rest] = tests;
  if (first === undefined) return () => true;
  if (rest.length === 0) return first;
  return (fields) => tests.every((test) => test(fields));
}

/** The listed types, folded and each once; null when all are wanted. */
export function foldedTypes(filter: Filter): ReadonlySet<string> | null {
  const types = filter.includedEventTypes;
  return types === null || types.length === 0 ? null : new Set(types.map(foldCase));
}

/**
 * One spelling for all letter cases. Upper case, because what becomes of a letter does not depend
 * on its neighbours there, as it does with a final sigma in lower case: so the beginning of a text
 * folds to the beginning of the folded text.
 */
export function foldCase(text: string): string {
  return text.toUpperCase();
}

function testTypes(filter: Filter): EventTest | null {
  const types = foldedTypes(filter);
  return types && (({ eventType }) => types.has(foldCase(eventType)));
}

function testSubject(filter: Filter): EventTest | null {
  if (filter.subjectBeginsWith === "" && filter.subjectEndsWith === "") return null;
  const fold = filter.isSubjectCaseSensitive ? (text: string) => text : foldCase;
  const beginning = fold(filter.subjectBeginsWith);
  const end = fold(filter.subjectEndsWith);
  return (fields) => {
    const subject = fold(fields.subject);
    return subject.startsWith(beginning) && subject.endsWith(end);
  };
}
