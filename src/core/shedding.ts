// When to refuse publishes because the disk is behind: by how long one more would wait for it, and
// not only by how much waits. Refusing begins beyond the longest wait and ends below half of it, so
// that it does not change with every round.

/** The disk's speed so far, in milliseconds per character; null: not known yet. */
export type DiskPace = number | null;

/** In a smaller round the time is mostly that of the sync, so it only gives an upper limit. */
export const tellingChars = 1_048_576;

export function paceAfter(
  pace: DiskPace,
  { chars, ms }: { readonly chars: number; readonly ms: number },
): DiskPace {
  if (chars === 0) return pace;
  const seen = ms / chars;
  if (chars < tellingChars) return pace === null ? null : Math.min(pace, seen);
  return pace === null ? seen : (pace + seen) / 2;
}

/**
 * How long one more publish would wait: as long as the oldest has, or as long as the waiting ones
 * will take.
 */
export function expectedWaitMs(load: {
  readonly oldestMs: number;
  readonly waitingChars: number;
  readonly pace: DiskPace;
}): number {
  return Math.max(load.oldestMs, load.waitingChars * (load.pace ?? 0));
}

export function isShedding(wasShedding: boolean, waitMs: number, waitMsMax: number): boolean {
  return waitMs > waitMsMax || (wasShedding && waitMs >= waitMsMax / 2);
}
