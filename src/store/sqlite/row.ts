// Converts a delivery and its event from SQLite's row.

import type { InputSchema } from "../../core/event.ts";
import type { Seen } from "../../core/ledger.ts";
import { stageOf } from "./round.ts";
import type { SqlRow } from "./statements.ts";

export function deliveryOf(row: SqlRow): Seen {
  const lastAt = row.last_at as number | null;
  return {
    id: { event: row.event as number, subscription: row.subscription as number },
    stage: stageOf(row.stage as number),
    dueAt: row.due_at as number,
    attempts: row.attempts as number,
    since: row.since as number,
    last:
      lastAt === null
        ? null
        : {
            at: lastAt,
            number: row.last_number as number,
            outcome: row.last_outcome as string,
            status: row.last_status as number | null,
          },
    reason: row.reason as string | null,
    event: {
      systemId: row.system_id as string,
      topic: row.topic as string,
      publishedAt: row.published_at as number,
      schema: row.schema as InputSchema,
      dataVersion: row.data_version as string,
      text: row.text as string,
      envelope: row.envelope as string | null,
      trace:
        row.trace_parent === null
          ? null
          : { parent: row.trace_parent as string, state: row.trace_state as string | null },
      hops: row.hops as number,
    },
  };
}
