// Which events go into one request (B-1 … B-5). The answer to a batch counts for all of it (B-3),
// so a batch is just a list; and nothing waits for a batch to fill (B-2): it is made from what is
// due now.

import { checkInteger, type Range } from "../text/check.ts";

export interface BatchPolicy {
  /** Never exceeded. */
  readonly maxEvents: number;
  /** Exceeded only by a single larger event, which is then sent alone. */
  readonly preferredBytes: number;
}

export const batchRanges = {
  maxEventsPerBatch: { min: 1, max: 5000 },
  preferredBatchSizeInKilobytes: { min: 1, max: 1024 },
} as const satisfies Record<string, Range>;

/**
 * B-4: the default of the setting that was not given. 64 kB is what Azure stores. *Differs:* Azure
 * stores one event, under which a preferred size alone would do nothing; a hundred lets the size
 * decide for events of a usual size, and keeps what fails together small.
 */
export const batchDefaults: BatchPolicy = { maxEvents: 100, preferredBytes: 64 * 1024 };

/** `[` and `]` around the events. */
const bracketBytes = 2;
/** The comma between two of them. */
const commaBytes = 1;

/** Cuts the items, in their order, into what goes in one request each. */
export function formBatches<T>(
  items: readonly T[],
  {
    policy,
    bytesOf,
  }: { readonly policy: BatchPolicy | null; readonly bytesOf: (item: T) => number },
): T[][] {
  if (policy === null || policy.maxEvents === 1) return items.map((item) => [item]);
  const batches: T[][] = [];
  let batch: T[] = [];
  let batchBytes = 0;
  for (const item of items) {
    const bytes = bytesOf(item);
    const grown = batchBytes + commaBytes + bytes;
    if (batch.length > 0 && batch.length < policy.maxEvents && grown <= policy.preferredBytes) {
      batch.push(item);
      batchBytes = grown;
    } else {
      batch = [item];
      batchBytes = bracketBytes + bytes;
      batches.push(batch);
    }
  }
  return batches;
}

/**
 * The batching settings as someone wrote them, checked; null when neither is given, which is off
 * (B-5). `field` is where they stand, such as `properties.destination.properties`. Defaults are
 * the broker's settings, and the module's API has ranges of its own. Refusal: InvalidSetting.
 */
export function batchPolicyOf(
  given: {
    readonly maxEventsPerBatch?: unknown;
    readonly preferredBatchSizeInKilobytes?: unknown;
  },
  field: string,
  defaults: BatchPolicy = batchDefaults,
  ranges: Readonly<Record<keyof typeof batchRanges, Range>> = batchRanges,
): BatchPolicy | null {
  const events = given.maxEventsPerBatch ?? null;
  const kilobytes = given.preferredBatchSizeInKilobytes ?? null;
  if (events === null && kilobytes === null) return null;
  return {
    maxEvents:
      events === null
        ? defaults.maxEvents
        : checkInteger(events, `${field}.maxEventsPerBatch`, ranges.maxEventsPerBatch),
    preferredBytes:
      kilobytes === null
        ? defaults.preferredBytes
        : checkInteger(
            kilobytes,
            `${field}.preferredBatchSizeInKilobytes`,
            ranges.preferredBatchSizeInKilobytes,
          ) * 1024,
  };
}
