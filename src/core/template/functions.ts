// The functions of ARM templates that need only their arguments and the deployment target. Those
// that need Azure are left to the deployment; the clock and randomness are refused. Imitates
// https://learn.microsoft.com/azure/azure-resource-manager/templates/template-functions.

import {
  type DeploymentTarget,
  extensionResourceId,
  groupId,
  resourceId,
  subscriptionResourceId,
  tenantResourceId,
} from "./deployment-target.ts";
import { isObject, memberOf, Trouble } from "./expression.ts";

/** What a function may use besides its arguments. */
export interface FunctionScope {
  readonly place: DeploymentTarget;
  parameter(name: string): unknown;
  variable(name: string): unknown;
  /** Null: the innermost. */
  copyIndex(name: string | null): number;
  /**
   * What the deployment knows about existing resources, by the name in lower case; otherwise
   * undefined.
   */
  readonly outside?: Outside | undefined;
}

export type Outside = (name: string, args: Args) => unknown;

type Args = readonly unknown[];
type TemplateFunction = (args: Args, scope: FunctionScope) => unknown;

const listCountMax = 10_000;
const textCharactersMax = 1_048_576;

/** Calls a function by its name, in any letter case. Throws Trouble. */
export function callFunction(
  name: string,
  args: readonly (() => unknown)[],
  scope: FunctionScope,
): unknown {
  const lower = name.toLowerCase();
  // The other branch may have no value here.
  if (lower === "if") {
    const [condition, then, otherwise] = args;
    if (!condition || !then || !otherwise) throw new Trouble("if takes three arguments");
    return truth([condition()], 0) ? then() : otherwise();
  }
  const known = functions.get(lower);
  if (known !== undefined) {
    const given = args.map((arg) => arg());
    return checkSize(() => known(given, scope), name);
  }
  const told = scope.outside?.(
    lower,
    args.map((arg) => arg()),
  );
  if (told !== undefined) return told;
  throw new Trouble(
    needAzure.test(lower)
      ? `${name}() is known to Azure alone`
      : `there is no function ${name}() here`,
  );
}

/** A few lines that double a text each time would fill any memory. */
function checkSize(make: () => unknown, name: string): unknown {
  const tooLong = `what ${name}() makes is too long`;
  let value: unknown;
  try {
    value = make();
  } catch (error) {
    // No text of that length can be made.
    throw error instanceof RangeError ? new Trouble(tooLong) : error;
  }
  const isText = typeof value === "string" && value.length > textCharactersMax;
  if (!isText && !(Array.isArray(value) && value.length > listCountMax)) return value;
  throw new Trouble(tooLong);
}

const needAzure =
  /^(reference|references|list.*|providers|pickzones|environment|deployment|deployer|newguid|utcnow|guid|getsecret|managementgroup.*|tenant|tolocation.*)$/;

function text(args: Args, index: number): string {
  const value = args[index];
  if (typeof value === "string") return value;
  throw new Trouble(`argument ${index + 1} must be a text`);
}

function texts(args: Args): readonly string[] {
  return args.map((_, index) => text(args, index));
}

function number(args: Args, index: number): number {
  const value = args[index];
  if (typeof value === "number") return value;
  throw new Trouble(`argument ${index + 1} must be a number`);
}

function truth(args: Args, index: number): boolean {
  const value = args[index];
  if (typeof value === "boolean") return value;
  throw new Trouble(`argument ${index + 1} must be true or false`);
}

function list(args: Args, index: number): Args {
  const value = args[index];
  if (Array.isArray(value)) return value;
  throw new Trouble(`argument ${index + 1} must be a list`);
}

function object(args: Args, index: number): Readonly<Record<string, unknown>> {
  const value = args[index];
  if (isObject(value)) return value;
  throw new Trouble(`argument ${index + 1} must be an object`);
}

/** As .NET prints it. */
function printed(value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value === "boolean") return value ? "True" : "False";
  return value === null ? "" : JSON.stringify(value);
}

function concat(args: Args): unknown {
  return args.length > 0 && args.every(Array.isArray) ? args.flat() : args.map(printed).join("");
}

function format(args: Args): string {
  return text(args, 0).replace(/\{\{|\}\}|\{(\d+)\}|\{[^}]*\}?/g, (found, index?: string) => {
    if (found === "{{" || found === "}}") return found.slice(1);
    const place = Number(index) + 1;
    if (index === undefined || place >= args.length) {
      throw new Trouble(`format() knows no ${found} here`);
    }
    return printed(args[place]);
  });
}

