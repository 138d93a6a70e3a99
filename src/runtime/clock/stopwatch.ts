// A stopwatch, for what is measured and never decided by: it goes on while a virtual clock stands.

/** The answer tells how many seconds have passed since. */
export function startWatch(): () => number {
  const startedMs = performance.now();
  return () => (performance.now() - startedMs) / 1000;
}
