// Who gets an event. A directory is the catalog prepared for looking things up: a value, built
// anew after every change and never altered, so that a publish sees one state of it from
// beginning to end. A topic's filters are compiled when its first event comes, so that writing many
// subscriptions one after the other does not compile all of them every time.

import { type Audience, gatherAudience } from "./audience.ts";
import type { EventFields } from "./event.ts";
import { foldCase } from "./filter/fold.ts";
import { openSight } from "./filter/sight.ts";
import type { Catalog } from "./ports.ts";
import type { Subscription, SubscriptionId } from "./subscription.ts";
import type { Topic } from "./topic.ts";

export interface Directory {
  /** Without regard to letter case. */
  topic(name: string): Topic | undefined;
  subscription(id: SubscriptionId): Subscription | undefined;
  /**
   * The active subscriptions of a topic whose filters match, each once; none for an unknown topic.
   * Of an event for a topic within a domain, also those of that topic alone.
   */
  route(
    topicName: string,
    fields: EventFields,
    domainTopic?: string | null,
  ): readonly SubscriptionId[];
}

/** Those who want one scope, and their audience once it was needed. */
interface Scope {
  readonly subscriptions: Subscription[];
  audience: Audience | null;
}

export function openDirectory(catalog: Catalog): Directory {
  const topics = new Map(catalog.topics.map((topic) => [foldCase(topic.name), topic]));
  const subscriptions = new Map(catalog.subscriptions.map((each) => [each.id, each]));
  const scopes = new Map<string, Scope>();
  for (const subscription of catalog.subscriptions) {
    if (!subscription.isActive || !topics.has(foldCase(subscription.topic))) continue;
    const name = scopeName(subscription.topic, subscription.domainTopic);
    const scope = scopes.get(name);
    if (scope === undefined) {
      scopes.set(name, { subscriptions: [subscription], audience: null });
    } else scope.subscriptions.push(subscription);
  }
  return {
    topic: (name) => topics.get(foldCase(name)),
    subscription: (id) => subscriptions.get(id),
    route(topicName, fields, domainTopic = null) {
      const sight = openSight(fields);
      const ofAll = audienceOf(scopes, scopeName(topicName, null))?.choose(sight) ?? [];
      if (domainTopic === null) return ofAll;
      const ofOne = audienceOf(scopes, scopeName(topicName, domainTopic));
      return ofOne === undefined ? ofAll : [...ofAll, ...ofOne.choose(sight)];
    },
  };
}

/** No name of a topic has a slash. */
function scopeName(topic: string, domainTopic: string | null): string {
  return foldCase(domainTopic === null ? topic : `${topic}/${domainTopic}`);
}

function audienceOf(scopes: ReadonlyMap<string, Scope>, name: string): Audience | undefined {
  const scope = scopes.get(name);
  if (scope === undefined) return undefined;
  scope.audience ??= gatherAudience(scope.subscriptions);
  return scope.audience;
}