function length(args: Args): number {
  const value = args[0];
  if (typeof value === "string" || Array.isArray(value)) return value.length;
  return Object.keys(object(args, 0)).length;
}

function contains(args: Args): boolean {
  const [within, wanted] = args;
  if (typeof within === "string") return within.includes(printed(wanted));
  if (Array.isArray(within)) return within.some((each) => isEqual(each, wanted));
  return memberOf(object(args, 0), wanted) !== undefined;
}

function isEqual(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** For texts and lists. */
function slice(args: Args, from: number, to?: number): unknown {
  const value = args[0];
  return typeof value === "string" ? value.slice(from, to) : list(args, 0).slice(from, to);
}

function union(args: Args): unknown {
  if (args.every(Array.isArray)) {
    const all = args.flat() as Args;
    return all.filter((one, at) => all.findIndex((other) => isEqual(one, other)) === at);
  }
  return args.map((_, index) => object(args, index)).reduce(merged);
}

function merged(
  one: Readonly<Record<string, unknown>>,
  other: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const both = new Map(Object.entries(one));
  for (const [name, value] of Object.entries(other)) {
    const old = both.get(name);
    both.set(name, isObject(old) && isObject(value) ? merged(old, value) : value);
  }
  return Object.fromEntries(both);
}

function createObject(args: Args): object {
  if (args.length % 2 === 1) throw new Trouble("createObject() takes names and values in turn");
  const names = args.filter((_, index) => index % 2 === 0);
  return Object.fromEntries(names.map((_, at) => [text(args, at * 2), args[at * 2 + 1]]));
}

function range(args: Args): readonly number[] {
  const count = number(args, 1);
  if (!(count >= 0 && count <= listCountMax)) {
    throw new Trouble(`range() makes at most ${listCountMax} numbers`);
  }
  return Array.from({ length: count }, (_, index) => number(args, 0) + index);
}

function parseJson(args: Args): unknown {
  try {
    return JSON.parse(text(args, 0)) as unknown;
  } catch {
    throw new Trouble("json() was given what is no JSON");
  }
}

function toNumber(args: Args): number {
  const [given] = args;
  const value = typeof given === "string" && given !== "" ? Number(given) : given;
  if (typeof value === "number" && Number.isInteger(value)) return value;
  throw new Trouble("int() was given what is no whole number");
}

function toTruth(args: Args): boolean {
  const found = [true, false].find((each) => printed(each).toLowerCase() === lowerOf(args[0]));
  if (found !== undefined) return found;
  if (typeof args[0] === "number") return args[0] !== 0;
  throw new Trouble("bool() was given neither true nor false");
}

function lowerOf(value: unknown): string {
  return printed(value).toLowerCase();
}

function numbers(args: Args): readonly number[] {
  const all = Array.isArray(args[0]) ? (args[0] as Args) : args;
  return all.map((_, index) => number(all, index));
}

function divided(args: Args, over: (one: number, other: number) => number): number {
  if (number(args, 1) === 0) throw new Trouble("nothing can be divided by zero");
  return over(number(args, 0), number(args, 1));
}

/**
 * *Differs:* Azure's algorithm for the thirteen letters is not published; ours gives different
 * ones. The same arguments give the same letters.
 */
function uniqueString(args: Args): string {
  const alphabet = "abcdefghijklmnopqrstuvwxyz234567";
  let hash = 0xcbf29ce484222325n;
  for (const byte of new TextEncoder().encode(args.map(printed).join("\u0000"))) {
    hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
  }
  return Array.from({ length: 13 }, (_, at) => {
    return alphabet.charAt(Number((hash >> BigInt(5 * at)) & 31n));
  }).join("");
}

function subscription(_: Args, { place }: FunctionScope): object {
  const { subscriptionId } = place;
  return { id: `/subscriptions/${subscriptionId}`, subscriptionId, displayName: "Posthorn" };
}

function resourceGroup(_: Args, { place }: FunctionScope): object {
  const type = "Microsoft.Resources/resourceGroups";
  const { resourceGroup: name, location } = place;
  return { id: groupId(place), name, type, location, tags: {} };
}

function copyIndex(args: Args, scope: FunctionScope): number {
  const name = typeof args[0] === "string" ? args[0] : null;
  const offset = args[name === null ? 0 : 1] ?? 0;
  return scope.copyIndex(name) + number([offset], 0);
}

const functions: ReadonlyMap<string, TemplateFunction> = new Map(
  Object.entries<TemplateFunction>({
    add: (args) => number(args, 0) + number(args, 1),
    and: (args) => args.every((_, index) => truth(args, index)),
    array: ([value]) => (Array.isArray(value) ? value : [value]),
    base64: (args) => Buffer.from(text(args, 0)).toString("base64"),
    base64ToString: (args) => Buffer.from(text(args, 0), "base64").toString("utf8"),
    bool: toTruth,
    coalesce: (args) => args.find((arg) => arg !== null) ?? null,
    concat,
    contains,
    copyIndex,
    createArray: (args) => args,
    createObject,
    div: (args) => divided(args, (one, other) => Math.trunc(one / other)),
    empty: (args) => args[0] === null || length(args) === 0,
    endsWith: (args) => text(args, 0).toLowerCase().endsWith(text(args, 1).toLowerCase()),
    equals: ([one, other]) => isEqual(one, other),
    extensionResourceId: (args) => extensionResourceId(texts(args)),
    false: () => false,
    first: (args) => (typeof args[0] === "string" ? args[0].charAt(0) : (list(args, 0)[0] ?? null)),
    flatten: (args) => list(args, 0).flat(),
    format,
    greater: (args) => number(args, 0) > number(args, 1),
    greaterOrEquals: (args) => number(args, 0) >= number(args, 1),
    indexOf: (args) => text(args, 0).toLowerCase().indexOf(text(args, 1).toLowerCase()),
    int: toNumber,
    items: (args) =>
      Object.entries(object(args, 0))
        .toSorted(([one], [other]) => (one < other ? -1 : 1))
        .map(([key, value]) => ({ key, value })),
    join: (args) => list(args, 0).map(printed).join(text(args, 1)),
    json: parseJson,
    last: (args) =>
      typeof args[0] === "string" ? args[0].slice(-1) : (list(args, 0).at(-1) ?? null),
    length,
    less: (args) => number(args, 0) < number(args, 1),
    lessOrEquals: (args) => number(args, 0) <= number(args, 1),
    max: (args) => Math.max(...numbers(args)),
    min: (args) => Math.min(...numbers(args)),
    mod: (args) => divided(args, (one, other) => one % other),
    mul: (args) => number(args, 0) * number(args, 1),
    not: (args) => !truth(args, 0),
    null: () => null,
    or: (args) => args.some((_, index) => truth(args, index)),
    padLeft: (args) =>
      printed(args[0]).padStart(Math.min(number(args, 1), listCountMax), padding(args)),
    parameters: (args, scope) => scope.parameter(text(args, 0)),
    range,
    replace: (args) => text(args, 0).replaceAll(text(args, 1), () => text(args, 2)),
    resourceGroup,
    resourceId: (args, { place }) => resourceId(texts(args), place),
    skip: (args) => slice(args, Math.max(0, number(args, 1))),
    split: (args) => splitText(text(args, 0), args[1]),
    startsWith: (args) => text(args, 0).toLowerCase().startsWith(text(args, 1).toLowerCase()),
    string: ([value]) => printed(value),
    sub: (args) => number(args, 0) - number(args, 1),
    subscription,
    subscriptionResourceId: (args, { place }) => subscriptionResourceId(texts(args), place),
    substring: (args) => {
      const start = number(args, 1);
      return text(args, 0).slice(
        start,
        args[2] === undefined ? undefined : start + number(args, 2),
      );
    },
    take: (args) => slice(args, 0, Math.max(0, number(args, 1))),
    tenantResourceId: (args) => tenantResourceId(texts(args)),
    toLower: (args) => text(args, 0).toLowerCase(),
    toUpper: (args) => text(args, 0).toUpperCase(),
    trim: (args) => text(args, 0).trim(),
    true: () => true,
    tryGet: (args) => memberOf(args[0], args[1]) ?? null,
    union,
    uniqueString,
    uri: (args) => URL.parse(text(args, 1), text(args, 0))?.href ?? refuseUri(),
    uriComponent: (args) => encodeURIComponent(text(args, 0).toWellFormed()),
    variables: (args, scope) => scope.variable(text(args, 0)),
  }).map(([name, known]) => [name.toLowerCase(), known]),
);

function padding(args: Args): string {
  return args[2] === undefined ? " " : text(args, 2);
}

function refuseUri(): never {
  throw new Trouble("uri() was given what is no address");
}

/** By one separator or several. */
function splitText(whole: string, by: unknown): readonly string[] {
  const separators = Array.isArray(by) ? (by as Args) : [by];
  return separators
    .map((_, index) => text(separators, index))
    .reduce((parts, one) => parts.flatMap((part) => part.split(one)), [whole]);
}
