// How numbers, times and names are written on every page.

import { wordsOfMs } from "../src/core/text/time.ts";

const count = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const rate = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });

export function sayCount(value: number): string {
  return count.format(value);
}

/** For narrow places: `12.3K`. */
export function sayShort(value: number): string {
  return value < 10_000 ? count.format(value) : short.format(value);
}

export function sayRate(value: number): string {
  return rate.format(value);
}

export function sayMany(value: number, one: string, many = `${one}s`): string {
  return `${count.format(value)} ${value === 1 ? one : many}`;
}

export function sayBytes(value: number): string {
  if (value < 1024) return `${value} B`;
  return value < 1024 * 1024
    ? `${rate.format(value / 1024)} KB`
    : `${rate.format(value / 1024 / 1024)} MB`;
}

/** `3 min 20 s`; below a second in milliseconds. */
export function sayLength(ms: number): string {
  return wordsOfMs(Math.max(0, ms));
}

/** How long something took: `81 ms`, `8.0 s`, `1 min 5 s`. */
export function sayTook(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  return ms < 10_000 ? `${(ms / 1_000).toFixed(1)} s` : sayAge(ms);
}

/** To the second, for countdowns and ages. */
export function sayAge(ms: number): string {
  return wordsOfMs(Math.max(0, Math.floor(ms / 1_000) * 1_000));
}

/** As Azure's portal says it; what it does not know stays as it is. */
const schemas: Readonly<Record<string, string>> = {
  EventGridSchema: "Event Grid schema",
  CloudEventSchemaV1_0: "CloudEvents v1.0",
  CustomEventSchema: "Custom input schema",
  CustomInputSchema: "Custom input schema",
};

export function saySchema(schema: string): string {
  return schemas[schema] ?? schema;
}

export const kindWords = {
  topic: "topic",
  domain: "domain",
  storage: "storage account",
  namespaceTopic: "namespace topic",
} as const;

/** `deadLettered` → `dead-lettered` */
const states: Readonly<Record<string, string>> = {
  waiting: "waiting",
  delivered: "delivered",
  deadLettering: "dead-lettering",
  deadLettered: "dead-lettered",
  dropped: "dropped",
};

export function sayState(state: string): string {
  return states[state] ?? state;
}
