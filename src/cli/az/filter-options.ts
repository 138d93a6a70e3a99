// Filters and headers of a subscription from options, each a list of words:
//
//   --advanced-filter KEY OPERATOR VALUE…
//   --delivery-attribute-mapping NAME static VALUE [true|false], or NAME dynamic PATH
//
// *Differs:* `az` takes any text as true, also `false`, both in BoolEquals and for `isSecret`. Here
// false is false, and what is neither is refused.

import { Refusal } from "../../core/refusal.ts";
import { type Operand, operators, operatorTypes } from "../../core/routing/filter/operator.ts";
import type { OperatorType } from "../../core/routing/filter.ts";
import type { Members } from "../../core/text/wording.ts";
import { refuseName, refuseValue } from "../../core/text/wording.ts";

const filterOption = "--advanced-filter";
const headerOption = "--delivery-attribute-mapping";

/** As in ARM's `advancedFilters`. Refusal: InvalidSetting. */
export function advancedFilter(words: readonly string[]): Members {
  const [key = "", operator, ...values] = words;
  if (operator === undefined) {
    throw new Refusal("InvalidSetting", `${filterOption} must be followed by KEY OPERATOR VALUE…`);
  }
  const operatorType = operatorTypes.find(
    (known) => known.toLowerCase() === operator.toLowerCase(),
  );
  if (operatorType === undefined) {
    throw refuseName({ what: "operator", name: operator, known: operatorTypes });
  }
  return { operatorType, key, ...operandOf(operatorType, values) };
}

const wanted: Readonly<Record<Operand, string>> = {
  none: "no value",
  number: "one number",
  boolean: "true or false",
  numbers: "at least one number",
  ranges: "at least one range such as 5,10",
  texts: "at least one text",
};

function operandOf(operatorType: OperatorType, values: readonly string[]): Members {
  const { operand } = operators[operatorType];
  const refuse = () =>
    new Refusal(
      "InvalidSetting",
      `${filterOption}: ${operatorType} must be followed by ${wanted[operand]}`,
    );
  const isOne = operand === "number" || operand === "boolean";
  const isNone = operand === "none";
  if (isNone ? values.length > 0 : isOne ? values.length !== 1 : values.length === 0)
    throw refuse();
  switch (operand) {
    case "none":
      return {};
    case "number":
      return { value: numberIn(values[0] ?? "", refuse) };
    case "boolean":
      return { value: truthIn(values[0] ?? "", refuse) };
    case "numbers":
      return { values: values.map((value) => numberIn(value, refuse)) };
    case "texts":
      return { values };
    case "ranges":
      return { values: values.map((value) => rangeIn(value, refuse)) };
    default:
      return operand satisfies never;
  }
}

function numberIn(text: string, refuse: () => Refusal): number {
  const value = text.trim() === "" ? Number.NaN : Number(text);
  if (!Number.isFinite(value)) throw refuse();
  return value;
}

function truthIn(text: string, refuse: () => Refusal): boolean {
  if (!/^(true|false)$/i.test(text)) throw refuse();
  return text.toLowerCase() === "true";
}

function rangeIn(text: string, refuse: () => Refusal): readonly number[] {
  const ends = text.split(",").map((part) => numberIn(part, refuse));
  if (ends.length !== 2) throw refuse();
  return ends;
}

/** As in ARM's `deliveryAttributeMappings`. Refusal: InvalidSetting. */
export function deliveryAttribute(words: readonly string[]): Members {
  const [name = "", kind = "", value, isSecret, ...more] = words;
  const refuse = (right: string) =>
    new Refusal("InvalidSetting", `${headerOption} must be followed by ${right}`);
  switch (kind.toLowerCase()) {
    case "static": {
      if (value === undefined || more.length > 0) throw refuse("NAME static VALUE [true|false]");
      const allowed = "true or false after its value";
      const wrong = () => refuseValue({ field: headerOption, value: isSecret, allowed });
      const secret = isSecret === undefined ? false : truthIn(isSecret, wrong);
      return { name, type: "Static", properties: { value, isSecret: secret } };
    }
    case "dynamic":
      if (value === undefined || isSecret !== undefined) throw refuse("NAME dynamic PATH");
      return { name, type: "Dynamic", properties: { sourceField: value } };
    default:
      throw refuse("NAME static VALUE [true|false], or NAME dynamic PATH");
  }
}
