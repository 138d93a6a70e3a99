// The tables, as a list of steps. A database is brought up to date by running those it has not had
// yet; a step is never edited. Every hot key begins with a subscription or a topic, by which the
// tables could be spread over several machines.
//
// `since`: the oldest schema whose brokers may go on beside this one. A step that only adds what
// they do not look at keeps it; one that changes what they read or write raises it to itself.

import { slotCount } from "../../core/cluster/slot.ts";
import { figureTables } from "./figures/tables.ts";
import { storyBlocks, storyTables } from "./story/tables.ts";

interface Step {
  readonly since: number;
  readonly text: string;
}

export const steps: readonly Step[] = [
  {
    since: 1,
    text: `
    -- Topics and subscriptions are records of JSON, beside what they are found by: names in capital
    -- letters. routing: the mark of the terms its events are routed by.
    create table topics (
      key text primary key,
      revision int8 not null,
      routing int8 not null,
      record text not null
    );
    create sequence subscription_ids;
    create table subscriptions (
      id int8 primary key,
      topic text not null,
      key text not null,
      revision int8 not null,
      slot int2 not null,
      record text not null,
      unique (topic, key)
    );
    -- Deleted ones whose dead letters are yet to be written, and those whose deliveries are being
    -- dropped. ended_at: when the last was; what was under way then is looked for once more.
    create table retired (
      id int8 primary key,
      revision int8 not null,
      slot int2 not null,
      record text not null
    );
    create table removals (
      subscription int8 primary key,
      dropped int8 not null default 0,
      added_at timestamptz not null default clock_timestamp(),
      ended_at timestamptz
    );
    -- One row; its lock puts all changes of the catalog in an order. And what each of them named.
    create table catalog (version int8 not null);
    insert into catalog values (1);
    create sequence revisions;
    create table changes (
      version int8 primary key,
      at timestamptz not null default clock_timestamp(),
      topics text not null,
      subscriptions text not null
    );

    -- Each broker takes numbers of events in ranges.
    create sequence event_numbers increment by 4096 minvalue 4096;
    -- The body of an event for one subscription is in its delivery; of one for several it is here,
    -- and goes with the last of them.
    create table events (number int8 primary key, meta text not null, body text not null);
    alter table events alter column body set storage external;

    -- stage: 0 deliver, 1 dead letter. fence: the lease of the latest settlement.
    create table deliveries (
      subscription int8 not null,
      event int8 not null,
      due_at int8 not null,
      since int8 not null,
      fence int8 not null,
      last_at int8,
      attempts int4 not null,
      size int4 not null,
      last_number int4,
      last_status int4,
      stage int2 not null,
      last_outcome text,
      reason text,
      meta text,
      body text,
      primary key (subscription, event)
    ) with (
      autovacuum_vacuum_scale_factor = 0.02,
      autovacuum_vacuum_insert_scale_factor = 0.05,
      autovacuum_analyze_scale_factor = 0.05,
      autovacuum_vacuum_cost_delay = 1
    );
    alter table deliveries alter column body set storage external;
    create index deliveries_due on deliveries (subscription, stage, due_at, event) include (since);
    -- What has been tried is due later than it is old; what is new costs nothing here.
    create index deliveries_since on deliveries (subscription, stage, since, event)
      where attempts > 0 or due_at > since;
    -- Of a pull queue: what was handed out for the last time.
    create index deliveries_spent on deliveries (subscription, due_at)
      where stage = 0 and reason is not null;
    create index deliveries_shared on deliveries (event) where body is null;

    create table memos (
      kind text not null,
      key text not null,
      record text not null,
      primary key (kind, key)
    );
    create sequence redriven_numbers;
    create table redriven (key text primary key, times int4 not null, number int8 not null);
    create index redriven_number on redriven (number);

    -- A broker that is alive has a row. Its epoch is new whenever it has lost the row, and is the
    -- fence of its settlements.
    create sequence epochs;
    create table brokers (
      id text primary key,
      epoch int8 not null default nextval('epochs'),
      started_at timestamptz not null default clock_timestamp(),
      seen_at timestamptz not null,
      alive_until timestamptz not null,
      loads jsonb not null,
      about jsonb not null
    ) with (fillfactor = 50);
    create table slots (
      slot int2 primary key,
      owner text,
      term int8 not null default 0
    ) with (fillfactor = 50);
    insert into slots (slot) select generate_series(0, ${slotCount - 1});
    create sequence mail_numbers;
    create table mail (
      to_broker text not null,
      number int8 not null default nextval('mail_numbers'),
      text text not null,
      at timestamptz not null default clock_timestamp(),
      primary key (to_broker, number)
    );
    `,
  },
  { since: 1, text: storyTables },
  { since: 1, text: figureTables },
  { since: 1, text: storyBlocks },
  // One that starts or leaves takes no slots. An earlier release does not say so.
  { since: 1, text: "alter table brokers add column is_serving boolean not null default true" },
];
