// A command's result in the requested format, as `az` prints it, so that scripts can read both.
// Keys are in alphabetical order, except for columns that a query chose; in tables and tsv, null is
// `None` and booleans are capitalised, as scripts expect.
//
// The libraries are loaded when they are needed: most results need neither.

import { styleText } from "node:util";
import { Refusal } from "../../core/refusal.ts";
import { isObject } from "../../core/template/expression.ts";
import type { Outside } from "../client.ts";
import type { Form, Result, Row } from "../command.ts";

export interface OutputChoice {
  readonly form: Form;
  readonly query: string | null;
  readonly isColoured: boolean;
  /** How wide a table may be; null: as wide as it is. */
  readonly columns: number | null;
}

/** Empty for null. Refusal: InvalidSetting, for an invalid query. */
export async function textOf(
  { value, rows, wide = rows }: Pick<Result, "value" | "rows" | "wide">,
  { form, query, isColoured, columns }: OutputChoice,
): Promise<string> {
  const plain: unknown = value === undefined ? null : JSON.parse(JSON.stringify(value));
  const chosen = query === null ? sorted(plain) : await ask(plain, query);
  if (chosen === null || form === "none") return "";
  switch (form) {
    case "json":
      return `${JSON.stringify(sorted(chosen), null, 2)}\n`;
    case "jsonc": {
      const text = JSON.stringify(sorted(chosen), null, 2);
      return `${isColoured ? coloured(text) : text}\n`;
    }
    case "yaml": {
      const { stringify } = await import("yaml");
      return stringify(sorted(chosen), { lineWidth: 0, indentSeq: false });
    }
    case "tsv":
      return asList(chosen)
        .map((item) => `${tsvRow(item)}\n`)
        .join("");
    case "table":
    case "wide": {
      const own = form === "wide" ? wide : rows;
      const drawn = query === null && own !== undefined ? own : asList(chosen).map(rowOf);
      return tableOf(drawn, form === "wide" ? null : columns);
    }
    default:
      return form satisfies never;
  }
}

/** As in az, a literal that is not JSON is a text: `orders`. */
const queryOptions = { enable_legacy_literals: true };

/** Refusal: InvalidSetting. */
export async function checkQuery(query: string): Promise<void> {
  const { compile } = await import("@jmespath-community/jmespath");
  try {
    compile(query, queryOptions);
  } catch (error) {
    throw refuseQuery(query, error);
  }
}

async function ask(value: unknown, query: string): Promise<unknown> {
  const { search } = await import("@jmespath-community/jmespath");
  try {
    return search(sorted(value) as never, query, queryOptions) ?? null;
  } catch (error) {
    throw refuseQuery(query, error);
  }
}

function refuseQuery(query: string, error: unknown): Refusal {
  const why = (error as Error).message.replace(/\s+/g, " ").trim();
  const shown = JSON.stringify(query);
  return new Refusal(
    "InvalidSetting",
    `--query must be JMESPath such as [].name, and is ${shown}: ${why}`,
  );
}

/** Members in alphabetical order, at all levels. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isObject(value)) return value;
  const names = Object.keys(value).toSorted();
  return Object.fromEntries(names.map((name) => [name, sorted(value[name])]));
}

function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [value];
}

function tsvRow(item: unknown): string {
  if (typeof item === "boolean") return String(item);
  if (Array.isArray(item)) return item.map(tsvCell).join("\t");
  return isObject(item) ? Object.values(item).map(tsvCell).join("\t") : tsvCell(item);
}

function tsvCell(value: unknown): string {
  if (Array.isArray(value)) return String(value.length);
  return isObject(value) ? "" : spoken(value);
}

function spoken(value: unknown): string {
  if (value === null) return "None";
  return typeof value === "boolean" ? (value ? "True" : "False") : String(value);
}

/** Too long for a table, and known from the name. */
const leftOut = ["id", "type", "etag"];

/** The simple members of a value. */
export function rowOf(item: unknown): Row {
  if (Array.isArray(item)) {
    return Object.fromEntries(item.map((each, index) => [`Column${index + 1}`, cellOf(each)]));
  }
  if (!isObject(item)) return { Result: cellOf(item) };
  const simple = Object.entries(item).filter(
    ([name, value]) => !leftOut.includes(name) && value !== null && typeof value !== "object",
  );
  return Object.fromEntries(simple.map(([name, value]) => [capital(name), cellOf(value)]));
}

function cellOf(value: unknown): string {
  if (value === null) return "";
  return typeof value === "object" ? JSON.stringify(value) : spoken(value);
}

function capital(name: string): string {
  return name.slice(0, 1).toUpperCase() + name.slice(1);
}

/**
 * The columns of all rows, in order of first appearance, as wide as in az; where there is less
 * room, the widest are cut.
 */
function tableOf(rows: readonly Row[], columns: number | null): string {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  if (names.length === 0) return "";
  const lines = rows.map((row) => names.map((name) => String(row[name] ?? "")));
  const natural = names.map((name, column) =>
    Math.max(widthOf(name) + 2, ...lines.map((line) => widthOf(line[column] ?? ""))),
  );
  const widths = columns === null ? natural : fitted(natural, columns - 2 * (names.length - 1));
  const drawn = [names, widths.map((width) => "-".repeat(width)), ...lines].map((line) =>
    line.map((cell, column) => padded(cell, widths[column] ?? 0)).join("  "),
  );
  return drawn.map((line) => `${line.trimEnd()}\n`).join("");
}

const widthMin = 8;

/** The widest give way first, down to what can still be read. */
function fitted(natural: readonly number[], room: number): number[] {
  const widths = [...natural];
  for (;;) {
    const all = widths.reduce((sum, width) => sum + width, 0);
    const widest = Math.max(...widths);
    if (all <= room || widest <= widthMin) return widths;
    const next = Math.max(widthMin, ...widths.filter((width) => width < widest));
    const count = widths.filter((width) => width === widest).length;
    const less = Math.min(widest - next || 1, Math.ceil((all - room) / count));
    for (const [place, width] of widths.entries()) {
      if (width === widest) widths[place] = width - less;
    }
  }
}

function padded(cell: string, width: number): string {
  const characters = [...cell];
  if (characters.length > width) return `${characters.slice(0, width - 1).join("")}…`;
  return cell + " ".repeat(width - characters.length);
}

function widthOf(text: string): number {
  return [...text].length;
}

function coloured(json: string): string {
  const token = /("(?:[^"\\]|\\.)*")(\s*:)?|\b(true|false|null)\b|-?\d[\d.eE+-]*/g;
  return json.replace(token, (found, text?: string, colon?: string, word?: string) => {
    if (text !== undefined)
      return colon === undefined ? paint("green", text) : `${paint("cyan", text)}${colon}`;
    return paint(word === undefined ? "yellow" : "magenta", found);
  });
}

function paint(colour: "green" | "cyan" | "yellow" | "magenta", text: string): string {
  return styleText(colour, text, { validateStream: false });
}

// Colours at a terminal only, and not with NO_COLOR.

type Colour = "green" | "yellow" | "red" | "cyan" | "magenta" | "dim" | "bold";
export type Paint = (colour: Colour, text: string) => string;

export function isColoured({ env, isTerminal }: Pick<Outside, "env" | "isTerminal">): boolean {
  return isTerminal && (env.NO_COLOR ?? "") === "";
}

export function painter(outside: Pick<Outside, "env" | "isTerminal">): Paint {
  if (!isColoured(outside)) return (_, text) => text;
  return (colour, text) => styleText(colour, text, { validateStream: false });
}
