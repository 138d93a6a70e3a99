// How an invalid value is refused: the field, the type of what was given, and what is allowed, in
// the same words for HTTP, files and options.
//
// A text is never repeated, because it may be a secret; a number or a boolean is shown.

import { Refusal } from "../refusal.ts";

export interface Range {
  readonly min: number;
  readonly max: number;
}

/** A whole number within the range, or the refusal `InvalidSetting`. */
export function checkInteger(value: unknown, field: string, range: Range): number {
  if (
    typeof value === "number" &&
    Number.isInteger(value) &&
    value >= range.min &&
    value <= range.max
  ) {
    return value;
  }
  const allowed = `a whole number from ${range.min} to ${range.max}`;
  throw new Refusal("InvalidSetting", `${field} must be ${allowed}, and is ${shapeOf(value)}`, {
    target: field,
  });
}

/** A value's type, for a sentence: `the number 31`, `a text of 5 characters`. */
export function shapeOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return `an array of ${value.length}`;
  switch (typeof value) {
    case "undefined":
      return "missing";
    case "number":
      return `the number ${value}`;
    case "boolean":
      return String(value);
    case "string":
      return value === "" ? "an empty text" : `a text of ${value.length} characters`;
    default:
      return `an ${typeof value}`;
  }
}
