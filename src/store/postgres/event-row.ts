// An event and its delivery as they are kept: the body as it came, and the rest of the event as one
// list of JSON, in which no letter is forbidden.

import type { Stage } from "../../core/delivery/delivery.ts";
import type { Event, InputSchema } from "../../core/event.ts";
import type { Seen } from "../../core/ledger.ts";
import type { Trace } from "../../core/tracing/trace.ts";
import type { Row } from "./connection.ts";
import type { Times } from "./times.ts";

export const stageNumber: Readonly<Record<Stage, number>> = { deliver: 0, deadLetter: 1 };

export function stageOf(number: number): Stage {
  return number === 0 ? "deliver" : "deadLetter";
}

type Meta = [string, string, number, InputSchema, string, string | null, Trace | null, number];

export function metaOf(event: Event): string {
  const { systemId, topic, publishedAt, schema, dataVersion, envelope, trace, hops } = event;
  const kept = trace && { parent: trace.parent, state: trace.state };
  const meta: Meta = [systemId, topic, publishedAt, schema, dataVersion, envelope, kept, hops];
  return JSON.stringify(meta);
}

export function eventOf(meta: string, text: string): Event {
  const [systemId, topic, publishedAt, schema, dataVersion, envelope, trace, hops] = JSON.parse(
    meta,
  ) as Meta;
  return { systemId, topic, publishedAt, schema, dataVersion, text, envelope, trace, hops };
}

/** As `seenOf` reads them. */
export const columns = `d.subscription, d.event, d.stage, d.due_at, d.since, d.attempts, d.last_at,
  d.last_number, d.last_outcome, d.last_status, d.reason,
  coalesce(d.meta, e.meta), coalesce(d.body, e.body)`;

export function seenOf(row: Row, times: Times): Seen {
  const [subscription, event, stage, dueAt, since, attempts] = row;
  const [lastAt, number, outcome, status, reason, meta, body] = row.slice(6);
  return {
    id: { event, subscription },
    stage: stageOf(stage),
    dueAt: times.here(dueAt),
    attempts,
    since: times.here(since),
    last: lastAt === null ? null : { at: times.here(lastAt), number, outcome, status },
    reason,
    event: eventOf(meta, body),
  };
}
