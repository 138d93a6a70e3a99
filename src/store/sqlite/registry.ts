// Topics and subscriptions in the embedded store (the port Registry), within the round that the
// engine (engine.ts) has begun. A record is kept as JSON beside the few members it is found by.

import type { Catalog } from "../../core/ports.ts";
import { Refusal } from "../../core/refusal.ts";
import {
  recallSubscription,
  type Subscription,
  type SubscriptionDraft,
  type SubscriptionId,
} from "../../core/subscription.ts";
import type { Topic, TopicDraft } from "../../core/topic.ts";
import { checkRevision } from "../revision.ts";
import type { Statements } from "./statements.ts";
import type { Sweep } from "./sweep.ts";

export class SqliteRegistry {
  readonly #statements: Statements;
  readonly #sweep: Sweep;
  /** Never from a record's own: one made anew may not be at a revision it had before. */
  #revisionsMade: number;
  #hasChanged = false;

  /** Revisions are given out above `from`. */
  constructor(statements: Statements, sweep: Sweep, from: number) {
    this.#statements = statements;
    this.#sweep = sweep;
    this.#revisionsMade = from;
  }

  /** Whether the round under way has changed a record. */
  get hasChanged(): boolean {
    return this.#hasChanged;
  }

  /** A round begins. */
  begin(): void {
    this.#hasChanged = false;
  }

  ids(): ReadonlySet<SubscriptionId> {
    return new Set(this.#statements.subscriptionIds.all().map(({ id }) => id as number));
  }

  catalog(): Catalog {
    return {
      topics: this.#statements.topics.all().map((row) => ({
        ...(JSON.parse(row.record as string) as TopicDraft),
        revision: row.revision as number,
      })),
      subscriptions: this.#statements.subscriptions.all().map((row) => ({
        ...recallSubscription(JSON.parse(row.record as string)),
        id: row.id as number,
        revision: row.revision as number,
      })),
    };
  }

  putTopic(draft: TopicDraft, wanted: number | undefined): Topic {
    const old = this.#statements.topic.get(draft.name);
    checkRevision(old?.revision as number | undefined, wanted);
    const revision = ++this.#revisionsMade;
    const record: TopicDraft = { ...draft, name: (old?.name as string) ?? draft.name };
    this.#statements.putTopic.run(record.name, revision, JSON.stringify(record));
    this.#hasChanged = true;
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
    this.#hasChanged = true;
    return { ...record, id: row?.id as number, revision };
  }

  removeTopic(name: string): void {
    for (const { id, topic } of this.catalog().subscriptions) {
      if (topic.toLowerCase() === name.toLowerCase()) this.removeSubscription(id);
    }
    if (this.#statements.removeTopic.run(name).changes > 0) this.#hasChanged = true;
  }

  removeSubscription(id: SubscriptionId): void {
    if (this.#statements.removeSubscription.run(id).changes === 0) return;
    this.#sweep.add(id);
    this.#hasChanged = true;
  }
}

/** Under the roof of a domain each of its topics has names of its own. A name has no slash. */
function nameInTopic({ domainTopic, name }: SubscriptionDraft): string {
  return domainTopic === null ? name : `${domainTopic}/${name}`;
}
