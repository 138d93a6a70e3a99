// Topics and subscriptions (the port Registry). A write is a transaction that holds the one row of
// the catalog, so that all changes have an order, and leaves a note of what it named. By these
// notes every broker follows the others: on a notice, with each heartbeat, and when an append was
// routed by old terms.

import type { Slot } from "../../core/cluster/slot.ts";
import { homeSlot } from "../../core/cluster/slot.ts";
import { Refusal } from "../../core/refusal.ts";
import type { Catalog, RecordNames } from "../../core/registry.ts";
import {
  addMarks,
  markBound,
  markOf,
  markOfTopic,
  negativeMark,
} from "../../core/routing/routing-mark.ts";
import {
  recallSubscription,
  type Subscription,
  type SubscriptionDraft,
  type SubscriptionId,
} from "../../core/subscription.ts";
import { foldCase } from "../../core/text/compare.ts";
import type { Topic, TopicDraft } from "../../core/topic.ts";
import { checkRevision } from "../revision.ts";
import { int8Array, textArray } from "./binary.ts";
import type { Row, Statement } from "./connection.ts";
import type { Database, Session } from "./database.ts";
import type { Leases } from "./leases.ts";

const sql = (name: string, text: string): Statement => ({ name, text });

const statements = {
  lock: sql("lock_catalog", "select version from catalog for update"),
  step: sql("step_catalog", "update catalog set version = $1"),
  note: sql(
    "note_change",
    "insert into changes (version, topics, subscriptions) values ($1, $2, $3)",
  ),
  changes: sql(
    "changes",
    `select version, topics, subscriptions from changes where version > $1
     union all select version, null, null from catalog order by 1`,
  ),
  notify: sql("notify", "select pg_notify('posthorn', $1)"),
  revision: sql("next_revision", "select nextval('revisions')"),
  topics: sql("topics", `select revision, record from topics order by key collate "C"`),
  someTopics: sql(
    "some_topics",
    `select t.revision, t.record from unnest($1::text[]) with ordinality x(key, place)
     join topics t on t.key = x.key order by x.place`,
  ),
  topic: sql("topic", "select revision, record, routing from topics where key = $1"),
  putTopic: sql(
    "put_topic",
    `insert into topics (key, revision, routing, record) values ($1, $2, $3, $4)
     on conflict (key) do update set revision = excluded.revision, record = excluded.record,
       routing = (topics.routing + excluded.routing) % ${markBound}`,
  ),
  removeTopic: sql("remove_topic", "delete from topics where key = $1"),
  addRouting: sql(
    "add_routing",
    `update topics set routing = (routing + $2::int8) % ${markBound} where key = $1`,
  ),
  subscriptions: sql("subs", "select id, revision, slot, record from subscriptions order by id"),
  someSubscriptions: sql(
    "some_subs",
    `select s.id, s.revision, s.slot, s.record from unnest($1::int8[]) with ordinality x(id, place)
     join subscriptions s on s.id = x.id order by x.place`,
  ),
  ofTopic: sql("subs_of_topic", "select id from subscriptions where topic = $1 order by id"),
  named: sql(
    "sub_named",
    "select id, revision, slot, record from subscriptions where topic = $1 and key = $2",
  ),
  put: sql(
    "put_sub",
    `insert into subscriptions (id, topic, key, revision, slot, record)
     values (coalesce($1::int8, nextval('subscription_ids')), $2, $3, $4, $5, $6)
     on conflict (topic, key) do update set revision = excluded.revision, record = excluded.record
     returning id, slot`,
  ),
  move: sql("move_sub", "update subscriptions set slot = $2, revision = $3 where id = $1"),
  remove: sql("remove_sub", "delete from subscriptions where id = $1 returning topic, revision"),
  addRetired: sql(
    "add_retired",
    `insert into retired select id, revision, slot, record from subscriptions where id = $1
     and exists (select 1 from deliveries where subscription = $1 and stage = 1)`,
  ),
  addRemoval: sql("add_removal", "insert into removals (subscription) values ($1)"),
  retired: sql("retired", "select id, revision, slot, record from retired order by id"),
  someRetired: sql(
    "some_retired",
    `select r.id, r.revision, r.slot, r.record from unnest($1::int8[]) with ordinality x(id, place)
     join retired r on r.id = x.id order by x.place`,
  ),
};

interface Change {
  readonly topics: string[];
  readonly subscriptions: SubscriptionId[];
  isRemoval: boolean;
}

export interface RegistryDeps {
  readonly database: Database;
  readonly leases: Leases;
  readonly isNotifying: boolean;
  /** Deliveries of this subscription are to be dropped. */
  readonly onRemoval: () => void;
}

export class PostgresRegistry {
  readonly #deps: RegistryDeps;
  readonly #listeners: ((changed: RecordNames | null) => void)[] = [];
  /** The version that has been reported. */
  #seen = 0;
  #writes: Promise<unknown> = Promise.resolve();
  #reading: Promise<void> = Promise.resolve();
  #next: Promise<void> | null = null;

  constructor(deps: RegistryDeps) {
    this.#deps = deps;
  }

