// The dry run: would this event match, and if not, which clause failed and what value did it find?
// It uses the same clauses as routing, so the two cannot disagree.
//
// The result repeats short values of the event. It is for someone who has that event already, and
// must not be logged.

import type { EventFields } from "../../event.ts";
import { shapeOf } from "../../text/check.ts";
import { shownAs } from "../../text/wording.ts";
import type { Filter } from "../filter.ts";
import { type Clause, clausesOf } from "./clause.ts";
import { eventTypeKey, type Found, openEventValues, subjectKey } from "./event-values.ts";

export interface Explanation {
  readonly matches: boolean;
  /** None for a filter without conditions. */
  readonly clauses: readonly {
    /** `data.color StringIn red, blue` */
    readonly clause: string;
    readonly holds: boolean;
    /** What was found: `data.color is "green"`. */
    readonly because: string;
  }[];
}

/** More values, longer values and more elements are cut: a clause is one line. */
const shownValuesMax = 8;
const shownElementsMax = 3;
const shownCharactersMax = 60;

export function explainFilter(filter: Filter, fields: EventFields): Explanation {
  const values = openEventValues(fields);
  const clauses = clausesOf(filter).map((clause) => ({
    clause: wordsOf(clause, filter),
    holds: clause.holds(values),
    because: `${clause.key.words} is ${describe(values.find(clause.key), clause, filter)}`,
  }));
  return { matches: clauses.every(({ holds }) => holds), clauses };
}

function wordsOf({ key, setting, values }: Clause, filter: Filter): string {
  const shown = values.slice(0, shownValuesMax).map(show).join(", ");
  const more = values.length > shownValuesMax ? ` and ${values.length - shownValuesMax} more` : "";
  const list = shown === "" ? "" : ` ${shown}${more}`;
  if (key === eventTypeKey) return `${setting}${list}`;
  const how = filter.isSubjectCaseSensitive ? " (letter case counts)" : "";
  return key === subjectKey ? `${setting}${list}${how}` : `${key.words} ${setting}${list}`;
}

function show(value: unknown): string {
  if (Array.isArray(value)) return value.join(" to ");
  const text = String(value);
  if (text === "") return '""';
  return text.length <= shownCharactersMax ? text : `${text.slice(0, shownCharactersMax)}…`;
}

/**
 * When an existing value was not compared, the reason is given, because it is easily overlooked.
 */
function describe(found: Found, { operand }: Clause, { onArrays }: Filter): string {
  const { kind, value } = found;
  if (operand === "none" || kind === "nothing") return shownAs(value);
  if (kind === "opaque") {
    const what = Array.isArray(value) ? "an array of objects" : "an object";
    return `${what}, which cannot be compared`;
  }
  if (kind === "many") {
    if (!onArrays) return `${shapeOf(value)}, and enableAdvancedFilteringOnArrays is off`;
    return `${shapeOf(value)}${elementsOf(value as readonly unknown[])}`;
  }
  if (operand === "boolean") return `${shownAs(value)}${unless(found.truths, "true or false")}`;
  if (operand === "texts") return `${shownAs(value)}${unless(found.texts, "a text")}`;
  return `${shownAs(value)}${unless(found.numbers, "a number")}`;
}

function unless(comparable: readonly unknown[], wanted: string): string {
  return comparable.length > 0 ? "" : `, which is not ${wanted}`;
}

function elementsOf(elements: readonly unknown[]): string {
  if (elements.length === 0) return "";
  const more = elements.length > shownElementsMax ? ", …" : "";
  return ` (${elements.slice(0, shownElementsMax).map(shownAs).join(", ")}${more})`;
}
