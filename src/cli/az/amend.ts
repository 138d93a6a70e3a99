// `--set`, `--add` and `--remove` on a shown resource, as in `az`, for properties without an option
// of their own: `--set retryPolicy.maxDeliveryAttempts=5`. Pure.

import { Refusal } from "../../core/refusal.ts";
import { isObject } from "../../core/template/expression.ts";
import type { Members } from "../../core/text/wording.ts";
import type { ParsedOptions } from "../option.ts";

export function amends(given: ParsedOptions): boolean {
  return ["set", "add", "remove"].some((option) => given.has(option));
}

/** The members that have changed, as they are now. Refusal: InvalidSetting. */
export function amended(shown: Members, given: ParsedOptions): Members {
  const value = structuredClone(shown) as Record<string, unknown>;
  for (const pair of given.all("set")) setAt(value, pair);
  for (const words of given.groups("add")) addAt(value, words);
  for (const words of given.groups("remove")) removeAt(value, words);
  return Object.fromEntries(
    Object.entries(value).filter(
      ([name, now]) => JSON.stringify(now) !== JSON.stringify(shown[name]),
    ),
  );
}

function setAt(value: Record<string, unknown>, pair: string): void {
  const [, path, text] = /^([^=]+)=([\s\S]*)$/.exec(pair) ?? [];
  if (path === undefined || text === undefined) throw refuse("--set", "PATH=VALUE", pair);
  const { holder, name } = find(value, path, "--set");
  holder[name as keyof typeof holder] = read(text) as never;
}

/** Appends to a list: a value, or an object of `key=value`. */
function addAt(value: Record<string, unknown>, [path = "", ...words]: readonly string[]): void {
  if (words.length === 0) throw refuse("--add", "PATH VALUE, or PATH KEY=VALUE…", path);
  const { holder, name } = find(value, path, "--add");
  const list = (holder[name as keyof typeof holder] ?? []) as unknown;
  if (!Array.isArray(list)) throw refuse("--add", "the path of a list and what to add to it", path);
  const isObjectGiven = words.every((word) => /^[\w.]+=/.test(word));
  const added = isObjectGiven
    ? Object.fromEntries(
        words.map((word) => [word.split("=", 1)[0], read(word.replace(/^[^=]+=/, ""))]),
      )
    : words.length === 1
      ? read(words[0] ?? "")
      : words;
  holder[name as keyof typeof holder] = [...list, added] as never;
}

function removeAt(value: Record<string, unknown>, [path = "", place]: readonly string[]): void {
  const { holder, name } = find(value, path, "--remove");
  const there = holder[name as keyof typeof holder] as unknown;
  if (place === undefined) {
    holder[name as keyof typeof holder] = null as never;
    return;
  }
  if (!Array.isArray(there) || !/^\d+$/.test(place)) {
    throw refuse("--remove", "PATH, or the path of a list and a place in it", `${path} ${place}`);
  }
  holder[name as keyof typeof holder] = there.toSpliced(Number(place), 1) as never;
}

/** The object that contains the last name of a path; `a.b[0].c` as well as `a.b.0.c`. */
function find(
  value: Record<string, unknown>,
  path: string,
  option: string,
): { readonly holder: Record<string, unknown>; readonly name: string } {
  const names = path.replaceAll(/\[(\d+)\]/g, ".$1").split(".");
  const name = names.pop() ?? "";
  let holder = value;
  for (const [depth, each] of names.entries()) {
    if (Array.isArray(holder) && !/^\d+$/.test(each)) {
      throw refuse(option, "a place in a list", names.slice(0, depth + 1).join("."));
    }
    holder[each] ??= {};
    const next = holder[each];
    if (!isObject(next) && !Array.isArray(next)) {
      throw refuse(option, "a path of members", names.slice(0, depth + 1).join("."));
    }
    holder = next as Record<string, unknown>;
  }
  if (name === "") throw refuse(option, "a path of members", path);
  return { holder, name };
}

/** JSON if it is valid, or Python's spelling, which az accepts as well; otherwise text. */
function read(text: string): unknown {
  for (const form of [text, pythonOf(text)]) {
    try {
      return JSON.parse(form);
    } catch {}
  }
  return text;
}

function pythonOf(text: string): string {
  const words: Readonly<Record<string, string>> = { True: "true", False: "false", None: "null" };
  return words[text] ?? (/^[[{]/.test(text) ? text.replaceAll("'", '"') : text);
}

function refuse(option: string, right: string, found: string): Refusal {
  const words = `${option} must be followed by ${right}, and is ${JSON.stringify(found)}`;
  return new Refusal("InvalidSetting", words);
}
