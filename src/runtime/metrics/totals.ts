// Sums since the start, without labels, counted on the way to the meter: for `POST /clock` and the
// overview.

import type { Meter } from "../../core/ports.ts";

export interface Totals {
  readonly published: number;
  readonly refused: number;
  readonly attempts: number;
  readonly delivered: number;
  readonly deadLettered: number;
  readonly dropped: number;
}

const kinds: Readonly<Record<string, keyof Totals>> = {
  posthorn_published_events_total: "published",
  posthorn_publish_refused_total: "refused",
  posthorn_delivery_attempts_total: "attempts",
  posthorn_delivered_events_total: "delivered",
  posthorn_dead_lettered_events_total: "deadLettered",
  posthorn_dropped_events_total: "dropped",
};

export function openTotals(meter: Meter): {
  readonly tally: () => Totals;
  readonly counted: Meter;
} {
  const sums = {
    published: 0,
    refused: 0,
    attempts: 0,
    delivered: 0,
    deadLettered: 0,
    dropped: 0,
  };
  return {
    tally: () => ({ ...sums }),
    counted: {
      ...meter,
      count(name, labels, by = 1) {
        const kind = kinds[name];
        if (kind !== undefined) sums[kind] += by;
        meter.count(name, labels, by);
      },
    },
  };
}
