// How the words after a command are read: as `az` reads them, so that a script written for it means
// the same here. An option may be shortened as long as it is unambiguous; one that takes several
// values takes all words up to the next option; a value may be a negative number.
//
// Every refusal is one line that says what is wrong and what is expected.

import { Refusal } from "../core/refusal.ts";
import type { Range } from "../core/text/check.ts";
import { listed, wholeNumber } from "../core/text/setting-kinds.ts";
import { refuseName, refuseValue } from "../core/text/wording.ts";

export interface Option {
  /** The name of its value; null for a switch, which may be followed by true or false. */
  readonly takes: string | null;
  /** Other names: `-n`, `--aad-app-id`. */
  readonly aliases?: readonly string[];
  /** Takes all words that follow, up to the next option. */
  readonly isMany?: boolean;
  /** May be given several times. */
  readonly isList?: boolean;
  readonly isRequired?: boolean;
  /** In any letter case; the command sees them as spelled here. */
  readonly choices?: readonly string[];
  /** As a whole number. */
  readonly range?: Range;
  readonly about: string;
}

export type Options = Readonly<Record<string, Option>>;

export interface Operands {
  /** The name of one: `FILE`. */
  readonly name: string;
  readonly isMany?: boolean;
  readonly isRequired?: boolean;
  readonly about: string;
}

export interface ParsedOptions<Name extends string = string> {
  /** Everything that is not an option. */
  readonly operands: readonly string[];
  has(name: Name): boolean;
  /** The last one given. */
  one(name: Name): string | null;
  /** All that were given. */
  all(name: Name): readonly string[];
  /** The same, grouped as given. */
  groups(name: Name): readonly (readonly string[])[];
  whole(name: Name): number | null;
  /** A switch is true unless it is followed by false; null: not given. */
  isOn(name: Name): boolean | null;
}

/** Refusal: InvalidSetting. */
export function readOptions<Name extends string>(
  args: readonly string[],
  options: Readonly<Record<Name, Option>>,
  operands: Operands | null = null,
): ParsedOptions<Name> {
  const found = new Map<string, string[][]>();
  const rest: string[] = [];
  const words = [...args];
  for (let word = words.shift(); word !== undefined; word = words.shift()) {
    if (word === "--") rest.push(...words.splice(0));
    else if (!isOption(word)) rest.push(word);
    else {
      const { name, inline } = findOption(word, options);
      const values = takeValues(name, { option: options[name as Name], inline, words });
      found.set(name, [...(found.get(name) ?? []), values]);
    }
  }
  checkCount(found, options);
  checkOperands(rest, operands);
  return givenOf(found, rest);
}

/** A lone dash means standard input, and a number may be negative. */
function isOption(word: string): boolean {
  return /^-./.test(word) && !/^-\.?\d/.test(word);
}

function findOption(
  word: string,
  options: Options,
): { readonly name: string; readonly inline: string | null } {
  const long = /^(--[^=]+)(?:=([\s\S]*))?$/.exec(word);
  if (long === null) return findShort(word, options);
  const [, written = "", inline = null] = long;
  const names = new Map<string, string>();
  for (const [name, { aliases = [] }] of Object.entries(options)) {
    for (const known of [`--${name}`, ...aliases]) names.set(known, name);
  }
  const exact = names.get(written);
  if (exact !== undefined) return { name: exact, inline };
  const begun = [...names].filter(([known]) => known.startsWith(written));
  const [meant] = begun;
  if (meant !== undefined && new Set(begun.map(([, name]) => name)).size === 1) {
    return { name: meant[1], inline };
  }
  if (begun.length > 1) {
    const all = listed(begun.map(([known]) => known));
    throw new Refusal("InvalidSetting", `${written} could be ${all}: write more of it`);
  }
  throw refuseName({
    what: "option",
    name: written,
    known: [...names.keys()].filter((known) => known.startsWith("--")),
  });
}

/** `-n orders`, `-norders` or `-n=orders`. */
function findShort(word: string, options: Options) {
  const written = word.slice(0, 2);
  for (const [name, { aliases = [] }] of Object.entries(options)) {
    if (!aliases.includes(written)) continue;
    const inline = word.length > 2 ? word.slice(word[2] === "=" ? 3 : 2) : null;
    return { name, inline };
  }
  const known = Object.values(options).flatMap(({ aliases = [] }) => aliases);
  const short = known.filter((alias) => alias.length === 2);
  const words = `there is no option ${JSON.stringify(written)}; known are ${short.join(", ")}`;
  throw new Refusal("InvalidSetting", words);
}

