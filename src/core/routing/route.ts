// Who gets an event. A directory is the catalog prepared for looking things up: a value, built
// anew after every change and never altered, so that a publish sees one state of it from
// beginning to end. A topic's filters are compiled when its first event comes, so that writing many
// subscriptions one after the other does not compile all of them every time.

import type { EventFields } from "../event.ts";
import type { Catalog } from "../ports.ts";
import type { Roll } from "../story/note.ts";
import type { Subscription, SubscriptionId } from "../subscription.ts";
import { foldCase } from "../text/compare.ts";
import type { Topic } from "../topic.ts";
import { type Audience, type Evaluations, gatherAudience } from "./audience.ts";
import { openEventValues } from "./filter/event-values.ts";

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
  /** Those among whom `route` chooses, and those of them that are not in force; for stories. */
  roll(topicName: string, domainTopic?: string | null): Roll;
}

/** Those who want one scope, and their audience and roll once they were needed. */
interface Scope {
  readonly subscriptions: Subscription[];
  readonly inactive: Subscription[];
  audience: Audience | null;
  roll: Roll | null;
}

const emptyRoll: Roll = { members: [] };

export function openDirectory(catalog: Catalog, evaluations?: Evaluations): Directory {
  const topics = new Map(catalog.topics.map((topic) => [foldCase(topic.name), topic]));
  const subscriptions = new Map(catalog.subscriptions.map((each) => [each.id, each]));
  const scopes = new Map<string, Scope>();
  for (const subscription of catalog.subscriptions) {
    if (!topics.has(foldCase(subscription.topic))) continue;
    const name = scopeName(subscription.topic, subscription.domainTopic);
    const scope = scopes.get(name) ?? newScope();
    scopes.set(name, scope);
    (subscription.isActive ? scope.subscriptions : scope.inactive).push(subscription);
  }
  const audienceOf = (name: string): Audience | undefined => {
    const scope = scopes.get(name);
    if (scope === undefined) return undefined;
    scope.audience ??= gatherAudience(scope.subscriptions, evaluations);
    return scope.audience;
  };
  return {
    topic: (name) => topics.get(foldCase(name)),
    subscription: (id) => subscriptions.get(id),
    route(topicName, fields, domainTopic = null) {
      const values = openEventValues(fields);
      const ofAll = audienceOf(scopeName(topicName, null))?.choose(values) ?? [];
      if (domainTopic === null) return ofAll;
      const ofOne = audienceOf(scopeName(topicName, domainTopic));
      return ofOne === undefined ? ofAll : [...ofAll, ...ofOne.choose(values)];
    },
    roll(topicName, domainTopic = null) {
      const ofAll = scopes.get(scopeName(topicName, null));
      const ofOne = domainTopic === null ? null : scopes.get(scopeName(topicName, domainTopic));
      return ofOne ? rollOf(ofOne, ofAll) : ofAll ? rollOf(ofAll) : emptyRoll;
    },
  };
}

function newScope(): Scope {
  return { subscriptions: [], inactive: [], audience: null, roll: null };
}

/** `above`: of a topic within a domain, those who want the whole domain. */
function rollOf(scope: Scope, above?: Scope): Roll {
  scope.roll ??= {
    members: [above, scope].flatMap((each) =>
      each === undefined ? [] : [...each.subscriptions, ...each.inactive],
    ),
  };
  return scope.roll;
}

/** No name of a topic has a slash. */
function scopeName(topic: string, domainTopic: string | null): string {
  return foldCase(domainTopic === null ? topic : `${topic}/${domainTopic}`);
}
