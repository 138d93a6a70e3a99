// Lists in pages, and the filter by name of Azure's lists: `$filter=contains(name, 'x') and not
// (name eq 'y' or name ne 'z')`, case-insensitive. Imitates
// https://learn.microsoft.com/rest/api/eventgrid (list operations).

import { Refusal } from "../../core/refusal.ts";
import type { Reply, Request } from "../../core/request.ts";
import { checkInteger } from "../../core/text/check.ts";
import { refuseValue } from "../../core/text/wording.ts";
import { reply } from "./reply.ts";

const topRange = { min: 1, max: 100 };
const topDefault = 20;
const filterCharactersMax = 2_048;
const filterDepthMax = 32;

export interface Listed {
  /** What `$filter` looks at. */
  readonly name: string;
  /** Unique in the list: its order, and the bookmark of a page. */
  readonly key: string;
  readonly render: () => object;
}

/**
 * `url` is that of the request, without its query; `isFiltered`: by a `$filter` that is not handled
 * here. Refusal: InvalidSetting.
 */
export function replyWithList(
  items: readonly Listed[],
  { query }: Request,
  url: string,
  isFiltered = false,
): Reply {
  const top =
    query.$top === undefined ? topDefault : checkInteger(Number(query.$top), "$top", topRange);
  const matches = query.$filter && !isFiltered ? parseNameFilter(query.$filter) : () => true;
  const after = query.$skiptoken === undefined ? "" : decodeToken(query.$skiptoken);
  const found = items
    .filter(({ name, key }) => key > after && matches(name))
    .toSorted((one, other) => (one.key < other.key ? -1 : 1));
  const page = found.slice(0, top);
  const last = page.at(-1);
  const value = page.map(({ render }) => render());
  if (last === undefined || found.length === page.length) return reply(200, { value });
  const rest = Object.entries({ ...query, $skiptoken: encodeToken(last.key) }).map(
    ([name, text = ""]) => `${encodeURIComponent(name)}=${encodeURIComponent(text)}`,
  );
  return reply(200, { value, nextLink: `${url}?${rest.join("&")}` });
}

function encodeToken(key: string): string {
  return encodeURIComponent(key);
}

function decodeToken(token: string): string {
  try {
    return decodeURIComponent(token);
  } catch {
    throw refuseValue({ field: "$skiptoken", value: token, allowed: "one of a nextLink" });
  }
}

type NameTest = (name: string) => boolean;

/** Refusal: InvalidSetting. */
export function parseNameFilter(text: string): NameTest {
  if (text.length > filterCharactersMax) {
    throw refuseFilter(`at most ${filterCharactersMax} characters long`);
  }
  const tokens = [...text.matchAll(/\s*('(?:[^']|'')*'|[A-Za-z/]+|[(),]|\S)/g)].map(
    ([, token = ""]) => token,
  );
  const reader = { tokens, place: 0, depth: 0 };
  const test = readEither(reader);
  if (reader.place < tokens.length) throw refuseFilter("one filter, with and or or between");
  return test;
}

interface Reader {
  readonly tokens: readonly string[];
  place: number;
  depth: number;
}

function takes(reader: Reader, word: string): boolean {
  const isThere = reader.tokens[reader.place]?.toLowerCase() === word;
  if (isThere) reader.place += 1;
  return isThere;
}

function need(reader: Reader, word: string): void {
  if (!takes(reader, word)) throw refuseFilter(`with ${word} where it belongs`);
}

function readEither(reader: Reader): NameTest {
  const first = readBoth(reader);
  if (!takes(reader, "or")) return first;
  const second = readEither(reader);
  return (name) => first(name) || second(name);
}

function readBoth(reader: Reader): NameTest {
  const first = readOne(reader);
  if (!takes(reader, "and")) return first;
  const second = readBoth(reader);
  return (name) => first(name) && second(name);
}

function readOne(reader: Reader): NameTest {
  if (takes(reader, "not")) {
    const test = descend(reader, readOne);
    return (name) => !test(name);
  }
  if (takes(reader, "(")) {
    const test = descend(reader, readEither);
    need(reader, ")");
    return test;
  }
  if (takes(reader, "contains")) {
    need(reader, "(");
    need(reader, "name");
    need(reader, ",");
    const part = readText(reader);
    need(reader, ")");
    return (name) => name.toLowerCase().includes(part);
  }
  need(reader, "name");
  const isEqual = takes(reader, "eq");
  if (!isEqual) need(reader, "ne");
  const text = readText(reader);
  return (name) => (name.toLowerCase() === text) === isEqual;
}

function descend(reader: Reader, read: (reader: Reader) => NameTest): NameTest {
  reader.depth += 1;
  if (reader.depth > filterDepthMax) throw refuseFilter(`nested at most ${filterDepthMax} deep`);
  const test = read(reader);
  reader.depth -= 1;
  return test;
}

function readText(reader: Reader): string {
  const token = reader.tokens[reader.place];
  if (token === undefined || !/^'.*'$/s.test(token)) throw refuseFilter("with texts in quotes");
  reader.place += 1;
  return token.slice(1, -1).replaceAll("''", "'").toLowerCase();
}

function refuseFilter(allowed: string): Refusal {
  const words = `$filter must be ${allowed}: name eq 'a', name ne 'a' and contains(name, 'a')`;
  const how = "joined by and, or, not and brackets, are known";
  return new Refusal("InvalidSetting", `${words}, ${how}`, { target: "$filter" });
}
