// Gives memory back after a burst. V8 collects garbage when it needs room: of what a busy minute
// took, hundreds of megabytes with little alive in them, it keeps nearly all while nothing happens.
// So a thread that was busy and has been quiet for a minute collects once, and thoroughly: an
// ordinary collection keeps the pages. That takes a fraction of a second, in which nobody waits,
// and it forgets compiled code: who comes next is served more slowly. So not after a short pause.

import { getHeapStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Of the thread's time: above the first it was busy, below the second it is quiet. */
const busyShare = 0.1;
const quietShare = 0.02;
/** So often it must have been quiet, one look after the other. */
const quietLooksMin = 6;
/** A heap below this is not worth it. */
const heapBytesMin = 20 * 1024 * 1024;

type Collect = (how: { type: "major"; execution: "sync"; flavor: "last-resort" }) => void;

/** In the calling thread, which it does not keep alive. Returns how to end it. */
export function giveBackWhenQuiet(lookEveryMs = 10_000): () => void {
  let before = performance.eventLoopUtilization();
  let wasBusy = false;
  let quietLooks = 0;
  const timer = setInterval(() => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, before);
    before = now;
    if (utilization > busyShare) wasBusy = true;
    quietLooks = utilization > quietShare ? 0 : quietLooks + 1;
    if (!wasBusy || quietLooks < quietLooksMin) return;
    wasBusy = false;
    if (getHeapStatistics().total_heap_size >= heapBytesMin) collect();
  }, lookEveryMs);
  timer.unref();
  return () => clearInterval(timer);
}

function collect(): void {
  // Node has it only in contexts that are made after this flag was set.
  setFlagsFromString("--expose-gc");
  const collectNow = runInNewContext("gc") as Collect;
  setFlagsFromString("--no-expose-gc");
  collectNow({ type: "major", execution: "sync", flavor: "last-resort" });
}
