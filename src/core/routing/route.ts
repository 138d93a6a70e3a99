// Who wants an event: the topics by name, and the subscriptions of each. An entry of the directory
// is never altered: when its topic or one of its subscriptions changes, another takes its place,
// and a publish keeps the one it has found from beginning to end. An entry is made when the first
// event comes, so that writing many subscriptions one after the other does not compile all of them
// every time.

import type { EventFields } from "../event.ts";
import type { Catalog, RoutedBy } from "../ports.ts";
import type { Roll } from "../story/note.ts";
import type { Subscription, SubscriptionId } from "../subscription.ts";
import { foldCase } from "../text/compare.ts";
import type { Topic } from "../topic.ts";
import { type Audience, type Evaluations, gatherAudience } from "./audience.ts";
import { openEventValues } from "./filter/event-values.ts";
import { routingMark } from "./routing-mark.ts";

/** One topic and who wants its events. */
export interface DirectoryEntry {
  readonly topic: Topic;
  /** What its events are routed by; a store compares it with its own (the port Store). */
  readonly by: RoutedBy;
  subscription(id: SubscriptionId): Subscription | undefined;
  /**
   * The active subscriptions whose filters match, each once. Of an event for a topic within a
   * domain, also those of that topic alone.
   */
  route(fields: EventFields, domainTopic?: string | null): readonly SubscriptionId[];
  /** Those among whom `route` chooses, and those of them that are not in force; for stories. */
  roll(domainTopic?: string | null): Roll;
}

/** All that is known under the name of a topic: subscriptions may be read before their topic. */
interface TopicGroup {
  topic: Topic | null;
  readonly subscriptions: Map<SubscriptionId, Subscription>;
  /** Expired, but not yet gone from the store. */
  readonly expired: Map<SubscriptionId, Subscription>;
  /** Null until it is asked for. */
  entry: DirectoryEntry | null;
}

export class Directory {
  readonly #groups = new Map<string, TopicGroup>();
  readonly #evaluations: Evaluations;

  constructor(catalog: Catalog, evaluations: Evaluations = new Map()) {
    this.#evaluations = evaluations;
    for (const topic of catalog.topics) this.putTopic(topic);
    for (const subscription of catalog.subscriptions) this.put(subscription);
  }

  /** Case-insensitive. */
  entry(topicName: string): DirectoryEntry | undefined {
    const group = this.#groups.get(foldCase(topicName));
    if (group === undefined || group.topic === null) return undefined;
    group.entry ??= openEntry(group.topic, group, this.#evaluations);
    return group.entry;
  }

  /** Also those that are not active. */
  subscriptionsOf(topicName: string): readonly Subscription[] {
    return [...(this.#groups.get(foldCase(topicName))?.subscriptions.values() ?? [])];
  }

  putTopic(topic: Topic): void {
    this.#change(topic.name, (group) => {
      group.topic = topic;
    });
  }

  removeTopic({ name }: Topic): void {
    this.#change(name, (group) => {
      group.topic = null;
    });
  }

  put(subscription: Subscription): void {
    const { topic, id } = subscription;
    if (this.#groups.get(foldCase(topic))?.subscriptions.get(id) === subscription) return;
    this.#change(topic, ({ subscriptions, expired }) => {
      subscriptions.set(id, subscription);
      expired.delete(id);
    });
  }

  remove({ topic, id }: Subscription): void {
    this.#change(topic, ({ subscriptions, expired }) => {
      subscriptions.delete(id);
      expired.delete(id);
    });
  }

  /** Nothing is routed there any more, though the store still has it. */
  expire(subscription: Subscription): void {
    const { topic, id } = subscription;
    if (this.#groups.get(foldCase(topic))?.expired.get(id) === subscription) return;
    this.#change(topic, ({ subscriptions, expired }) => {
      subscriptions.delete(id);
      expired.set(id, subscription);
    });
  }

  #change(topicName: string, change: (group: TopicGroup) => void): void {
    const name = foldCase(topicName);
    const group = this.#groups.get(name) ?? {
      ...{ topic: null, subscriptions: new Map(), expired: new Map(), entry: null },
    };
    change(group);
    group.entry = null;
    const { topic, subscriptions, expired } = group;
    if (topic === null && subscriptions.size + expired.size === 0) this.#groups.delete(name);
    else this.#groups.set(name, group);
  }
}

/** The subscriptions of one scope, and their audience and roll once they are needed. */
interface Scope {
  readonly subscriptions: Subscription[];
  readonly inactive: Subscription[];
  audience: Audience | null;
  roll: Roll | null;
}

const emptyRoll: Roll = { members: [] };

function openEntry(
  topic: Topic,
  group: Pick<TopicGroup, "subscriptions" | "expired">,
  evaluations: Evaluations,
): DirectoryEntry {
  const subscriptions = new Map(group.subscriptions);
  const all = [...subscriptions.values(), ...group.expired.values()];
  /** By topic within the domain; null: the topic itself. */
  const scopes = new Map<string | null, Scope>();
  for (const subscription of subscriptions.values()) {
    const name = scopeName(subscription.domainTopic);
    const scope = scopes.get(name) ?? newScope();
    scopes.set(name, scope);
    (subscription.isActive ? scope.subscriptions : scope.inactive).push(subscription);
  }
  const audienceOf = (scope: Scope): Audience => {
    scope.audience ??= gatherAudience(scope.subscriptions, evaluations);
    return scope.audience;
  };
  const whole = scopes.get(null);
  const within = (domainTopic: string | null) =>
    domainTopic === null ? undefined : scopes.get(scopeName(domainTopic));
  return {
    topic,
    by: { topic: topic.name, mark: routingMark(topic.revision, all) },
    subscription: (id) => subscriptions.get(id),
    route(fields, domainTopic = null) {
      const values = openEventValues(fields);
      const ofAll = whole === undefined ? [] : audienceOf(whole).choose(values);
      const one = within(domainTopic);
      return one === undefined ? ofAll : [...ofAll, ...audienceOf(one).choose(values)];
    },
    roll(domainTopic = null) {
      const one = within(domainTopic);
      return one ? rollOf(one, whole) : whole ? rollOf(whole) : emptyRoll;
    },
  };
}

function newScope(): Scope {
  return { subscriptions: [], inactive: [], audience: null, roll: null };
}

/** `above`: for a topic within a domain, the subscriptions of the whole domain. */
function rollOf(scope: Scope, above?: Scope): Roll {
  scope.roll ??= {
    members: [above, scope].flatMap((each) =>
      each === undefined ? [] : [...each.subscriptions, ...each.inactive],
    ),
  };
  return scope.roll;
}

function scopeName(domainTopic: string | null): string | null {
  return domainTopic === null ? null : foldCase(domainTopic);
}
