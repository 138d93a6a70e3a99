// The current page: its address, changed without reloading. Pages are matched by patterns such as
// `/portal/topics/:topic`; names in them are percent-encoded.

import { useMemo, useSyncExternalStore } from "react";

export interface Place {
  readonly path: string;
  readonly query: URLSearchParams;
}

const listeners = new Set<() => void>();

function tell(): void {
  for (const listener of listeners) listener();
}

window.addEventListener("popstate", tell);

function watch(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

let isFollowed = false;

/** Whether the user has navigated: the first page is read from its top. */
export function hasFollowed(): boolean {
  return isFollowed;
}

export function go(to: string, { replace = false }: { readonly replace?: boolean } = {}): void {
  isFollowed = true;
  if (replace) history.replaceState(null, "", to);
  else history.pushState(null, "", to);
  tell();
}

export function usePlace(): Place {
  const href = useSyncExternalStore(watch, () => location.pathname + location.search);
  return useMemo(() => {
    const url = new URL(href, location.origin);
    return { path: url.pathname.replace(/(.)\/+$/, "$1"), query: url.searchParams };
  }, [href]);
}

/** The names that a path has where the pattern has `:name`; null: it does not match. */
export function match(pattern: string, path: string): Readonly<Record<string, string>> | null {
  const wanted = pattern.split("/");
  const given = path.split("/");
  if (wanted.length !== given.length) return null;
  const names: Record<string, string> = {};
  for (const [index, segment] of wanted.entries()) {
    const text = decode(given[index] ?? "");
    if (segment.startsWith(":")) names[segment.slice(1)] = text;
    else if (segment !== text) return null;
  }
  return names;
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** `/portal/topics/orders?tab=keys`; what is null or empty is left out of the query. */
export function pathTo(
  segments: readonly string[],
  query: Readonly<Record<string, string | null>> = {},
): string {
  const given = Object.entries(query).filter((each): each is [string, string] => !!each[1]);
  const search = new URLSearchParams(given).toString();
  return `/portal/${segments.map(encodeURIComponent).join("/")}${search === "" ? "" : `?${search}`}`;
}

export function topicPath(topic: string, tab: string | null = null): string {
  return pathTo(["topics", topic], { tab });
}

export interface SubscriptionName {
  readonly topic: string;
  readonly domainTopic: string | null;
  readonly name: string;
}

export function subscriptionPath(named: SubscriptionName, tab: string | null = null): string {
  const { topic, domainTopic, name } = named;
  return pathTo(["topics", topic, "subscriptions", name], { domainTopic, tab });
}

export function eventPath(id: string): string {
  return pathTo(["deliveries", id]);
}
