// How the sends that may be under way together are shared among endpoints. Three quarters are for
// whoever comes; the last quarter is kept for endpoints whose last send succeeded, so that those
// which hang cannot take everything from those which answer.

/** Of all sends, the share that is kept for endpoints that answer. */
const keptShare = 1 / 4;

/** How many more sends may begin at an endpoint. */
export function sendRoom(given: {
  /** Whether the last send to it that ended was a success. */
  readonly answers: boolean;
  /** Under way at all endpoints. */
  readonly total: number;
  readonly max: number;
}): number {
  const { answers, total, max } = given;
  const kept = answers ? 0 : Math.ceil(max * keptShare);
  return Math.max(0, max - kept - total);
}