/** Removes them from the words. */
function takeValues(
  name: string,
  given: { readonly option: Option; readonly inline: string | null; readonly words: string[] },
): string[] {
  const { option, inline, words } = given;
  const { takes, isMany = false } = option;
  if (takes === null) return [takeTruth(name, inline, words)];
  const values = inline === null ? [] : [inline];
  while (words[0] !== undefined && (isMany || values.length === 0)) {
    const [next] = words;
    // A word that could be an option is one; write a value that looks like one after a `=`.
    if (isOption(next) || (next === "--" && values.length > 0)) break;
    values.push(words.shift() as string);
  }
  if (values.length === 0) {
    throw new Refusal("InvalidSetting", `--${name} must be followed by ${takes}`);
  }
  return values.map((value) => checkValue(`--${name}`, value, option));
}

function takeTruth(name: string, inline: string | null, words: string[]): string {
  const isTruth = (text: string | null | undefined) => /^(true|false)$/i.test(text ?? "");
  const value = inline ?? (isTruth(words[0]) ? (words.shift() as string) : "true");
  if (isTruth(value)) return value.toLowerCase();
  throw refuseValue({ field: `--${name}`, value, allowed: "true or false, or have no value" });
}

function checkValue(field: string, value: string, { choices, range }: Option): string {
  if (range !== undefined) wholeNumber(range).parse(value, field);
  if (choices === undefined) return value;
  const found = choices.find((choice) => choice.toLowerCase() === value.toLowerCase());
  if (found === undefined) throw refuseValue({ field, value, allowed: listed(choices) });
  return found;
}

function checkCount(found: ReadonlyMap<string, unknown[]>, options: Options): void {
  for (const [name, { isRequired = false, takes }] of Object.entries(options)) {
    if (isRequired && !found.has(name)) {
      throw new Refusal("InvalidSetting", `--${name} must be given: --${name} ${takes}`);
    }
  }
}

function checkOperands(given: readonly string[], operands: Operands | null): void {
  const extra = operands === null ? given[0] : operands.isMany ? undefined : given[1];
  if (extra !== undefined) {
    const right = operands === null ? "only options follow here" : `one ${operands.name} is enough`;
    throw new Refusal("InvalidSetting", `${JSON.stringify(extra)} has no place here: ${right}`);
  }
  if (operands !== null && given.includes("")) {
    const words = `${operands.name} must not be empty: ${operands.about}`;
    throw new Refusal("InvalidSetting", words);
  }
  if (operands?.isRequired === true && given.length === 0) {
    throw new Refusal("InvalidSetting", `${operands.name} must be given: ${operands.about}`);
  }
}

function givenOf<Name extends string>(
  found: ReadonlyMap<string, readonly string[][]>,
  operands: readonly string[],
): ParsedOptions<Name> {
  const groups = (name: Name) => found.get(name) ?? [];
  const one = (name: Name) => groups(name).at(-1)?.at(-1) ?? null;
  return {
    operands,
    has: (name) => found.has(name),
    one,
    all: (name) => groups(name).flat(),
    groups,
    whole(name) {
      const text = one(name);
      return text === null ? null : Number(text);
    },
    isOn(name) {
      const text = one(name);
      return text === null ? null : text === "true";
    },
  };
}

/**
 * `name=value` pairs. Without a form the value may be empty or left out, as in `az`. What was given
 * is not shown, for it may be a secret. Refusal: InvalidSetting.
 */
export function pairsOf(
  option: string,
  given: readonly string[],
  form: string | null = null,
): ReadonlyMap<string, string> {
  const pairs = given.map((one): [string, string] => {
    const [name = "", ...rest] = one.split("=");
    const value = rest.join("=");
    if (name !== "" && (form === null || value !== "")) return [name, value];
    throw new Refusal("InvalidSetting", `${option} must be pairs as in ${form ?? "key=value"}`);
  });
  return new Map(pairs);
}
