// The operators of advanced filters, as
// https://learn.microsoft.com/azure/event-grid/event-filtering lists them: what each compares with,
// and its result for a missing key.
//
// The asymmetry is the documentation's own: StringNotIn and NumberNotIn hold where the key is
// missing, the other "not" operators on texts do not. It does not mention ranges; they follow
// NumberIn and NumberNotIn. Null counts as missing.

import type { OperatorType } from "../filter.ts";

export type Operand = "number" | "numbers" | "ranges" | "boolean" | "texts" | "none";

export interface Operator {
  readonly operand: Operand;
  /** Holds when no value matches. */
  readonly isNegative: boolean;
  readonly holdsOfNothing: boolean;
}

function when(operand: Operand): Operator {
  return { operand, isNegative: false, holdsOfNothing: false };
}

function unless(operand: Operand, missing: "holds" | "fails"): Operator {
  return { operand, isNegative: true, holdsOfNothing: missing === "holds" };
}

export const operators: Readonly<Record<OperatorType, Operator>> = {
  NumberIn: when("numbers"),
  NumberNotIn: unless("numbers", "holds"),
  NumberLessThan: when("number"),
  NumberLessThanOrEquals: when("number"),
  NumberGreaterThan: when("number"),
  NumberGreaterThanOrEquals: when("number"),
  NumberInRange: when("ranges"),
  NumberNotInRange: unless("ranges", "holds"),
  BoolEquals: when("boolean"),
  StringIn: when("texts"),
  StringNotIn: unless("texts", "holds"),
  StringContains: when("texts"),
  StringNotContains: unless("texts", "fails"),
  StringBeginsWith: when("texts"),
  StringNotBeginsWith: unless("texts", "fails"),
  StringEndsWith: when("texts"),
  StringNotEndsWith: unless("texts", "fails"),
  IsNullOrUndefined: { operand: "none", isNegative: false, holdsOfNothing: true },
  IsNotNull: { operand: "none", isNegative: true, holdsOfNothing: false },
};

export const operatorTypes = Object.keys(operators) as readonly OperatorType[];
