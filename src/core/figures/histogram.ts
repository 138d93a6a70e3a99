// Durations in milliseconds, counted in buckets: exactly below eight, and from there eight buckets
// for every doubling, so that a value read back is at most a sixteenth away from the one counted.
// Two histograms are added bucket by bucket, which is why figures of several brokers, minutes and
// subscriptions can be folded into one.

/** Sub-buckets of a doubling, as a power of two. */
const fineBits = 3;
const fine = 2 ** fineBits;
/** The longest duration told apart from longer ones: about 25 days. */
const longestMs = 2 ** 31 - 1;

export const bucketCount = bucketOf(longestMs) + 1;

export type Histogram = Uint32Array;

export function emptyHistogram(): Histogram {
  return new Uint32Array(bucketCount);
}

export function bucketOf(ms: number): number {
  if (!(ms >= 1)) return 0;
  const whole = ms >= longestMs ? longestMs : Math.floor(ms);
  if (whole < fine) return whole;
  const shift = 31 - Math.clz32(whole) - fineBits;
  return shift * fine + (whole >>> shift);
}

/** The value in the middle of a bucket, in whole milliseconds. */
export function middleOf(bucket: number): number {
  if (bucket < 2 * fine) return bucket;
  const shift = Math.floor(bucket / fine) - 1;
  const low = (bucket - shift * fine) * 2 ** shift;
  return low + Math.floor((2 ** shift - 1) / 2);
}

/** The smallest value that this share of all does not exceed; null: there is none at all. */
export function quantileOf(histogram: Histogram, share: number): number | null {
  const count = histogram.reduce((sum, each) => sum + each, 0);
  if (count === 0) return null;
  const rank = Math.max(1, Math.ceil(count * share));
  let seen = 0;
  const bucket = histogram.findIndex((each) => {
    seen += each;
    return seen >= rank;
  });
  return middleOf(bucket);
}
