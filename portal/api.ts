// Requests to the broker: one function for every request, and one hook for what a page shows. A
// refusal keeps the broker's message; the portal adds its own only when the broker did not answer.

import { useCallback, useEffect, useRef, useState } from "react";
import { inTurn } from "./in-turn.ts";
import type { SubscriptionName } from "./route.ts";

/** The broker refused, or did not answer (status 0). */
export class Refused extends Error {
  readonly status: number;
  readonly code: string;
  /** The field with the error: `properties.retryPolicy.maxDeliveryAttempts`. */
  readonly field: string | null;

  constructor(status: number, code: string, message: string, field: string | null = null) {
    super(message);
    this.status = status;
    this.code = code;
    this.field = field ?? fieldIn(message);
  }
}

/** Most refusals begin with their field. */
function fieldIn(message: string): string | null {
  return /\bproperties(?:\.\w+|\[\d+\])+|^[\w.[\]]+(?= must )/.exec(message)?.[0] ?? null;
}

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

export async function ask<T>(
  method: Method,
  path: string,
  body?: unknown,
  signal?: AbortSignal,
): Promise<T> {
  const headers = { "content-type": "application/json", accept: "application/json" };
  const response = await send(path, {
    method,
    ...(signal !== undefined && { signal }),
    ...(body === undefined
      ? { headers: { accept: headers.accept } }
      : { headers, body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return (text === "" ? null : JSON.parse(text)) as T;
}

/** Like `fetch`, but every answer that is not a success is thrown with the broker's message. */
export async function send(path: string, init: RequestInit): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(path, { ...init, credentials: "same-origin", redirect: "manual" });
  } catch {
    throw new Refused(0, "NoAnswer", "The broker does not answer. Is it running?");
  }
  if (response.ok) return response;
  if (response.status === 401) leaveWhenSignedOut(path);
  throw await refusalIn(response);
}

/** The session has ended: continue on the sign-in page. */
function leaveWhenSignedOut(path: string): void {
  // A publish is refused because of its key, not because of the session.
  if (path.startsWith("/topics/")) return;
  const to = encodeURIComponent(location.pathname + location.search);
  location.assign(`/signin?to=${to}`);
}

async function refusalIn(response: Response): Promise<Refused> {
  const text = await response.text();
  try {
    const { error } = JSON.parse(text) as {
      error: { code: string; message: string; target?: string };
    };
    return new Refused(response.status, error.code, error.message, error.target);
  } catch {
    const words = text.slice(0, 300) || `The broker answered ${response.status}.`;
    return new Refused(response.status, String(response.status), words);
  }
}

export function asRefused(error: unknown): Refused {
  return error instanceof Refused ? error : new Refused(0, "Error", String(error));
}

/** In Posthorn's own API; null, undefined and empty values are left out of the query. */
export function apiPath(
  segments: readonly string[],
  query: Readonly<Record<string, string | number | null | undefined>> = {},
): string {
  const given = Object.entries(query).flatMap(([name, value]) =>
    value === null || value === undefined || value === "" ? [] : [[name, String(value)]],
  );
  const search = new URLSearchParams(given).toString();
  const path = segments.map(encodeURIComponent).join("/");
  return `/api/v1/${path}${search === "" ? "" : `?${search}`}`;
}

export function subscriptionApi(
  { topic, domainTopic, name }: SubscriptionName,
  verb: string | null = null,
): string {
  const segments = ["topics", topic, "subscriptions", name, ...(verb === null ? [] : [verb])];
  return apiPath(segments, { domainTopic });
}

export interface Asked<T> {
  /** Kept while it is requested again. */
  readonly value: T | undefined;
  readonly refused: Refused | null;
  readonly again: () => void;
}

interface Held<T> {
  readonly key: string | null;
  readonly value: T | undefined;
  readonly refused: Refused | null;
}

/** Reads what a page shows, perhaps in several steps, each of which may be held. */
type Read<T> = (hold: (value: T) => void, signal: AbortSignal) => Promise<void>;

/**
 * What a GET answers, asked again whenever the tick changes, one request at a time: an answer that
 * took longer than a tick is shown, and then asked for once more. Null: nothing is asked.
 */
export function useAsked<T>(
  path: string | null,
  tick = 0,
  read: (answer: unknown) => T = (answer) => answer as T,
): Asked<T> {
  return useRead<T>(path, tick, async (hold, signal) => {
    if (path !== null) hold(read(await ask("GET", path, undefined, signal)));
  });
}

/** `key`: what is read; another one begins anew. */
export function useRead<T>(key: string | null, tick: number, read: Read<T>): Asked<T> {
  const [held, setHeld] = useState<Held<T>>({ key: null, value: undefined, refused: null });
  const refresh = useRef(() => {});
  const latest = useRef(read);
  latest.current = read;
  useEffect(() => {
    if (key === null) return;
    const left = new AbortController();
    const { signal } = left;
    const hold = (answer: Partial<Held<T>>) => {
      if (signal.aborted) return;
      setHeld((before) => ({
        key,
        value: before.key === key ? before.value : undefined,
        refused: null,
        ...answer,
      }));
    };
    refresh.current = inTurn(() =>
      latest
        .current((value) => hold({ value }), signal)
        .catch((error: unknown) => {
          hold({ refused: asRefused(error) });
        }),
    );
    refresh.current();
    return () => {
      refresh.current = () => {};
      left.abort();
    };
  }, [key]);
  const ticked = useRef(tick);
  useEffect(() => {
    if (ticked.current !== tick) refresh.current();
    ticked.current = tick;
  }, [tick]);
  const again = useCallback(() => refresh.current(), []);
  const isOurs = held.key === key;
  return {
    value: isOurs ? held.value : undefined,
    refused: isOurs ? held.refused : null,
    again,
  };
}
