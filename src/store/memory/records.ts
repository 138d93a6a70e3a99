// Topics and subscriptions (the port Registry). What waits for a subscription is not here.

import { Refusal } from "../../core/refusal.ts";
import type { Catalog, RecordNames } from "../../core/registry.ts";
import { routingMark } from "../../core/routing/routing-mark.ts";
import type { Subscription, SubscriptionDraft, SubscriptionId } from "../../core/subscription.ts";
import type { Topic, TopicDraft } from "../../core/topic.ts";
import { checkRevision } from "../revision.ts";

export class Records {
  readonly #topics = new Map<string, Topic>();
  readonly #subscriptions = new Map<SubscriptionId, Subscription>();
  /** By topic and name. */
  readonly #subscriptionIds = new Map<string, SubscriptionId>();
  /** Deleted, with dead letters that are yet to be written. */
  readonly #retired = new Map<SubscriptionId, Subscription>();
  #subscriptionsMade = 0;
  #revisionsMade = 0;

  /** All of them, retired ones included. */
  get ids(): readonly SubscriptionId[] {
    return [...this.#subscriptions.keys(), ...this.#retired.keys()];
  }

  read(only?: RecordNames): Catalog {
    const names = only?.topics.map((name) => name.toLowerCase()) ?? this.#topics.keys();
    const ids = only?.subscriptions ?? this.#subscriptions.keys();
    const retired = (only?.subscriptions ?? [...this.#retired.keys()]).flatMap(
      (id) => this.#retired.get(id) ?? [],
    );
    return {
      topics: [...names].flatMap((name) => this.#topics.get(name) ?? []),
      subscriptions: [...ids].flatMap((id) => this.#subscriptions.get(id) ?? []),
      ...(retired.length > 0 && { retired }),
    };
  }

  topic(name: string): Topic | undefined {
    return this.#topics.get(name.toLowerCase());
  }

  subscription(id: SubscriptionId): Subscription | undefined {
    return this.#subscriptions.get(id);
  }

  subscriptionsOf(topic: Topic): readonly Subscription[] {
    return [...this.#subscriptions.values()].filter((one) => one.topic === topic.name);
  }

  /** Null: there is no such topic. */
  markOf(name: string): number | null {
    const topic = this.topic(name);
    return topic ? routingMark(topic.revision, this.subscriptionsOf(topic)) : null;
  }

  putTopic(draft: TopicDraft, revision?: number): Topic {
    const old = this.topic(draft.name);
    checkRevision(old?.revision, revision);
    const topic: Topic = {
      ...draft,
      name: old?.name ?? draft.name,
      revision: ++this.#revisionsMade,
    };
    this.#topics.set(topic.name.toLowerCase(), topic);
    return topic;
  }

  putSubscription(draft: SubscriptionDraft, revision?: number): Subscription {
    const topic = this.topic(draft.topic);
    if (topic === undefined) throw new Refusal("NotFound", `There is no topic '${draft.topic}'.`);
    const old = this.#subscriptions.get(this.#subscriptionIds.get(nameKey(draft)) ?? 0);
    checkRevision(old?.revision, revision);
    const subscription: Subscription = {
      ...draft,
      topic: topic.name,
      name: old?.name ?? draft.name,
      id: old?.id ?? ++this.#subscriptionsMade,
      revision: ++this.#revisionsMade,
    };
    this.#subscriptions.set(subscription.id, subscription);
    this.#subscriptionIds.set(nameKey(subscription), subscription.id);
    return subscription;
  }

  removeTopic(topic: Topic): void {
    this.#topics.delete(topic.name.toLowerCase());
  }

  retire(subscription: Subscription): void {
    this.#subscriptions.delete(subscription.id);
    this.#subscriptionIds.delete(nameKey(subscription));
    this.#retired.set(subscription.id, subscription);
  }

  forgetRetired(id: SubscriptionId): void {
    this.#retired.delete(id);
  }
}

function nameKey({ topic, domainTopic, name }: SubscriptionDraft): string {
  return `${topic}/${domainTopic ?? ""}/${name}`.toLowerCase();
}
