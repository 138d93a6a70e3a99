// Refusals of settings and of names, in the form of check.ts: the field, what is allowed and what
// was found. A setting's short text is shown, because an operator wants to see what was read; what
// may be a secret is described by its type only.

import { Refusal } from "../refusal.ts";
import { shapeOf } from "./check.ts";

/** Longer values are cut: an error is one line. */
const shownCharactersMax = 60;

/** The value itself if it is text, cut when long; otherwise its type. Not for secrets. */
export function shownAs(value: unknown): string {
  if (typeof value !== "string" || value === "") return shapeOf(value);
  return value.length <= shownCharactersMax
    ? JSON.stringify(value)
    : `${JSON.stringify(value.slice(0, shownCharactersMax))}… (${value.length} characters)`;
}

/** The refusal of one value. `allowed` completes "must be". */
export function refuseValue(wrong: {
  readonly field: string;
  readonly value: unknown;
  readonly allowed: string;
  readonly secret?: boolean;
  /** Which of those allowed was probably meant. */
  readonly meant?: string | null;
}): Refusal {
  const found = wrong.secret ? shapeOf(wrong.value) : shownAs(wrong.value);
  const hint = wrong.meant == null ? "" : `; did you mean ${wrong.meant}?`;
  const words = `${wrong.field} must be ${wrong.allowed}, and is ${found}${hint}`;
  return new Refusal("InvalidSetting", words, { target: wrong.field });
}

/** The refusal of an unknown name. `what` is what it would have been: "option". */
export function refuseName(wrong: {
  readonly what: string;
  readonly name: string;
  /** In what: `file a.json`. */
  readonly where?: string;
  readonly known: readonly string[];
}): Refusal {
  const meant = nearest(wrong.name, wrong.known);
  const known = wrong.known.length === 0 ? "there are none" : `known are ${wrong.known.join(", ")}`;
  const hint = meant === null ? known : `did you mean ${meant}?`;
  const where = wrong.where === undefined ? "" : ` in ${wrong.where}`;
  return new Refusal(
    "InvalidSetting",
    `there is no ${wrong.what} ${shownAs(wrong.name)}${where}; ${hint}`,
    { target: isPath(wrong.where) ? `${wrong.where}.${wrong.name}` : wrong.name },
  );
}

/** Not words such as `the request`. */
function isPath(where: string | undefined): boolean {
  return where !== undefined && !where.includes(" ");
}

/** The known name that was probably meant, or null if none is similar. */
export function nearest(name: string, known: readonly string[]): string | null {
  const wanted = name.toLowerCase();
  let best: string | null = null;
  let bestDistance = Math.max(2, Math.floor(wanted.length / 3)) + 1;
  for (const candidate of known) {
    const distance = editDistance(wanted, candidate.toLowerCase());
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  if (best !== null || wanted.length < 3) return best;
  // The beginning of a name counts as a hint, too.
  return known.find((candidate) => candidate.toLowerCase().startsWith(wanted)) ?? null;
}

/** The number of letters to insert, drop, change or swap to turn one word into the other. */
function editDistance(from: string, to: string): number {
  // Names are short; a longer text is not worth comparing.
  if (Math.abs(from.length - to.length) > shownCharactersMax) return Number.POSITIVE_INFINITY;
  let before: number[] = [];
  let above: number[] = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row++) {
    const line = [row];
    for (let column = 1; column <= to.length; column++) {
      const same = from[row - 1] === to[column - 1];
      let cost = Math.min(
        at(above, column) + 1,
        at(line, column - 1) + 1,
        at(above, column - 1) + (same ? 0 : 1),
      );
      const swapped = from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      if (swapped && row > 1 && column > 1) cost = Math.min(cost, at(before, column - 2) + 1);
      line.push(cost);
    }
    before = above;
    above = line;
  }
  return at(above, to.length);
}

function at(line: readonly number[], column: number): number {
  return line[column] ?? Number.POSITIVE_INFINITY;
}

// The members of an object that someone wrote: the known ones, and a refusal for any other, because
// a silently ignored setting is a surprise later.

export type Members = Readonly<Record<string, unknown>>;

/** Refusal: InvalidSetting, naming `field`. */
export function checkMembers(value: unknown, field: string, known: readonly string[]): Members {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw refuseValue({ field, value, allowed: "an object" });
  }
  for (const name of Object.keys(value)) {
    if (!known.includes(name)) throw refuseName({ what: "member", name, where: field, known });
  }
  return value as Members;
}
