// The store of many brokers as one side of a move: its tables filled from rows of the embedded
// store, or read as such rows. All of it is one transaction, in which no broker can join.

import { homeSlot } from "../../core/cluster/slot.ts";
import type { Event, InputSchema } from "../../core/event.ts";
import { Refusal } from "../../core/refusal.ts";
import { routingMark } from "../../core/routing/routing-mark.ts";
import type { SubscriptionDraft } from "../../core/subscription.ts";
import { foldCase } from "../../core/text/compare.ts";
import type { Row } from "../postgres/connection.ts";
import type { Database, Session } from "../postgres/database.ts";
import { eventOf, metaOf } from "../postgres/event-row.ts";
import { type MoveCounts, pageRows } from "./counts.ts";
import type { EmbeddedTable, SqlRecord, SqlValue } from "./embedded-side.ts";

/** Nobody uses it, and nobody can begin to until the transaction ends. Refusal: InvalidSetting. */
export async function inUseByUs<T>(
  database: Database,
  work: (session: Session) => Promise<T>,
): Promise<T> {
  return await database.transaction(async (session) => {
    await session.query({ text: "lock table brokers in exclusive mode" });
    const alive = "select id from brokers where alive_until > clock_timestamp() order by id";
    const brokers = (await session.query({ text: alive })).map(([id]) => String(id));
    if (brokers.length > 0) {
      throw new Refusal(
        "InvalidSetting",
        `The database is in use by ${brokers.join(", ")}: stop every broker first.`,
      );
    }
    return await work(session);
  });
}

export async function countCluster(session: Session): Promise<MoveCounts> {
  const [row] = await session.query({
    text: `select (select count(*) from topics), (select count(*) from subscriptions),
      (select count(*) from retired), (select count(distinct event) from deliveries),
      (select count(*) from deliveries), (select count(*) from memos),
      (select count(*) from redriven)`,
  });
  const [topics, subscriptions, retired, events, deliveries, memos, redriven] = row as number[];
  return { topics, subscriptions, retired, events, deliveries, memos, redriven } as MoveCounts;
}

export async function refuseUnlessEmpty(session: Session): Promise<void> {
  const counts = await countCluster(session);
  const there = Object.entries(counts).filter(([, count]) => count > 0);
  if (there.length === 0) return;
  const words = there.map(([name, count]) => `${count} ${name}`).join(", ");
  throw new Refusal(
    "InvalidSetting",
    `The database has a store already (${words}); name another one, or another schema.`,
  );
}

// Filling.

/** Topics with their subscriptions, which are few. */
export async function addCatalog(
  session: Session,
  topics: readonly SqlRecord[],
  subscriptions: readonly SqlRecord[],
): Promise<void> {
  const byTopic = Map.groupBy(subscriptions, ({ topic }) => foldCase(topic as string));
  for (const { name, revision, record } of topics) {
    const key = foldCase(name as string);
    const ours = (byTopic.get(key) ?? []) as unknown as { id: number; revision: number }[];
    const routing = routingMark(revision as number, ours);
    const text = "insert into topics (key, revision, routing, record) values ($1, $2, $3, $4)";
    await session.query({ text }, [key, revision, routing, record]);
  }
  for (const { id, revision, record } of subscriptions) {
    const draft = JSON.parse(record as string) as SubscriptionDraft;
    const { topic, domainTopic, name } = draft;
    const key = foldCase(domainTopic === null ? name : `${domainTopic}/${name}`);
    await session.query(
      {
        text: `insert into subscriptions (id, topic, key, revision, slot, record)
          values ($1, $2, $3, $4, $5, $6)`,
      },
      [id, foldCase(topic), key, revision, homeSlot(draft), record],
    );
  }
}

