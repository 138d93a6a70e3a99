// Live updates, by server-sent events: one connection for the whole tab, and a bounded memory
// however long the tab stays open. Updates are collected and shown four times a second.
//
// Without the connection, the overview is polled, and pages reload their content. A hidden tab
// closes its connection after a while: a browser has only six for all tabs of one broker.

import { useEffect, useRef, useState, useSyncExternalStore } from "react";
import type {
  EventSummary,
  LiveAttempt,
  LiveEnd,
  LiveEvent,
  Overview,
  RedriveView,
} from "../src/core/api/views.ts";
import { ask, asRefused, type Refused } from "./api.ts";

export interface Live {
  readonly connection: "connecting" | "open" | "lost";
  /** Why the last request for the overview failed. */
  readonly refused: Refused | null;
  readonly overview: Overview | null;
  /** When the overview came, by this machine's clock. */
  readonly overviewAt: number;
  /** The latest first. */
  readonly attempts: readonly LiveAttempt[];
  readonly published: readonly EventSummary[];
  readonly ended: readonly LiveEnd[];
  readonly redrives: readonly RedriveView[];
  /** How many were left out because there were too many. */
  readonly missed: number;
}

export type LiveKind = LiveEvent["kind"];

const kept = 100;
const redrivesKept = 20;
const showEveryMs = 250;
const pollEveryMs = 5_000;
const reconnectMs = 3_000;
const hiddenMs = 15_000;
/** An overview comes every second. */
const silentMs = 10_000;

const kinds: readonly LiveKind[] = [
  "overview",
  "published",
  "attempt",
  "ended",
  "endpoint",
  "catalog",
  "redrive",
  "inbox",
  "missed",
];

let live: Live = {
  connection: "connecting",
  refused: null,
  overview: null,
  overviewAt: 0,
  attempts: [],
  published: [],
  ended: [],
  redrives: [],
  missed: 0,
};
let next: Live = live;
let isShowing = false;
const listeners = new Set<() => void>();
const kindListeners = new Set<(kind: LiveKind) => void>();

function change(changes: Partial<Live>): void {
  next = { ...next, ...changes };
  if (isShowing) return;
  isShowing = true;
  setTimeout(show, showEveryMs);
}

function show(): void {
  isShowing = false;
  live = next;
  for (const listener of listeners) listener();
}

function take(event: LiveEvent): void {
  switch (event.kind) {
    case "overview":
      change({ overview: event.overview, overviewAt: Date.now(), refused: null });
      setClock(event.overview);
      break;
    case "published":
      change({ published: [event.event, ...next.published].slice(0, kept) });
      break;
    case "attempt":
      change({ attempts: [event.attempt, ...next.attempts].slice(0, kept) });
      break;
    case "ended":
      change({ ended: [event.ended, ...next.ended].slice(0, kept) });
      break;
    case "redrive": {
      const others = next.redrives.filter(({ id }) => id !== event.redrive.id);
      change({ redrives: [event.redrive, ...others].slice(0, redrivesKept) });
      break;
    }
    case "missed":
      change({ missed: next.missed + event.count });
      break;
  }
  for (const listener of kindListeners) listener(event.kind);
}

/** Only attempts and publishes that are like this are sent by the broker; empty: all. */
let liveWords = "";

/** The live tail's filter: what does not match is left out by the broker, however much there is. */
export function filterLive(words: string): void {
  if (words === liveWords) return;
  liveWords = words;
  change({ missed: 0 });
  if (source === null) return;
  source.close();
  connect();
}

let source: EventSource | null = null;
let letGo: ReturnType<typeof setTimeout> | null = null;

/** Opens the connection, and reopens it for as long as the page is there. */
export function startLive(): void {
  void poll();
  // A link opened in a background tab must not take one of the browser's six connections.
  if (!document.hidden) connect();
  document.addEventListener("visibilitychange", () => {
    if (letGo !== null) clearTimeout(letGo);
    letGo = document.hidden ? setTimeout(disconnect, hiddenMs) : null;
    if (document.hidden || source !== null) return;
    connect();
    void refreshOverview().catch(() => {});
  });
}

function disconnect(): void {
  source?.close();
  source = null;
  change({ connection: "connecting" });
}

