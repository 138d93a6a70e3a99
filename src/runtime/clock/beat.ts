// A steady beat in real time, also under a virtual clock: for what people watch while it happens.
// It keeps no process alive.

export function startBeat(everyMs: number, ring: () => void): () => void {
  const timer = setInterval(ring, everyMs);
  timer.unref();
  return () => clearInterval(timer);
}
