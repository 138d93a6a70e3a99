// Kinds of settings: how each is read from text, and what is allowed, in the words of both the
// manual and a refusal. All settings arrive as text, whether by option, environment or file, so
// that one value has one meaning.

import type { Instant } from "../ports.ts";
import type { Range } from "./check.ts";
import { parseInstant, parseLength } from "./time.ts";
import { refuseValue } from "./wording.ts";

export interface Kind<T> {
  /** Completes "must be". */
  readonly allowed: string;
  /** Refusal: InvalidSetting, naming `field`. */
  readonly parse: (text: string, field: string) => T;
}

export interface Address {
  readonly host: string;
  /** 0 takes a free port. */
  readonly port: number;
}

/** A kind whose parser returns undefined for what is not allowed. */
function kind<T>(allowed: string, read: (text: string) => T | undefined): Kind<T> {
  return {
    allowed,
    parse(text, field) {
      const value = read(text);
      if (value === undefined) throw refuseValue({ field, value: text, allowed });
      return value;
    },
  };
}

export function oneOf<const T extends string>(words: readonly T[]): Kind<T> {
  return kind(listed(words), (text) => words.find((word) => word === text));
}

/** As other programs write it: `Strict` is the same as `strict`. */
export function oneOfAnyCase<const T extends string>(words: readonly T[]): Kind<T> {
  const { allowed, parse } = oneOf(words);
  return { allowed, parse: (text, field) => parse(text.toLowerCase(), field) };
}

export function onOrOff(): Kind<boolean> {
  const { allowed, parse } = oneOf(["on", "off"]);
  return { allowed, parse: (text, field) => parse(text, field) === "on" };
}

/** As other programs write it: `True` is the same as `true`. */
export function trueOrFalse(): Kind<boolean> {
  return kind("true or false", (text) => {
    const lower = text.toLowerCase();
    return lower === "true" || lower === "false" ? lower === "true" : undefined;
  });
}

export function wholeNumber(range: Range): Kind<number> {
  return kind(`a whole number from ${range.min} to ${range.max}`, (text) => {
    const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
    return value >= range.min && value <= range.max ? value : undefined;
  });
}

/** A whole number of seconds, kept in milliseconds. */
export function seconds(range: Range): Kind<number> {
  const { allowed, parse } = wholeNumber(range);
  return { allowed: `${allowed} (seconds)`, parse: (text, field) => parse(text, field) * 1_000 };
}

/** `max` is the longest allowed, as written. */
export function duration(max: string): Kind<number> {
  const allowed = `a duration such as 30s, 2h30m or PT30S, at most ${max}`;
  return {
    allowed,
    parse(text, field) {
      const ms = parseLength(text, field);
      if (ms > parseLength(max, field)) throw refuseValue({ field, value: text, allowed });
      return ms;
    },
  };
}

export function instant(): Kind<Instant> {
  return {
    allowed: "an ISO 8601 instant with its zone, such as 2030-01-01T00:00:00Z",
    parse: parseInstant,
  };
}

export function path(allowed = "a path"): Kind<string> {
  return kind(allowed, (text) => (text.includes("\u0000") ? undefined : text));
}

/** Any text that matches the rule. */
export function text(allowed: string, rule: RegExp): Kind<string> {
  return kind(allowed, (given) => (rule.test(given) ? given : undefined));
}

/** A name that a machine or container is reached by, or its address. */
export function hostName(): Kind<string> {
  return kind("a host name or an IP address", (text) =>
    isHostName(text) || URL.canParse(`http://[${text}]`) ? text.toLowerCase() : undefined,
  );
}

/** Also an IPv4 address, and a container's name, which may have underscores. */
export function isHostName(text: string): boolean {
  return /^(?=.{1,253}$)[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?$/i.test(text) && !text.includes("..");
}

/** Null: off. */
export function address(): Kind<Address | null> {
  return kind("HOST:PORT with a port from 0 to 65535, or off", (text) => {
    if (text === "off") return null;
    const parts = /^(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9.-]+)):(\d{1,5})$/.exec(text);
    const host = parts?.[1] ?? parts?.[2];
    const port = Number(parts?.[3]);
    return host === undefined || port > 65_535 ? undefined : { host, port };
  });
}

/** Separated by commas; a setting of this kind may also be given several times. */
export function listOf<T>({ allowed, parse }: Kind<T>): Kind<readonly T[]> {
  return {
    allowed: `${allowed}, or several with commas between`,
    parse: (text, field) => text.split(",").map((part) => parse(part.trim(), field)),
  };
}

/** Whether only programs on the same machine can reach it. */
export function isLoopback(host: string): boolean {
  return host.toLowerCase() === "localhost" || host === "::1" || /^127(\.\d{1,3}){3}$/.test(host);
}

/** How a broker is reached from its own machine, also one that listens on every address. */
export function urlFromHere(url: string): string {
  return url.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:");
}

/** `a, b or c` */
export function listed(words: readonly string[]): string {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;
}
