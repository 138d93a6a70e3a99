// The log: one line per fact, as JSON for programs or as text at a terminal.
//
// Lines are written in the background (background.ts); of those that are left out because nobody
// reads them the log says how many. Nothing here ever throws: a failure to log must not fail
// anything else.

import { inspect } from "node:util";
import type { Instant, Level, Log } from "../core/ports.ts";
import { isoInstant } from "../core/text/time.ts";
import { inBackground, type Out } from "./background.ts";

export interface OpenLog extends Log {
  /**
   * Announces the start, whatever the level. With `holdsBack` it is the first line: earlier facts
   * wait for it, so that it is easy to find. At a terminal `greeting` is printed instead, if there
   * is one.
   */
  announce(name: string, fields: Readonly<Record<string, unknown>>, greeting?: string): void;
  /** Facts wait for the announcement no longer: it may be long in coming. */
  release(): void;
  /** A line that is not a fact, from another writer to the same destination. */
  line(text: string): void;
  /** Resolves when everything is written. May be called twice. */
  close(): Promise<void>;
}

/** The destination: a stream with a descriptor is written in the background, any other directly. */
export interface LogStream {
  readonly fd?: number;
  readonly isTTY?: boolean;
  write(line: string): unknown;
}

export interface LogOptions {
  /** Facts below it are left out. */
  readonly level: Level;
  /** `auto`: text at a terminal, otherwise JSON. */
  readonly format: "auto" | "json" | "text";
  readonly stream: LogStream;
  /** The time in lines: the broker's own, which may be virtual. */
  readonly now?: () => Instant;
  /** Whether facts wait for the announcement. */
  readonly holdsBack?: boolean;
  /** Only for text. Default: colours on a terminal without NO_COLOR. */
  readonly isColored?: boolean;
}

const attempted = "delivery.attempted";

/** Of a value in the text form. */
const shownCharactersMax = 300;

const rank: Readonly<Record<Level, number>> = { debug: 0, info: 1, warn: 2, error: 3 };

export function openLog(options: LogOptions): OpenLog {
  const now = options.now ?? Date.now;
  const isTerminal = options.stream.isTTY === true;
  const isText = options.format === "text" || (options.format === "auto" && isTerminal);
  const isColored = options.isColored ?? (isTerminal && !process.env.NO_COLOR);
  const line = isText ? (fact: Fact) => textLine(fact, isColored) : jsonLine;
  const out =
    options.stream.fd === undefined ? direct(options.stream) : inBackground(options.stream.fd);
  let held: Fact[] | null = options.holdsBack ? [] : null;
  const release = () => {
    for (const fact of held ?? []) out.write(line(fact));
    held = null;
  };
  const tells = (level: Level) => rank[level] >= rank[options.level];
  return {
    tells,
    fact(level, name, fields) {
      if (!tells(level)) return;
      const fact = { at: now(), level, name, fields };
      if (held !== null) {
        held.push(fact);
        return;
      }
      const lines = out.takeDropped();
      if (lines > 0) {
        out.write(line({ at: now(), level: "warn", name: "log.dropped", fields: { lines } }));
      }
      out.write(line(fact));
    },
    announce(name, fields, greeting) {
      const isGreeted = isText && greeting !== undefined;
      out.write(isGreeted ? `${greeting}\n` : line({ at: now(), level: "info", name, fields }));
      release();
    },
    release,
    line: (text) => out.write(`${text}\n`),
    async close() {
      release();
      await out.close();
    },
  };
}

interface Fact {
  readonly at: Instant;
  readonly level: Level;
  readonly name: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

function direct(stream: LogStream): Out {
  return {
    write: (line) => void stream.write(line),
    takeDropped: () => 0,
    close: async () => {},
  };
}

function jsonLine({ at, level, name, fields }: Fact): string {
  const wide: Record<string, unknown> = { time: isoInstant(at), level, fact: name };
  for (const key in fields) {
    if (Object.hasOwn(wide, key)) continue;
    const value = fields[key];
    wide[key] = value instanceof Error ? errorFields(value) : value;
  }
  try {
    return `${JSON.stringify(wide)}\n`;
  } catch {
    // A cycle or a bigint somewhere: the line is written with what can be shown.
    const shown = Object.entries(wide).map(([key, value]) => [
      key,
      typeof value === "object" || typeof value === "bigint" ? inspect(value) : value,
    ]);
    return `${JSON.stringify(Object.fromEntries(shown))}\n`;
  }
}

function errorFields(error: Error): Record<string, unknown> {
  const { code } = error as { code?: unknown };
  return {
    name: error.name,
    message: error.message,
    ...(typeof code === "string" && { code }),
    ...(error.cause !== undefined && {
      cause: error.cause instanceof Error ? errorFields(error.cause) : inspect(error.cause),
    }),
    stack: error.stack,
  };
}

const colors: Readonly<Record<Level | "dim", string>> = {
  debug: "\u001b[36m",
  info: "\u001b[32m",
  warn: "\u001b[33m",
  error: "\u001b[31m",
  dim: "\u001b[2m",
};

function textLine({ at, level, name, fields }: Fact, isColored: boolean): string {
  const paint = (color: Level | "dim", text: string) =>
    isColored ? `${colors[color]}${text}\u001b[0m` : text;
  const time = paint("dim", isoInstant(at).replace("T", " "));
  const brief = briefOf(name, fields);
  if (brief !== null) return `${time} ${paint(level, level.toUpperCase().padEnd(5))} ${brief}\n`;
  const pairs = Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => ` ${paint("dim", `${key}=`)}${textValue(value)}`);
  return `${time} ${paint(level, level.toUpperCase().padEnd(5))} ${name}${pairs.join("")}\n`;
}

/**
 * An attempt in one line of a terminal: what is most frequent must be easy to read. `posthorn
 * explain` has the rest, and JSON has all of it.
 */
function briefOf(name: string, fields: Readonly<Record<string, unknown>>): string | null {
  if (name !== attempted) return null;
  const { topic, subscription, event, stage, attempt, outcome, status, nextDueAt } = fields;
  const what = stage === "deadLetter" ? "write" : "try";
  const saw = status === undefined ? outcome : `${status} ${outcome}`;
  const next = typeof nextDueAt === "string" ? `next ${nextDueAt.slice(11, 19)}` : fields.decision;
  const late = fields.late === true ? ", late" : "";
  const parts = [`${topic}/${subscription}`, event, `${what} ${attempt}:`, `${saw}${late},`, next];
  return parts.map((part) => textValue(part).replace(/^"|"$/g, "")).join(" ");
}

function textValue(value: unknown): string {
  const text =
    value instanceof Error
      ? `${value.name}: ${value.message}`
      : typeof value === "string"
        ? value
        : (jsonOf(value) ?? String(value));
  const cut = text.length > shownCharactersMax ? `${text.slice(0, shownCharactersMax - 1)}…` : text;
  // Quoted if its end would not be visible, or if it could control the terminal.
  return (typeof value === "object" && !(value instanceof Error)) || /^[\x21\x23-\x7e]+$/.test(cut)
    ? cut
    : JSON.stringify(cut);
}

function jsonOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return inspect(value, { breakLength: Number.POSITIVE_INFINITY });
  }
}

// A log in which successful deliveries are logged like failed ones, on request.

export function logSuccesses(log: Log): Log {
  return {
    // Facts are built for `debug` although few of them are written: only this file knows which.
    tells: () => true,
    fact: (level, name, fields) =>
      log.fact(name === attempted && level === "debug" ? "info" : level, name, fields),
  };
}
