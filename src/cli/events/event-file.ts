// Events in a file: one, a list, or one per line. Numbers stay as written, with all their digits.

import { Refusal } from "../../core/refusal.ts";

const charactersMax = 268_435_456;

/** Refusal: InvalidSetting, which gives the position and never repeats the text. */
export function eventsIn(text: string, file: string): unknown[] {
  const refuse = (why: string) => new Refusal("InvalidSetting", `${file} ${why}`);
  if (text.length > charactersMax) throw refuse(`has more than ${charactersMax} characters`);
  const bare = text.replace(/^\uFEFF/, "").trim();
  if (bare === "") throw refuse("must hold events as JSON, and is empty");
  try {
    const value = parse(bare);
    return Array.isArray(value) ? value : [value];
  } catch {
    return bare.split("\n").flatMap((line, index) => {
      if (line.trim() === "") return [];
      try {
        return [parse(line)];
      } catch {
        const right = "JSON: an event, a list of events, or one event on each line";
        throw refuse(`must be ${right}, and line ${index + 1} is not`);
      }
    });
  }
}

function parse(text: string): unknown {
  return JSON.parse(text, keepDigits as never) as unknown;
}

/** The engine's own way to write a number as it was read. */
const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown };

function keepDigits(_: string, value: unknown, { source }: { readonly source?: string }): unknown {
  const isExact = typeof value !== "number" || source === undefined || String(value) === source;
  return isExact ? value : rawJSON(source);
}
