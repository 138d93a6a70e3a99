// Who wants an event: the topics by name, and the subscriptions of each. What an entry of the
// directory says never changes: when its topic or one of its subscriptions does, another takes its
// place, and a publish keeps the one it has found from beginning to end. The latest entry shares an
// index that each change alters in its own places; an entry before it goes on with a copy of its
// members. The index is made when the first event comes.

import type { EventFields } from "../event.ts";
import type { RoutedBy } from "../ports.ts";
import type { Catalog } from "../registry.ts";
import type { Roll } from "../story/note.ts";
import type { Subscription, SubscriptionId } from "../subscription.ts";
import { foldCase } from "../text/compare.ts";
import type { Topic } from "../topic.ts";
import { Audience, type Evaluations } from "./audience.ts";
import { type EventValues, openEventValues } from "./filter/event-values.ts";
import { Members } from "./members.ts";
import { addMarks, markOf, markOfTopic, negativeMark } from "./routing-mark.ts";

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
  /** By topic within the domain; null: the topic itself. */
  readonly scopes: Map<string | null, Scope>;
  /** The sum for all its subscriptions. */
  mark: number;
  /** Null until it is asked for. */
  entry: Entry | null;
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
    group.entry ??= new Entry(group.topic, group);
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
    this.#change(topic, (group) => this.#replace(group, id, subscription));
  }

  remove({ topic, id }: Subscription): void {
    this.#change(topic, (group) => this.#replace(group, id, null));
  }

  /** Nothing is routed there any more, though the store still has it. */
  expire(subscription: Subscription): void {
    const { topic, id } = subscription;
    if (this.#groups.get(foldCase(topic))?.expired.get(id) === subscription) return;
    this.#change(topic, (group) => {
      this.#replace(group, id, null);
      group.expired.set(id, subscription);
      group.mark = addMarks(group.mark, markOf(subscription));
    });
  }

  #replace(group: TopicGroup, id: SubscriptionId, next: Subscription | null): void {
    const { subscriptions, expired, scopes } = group;
    const before = subscriptions.get(id);
    const known = before ?? expired.get(id);
    if (known !== undefined) group.mark = addMarks(group.mark, negativeMark(markOf(known)));
    expired.delete(id);
    if (before !== undefined) {
      const name = scopeName(before.domainTopic);
      const scope = scopes.get(name);
      scope?.remove(id);
      if (scope?.size === 0) scopes.delete(name);
    }
    if (next === null) {
      subscriptions.delete(id);
      return;
    }
    subscriptions.set(id, next);
    group.mark = addMarks(group.mark, markOf(next));
    const name = scopeName(next.domainTopic);
    const scope = scopes.get(name) ?? new Scope(this.#evaluations);
    scopes.set(name, scope);
    scope.put(next);
  }

  #change(topicName: string, change: (group: TopicGroup) => void): void {
    const name = foldCase(topicName);
    const group = this.#groups.get(name) ?? {
      ...{ topic: null, subscriptions: new Map(), expired: new Map(), scopes: new Map() },
      ...{ mark: 0, entry: null },
    };
    group.entry?.keep();
    group.entry = null;
    change(group);
    const { topic, subscriptions, expired } = group;
    if (topic === null && subscriptions.size + expired.size === 0) this.#groups.delete(name);
    else this.#groups.set(name, group);
  }
}

/** The subscriptions of one scope, and their index once it is needed. */
class Scope {
  readonly #members: Members;
  readonly #evaluations: Evaluations;
  #audience: Audience | null = null;

  constructor(evaluations: Evaluations, members = new Members()) {
    this.#members = members;
    this.#evaluations = evaluations;
  }

  get size(): number {
    return this.#members.size;
  }

  get(id: SubscriptionId): Subscription | undefined {
    return this.#members.get(id);
  }

  /** As they are now. */
  members(): Members {
    return new Members(this.#members);
  }

  put(subscription: Subscription): void {
    this.#members.put(subscription);
    this.#audience?.remove(subscription.id);
    if (subscription.isActive) this.#audience?.add(subscription);
  }

  remove(id: SubscriptionId): void {
    this.#members.remove(id);
    this.#audience?.remove(id);
  }

  choose(values: EventValues): SubscriptionId[] {
    this.#audience ??= new Audience(
      Iterator.from(this.#members).filter(({ isActive }) => isActive),
      this.#evaluations,
    );
    return this.#audience.choose(values);
  }

  /** As it is now, for those who have found it so. */
  copy(): Scope {
    return new Scope(this.#evaluations, this.members());
  }
}

class Entry implements DirectoryEntry {
  readonly topic: Topic;
  readonly by: RoutedBy;
  #scopes: ReadonlyMap<string | null, Scope>;
  readonly #rolls = new Map<string | null, Roll>();

  constructor(topic: Topic, { mark, scopes }: Pick<TopicGroup, "mark" | "scopes">) {
    this.topic = topic;
    this.by = { topic: topic.name, mark: addMarks(markOfTopic(topic.revision), mark) };
    this.#scopes = scopes;
  }

  /** The scopes are about to change: ours stay as they are. */
  keep(): void {
    this.#scopes = new Map([...this.#scopes].map(([name, scope]) => [name, scope.copy()]));
  }

  subscription(id: SubscriptionId): Subscription | undefined {
    for (const scope of this.#scopes.values()) {
      const found = scope.get(id);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  route(fields: EventFields, domainTopic: string | null = null): readonly SubscriptionId[] {
    const values = openEventValues(fields);
    const ofAll = this.#scopes.get(null)?.choose(values) ?? [];
    const one = this.#within(domainTopic);
    return one === undefined ? ofAll : [...ofAll, ...one.choose(values)];
  }

  roll(domainTopic: string | null = null): Roll {
    const one = this.#within(domainTopic);
    const name = one === undefined ? null : scopeName(domainTopic);
    let roll = this.#rolls.get(name);
    if (roll === undefined) {
      roll = joined(this.#scopes.get(null)?.members() ?? new Members(), one?.members());
      this.#rolls.set(name, roll);
    }
    return roll;
  }

  #within(domainTopic: string | null): Scope | undefined {
    return domainTopic === null ? undefined : this.#scopes.get(scopeName(domainTopic));
  }
}

function joined(one: Roll, other: Roll | undefined): Roll {
  if (other === undefined) return one;
  return {
    size: one.size + other.size,
    blocks: [...one.blocks, ...other.blocks],
    get: (id) => one.get(id) ?? other.get(id),
  };
}

function scopeName(domainTopic: string | null): string | null {
  return domainTopic === null ? null : foldCase(domainTopic);
}
