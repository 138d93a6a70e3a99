// Which events a subscription gets: event types, the subject's beginning and end, and the advanced
// filters of Event Grid. All parts must match. A filter is compiled once; filter/clause.ts defines
// its parts.
//
// An empty list of types and an empty beginning or end match everything, like leaving them out.

import type { EventFields } from "../event.ts";
import { clausesOf, holdAll } from "./filter/clause.ts";
import { openEventValues } from "./filter/event-values.ts";

export interface Filter {
  /** Null: all. Case-insensitive. */
  readonly includedEventTypes: readonly string[] | null;
  readonly subjectBeginsWith: string;
  readonly subjectEndsWith: string;
  /** Applies to the two above. */
  readonly isSubjectCaseSensitive: boolean;
  readonly advanced: readonly AdvancedFilter[];
  /** Whether an advanced filter may look into an array: `enableAdvancedFilteringOnArrays`. */
  readonly onArrays: boolean;
}

export type NumberListOperator = "NumberIn" | "NumberNotIn";
export type NumberOperator =
  | "NumberLessThan"
  | "NumberLessThanOrEquals"
  | "NumberGreaterThan"
  | "NumberGreaterThanOrEquals";
export type RangeOperator = "NumberInRange" | "NumberNotInRange";
export type TextOperator =
  | "StringIn"
  | "StringNotIn"
  | "StringContains"
  | "StringNotContains"
  | "StringBeginsWith"
  | "StringNotBeginsWith"
  | "StringEndsWith"
  | "StringNotEndsWith";
export type PresenceOperator = "IsNullOrUndefined" | "IsNotNull";

/** Both ends included. */
export type NumberRange = readonly [from: number, to: number];

export type AdvancedFilter = { readonly key: string } & (
  | { readonly operatorType: NumberListOperator; readonly values: readonly number[] }
  | { readonly operatorType: NumberOperator; readonly value: number }
  | { readonly operatorType: RangeOperator; readonly values: readonly NumberRange[] }
  | { readonly operatorType: "BoolEquals"; readonly value: boolean }
  | { readonly operatorType: TextOperator; readonly values: readonly string[] }
  | { readonly operatorType: PresenceOperator }
);

export type OperatorType = AdvancedFilter["operatorType"];

export type EventTest = (fields: EventFields) => boolean;

export const filterForAll: Filter = {
  includedEventTypes: null,
  subjectBeginsWith: "",
  subjectEndsWith: "",
  isSubjectCaseSensitive: false,
  advanced: [],
  onArrays: false,
};

export function compileFilter(filter: Filter): EventTest {
  const matches = holdAll(clausesOf(filter));
  return (fields) => matches(openEventValues(fields));
}
