// What is stored of redrives, so that a restart finds them: the request, written once, and the
// progress, written at each step.

import type { RedriveOrder } from "../../core/api/orders.ts";
import type { RedriveView } from "../../core/api/views.ts";
import type { Instant } from "../../core/ports.ts";
import type { Memos } from "../../core/steering.ts";
import { isoInstant } from "../../core/text/time.ts";

export interface RedriveRecord {
  readonly order: RedriveOrder;
  readonly startedAt: Instant;
  /** The target, as text without secrets. */
  readonly to: string;
  readonly perSecond: number;
}

export interface RedriveProgress
  extends Pick<RedriveView, "state" | "total" | "sent" | "failed" | "skipped" | "remarks"> {
  /** When this was kept. */
  readonly at: Instant;
  /** The broker that has it in hand; absent: as one process alone writes it. */
  readonly by?: string;
  /**
   * Events that were about to be sent then, by their keys: if it ended there, it is not known
   * whether they were.
   */
  readonly underWay: readonly string[];
}

export interface KeptRedrive {
  readonly id: string;
  readonly record: RedriveRecord;
  readonly progress: RedriveProgress;
}

const orders = "redrive";
const progresses = "redriveProgress";

export class RedriveRecords {
  readonly #memos: Memos;

  constructor(memos: Memos) {
    this.#memos = memos;
  }

  /**
   * The oldest first. One that was running was interrupted, and is stopped, unless another broker
   * has it in hand that is alive.
   */
  async load(alive: ReadonlySet<string>): Promise<readonly KeptRedrive[]> {
    const records = await this.#memos.notes(orders);
    const kept = new Map(
      (await this.#memos.notes(progresses)).map(({ key, record }) => [key, record]),
    );
    return records
      .map(({ key: id, record: given }) => {
        const record = given as RedriveRecord;
        const progress = (kept.get(id) ?? nothingDone(record)) as RedriveProgress;
        const isCutOff = progress.state === "running" && !alive.has(progress.by ?? "");
        return {
          id,
          record,
          progress: isCutOff ? { ...progress, state: "stopped" as const } : progress,
        };
      })
      .toSorted((one, other) => one.record.startedAt - other.record.startedAt);
  }

  putOrder(id: string, record: RedriveRecord): Promise<void> {
    return this.#memos.putMemo(orders, id, record);
  }

  putProgress(id: string, progress: RedriveProgress): Promise<void> {
    return this.#memos.putMemo(progresses, id, progress);
  }

  async remove(id: string): Promise<void> {
    await this.#memos.putMemo(progresses, id, null);
    await this.#memos.putMemo(orders, id, null);
  }
}

function nothingDone({ startedAt }: RedriveRecord): RedriveProgress {
  const counts = { total: 0, sent: 0, failed: 0, skipped: 0 };
  return { state: "running", at: startedAt, ...counts, remarks: [], underWay: [] };
}

export function viewOfKept({ id, record, progress }: KeptRedrive): RedriveView {
  const { to, perSecond, startedAt } = record;
  const { at, underWay: _, ...shown } = progress;
  return {
    ...{ id, to, perSecond, ...shown, sample: [] },
    startedAt: isoInstant(startedAt),
    endedAt: isoInstant(at),
  };
}
