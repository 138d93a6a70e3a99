// What expressions of a template can use: its parameters and variables, the deployment target and
// the loops around them. Each name is evaluated once, on demand, so that unused ones need not be
// valid.

import { Refusal } from "../refusal.ts";
import { checkInteger } from "../text/check.ts";
import type { Members } from "../text/wording.ts";
import { refuseValue } from "../text/wording.ts";
import type { DeploymentTarget } from "./deployment-target.ts";
import {
  evaluate,
  expressionIn,
  isObject,
  memberOf,
  parseExpression,
  Trouble,
  unescapeText,
} from "./expression.ts";
import { callFunction, type Outside } from "./functions.ts";

/** ARM's. */
const copiesMax = 800;

export interface TemplateInput {
  readonly file: string;
  readonly place: DeploymentTarget;
  /** By name; texts from the command line are converted to the template's type. */
  readonly parameters: ReadonlyMap<string, ParameterInput>;
  readonly outside?: Outside | undefined;
}

export type ParameterInput =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "value"; readonly value: unknown };

export interface Scope {
  readonly file: string;
  readonly place: DeploymentTarget;
  readonly template: Members;
  readonly parameters: ReadonlyMap<string, ParameterInput>;
  readonly outside?: Outside | undefined;
  readonly known: Map<string, unknown>;
  /** Being evaluated: a name that needs itself has no value. */
  readonly asked: Set<string>;
  readonly copies: readonly { readonly name: string; readonly index: number }[];
}

export function openScope(template: Members, input: TemplateInput): Scope {
  const [known, asked] = [new Map<string, unknown>(), new Set<string>()];
  return { ...input, template, known, asked, copies: [] };
}

export function resolveIn(scope: Scope, value: unknown, where: string): unknown {
  if (typeof value === "string") return resolveText(scope, value, where);
  if (Array.isArray(value)) {
    return value.map((each: unknown, index) => resolveIn(scope, each, `${where}[${index}]`));
  }
  if (!isObject(value)) return value;
  const entries = Object.entries(value).flatMap(([name, member]) => {
    const inside = `${where}.${name}`;
    if (name === "copy" && isLoops(member)) return loopsIn(scope, member, inside);
    return [[nameIn(scope, name, where), resolveIn(scope, member, inside)] as const];
  });
  return Object.fromEntries(entries);
}

/** Of a member. Refusal: InvalidSetting. */
function nameIn(scope: Scope, text: string, where: string): string {
  const name = resolveText(scope, text, where);
  if (typeof name === "string") return name;
  throw refuseExpression(scope.file, where, text, "the name of a member is a text");
}

function resolveText(scope: Scope, text: string, where: string): unknown {
  const inner = expressionIn(text);
  if (inner === null) return unescapeText(text);
  try {
    return evaluate(parseExpression(inner), (name, args) =>
      callFunction(name, args, {
        place: scope.place,
        parameter: (wanted) => parameterOf(scope, wanted),
        variable: (wanted) => variableOf(scope, wanted),
        copyIndex: (wanted) => copyIndexOf(scope, wanted),
        outside: scope.outside,
      }),
    );
  } catch (error) {
    if (!(error instanceof Trouble)) throw error;
    throw refuseExpression(scope.file, where, text, error.message);
  }
}

const shownCharactersMax = 200;

function refuseExpression(file: string, where: string, text: string, why: string): Refusal {
  const shown = text.length > shownCharactersMax ? `${text.slice(0, shownCharactersMax)}…` : text;
  const words = `${file}: ${where} is ${shown}, which cannot be resolved: ${why}`;
  return new Refusal("InvalidSetting", words, { target: where });
}

/** Evaluates each name once. Throws Trouble, or a refusal with the position. */
function once(scope: Scope, what: string, make: () => unknown): unknown {
  const key = what.toLowerCase();
  if (scope.known.has(key)) return scope.known.get(key);
  if (scope.asked.has(key)) throw new Trouble(`${what} asks for itself`);
  scope.asked.add(key);
  try {
    const value = make();
    scope.known.set(key, value);
    return value;
  } finally {
    scope.asked.delete(key);
  }
}

