// Topics and subscriptions in the embedded store (the port Registry), within the engine's round
// (engine.ts). A record is stored as JSON beside the few members it is looked up by.

import { Refusal } from "../../core/refusal.ts";
import type { Catalog, RecordNames } from "../../core/registry.ts";
import { routingMark } from "../../core/routing/routing-mark.ts";
import {
  recallSubscription,
  type Subscription,
  type SubscriptionDraft,
  type SubscriptionId,
} from "../../core/subscription.ts";
import type { Topic, TopicDraft } from "../../core/topic.ts";
import { checkRevision } from "../revision.ts";
import type { Leases } from "./leases.ts";
import type { SqlRow, Statements } from "./statements.ts";
import type { Sweep } from "./sweep.ts";

export class SqliteRegistry {
  readonly #statements: Statements;
  readonly #sweep: Sweep;
  /** Never from a record's own: a recreated one must not have a revision it had before. */
  #revisionsMade: number;
  readonly #topics = new Set<string>();
  readonly #written = new Set<SubscriptionId>();
  readonly #removed = new Set<SubscriptionId>();
  /** Of the removed, those that have dead letters. */
  readonly #retired = new Set<SubscriptionId>();

  /** Revisions are assigned above `from`. */
  constructor(statements: Statements, sweep: Sweep, from: number) {
    this.#statements = statements;
    this.#sweep = sweep;
    this.#revisionsMade = from;
  }

  /** A round begins. */
  begin(): void {
    if (this.changed === null) return;
    for (const names of [this.#topics, this.#written, this.#removed, this.#retired]) names.clear();
  }

  /** The records that the current round has written or deleted; null: none. */
  get changed(): RecordNames | null {
    const { size } = this.#topics;
    if (size + this.#written.size + this.#removed.size === 0) return null;
    return { topics: [...this.#topics], subscriptions: [...this.#written, ...this.#removed] };
  }

  /** After a round that is on disk: there are leases for exactly the existing queues. */
  updateLeases(leases: Leases): void {
    for (const id of this.#written) leases.add(id);
    for (const id of this.#removed) {
      if (this.#retired.has(id)) leases.retire(id);
      else leases.remove(id);
    }
  }

  ids(): readonly SubscriptionId[] {
    return this.#statements.subscriptionIds.all().map(({ id }) => id as number);
  }

  catalog(only: RecordNames | undefined): Catalog {
    const { topics, topic, subscriptions, subscriptionById } = this.#statements;
    const { retired, retiredById } = this.#statements;
    const topicRows = only?.topics.map((name) => topic.get(name)) ?? topics.all();
    const rows = only?.subscriptions.map((id) => subscriptionById.get(id)) ?? subscriptions.all();
    const retiredRows = only?.subscriptions.map((id) => retiredById.get(id)) ?? retired.all();
    const left = retiredRows.filter((row) => row !== undefined).map(subscriptionIn);
    return {
      topics: topicRows.filter((row) => row !== undefined).map(topicIn),
      subscriptions: rows.filter((row) => row !== undefined).map(subscriptionIn),
      ...(left.length > 0 && { retired: left }),
    };
  }

  putTopic(draft: TopicDraft, wanted: number | undefined): Topic {
    const old = this.#statements.topic.get(draft.name);
    checkRevision(old?.revision as number | undefined, wanted);
    const revision = ++this.#revisionsMade;
    const record: TopicDraft = { ...draft, name: (old?.name as string) ?? draft.name };
    this.#statements.putTopic.run(record.name, revision, JSON.stringify(record));
    this.#topics.add(record.name);
    return { ...record, revision };
  }

  putSubscription(draft: SubscriptionDraft, wanted: number | undefined): Subscription {
    const topic = this.#statements.topic.get(draft.topic);
    if (topic === undefined) throw new Refusal("NotFound", `There is no topic '${draft.topic}'.`);
    const key = nameInTopic(draft);
    const old = this.#statements.subscription.get(draft.topic, key);
    checkRevision(old?.revision as number | undefined, wanted);
    const revision = ++this.#revisionsMade;
    const kept = old && (JSON.parse(old.record as string) as SubscriptionDraft);
    const name = kept?.name ?? draft.name;
    const record: SubscriptionDraft = { ...draft, topic: topic.name as string, name };
    const row = this.#statements.putSubscription.get(
      record.topic,
      key,
      revision,
      JSON.stringify(record),
    );
    const id = row?.id as number;
    this.#written.add(id);
    return { ...record, id, revision };
  }

  removeTopic(name: string): readonly SubscriptionId[] {
    const ids = this.#statements.idsOfTopic.all(name).map(({ id }) => id as number);
    for (const id of ids) this.removeSubscription(id, undefined);
    if (this.#statements.removeTopic.run(name).changes > 0) this.#topics.add(name);
    return ids;
  }

  removeSubscription(id: SubscriptionId, wanted: number | undefined): boolean {
    const row = this.#statements.subscriptionById.get(id);
    if (row === undefined) return false;
    checkRevision(row.revision as number, wanted);
    const isRetired = this.#statements.addRetired.run(id).changes > 0;
    this.#statements.removeSubscription.run(id);
    this.#sweep.add(id);
    this.#written.delete(id);
    this.#removed.add(id);
    if (isRetired) this.#retired.add(id);
    return true;
  }

  /** What the topic's events are routed by; null: there is no such topic. */
  markOf(topic: string): number | null {
    const revision = this.#statements.topic.get(topic)?.revision;
    if (revision === undefined) return null;
    const rows = this.#statements.revisionsOfTopic.all(topic);
    return routingMark(revision as number, rows as unknown as { id: number; revision: number }[]);
  }
}

function topicIn(row: SqlRow): Topic {
  const record = JSON.parse(row.record as string) as TopicDraft;
  return { ...record, revision: row.revision as number };
}

function subscriptionIn(row: SqlRow): Subscription {
  const record = recallSubscription(JSON.parse(row.record as string));
  return { ...record, id: row.id as number, revision: row.revision as number };
}

/** Within a domain each of its topics has names of its own. A name has no slash. */
function nameInTopic({ domainTopic, name }: SubscriptionDraft): string {
  return domainTopic === null ? name : `${domainTopic}/${name}`;
}
