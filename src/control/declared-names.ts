// Names of resources in the configuration file: each checked, and no two that differ only in letter
// case.

import { Refusal } from "../core/refusal.ts";
import { refuseValue } from "../core/text/wording.ts";
import { domainTopicNameRule } from "../core/topic.ts";

/** The members of an object whose names are names of resources. */
export function namedIn(value: unknown, field: string, rule: RegExp): [string, unknown][] {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw refuseValue({ field, value, allowed: "an object with a member for each" });
  }
  const names = Object.keys(value);
  for (const name of names) {
    if (rule.test(name)) continue;
    throw refuseValue({ field: `a name in ${field}`, value: name, allowed: wordsOfRule(rule) });
  }
  const twice = findTwice(names);
  if (twice !== null) {
    const words = `${field} must have names that differ in more than letter case`;
    throw new Refusal("InvalidSetting", `${words}, and has "${twice[0]}" and "${twice[1]}"`);
  }
  return Object.entries(value);
}

function wordsOfRule(rule: RegExp): string {
  const [, least, most] = /\{(\d+),(\d+)\}/.exec(rule.source) ?? [];
  const more = rule === domainTopicNameRule ? ", dots, underscores and tildes" : "";
  return `${least} to ${most} letters, digits and hyphens${more}`;
}

/** Two names that differ only in letter case. */
export function findTwice(names: readonly string[]): readonly [string, string] | null {
  const seen = new Map<string, string>();
  for (const name of names) {
    const other = seen.get(name.toLowerCase());
    if (other !== undefined) return [other, name];
    seen.set(name.toLowerCase(), name);
  }
  return null;
}
