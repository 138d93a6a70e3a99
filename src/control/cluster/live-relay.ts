// The live view of a whole cluster: while somebody watches here, the other brokers are asked every
// second what happened there. A broker keeps that only for those who asked lately, and no more than
// a watcher would be shown; so it costs nothing while nobody watches.

import type { LiveEvent } from "../../core/api/views.ts";
import type { Clock, Instant } from "../../core/ports.ts";
import type { Live } from "../api/live.ts";
import type { Calls } from "./calls.ts";

export interface LiveRelayDeps {
  readonly calls: Pick<Calls, "answer" | "askAll">;
  readonly live: Live;
  readonly clock: Pick<Clock, "now">;
  /** Calls at an interval of real time; the result ends it. */
  readonly every: (ms: number, ring: () => void) => () => void;
  /** This broker. */
  readonly broker: string;
}

interface Asker {
  readonly events: LiveEvent[];
  missed: number;
  askedAt: Instant;
}

const beatMs = 1_000;
const answerMsMax = 3_000;
/** Whoever has not asked for so long no longer watches. */
const askerMsMax = 5_000;
const keptMax = 200;
/** What each broker tells by itself, or reads from the same tables. */
const ofEachBroker: readonly LiveEvent["kind"][] = ["overview", "endpoint", "catalog", "missed"];

/** The result ends it. */
export function openLiveRelay({ calls, live, clock, every, broker }: LiveRelayDeps): () => void {
  const askers = new Map<string, Asker>();
  let deafen: (() => void) | null = null;
  let isAsking = false;

  const keep = (event: LiveEvent) => {
    if (ofEachBroker.includes(event.kind)) return;
    for (const asker of askers.values()) {
      if (asker.events.length < keptMax) asker.events.push(event);
      else asker.missed += 1;
    }
  };
  const forgetOld = () => {
    for (const [name, { askedAt }] of askers) {
      if (askedAt < clock.now() - askerMsMax) askers.delete(name);
    }
    if (askers.size > 0) return;
    deafen?.();
    deafen = null;
  };
  calls.answer<{ readonly broker: string }>("live", async ({ broker: name }) => {
    const known = askers.get(name);
    askers.set(name, { events: [], missed: 0, askedAt: clock.now() });
    deafen ??= live.tap(keep);
    if (known === undefined) return [];
    const { events, missed } = known;
    // First, because a watcher is shown only so many at once.
    return missed === 0 ? events : [{ kind: "missed", count: missed }, ...events];
  });
  const look = async () => {
    const told = await calls.askAll<readonly LiveEvent[]>("live", { broker }, answerMsMax);
    for (const event of told.flat()) live.pass(event);
  };
  const stop = every(beatMs, () => {
    forgetOld();
    if (isAsking || !live.isWatched) return;
    isAsking = true;
    look()
      // The next beat comes soon.
      .catch(() => {})
      .finally(() => {
        isAsking = false;
      });
  });
  return () => {
    stop();
    deafen?.();
  };
}
