// A filter as written, in the shape of Azure Resource Manager, checked member by member. Null
// counts as left out, because clients write it that way.
//
// The limits are those of https://learn.microsoft.com/azure/event-grid/event-filtering: 25 advanced
// filters, 25 values over all of them, 512 characters in a text. *Differs:* the limits on event
// types, on the subject and on keys are ours; the service states none.

import { Refusal } from "../../refusal.ts";
import { listed } from "../../text/setting-kinds.ts";
import {
  checkMembers,
  type Members,
  nearest,
  refuseName,
  refuseValue,
} from "../../text/wording.ts";
import type { AdvancedFilter, Filter, NumberRange, OperatorType } from "../filter.ts";
import { type Operand, operators, operatorTypes } from "./operator.ts";

const advancedFiltersMax = 25;
const advancedValuesMax = 25;
const valueCharactersMax = 512;
const keyCharactersMax = 512;
const eventTypesMax = 1000;
const eventTypeCharactersMax = 512;
const subjectCharactersMax = 512;

const filterMembers = [
  "subjectBeginsWith",
  "subjectEndsWith",
  "isSubjectCaseSensitive",
  "includedEventTypes",
  "enableAdvancedFilteringOnArrays",
  "advancedFilters",
];

/** Refusal: InvalidSetting, naming the field by a path that begins with `field`. */
export function parseFilter(json: unknown, field: string): Filter {
  const members = checkMembers(json ?? {}, field, filterMembers);
  const at = (name: string) => [members[name] ?? null, `${field}.${name}`] as const;
  return {
    includedEventTypes: parseEventTypes(...at("includedEventTypes")),
    subjectBeginsWith: parseSubject(...at("subjectBeginsWith")),
    subjectEndsWith: parseSubject(...at("subjectEndsWith")),
    isSubjectCaseSensitive: parseSwitch(...at("isSubjectCaseSensitive")),
    advanced: parseAdvanced(...at("advancedFilters")),
    onArrays: parseSwitch(...at("enableAdvancedFilteringOnArrays")),
  };
}

/** A lone `All` is how early versions of the service wrote it. */
function parseEventTypes(value: unknown, field: string): readonly string[] | null {
  if (value === null) return null;
  const allowed = `a list of at most ${eventTypesMax} event types`;
  const types = checkList(value, field, { allowed, most: eventTypesMax }).map((type, index) => {
    const most = eventTypeCharactersMax;
    if (typeof type === "string" && type !== "" && type.length <= most) return type;
    throw refuseValue({
      field: `${field}[${index}]`,
      value: type,
      allowed: `an event type of at most ${most} characters`,
    });
  });
  const isAll = types.length === 1 && types[0]?.toLowerCase() === "all";
  return types.length === 0 || isAll ? null : types;
}

function parseSubject(value: unknown, field: string): string {
  return value === null ? "" : checkText(value, field, subjectCharactersMax);
}

function parseSwitch(value: unknown, field: string): boolean {
  if (value === null || typeof value === "boolean") return value ?? false;
  throw refuseValue({ field, value, allowed: "true or false" });
}

function parseAdvanced(value: unknown, field: string): readonly AdvancedFilter[] {
  if (value === null) return [];
  const allowed = `a list of at most ${advancedFiltersMax} filters`;
  const list = checkList(value, field, { allowed, most: advancedFiltersMax });
  const filters = list.map((each, index) => parseOne(each, `${field}[${index}]`));
  const count = filters.reduce((sum, filter) => sum + countValues(filter), 0);
  if (count > advancedValuesMax) {
    const words = `${field} must have at most ${advancedValuesMax} values over all its filters`;
    throw new Refusal("InvalidSetting", `${words}, and has ${count}`);
  }
  return filters;
}

function countValues(filter: AdvancedFilter): number {
  if ("values" in filter) return filter.values.length;
  return "value" in filter ? 1 : 0;
}

