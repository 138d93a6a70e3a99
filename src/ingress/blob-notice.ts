// Events published by the broker itself: each blob of dead letters raises an event of its storage
// account, which is routed like any other (L-5). It wraps a sink, so that the dispatcher need not
// know.
//
// The notice is stored before the sink returns its success, and so before the dead letters are
// settled: after a crash in between, another blob with its own notice is written. If the store has
// no room for new events, only the notice is lost, and logged; writing the dead letters again would
// fill their store for nothing.

import { parseStorageId } from "../core/azure/storage.ts";
import { noticeOf } from "../core/deadletter/blob-notice.ts";
import type { Outcome, Written } from "../core/delivery/outcome.ts";
import type { Parcel, Sink } from "../core/delivery/sink.ts";
import type { DeadLetterDestination } from "../core/subscription.ts";
import { admit, type PublishDeps } from "./publish.ts";

export type NoticeDeps = Pick<
  PublishDeps,
  "directory" | "store" | "refresh" | "clock" | "ids" | "log" | "meter" | "chronicle"
>;

export function withNotices(
  sink: Sink<DeadLetterDestination>,
  deps: NoticeDeps,
): Sink<DeadLetterDestination> {
  return {
    async send(parcel, destination, limits) {
      const tell = async (outcome: Outcome) => {
        const written = outcome.kind === "answered" ? outcome.written : undefined;
        if (written !== undefined) await notify(deps, { parcel, destination, written });
      };
      const outcome = await sink.send(parcel, destination, limits);
      await tell(outcome);
      if (outcome.kind === "answered" || outcome.late === undefined) return outcome;
      const late = outcome.late.then(async (answer) => {
        if (answer !== null) await tell(answer);
        return answer;
      });
      return { ...outcome, late };
    },
  };
}

interface Writing {
  readonly parcel: Parcel;
  readonly destination: DeadLetterDestination;
  readonly written: Written;
}

async function notify(deps: NoticeDeps, writing: Writing): Promise<void> {
  const { parcel, destination, written } = writing;
  const { directory } = deps;
  const entry = directory.entry(parseStorageId(destination.resourceId)?.account ?? "");
  const isNoticeOfNotice = directory.entry(parcel.subscription.topic)?.topic.kind === "storage";
  if (entry?.topic.kind !== "storage" || isNoticeOfNotice) return;
  const { topic } = entry;
  const at = deps.clock.now();
  const notice = noticeOf(written, { topic, id: deps.ids.next(), at });
  const { length: bytes } = notice.event.text;
  try {
    const admission = { entry, published: [notice], bytes, now: at };
    await admit(deps, { ...admission, acceptedWith: "notice" });
  } catch (error) {
    const { container, path } = written;
    const names = { topic: topic.name, container, blob: path };
    deps.log.fact("warn", "notice.lost", { ...names, error: String(error) });
    deps.meter.count("posthorn_lost_notices_total", { topic: topic.name });
  }
}
