// The words of a search, as one text: `type:Shop.Paid state:failing 8f3c`. The broker reads them;
// here they are only put together and taken apart where the portal has a button for one.

import type { Scope } from "./figures/scope.ts";

/** Parameters by which other pages and old addresses name what they search for. */
const names = ["id", "subject", "type", "topic", "subscription", "state"] as const;

function quoted(value: string): string {
  return /[\s"]/.test(value) ? `"${value.replaceAll('"', "")}"` : value;
}

export function wordsIn(query: URLSearchParams): string {
  const named = names.flatMap((name) => {
    const value = query.get(name);
    return value === null || value === "" ? [] : [`${name}:${quoted(value)}`];
  });
  return [...named, query.get("q") ?? ""].join(" ").trim();
}

const word = /(\w+):("[^"]*"|\S+)/g;

function valuesOf(text: string, name: string): string[] {
  return [...text.matchAll(word)].flatMap(([, own, value]) =>
    own?.toLowerCase() === name && value !== undefined ? [value.replaceAll('"', "")] : [],
  );
}

export function hasWord(text: string, name: string, value: string): boolean {
  return valuesOf(text, name).some((each) => each.toLowerCase() === value.toLowerCase());
}

/** With one value of that name in the place of all others; null: without any. */
export function withWord(text: string, name: string, value: string | null): string {
  const rest = text
    .replace(word, (whole, own: string) => (own.toLowerCase() === name ? "" : whole))
    .replace(/\s+/g, " ")
    .trim();
  return value === null ? rest : `${rest} ${name}:${quoted(value)}`.trim();
}

/** Whose figures stand above what is found. */
export function scopeIn(text: string): Scope {
  const [topic] = valuesOf(text, "topic");
  const [name] = valuesOf(text, "subscription");
  if (topic === undefined) return null;
  if (name === undefined) return { kind: "topic", name: topic };
  return { kind: "subscription", topic, domainTopic: null, name };
}
