// What happens, live, as server-sent events: `event:` is the kind, `data:` the rest as JSON. For
// the portal and for `posthorn tail`.
//
// A watcher must never slow deliveries. Every watcher has a budget of events a second; what exceeds
// it, and what a slow reader does not take, is left out and counted, and nothing is buffered. The
// query selects: `kinds`, `topic`, `subscription`, and `q` as in a search.

import type { liveQuery } from "../../core/api/orders.ts";
import type { Infer } from "../../core/api/schema.ts";
import type { LiveEvent } from "../../core/api/views.ts";
import { Refusal } from "../../core/refusal.ts";
import type { Stream } from "../../core/request.ts";
import { readSearchWords } from "../../core/story/search-words.ts";
import { isSameName } from "../../core/text/compare.ts";
import { isAsked } from "./live-events.ts";
import type { Handlers } from "./serve.ts";

const watchersMax = 100;
/** Of one watcher. */
const eventsPerSecondMax = 200;
/** Proxies close a connection without traffic. */
const quietBeatsMax = 15;

interface Watcher {
  readonly wants: (event: LiveEvent) => boolean;
  readonly out: Stream;
  left: number;
  missed: number;
  quietBeats: number;
}

export class Live {
  readonly #watchers = new Set<Watcher>();
  /** For watchers at other brokers. */
  readonly #taps = new Set<(event: LiveEvent) => void>();

  /** Called with everything that is told here. The result ends it. */
  tap(listener: (event: LiveEvent) => void): () => void {
    this.#taps.add(listener);
    return () => this.#taps.delete(listener);
  }

  /** Whether anybody would hear what is told: a watcher here, or one at another broker. */
  get isHeard(): boolean {
    return this.isWatched || this.#taps.size > 0;
  }

  /** Whether anybody watches: expensive events need not be built otherwise. */
  get isWatched(): boolean {
    return this.#watchers.size > 0;
  }

  /** Frequent events are built only while some watcher still has budget. */
  sendMany(make: () => readonly LiveEvent[]): void {
    if (!this.isHeard) return;
    if (this.#taps.size > 0 || [...this.#watchers].some(({ left }) => left > 0)) {
      for (const event of make()) this.tell(event);
    } else for (const watcher of this.#watchers) watcher.missed += 1;
  }

  tell(event: LiveEvent): void {
    for (const listener of this.#taps) listener(event);
    this.pass(event);
  }

  /** To the watchers here alone. */
  pass(event: LiveEvent): void {
    let text = "";
    for (const watcher of this.#watchers) {
      if (!watcher.wants(event)) continue;
      if (text === "") text = textOf(event);
      if (watcher.left > 0 && watcher.out.write(text)) watcher.left -= 1;
      else watcher.missed += 1;
      watcher.quietBeats = 0;
    }
  }

  /** Called every second. */
  beat(): void {
    for (const watcher of this.#watchers) {
      watcher.left = eventsPerSecondMax;
      if (watcher.missed > 0) {
        const told = watcher.out.write(textOf({ kind: "missed", count: watcher.missed }));
        if (told) watcher.missed = 0;
      } else if (++watcher.quietBeats >= quietBeatsMax) {
        watcher.out.write(":\n\n");
        watcher.quietBeats = 0;
      }
    }
  }

  get handlers(): Pick<Handlers, "watch"> {
    return {
      watch: ({ query }) => {
        if (this.#watchers.size >= watchersMax) {
          const words = `There are ${watchersMax} watchers already.`;
          throw new Refusal("TooManyRequests", words, { retryAfterMs: 10_000 });
        }
        const wants = wishOf(query);
        return { status: 200, stream: (out) => this.#watch({ wants, out }) };
      },
    };
  }

  #watch(watching: Pick<Watcher, "wants" | "out">): () => void {
    const watcher = { ...watching, left: eventsPerSecondMax, missed: 0, quietBeats: 0 };
    this.#watchers.add(watcher);
    // So that a browser knows at once that it is connected.
    watcher.out.write(":\n\n");
    return () => this.#watchers.delete(watcher);
  }
}

/** What a search narrows down; the rest comes as before. */
const aboutEvents: readonly LiveEvent["kind"][] = ["published", "attempt", "ended"];

function textOf({ kind, ...rest }: LiveEvent): string {
  return `event: ${kind}\ndata: ${JSON.stringify(rest)}\n\n`;
}

function wishOf({
  kinds,
  topic,
  subscription,
  q,
}: Infer<typeof liveQuery>): (event: LiveEvent) => boolean {
  const isSought = q === undefined ? null : isAsked(readSearchWords(q));
  const isAbout = (about: { readonly topic: string; readonly subscription?: string }) =>
    (topic === undefined || isSameName(about.topic, topic)) &&
    (subscription === undefined ||
      about.subscription === undefined ||
      isSameName(about.subscription, subscription));
  return (event) => {
    if (event.kind === "missed") return true;
    if (kinds !== undefined && !kinds.includes(event.kind)) return false;
    if (isSought !== null && aboutEvents.includes(event.kind) && !isSought(event)) return false;
    switch (event.kind) {
      case "published":
        return isAbout({ topic: event.event.topic });
      case "attempt":
        return isAbout(event.attempt);
      case "ended":
        return isAbout(event.ended);
      default:
        return true;
    }
  };
}