export async function addSmall(
  session: Session,
  table: Exclude<EmbeddedTable, "topics" | "subscriptions" | "events" | "deliveries">,
  rows: readonly SqlRecord[],
): Promise<void> {
  const columns = (names: readonly string[]) =>
    names.map((name) => rows.map((row) => row[name] ?? null));
  switch (table) {
    case "retired": {
      const slots = rows.map(({ record }) =>
        homeSlot(JSON.parse(record as string) as SubscriptionDraft),
      );
      const text = `insert into retired (id, revision, record, slot)
        select * from unnest($1::int8[], $2::int8[], $3::text[], $4::int2[])`;
      await session.query({ text }, [...columns(["id", "revision", "record"]), slots]);
      return;
    }
    case "removals": {
      const text = `insert into removals (subscription, dropped)
        select * from unnest($1::int8[], $2::int8[])`;
      await session.query({ text }, columns(["subscription", "dropped"]));
      return;
    }
    case "notes": {
      const text = "insert into memos select * from unnest($1::text[], $2::text[], $3::text[])";
      await session.query({ text }, columns(["kind", "key", "record"]));
      return;
    }
    case "redriven": {
      const text = `insert into redriven (key, times, number)
        select * from unnest($1::text[], $2::int4[], $3::int8[])`;
      await session.query({ text }, columns(["key", "times", "number"]));
      return;
    }
    default:
      table satisfies never;
  }
}

/** Events with all their deliveries. The body of an event for one subscription is with it. */
export async function addWaiting(
  session: Session,
  events: readonly SqlRecord[],
  deliveries: readonly SqlRecord[],
): Promise<void> {
  const counts = new Map<SqlValue, number>();
  for (const { event = null } of deliveries) counts.set(event, (counts.get(event) ?? 0) + 1);
  const isShared = (number: SqlValue) => (counts.get(number) ?? 0) > 1;
  const byNumber = new Map(events.map((row) => [row.number ?? null, eventIn(row)]));
  const shared = [...byNumber].filter(([number]) => isShared(number));
  if (shared.length > 0) {
    await session.query(
      { text: "insert into events select * from unnest($1::int8[], $2::text[], $3::text[])" },
      [
        shared.map(([number]) => number),
        shared.map(([, event]) => metaOf(event)),
        shared.map(([, { text }]) => text),
      ],
    );
  }
  if (deliveries.length === 0) return;
  const rows = deliveries.map((row) => {
    const event = byNumber.get(row.event ?? null) as Event;
    const own = isShared(row.event ?? null) ? null : event;
    return {
      ...row,
      size: event.text.length,
      meta: own === null ? null : metaOf(own),
      body: own?.text ?? null,
    } as SqlRecord;
  });
  const names = [
    ...["subscription", "event", "due_at", "since", "fence", "last_at", "attempts", "size"],
    ...["last_number", "last_status", "stage", "last_outcome", "reason", "meta", "body"],
  ];
  await session.query(
    {
      text: `insert into deliveries (${names.join(", ")})
        select * from unnest($1::int8[], $2::int8[], $3::int8[], $4::int8[], $5::int8[], $6::int8[],
          $7::int4[], $8::int4[], $9::int4[], $10::int4[], $11::int2[], $12::text[], $13::text[],
          $14::text[], $15::text[])`,
    },
    names.map((name) => rows.map((row) => row[name] ?? null)),
  );
}

/** Numbers go on above every number that was ever used. */
export async function raiseNumbers(session: Session): Promise<void> {
  const raise = async (sequence: string, highest: string) =>
    await session.query({
      text: `select setval('${sequence}', greatest((${highest}), (select last_value from ${sequence})))`,
    });
  await raise("subscription_ids", "select coalesce(max(id), 0) from subscriptions");
  await raise(
    "revisions",
    `select greatest((select max(revision) from topics), (select max(revision) from subscriptions))`,
  );
  await raise("redriven_numbers", "select coalesce(max(number), 0) from redriven");
  // Leases are made in a range for each epoch (postgres/store.ts).
  await raise("epochs", "select coalesce(max(fence), 0) / 4294967296 + 1 from deliveries");
  // Given out in ranges that end with the number.
  await raise(
    "event_numbers",
    "select (coalesce(max(event), 0) / 4096 + 1) * 4096 from deliveries",
  );
}

