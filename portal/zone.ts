// In which time zone times are shown: that of this browser, or UTC. The bar at the top says which,
// and the choice is kept in this browser.

import { useSyncExternalStore } from "react";

export type Zone = "local" | "utc";

const key = "posthorn.zone";
let zone: Zone = localStorage.getItem(key) === "utc" ? "utc" : "local";
const listeners = new Set<() => void>();

export function chooseZone(chosen: Zone): void {
  zone = chosen;
  localStorage.setItem(key, chosen);
  for (const listener of listeners) listener();
}

function watch(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function isUtc(): boolean {
  return zone === "utc";
}

/** Components that show a time call it, so that they are drawn again after a choice. */
export function useZone(): Zone {
  return useSyncExternalStore(watch, () => zone);
}

const utc = { timeZone: "UTC" } as const;
const time = { hour: "2-digit", minute: "2-digit", second: "2-digit" } as const;
const shortTime = { hour: "2-digit", minute: "2-digit" } as const;
const date = { day: "numeric", month: "short" } as const;

function formats(given: { readonly timeZone?: string }) {
  const make = (options: Intl.DateTimeFormatOptions) =>
    new Intl.DateTimeFormat("en-GB", { ...options, ...given });
  return {
    time: make(time),
    dateAndTime: make({ ...date, ...time }),
    full: make({ dateStyle: "medium", timeStyle: "medium" }),
    shortTime: make(shortTime),
    day: make({ weekday: "short", ...date }),
    /** `2026-11-16`, by which days are compared. */
    date: new Intl.DateTimeFormat("en-CA", given),
    offset: make({ timeZoneName: "longOffset" }),
  };
}

const inZone = { local: formats({}), utc: formats(utc) };

/** `UTC+01:00`; the browser's own zone may be UTC, too. */
export function offsetWords(chosen: Zone, now: number): string {
  if (chosen === "utc") return "UTC";
  const parts = inZone.local.offset.formatToParts(now);
  const name = parts.find(({ type }) => type === "timeZoneName")?.value ?? "GMT";
  return name.replace("GMT", "UTC").replace("+00:00", "");
}

/** With its date unless it is today's, by the broker's clock. */
export function sayInstant(iso: string, now: number): string {
  const at = Date.parse(iso);
  const words = inZone[zone];
  const isToday = words.date.format(at) === words.date.format(now);
  return (isToday ? words.time : words.dateAndTime).format(at);
}

export function sayFull(iso: string): string {
  const at = Date.parse(iso);
  return `${inZone[zone].full.format(at)} ${offsetWords(zone, at)}`;
}

const isoInstant = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g;

/** The broker's sentences have their instants in UTC; here they are as all others. */
export function withInstants(words: string, now: number): string {
  return words.replace(isoInstant, (iso) => sayInstant(iso, now));
}

/** At the ticks of a chart: a time, or a day where the chart is of many. */
export function sayTick(at: number, isDay: boolean): string {
  return (isDay ? inZone[zone].day : inZone[zone].shortTime).format(at);
}