  onChange(listener: (changed: RecordNames | null) => void): void {
    this.#listeners.push(listener);
  }

  async catalog(only?: RecordNames): Promise<Catalog> {
    if (only === undefined) {
      return await this.#deps.database.transaction(async (session) => {
        // All as they are at one moment.
        await session.query({ text: "set transaction isolation level repeatable read, read only" });
        return catalogOf(
          await session.query(statements.topics),
          await session.query(statements.subscriptions),
          await session.query(statements.retired),
        );
      });
    }
    const { database } = this.#deps;
    const ids = int8Array(only.subscriptions);
    const hasIds = only.subscriptions.length > 0;
    return catalogOf(
      only.topics.length === 0
        ? []
        : await database.query(statements.someTopics, [textArray(only.topics.map(foldCase))]),
      hasIds ? await database.query(statements.someSubscriptions, [ids]) : [],
      hasIds ? await database.query(statements.someRetired, [ids]) : [],
    );
  }

  putTopic(draft: TopicDraft, wanted?: number): Promise<Topic> {
    return this.#write(async (session, change) => {
      const key = foldCase(draft.name);
      const [old] = await session.query(statements.topic, [key]);
      checkRevision(old?.[0], wanted);
      const revision = await nextRevision(session);
      const name = old === undefined ? draft.name : (JSON.parse(old[1]) as TopicDraft).name;
      const record: TopicDraft = { ...draft, name };
      const before = old === undefined ? 0 : negativeMark(markOfTopic(old[0]));
      const routing = addMarks(before, markOfTopic(revision));
      const values = [key, revision, routing, JSON.stringify(plain(record))];
      await session.query(statements.putTopic, values);
      change.topics.push(name);
      return { ...record, revision };
    });
  }

  putSubscription(draft: SubscriptionDraft, wanted?: number): Promise<Subscription> {
    return this.#write(async (session, change) => {
      const topicKey = foldCase(draft.topic);
      const [topic] = await session.query(statements.topic, [topicKey]);
      if (topic === undefined) throw new Refusal("NotFound", `There is no topic '${draft.topic}'.`);
      const key = nameInTopic(draft);
      const [old] = await session.query(statements.named, [topicKey, key]);
      checkRevision(old?.[1], wanted);
      const revision = await nextRevision(session);
      const kept = old === undefined ? draft : (JSON.parse(old[3]) as SubscriptionDraft);
      const topicName = (JSON.parse(topic[1]) as TopicDraft).name;
      const record: SubscriptionDraft = { ...plain(draft), topic: topicName, name: kept.name };
      const [row] = await session.query(statements.put, [
        ...[old?.[0] ?? null, topicKey, key, revision],
        ...[homeSlot(draft), JSON.stringify(record)],
      ]);
      const [id, slot] = row as [SubscriptionId, Slot];
      const before = old === undefined ? 0 : negativeMark(markOf({ id, revision: old[1] }));
      const delta = addMarks(before, markOf({ id, revision }));
      await session.query(statements.addRouting, [topicKey, delta]);
      change.subscriptions.push(id);
      return withSlot({ ...record, id, revision }, slot);
    });
  }

  removeTopic(name: string): Promise<readonly SubscriptionId[]> {
    return this.#write(async (session, change) => {
      const key = foldCase(name);
      const [topic] = await session.query(statements.topic, [key]);
      if (topic === undefined) return [];
      for (const [id] of await session.query(statements.ofTopic, [key])) {
        await removeOne(session, id);
        change.subscriptions.push(id);
        change.isRemoval = true;
      }
      await session.query(statements.removeTopic, [key]);
      change.topics.push((JSON.parse(topic[1]) as TopicDraft).name);
      return [...change.subscriptions];
    });
  }

  removeSubscription(id: SubscriptionId, wanted?: number): Promise<boolean> {
    return this.#write(async (session, change) => {
      const [row] = await session.query(statements.someSubscriptions, [int8Array([id])]);
      if (row === undefined) return false;
      checkRevision(row[1], wanted);
      const { topic, revision } = await removeOne(session, id);
      const delta = negativeMark(markOf({ id, revision }));
      await session.query(statements.addRouting, [topic, delta]);
      change.subscriptions.push(id);
      change.isRemoval = true;
      return true;
    });
  }

  /** From now on the owner of that slot serves it. */
  async handOver(id: SubscriptionId, to: Slot): Promise<void> {
    await this.#write(async (session, change) => {
      const [row] = await session.query(statements.someSubscriptions, [int8Array([id])]);
      if (row === undefined || row[2] === to) return;
      const revision = await nextRevision(session);
      await session.query(statements.move, [id, to, revision]);
      const { topic } = JSON.parse(row[3]) as SubscriptionDraft;
      const before = negativeMark(markOf({ id, revision: row[1] }));
      const delta = addMarks(before, markOf({ id, revision }));
      await session.query(statements.addRouting, [foldCase(topic), delta]);
      change.subscriptions.push(id);
    });
  }

  /** Before anything else: which queues there are. */
  async begin(): Promise<void> {
    const [row] = await this.#deps.database.query({ text: "select version from catalog" });
    const version = row?.[0] as number;
    this.#follow(await this.catalog(), null);
    this.#seen = version;
  }

  /** `version`: what a heartbeat has seen. */
  hear(version: number): void {
    if (version > this.#seen) void this.catchUp().catch(() => {});
  }

  /** Resolves when every change that is in the database now is reported. */
  catchUp(): Promise<void> {
    if (this.#next !== null) return this.#next;
    const begin = async () => {
      this.#next = null;
      await this.#read();
    };
    this.#next = this.#reading.then(begin, begin);
    this.#reading = this.#next;
    this.#next.catch(() => {});
    return this.#next;
  }

  async #read(): Promise<void> {
    const rows = await this.#deps.database.query(statements.changes, [this.#seen]);
    const version = rows.at(-1)?.[0] as number;
    if (version <= this.#seen) return;
    const noted = rows.filter((row) => row[1] !== null);
    const isWhole = noted.length === version - this.#seen;
    const names = isWhole ? joined(noted) : null;
    this.#follow(await this.catalog(names ?? undefined), names);
    this.#seen = version;
    for (const listener of this.#listeners) listener(names);
  }

  /** Keeps the queues in step. */
  #follow({ subscriptions, retired = [] }: Catalog, names: RecordNames | null): void {
    const { leases } = this.#deps;
    const left = new Set(names?.subscriptions ?? leases.ids());
    for (const [records, isRetired] of [
      [subscriptions, false],
      [retired, true],
    ] as const) {
      for (const record of records) {
        leases.put(record, isRetired);
        left.delete(record.id);
      }
    }
    for (const id of left) leases.remove(id);
  }

  /** One after the other, in the order in which they came. */
  #write<T>(work: (session: Session, change: Change) => Promise<T>): Promise<T> {
    const begin = () => this.#writeOne(work);
    const written = this.#writes.then(begin, begin);
    this.#writes = written.catch(() => {});
    return written;
  }

  async #writeOne<T>(work: (session: Session, change: Change) => Promise<T>): Promise<T> {
    const { database, isNotifying, onRemoval } = this.#deps;
    try {
      const { answer, isChanged, isRemoval } = await database.transaction(async (session) => {
        const change: Change = { topics: [], subscriptions: [], isRemoval: false };
        const [row] = await session.query(statements.lock);
        const made = await work(session, change);
        const hasNames = change.topics.length + change.subscriptions.length > 0;
        if (hasNames) {
          const version = (row?.[0] as number) + 1;
          const texts = [JSON.stringify(change.topics), JSON.stringify(change.subscriptions)];
          await session.query(statements.note, [version, ...texts]);
          await session.query(statements.step, [version]);
          if (isNotifying) await session.query(statements.notify, ["c"]);
        }
        return { answer: made, isChanged: hasNames, isRemoval: change.isRemoval };
      });
      if (isChanged) await this.catchUp();
      if (isRemoval) onRemoval();
      return answer;
    } catch (error) {
      const isStale = error instanceof Refusal && error.code === "PreconditionFailed";
      if (isStale) await this.catchUp().catch(() => {});
      throw error;
    }
  }
}

