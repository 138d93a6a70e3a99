// The event loop of this thread: how busy it is, and the end of its present turn.

const busyShare = 0.9;
/** A look at how busy it is holds for so long. */
const lookMs = 20;

export function watchEventLoop() {
  let last = performance.eventLoopUtilization();
  let lookedAt = performance.now();
  let isBusy = false;
  return {
    /** Whether it had next to no time left just now. */
    isBusy(): boolean {
      const now = performance.now();
      if (now - lookedAt < lookMs) return isBusy;
      const current = performance.eventLoopUtilization();
      isBusy = performance.eventLoopUtilization(current, last).utilization > busyShare;
      last = current;
      lookedAt = now;
      return isBusy;
    },
    /** Resolves when everything that came in together has been handled. */
    turn: () => new Promise<void>((resolve) => setImmediate(resolve)),
  };
}

/** Runs what it is given in the next turn of the event loop, in the order given. */
export function openNextTurn(): (go: () => void) => void {
  let waiting: (() => void)[] = [];
  const run = () => {
    const all = waiting;
    waiting = [];
    for (const go of all) go();
  };
  return (go) => {
    if (waiting.push(go) === 1) setImmediate(run);
  };
}