function parseOne(json: unknown, field: string): AdvancedFilter {
  const members = checkMembers(json, field, ["operatorType", "key", "value", "values"]);
  const operatorType = parseOperator(members.operatorType, `${field}.operatorType`);
  const { operand } = operators[operatorType];
  checkOperand(members, field, operand);
  const key = parseKeyText(members.key, `${field}.key`);
  const operands = parseOperand(members, field, operand);
  // The operator's row in the table says what it carries, which the types cannot express.
  return { operatorType, key, ...operands } as AdvancedFilter;
}

function parseOperator(value: unknown, field: string): OperatorType {
  if (typeof value !== "string") {
    throw refuseValue({ field, value, allowed: listed(operatorTypes) });
  }
  const lower = value.toLowerCase();
  const known = operatorTypes.find((type) => type.toLowerCase() === lower);
  if (known !== undefined) return known;
  const meant = nearest(value, operatorTypes);
  const allowed = meant === null ? listed(operatorTypes) : `an operator such as ${meant}`;
  throw refuseValue({ field, value, allowed });
}

const operandMember: Readonly<Record<Operand, "value" | "values" | null>> = {
  number: "value",
  boolean: "value",
  numbers: "values",
  ranges: "values",
  texts: "values",
  none: null,
};

/** `value` or `values`: the operator decides which; the other one is an error. */
function checkOperand(members: Members, field: string, operand: Operand): void {
  const own = operandMember[operand];
  for (const name of ["value", "values"]) {
    if (name === own || (members[name] ?? null) === null) continue;
    const known = ["operatorType", "key", ...(own === null ? [] : [own])];
    throw refuseName({ what: "member", name, where: field, known });
  }
}

function parseKeyText(value: unknown, field: string): string {
  if (typeof value === "string" && value !== "" && value.length <= keyCharactersMax) return value;
  const allowed = `a key such as Subject or data.color, of at most ${keyCharactersMax} characters`;
  throw refuseValue({ field, value, allowed });
}

function parseOperand(members: Members, field: string, operand: Operand): object {
  const { value, values } = members;
  switch (operand) {
    case "number":
      return { value: checkNumber(value, `${field}.value`) };
    case "boolean":
      if (typeof value === "boolean") return { value };
      throw refuseValue({ field: `${field}.value`, value, allowed: "true or false" });
    case "numbers":
      return { values: parseValues(values, `${field}.values`, "numbers", checkNumber) };
    case "ranges":
      return { values: parseValues(values, `${field}.values`, "ranges", checkRange) };
    case "texts":
      return { values: parseValues(values, `${field}.values`, "texts", checkValueText) };
    case "none":
      return {};
  }
}

function parseValues<T>(
  value: unknown,
  field: string,
  what: string,
  check: (value: unknown, field: string) => T,
): readonly T[] {
  const allowed = `a list of 1 to ${advancedValuesMax} ${what}`;
  const list = checkList(value, field, { allowed, least: 1, most: advancedValuesMax });
  return list.map((each, index) => check(each, `${field}[${index}]`));
}

function checkList(
  value: unknown,
  field: string,
  { allowed, least = 0, most }: { allowed: string; least?: number; most: number },
): readonly unknown[] {
  if (Array.isArray(value) && value.length >= least && value.length <= most) return value;
  throw refuseValue({ field, value, allowed });
}

function checkNumber(value: unknown, field: string): number {
  if (typeof value === "number" && Number.isFinite(value)) return value;
  throw refuseValue({ field, value, allowed: "a finite number" });
}

function checkRange(value: unknown, field: string): NumberRange {
  const allowed = "a list of two numbers, the lower one first";
  if (!Array.isArray(value) || value.length !== 2) throw refuseValue({ field, value, allowed });
  const from = checkNumber(value[0], `${field}[0]`);
  const to = checkNumber(value[1], `${field}[1]`);
  if (from <= to) return [from, to];
  throw new Refusal("InvalidSetting", `${field} must be ${allowed}, and is ${from}, ${to}`);
}

function checkValueText(value: unknown, field: string): string {
  return checkText(value, field, valueCharactersMax);
}

function checkText(value: unknown, field: string, most: number): string {
  if (typeof value === "string" && value.length <= most) return value;
  throw refuseValue({ field, value, allowed: `a text of at most ${most} characters` });
}