async function nextRevision(session: Session): Promise<number> {
  const [row] = await session.query(statements.revision);
  return row?.[0] as number;
}

async function removeOne(session: Session, id: SubscriptionId) {
  await session.query(statements.addRetired, [id]);
  await session.query(statements.addRemoval, [id]);
  const [row] = await session.query(statements.remove, [id]);
  return { topic: row?.[0] as string, revision: row?.[1] as number };
}

function joined(rows: readonly Row[]): RecordNames {
  const topics = new Set<string>();
  const subscriptions = new Set<SubscriptionId>();
  for (const [, names, ids] of rows) {
    for (const name of JSON.parse(names) as string[]) topics.add(name);
    for (const id of JSON.parse(ids) as SubscriptionId[]) subscriptions.add(id);
  }
  return { topics: [...topics], subscriptions: [...subscriptions] };
}

function catalogOf(
  topics: readonly Row[],
  subscriptions: readonly Row[],
  retired: readonly Row[],
): Catalog {
  const left = retired.map(subscriptionIn);
  return {
    topics: topics.map(([revision, record]) => ({
      ...(JSON.parse(record) as TopicDraft),
      revision,
    })),
    subscriptions: subscriptions.map(subscriptionIn),
    ...(left.length > 0 && { retired: left }),
  };
}

function subscriptionIn([id, revision, slot, record]: Row): Subscription {
  return withSlot({ ...recallSubscription(JSON.parse(record)), id, revision }, slot);
}

/** Told only where it is not that of the destination. */
function withSlot(subscription: Subscription, slot: Slot): Subscription {
  return slot === homeSlot(subscription) ? subscription : { ...subscription, slot };
}

/** A draft may carry what only a read record has. */
function plain<T extends object>(draft: T): T {
  const { slot: _, ...rest } = draft as T & { slot?: unknown };
  return rest as unknown as T;
}

/** Within a domain each of its topics has names of its own. A name has no slash. */
function nameInTopic({ domainTopic, name }: SubscriptionDraft): string {
  return foldCase(domainTopic === null ? name : `${domainTopic}/${name}`);
}
