// How much each dispatcher had leased, known by its leases: from the claim to the settlement,
// whether or not anything was sent in between. One that has as much as it takes claims nothing
// more, and what is due waits for that alone: for a backlog of expired events on a slow disk, say.

import type { Instant } from "../../src/core/ports.ts";
import type { SubscriptionId } from "../../src/core/subscription.ts";
import type { Claimed, History, Span, Tale } from "./history.ts";

export interface DispatcherLoad {
  /** When the dispatcher of a subscription had its hands full, in one life. */
  whenFull(life: number, subscription: SubscriptionId): readonly Span[];
}

interface Change {
  readonly at: Instant;
  readonly by: 1 | -1;
}

export function dispatcherLoad(history: History): DispatcherLoad {
  let changes: ReadonlyMap<string, readonly Change[]> | null = null;
  const known = new Map<string, readonly Span[]>();
  return {
    whenFull(life, subscription) {
      changes ??= changesByHand(history);
      const key = `${life}/${subscription}`;
      const spans =
        known.get(key) ??
        spansAbove(changes.get(key) ?? [], smallestWindow(history, subscription) / 2);
      known.set(key, spans);
      return spans;
    },
  };
}

function changesByHand(history: History): ReadonlyMap<string, readonly Change[]> {
  const changes = new Map<string, Change[]>();
  for (const tale of history.tales) {
    for (const step of tale.steps) {
      if (step.kind !== "claimed" || step.delivery.stage !== "deliver") continue;
      const key = `${step.life}/${tale.subscription}`;
      const known = changes.get(key) ?? [];
      changes.set(key, known);
      known.push({ at: step.mark.at, by: 1 }, { at: endOf(history, tale, step), by: -1 });
    }
  }
  return changes;
}

function endOf(history: History, tale: Tale, { delivery, life }: Claimed): Instant {
  const settled = tale.steps.find(
    (step) => step.kind === "settled" && step.settlement.lease === delivery.lease,
  );
  const endedAt = history.life(life).ended?.at ?? Number.POSITIVE_INFINITY;
  return Math.min(settled?.mark.at ?? delivery.leasedUntil, endedAt);
}

function smallestWindow(history: History, subscription: SubscriptionId): number {
  const { endpointSendsMax } = history.weather;
  const windows = history.journal.versions.flatMap(({ id, draft }) =>
    id !== subscription || draft === null
      ? []
      : [2 * Math.max(endpointSendsMax, history.termsOf(draft).batch?.maxEvents ?? 1)],
  );
  return Math.min(...windows);
}

function spansAbove(changes: readonly Change[], least: number): readonly Span[] {
  const spans: Span[] = [];
  let count = 0;
  let from: Instant | null = null;
  for (const { at, by } of changes.toSorted((a, b) => a.at - b.at || b.by - a.by)) {
    count += by;
    if (from === null && count >= least) from = at;
    if (from === null || count >= least) continue;
    spans.push({ from, until: at });
    from = null;
  }
  return spans;
}