function connect(): void {
  const query = liveWords === "" ? "" : `?q=${encodeURIComponent(liveWords)}`;
  const opened = new EventSource(`/api/v1/live${query}`);
  source = opened;
  opened.addEventListener("open", () => {
    change({ connection: "open" });
    // What happened since a page was loaded, or since the last connection, was told to nobody.
    tellAll(kinds);
  });
  opened.addEventListener("error", () => {
    change({ connection: "lost" });
    // A browser reconnects by itself, except after an answer that it takes as final.
    if (opened.readyState !== EventSource.CLOSED) return;
    // Words that the broker refuses leave the tail as it is without them.
    liveWords = "";
    setTimeout(() => source === opened && connect(), reconnectMs);
  });
  for (const kind of kinds) {
    opened.addEventListener(kind, (given) => {
      take({ kind, ...JSON.parse((given as MessageEvent<string>).data) } as LiveEvent);
    });
  }
}

/** While there are no live updates. */
async function poll(): Promise<void> {
  // A connection may stay open to a broker that no longer sends anything.
  const isSilent = Date.now() - next.overviewAt > silentMs;
  if (!document.hidden && (next.connection !== "open" || isSilent)) {
    try {
      take({ kind: "overview", overview: await ask<Overview>("GET", "/api/v1/overview") });
      if (next.connection !== "open") tellAll(["attempt"]);
    } catch (error) {
      change({ refused: asRefused(error) });
    }
  }
  setTimeout(poll, pollEveryMs);
}

function watch(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** One member of it: what shows the overview is not drawn again with every attempt. */
export function useLive<Name extends keyof Live>(name: Name): Live[Name] {
  return useSyncExternalStore(watch, () => live[name]);
}

/** Increases when something of these kinds has happened, at most once in this time. */
export function useTick(wanted: readonly LiveKind[], everyMs = 1_000): number {
  const [tick, setTick] = useState(0);
  const timer = useRef<ReturnType<typeof setTimeout> | null>(null);
  const key = wanted.join();
  useEffect(() => {
    const listener = (kind: LiveKind) => {
      if (!key.split(",").includes(kind) || timer.current !== null) return;
      timer.current = setTimeout(() => {
        timer.current = null;
        setTick((before) => before + 1);
      }, everyMs);
    };
    kindListeners.add(listener);
    return () => {
      kindListeners.delete(listener);
      if (timer.current !== null) clearTimeout(timer.current);
      timer.current = null;
    };
  }, [key, everyMs]);
  return tick;
}

/** Requests a fresh overview at once: for example after the clock was moved. */
export async function refreshOverview(): Promise<void> {
  take({ kind: "overview", overview: await ask<Overview>("GET", "/api/v1/overview") });
  tellAll(["attempt", "catalog", "endpoint", "ended"]);
}

function tellAll(happened: readonly LiveKind[]): void {
  for (const listener of kindListeners) for (const kind of happened) listener(kind);
}

interface Ticker {
  /** The broker's time, as of the last tick. */
  now: number;
  readonly listeners: Set<() => void>;
}

const tickers = new Map<number, Ticker>();

/** One timer for all of the same interval: a table may show a thousand ages. */
function tickerOf(everyMs: number): Ticker {
  const known = tickers.get(everyMs);
  if (known !== undefined) return known;
  const ticker: Ticker = { now: brokerNow(), listeners: new Set() };
  tickers.set(everyMs, ticker);
  setInterval(() => beat(ticker), everyMs);
  return ticker;
}

function beat(ticker: Ticker): void {
  ticker.now = brokerNow();
  for (const listener of ticker.listeners) listener();
}

/** By how much the broker's clock is ahead of this machine's. */
let aheadMs = 0;
let seenNow: string | null = null;
const aheadMsMin = 1_000;

/** A virtual clock jumps, and nothing that shows a time may wait for the next beat. */
function setClock({ now, clock }: Overview): void {
  const isFirst = seenNow === null;
  const isMoved = clock === "virtual" && seenNow !== now;
  seenNow = now;
  const ahead = Date.parse(now) - Date.now();
  // Below this it is the way of the answer, and every drawn age would twitch.
  if (isFirst || Math.abs(ahead - aheadMs) > aheadMsMin) aheadMs = ahead;
  if (isFirst || isMoved) for (const ticker of tickers.values()) beat(ticker);
}

/** A virtual clock stands still between two overviews. */
export function brokerNow(): number {
  const { overview } = next;
  if (overview?.clock === "virtual") return Date.parse(overview.now);
  return Date.now() + aheadMs;
}

/** The broker's time, in milliseconds, drawn again at this interval. */
export function useNow(everyMs: 250 | 1_000 | 60_000 = 1_000): number {
  const ticker = tickerOf(everyMs);
  const [watchTicker] = useState(() => (listener: () => void) => {
    ticker.listeners.add(listener);
    return () => ticker.listeners.delete(listener);
  });
  return useSyncExternalStore(watchTicker, () => ticker.now);
}
