// The catalog as it was last read, kept up to date record by record. A read becomes a list of
// changes, so that all others only look at those.

import type { Catalog, RecordNames } from "../registry.ts";
import type { Subscription, SubscriptionDraft, SubscriptionId } from "../subscription.ts";
import { foldCase } from "../text/compare.ts";
import type { Topic } from "../topic.ts";

/** The records that are new or different, and the deleted ones as they were. */
export interface CatalogChange extends Catalog {
  readonly gone: Catalog;
}

/** The members of the name of a subscription. */
export type SubscriptionName = Pick<SubscriptionDraft, "topic" | "domainTopic" | "name">;

export class LiveCatalog implements Catalog {
  readonly #topics = new Map<string, Topic>();
  readonly #subscriptions = new Map<SubscriptionId, Subscription>();
  readonly #named = new Map<string, Subscription>();
  #topicList: readonly Topic[] | null = null;
  #subscriptionList: readonly Subscription[] | null = null;

  constructor(catalog: Catalog = { topics: [], subscriptions: [] }) {
    this.update(null, catalog);
  }

  /** By name. */
  get topics(): readonly Topic[] {
    this.#topicList ??= [...this.#topics]
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .map(([, topic]) => topic);
    return this.#topicList;
  }

  get subscriptions(): readonly Subscription[] {
    this.#subscriptionList ??= [...this.#subscriptions.values()];
    return this.#subscriptionList;
  }

  /** Case-insensitive, like all lookups by name. */
  topic(name: string): Topic | undefined {
    return this.#topics.get(foldCase(name));
  }

  subscription(id: SubscriptionId): Subscription | undefined {
    return this.#subscriptions.get(id);
  }

  named(name: SubscriptionName): Subscription | undefined {
    return this.#named.get(subscriptionKey(name));
  }

  /** Takes over the named records that were read, or, for null, all of them. */
  update(names: RecordNames | null, read: Catalog): CatalogChange {
    const topics = read.topics.filter(({ name, revision }) => {
      return this.topic(name)?.revision !== revision;
    });
    const subscriptions = read.subscriptions.filter(({ id, revision, slot }) => {
      const known = this.subscription(id);
      return known?.revision !== revision || known.slot !== slot;
    });
    const gone = this.#goneOf(names, read);
    for (const { name } of gone.topics) this.#topics.delete(foldCase(name));
    for (const subscription of gone.subscriptions) {
      this.#subscriptions.delete(subscription.id);
      if (this.named(subscription) === subscription)
        this.#named.delete(subscriptionKey(subscription));
    }
    for (const topic of topics) this.#topics.set(foldCase(topic.name), topic);
    for (const subscription of subscriptions) {
      this.#subscriptions.set(subscription.id, subscription);
      this.#named.set(subscriptionKey(subscription), subscription);
    }
    if (topics.length + gone.topics.length > 0) this.#topicList = null;
    if (subscriptions.length + gone.subscriptions.length > 0) this.#subscriptionList = null;
    return { topics, subscriptions, gone };
  }

  /** Those of the names that are known and were not read. */
  #goneOf(names: RecordNames | null, read: Catalog): Catalog {
    const topics = new Set(read.topics.map(({ name }) => foldCase(name)));
    const subscriptions = new Set(read.subscriptions.map(({ id }) => id));
    const known =
      names === null
        ? this
        : {
            topics: names.topics.flatMap((name) => this.topic(name) ?? []),
            subscriptions: names.subscriptions.flatMap((id) => this.subscription(id) ?? []),
          };
    return {
      topics: known.topics.filter(({ name }) => !topics.has(foldCase(name))),
      subscriptions: known.subscriptions.filter(({ id }) => !subscriptions.has(id)),
    };
  }
}

/** The same for all spellings of a name. No name has a slash. */
export function subscriptionKey({ topic, domainTopic, name }: SubscriptionName): string {
  return foldCase(`${topic}/${domainTopic ?? ""}/${name}`);
}
