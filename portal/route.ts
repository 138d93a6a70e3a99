// The current page: its address, changed without reloading. Pages are matched by patterns such as
// `/portal/topics/:topic`; names in them are percent-encoded. *Back* leads to where a page was
// left, the range of time goes along, and what was typed is not left without a question.

import { useMemo, useSyncExternalStore } from "react";

export interface Place {
  readonly path: string;
  readonly query: URLSearchParams;
}

const listeners = new Set<() => void>();

function tell(): void {
  for (const listener of listeners) listener();
}

function watch(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

let isFollowed = false;

/** Whether the user has navigated: the first page is read from its top. */
export function hasFollowed(): boolean {
  return isFollowed;
}

/** What is typed and not saved, in words; see `useUnsaved`. */
const unsaved = new Set<string>();

export function guardUnsaved(words: string): () => void {
  unsaved.add(words);
  return () => unsaved.delete(words);
}

/** Asks before what was typed is lost. */
function mayLeave(): boolean {
  const [words] = unsaved;
  if (words === undefined) return true;
  const isYes = window.confirm(`${words} Leave all the same?`);
  if (isYes) unsaved.clear();
  return isYes;
}

window.addEventListener("beforeunload", (event) => {
  if (unsaved.size > 0) event.preventDefault();
});

/** What goes along from page to page, and is in the address of each. */
const carried = ["range"] as const;

function withCarried(to: string): string {
  const url = new URL(to, location.origin);
  const here = new URLSearchParams(location.search);
  for (const name of carried) {
    const value = here.get(name);
    const isOwn = url.searchParams.has(name) || url.searchParams.has("from");
    if (value !== null && !isOwn) url.searchParams.set(name, value);
  }
  return url.pathname + url.search;
}

/** A page reports its address to the history with a name, by which its place is known again. */
interface Entry {
  readonly entry: string;
}

const entryNow = () => (history.state as Entry | null)?.entry ?? "first";
const tops = new Map<string, number>();
let entriesMade = 0;
let addressNow = location.href;

/** A page, or a tab of it: each has its own form, which is gone when another is shown. */
function formOf({ pathname, searchParams }: URL): string {
  return `${pathname} ${searchParams.get("tab") ?? ""}`;
}

export function go(
  path: string,
  {
    replace = false,
    carries = true,
  }: {
    readonly replace?: boolean;
    /** Whether the range of time goes along. */
    readonly carries?: boolean;
  } = {},
): void {
  const target = carries ? withCarried(path) : path;
  const to = new URL(target, location.origin);
  if (formOf(to) !== formOf(new URL(location.href)) && !mayLeave()) return;
  isFollowed = true;
  keepTop();
  const from = location.pathname;
  if (replace) history.replaceState(history.state, "", target);
  else history.pushState({ entry: `${Date.now()} ${++entriesMade}` } satisfies Entry, "", target);
  addressNow = location.href;
  if (to.pathname !== from) scrollTo(0, 0);
  tell();
}

history.scrollRestoration = "manual";
const keepTop = () => tops.set(entryNow(), scrollY);
window.addEventListener("scrollend", () => {
  if (restoring === null) keepTop();
});

window.addEventListener("popstate", () => {
  if (formOf(new URL(addressNow)) !== formOf(new URL(location.href)) && !mayLeave()) {
    history.pushState({ entry: `${Date.now()} ${++entriesMade}` } satisfies Entry, "", addressNow);
    return;
  }
  addressNow = location.href;
  isFollowed = true;
  tell();
  restoreTop(tops.get(entryNow()) ?? 0);
});

const restoreMsMax = 5_000;
let restoring: (() => void) | null = null;

/** Goes where the page was left once it is long enough again; a user who scrolls is not moved. */
function restoreTop(top: number): void {
  restoring?.();
  const left = new AbortController();
  const { signal } = left;
  const stop = () => {
    restoring = null;
    left.abort();
    observer.disconnect();
    clearTimeout(timer);
  };
  const reach = () => {
    scrollTo(0, top);
    if (Math.abs(scrollY - top) <= 1) stop();
  };
  const observer = new ResizeObserver(reach);
  const timer = setTimeout(stop, restoreMsMax);
  restoring = stop;
  for (const kind of ["wheel", "touchmove", "keydown", "pointerdown"]) {
    window.addEventListener(kind, stop, { signal, passive: true });
  }
  // Its height is that of its content; the elements around it are as high as the window.
  observer.observe(document.getElementById("main") ?? document.body);
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

export function topicPath(
  topic: string,
  tab: string | null = null,
  more: Readonly<Record<string, string | null>> = {},
): string {
  return pathTo(["topics", topic], { tab, ...more });
}

export interface SubscriptionName {
  readonly topic: string;
  readonly domainTopic: string | null;
  readonly name: string;
}

export function subscriptionPath(
  named: SubscriptionName,
  tab: string | null = null,
  more: Readonly<Record<string, string>> = {},
): string {
  const { topic, domainTopic, name } = named;
  return pathTo(["topics", topic, "subscriptions", name], { domainTopic, tab, ...more });
}

export function eventPath(id: string): string {
  return pathTo(["deliveries", id]);
}