// Reading.

export async function* readCluster(
  session: Session,
): AsyncGenerator<readonly [EmbeddedTable, SqlRecord[]]> {
  const all = async (table: EmbeddedTable, text: string, names: readonly string[]) =>
    [table, (await session.query({ text })).map((row) => recordOf(row, names))] as const;
  for (const [name, revision, record] of await session.query({
    text: "select record::json ->> 'name', revision, record from topics",
  })) {
    yield ["topics", [{ name, revision, record }]];
  }
  // Within a domain each of its topics has names of its own.
  yield await all(
    "subscriptions",
    `select id, record::json ->> 'topic',
       concat_ws('/', record::json ->> 'domainTopic', record::json ->> 'name'), revision, record
     from subscriptions`,
    ["id", "topic", "name", "revision", "record"],
  );
  yield await all("retired", "select id, revision, record from retired", [
    ...["id", "revision", "record"],
  ]);
  yield await all("removals", "select subscription, dropped from removals where ended_at is null", [
    "subscription",
    "dropped",
  ]);
  yield await all("notes", "select kind, key, record from memos", ["kind", "key", "record"]);
  yield await all("redriven", "select number, key, times from redriven", [
    ...["number", "key", "times"],
  ]);
  yield* readWaiting(session);
}

const delivered = [
  ...["event", "subscription", "stage", "due_at", "since", "attempts", "fence", "last_at"],
  ...["last_outcome", "last_status", "last_number", "reason"],
];

async function* readWaiting(
  session: Session,
): AsyncGenerator<readonly [EmbeddedTable, SqlRecord[]]> {
  let [subscription, event] = [0, 0];
  for (;;) {
    const rows = await session.query(
      {
        text: `select ${delivered.map((name) => `d.${name}`).join(", ")},
            coalesce(d.meta, e.meta), coalesce(d.body, e.body)
          from deliveries d left join events e on e.number = d.event
          where (d.subscription, d.event) > ($1, $2)
          order by d.subscription, d.event limit ${pageRows}`,
      },
      [subscription, event],
    );
    yield ["events", rows.map((row) => rowOf(row[0] as number, eventOf(...bodyOf(row))))];
    yield ["deliveries", rows.map((row) => recordOf(row, delivered))];
    const last = rows.at(-1);
    if (last === undefined || rows.length < pageRows) return;
    [event, subscription] = [last[0] as number, last[1] as number];
  }
}

function bodyOf(row: Row): [string, string] {
  return [row.at(-2) as string, row.at(-1) as string];
}

function recordOf(row: Row, names: readonly string[]): SqlRecord {
  return Object.fromEntries(names.map((name, place) => [name, row[place] as SqlValue]));
}

function eventIn(row: SqlRecord): Event {
  const parent = row.trace_parent as string | null;
  return {
    systemId: row.system_id as string,
    topic: row.topic as string,
    publishedAt: row.published_at as number,
    schema: row.schema as InputSchema,
    dataVersion: row.data_version as string,
    text: row.text as string,
    envelope: row.envelope as string | null,
    trace: parent === null ? null : { parent, state: row.trace_state as string | null },
    hops: row.hops as number,
  };
}

function rowOf(number: number, event: Event): SqlRecord {
  const { systemId, topic, publishedAt, schema, dataVersion, text, envelope, trace, hops } = event;
  return {
    ...{ number, system_id: systemId, topic, published_at: publishedAt, schema, text, envelope },
    ...{ data_version: dataVersion, hops },
    ...{ trace_parent: trace?.parent ?? null, trace_state: trace?.state ?? null },
  };
}