function parameterOf(scope: Scope, name: string): unknown {
  return once(scope, `parameters.${name}`, () => {
    const declared = memberOf(scope.template.parameters, name);
    if (!isObject(declared)) throw new Trouble(`the template has no parameter ${name}`);
    const type = typeof declared.type === "string" ? declared.type.toLowerCase() : "";
    const given = findGiven(scope.parameters, name);
    if (given !== undefined) {
      const field = `the parameter ${name}`;
      const value = given.kind === "text" ? readAs(type, given.text, field) : given.value;
      return checkAllowed(checkType(type, value, field), declared.allowedValues, field);
    }
    if (declared.defaultValue === undefined) {
      if (declared.nullable === true) return null;
      throw new Trouble(`the parameter ${name} has no value; give it with --parameters ${name}=…`);
    }
    return resolveIn(top(scope), declared.defaultValue, `parameters.${name}.defaultValue`);
  });
}

function findGiven(
  parameters: ReadonlyMap<string, ParameterInput>,
  name: string,
): ParameterInput | undefined {
  const lower = name.toLowerCase();
  return [...parameters].find(([each]) => each.toLowerCase() === lower)?.[1];
}

const kinds: Readonly<Record<string, string>> = { int: "a whole number", bool: "true or false" };

/** On the command line everything is text. */
function readAs(type: string, text: string, field: string): unknown {
  if (isText(type)) return text;
  try {
    return JSON.parse(text.trim()) as unknown;
  } catch {
    throw refuseValue({ field, value: text, allowed: kinds[type] ?? "JSON", secret: true });
  }
}

/** Also for a type that the template defines: values on a command line are mostly text. */
function isText(type: string): boolean {
  return type === "string" || type === "securestring" || type === "";
}

function checkType(type: string, value: unknown, field: string): unknown {
  const isFine =
    value === null ||
    (type === "int" && Number.isInteger(value)) ||
    (type === "bool" && typeof value === "boolean") ||
    (type === "array" && Array.isArray(value)) ||
    ((type === "object" || type === "secureobject") && isObject(value)) ||
    (isText(type) && (type === "" || typeof value === "string"));
  if (isFine) return value;
  const article = /^[aeiou]/.test(type) ? "an" : "a";
  const allowed = kinds[type] ?? `${article} ${type.replace("secure", "")}`;
  throw refuseValue({ field, value, allowed, secret: true });
}

function checkAllowed(value: unknown, allowed: unknown, field: string): unknown {
  if (!Array.isArray(allowed) || allowed.includes(value)) return value;
  const known = allowed.map((each) => (typeof each === "string" ? each : JSON.stringify(each)));
  throw refuseValue({ field, value, allowed: `one of ${known.join(", ")}` });
}

function variableOf(scope: Scope, name: string): unknown {
  return once(scope, `variables.${name}`, () => {
    const found = memberOf(scope.template.variables, name);
    const where = `variables.${name}`;
    if (found !== undefined) return resolveIn(top(scope), found, where);
    const loops = memberOf(scope.template.variables, "copy");
    const own = isLoops(loops) ? loops.filter((loop) => loop.name === name) : [];
    if (own.length === 0) throw new Trouble(`the template has no variable ${name}`);
    return loopsIn(top(scope), own, "variables.copy")[0]?.[1];
  });
}

/** Parameters and variables cannot see the loop that uses them. */
function top(scope: Scope): Scope {
  return { ...scope, copies: [] };
}

function copyIndexOf({ copies }: Scope, name: string | null): number {
  const found =
    name === null
      ? copies.at(-1)
      : copies.find((copy) => copy.name.toLowerCase() === name.toLowerCase());
  if (found === undefined) throw new Trouble("copyIndex() is outside of its loop");
  return found.index;
}

interface Loop {
  readonly name: string;
  readonly count: unknown;
  readonly input: unknown;
}

/** A member that happens to be called `copy` is not a loop. */
function isLoops(value: unknown): value is readonly Loop[] {
  return (
    Array.isArray(value) &&
    value.every((each) => isObject(each) && typeof each.name === "string" && "input" in each)
  );
}

function loopsIn(scope: Scope, loops: readonly Loop[], where: string) {
  return loops.map(({ name, count, input }, at) => {
    const place = `${where}[${at}]`;
    const indexes = countOf(scope, count, `${place}.count`);
    const values = indexes.map((index) =>
      resolveIn(inLoop(scope, name, index), input, `${place}.input`),
    );
    return [name, values] as const;
  });
}

export function countOf(scope: Scope, count: unknown, where: string): readonly number[] {
  const given = resolveIn(scope, count, where);
  const length = checkInteger(given, `${scope.file}: ${where}`, { min: 0, max: copiesMax });
  return Array.from({ length }, (_, index) => index);
}

export function inLoop(scope: Scope, name: string, index: number): Scope {
  return { ...scope, copies: [...scope.copies, { name, index }] };
}
