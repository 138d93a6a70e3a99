// Where a redriven dead letter goes, what is sent there, and what is counted.

import type { RedrivenNote } from "../../core/deadletter/letter-store.ts";
import { eventOfLetter } from "../../core/deadletter/redrive.ts";
import type { Parcel } from "../../core/delivery/sink.ts";
import type { Ids, Instant, Routed } from "../../core/ports.ts";
import {
  plainSubscription,
  type Subscription,
  type WebHookDestination,
} from "../../core/subscription.ts";
import { type Topic, topicArmId } from "../../core/topic.ts";
import { type FoundLetter, redrivenKey, type WholeLetter } from "./find-letters.ts";

export interface Redrivable<G extends Goal = Goal> {
  readonly found: WholeLetter;
  /** How often it has been redriven before. */
  readonly times: number;
  readonly goal: G;
}

export type Goal = SubscriptionGoal | UrlGoal;

export interface SubscriptionGoal {
  readonly kind: "subscription";
  readonly subscription: Subscription;
  readonly topic: Topic;
}

export interface UrlGoal {
  readonly kind: "url";
  readonly url: string;
}

interface Stamp {
  readonly ids: Ids;
  readonly at: Instant;
}

/** For that subscription only, whatever its filter. */
export function routedOf(
  { found, goal: { subscription, topic } }: Redrivable<SubscriptionGoal>,
  { ids, at }: Stamp,
): Routed {
  const { name, inputSchema } = topic;
  const goal = { topic: name, topicArmId: topicArmId(topic), inputSchema };
  const event = eventOfLetter(found.letter, goal, { systemId: ids.next(), at });
  return { event, to: [subscription.id] };
}

/**
 * As a subscription of the same name would get it, in its own schema. An event of a custom schema
 * stays in its envelope: what a URL expects is not known.
 */
export function parcelOf(
  { found: { letter, ...found }, goal }: Redrivable<UrlGoal>,
  { ids, at }: Stamp,
): { readonly parcel: Parcel; readonly destination: WebHookDestination } {
  const topic = found.topic ?? "redrive";
  const become = { topic, topicArmId: letter.source, inputSchema: "EventGridSchema" } as const;
  const destination = { kind: "webhook", url: goal.url } as const;
  const subscription: Subscription = {
    ...plainSubscription,
    ...{ id: 0, revision: 0, origin: "api", topic, destination },
    name: found.subscription || "redrive",
    deliverySchema: letter.form === "cloudEvent" ? "CloudEventSchemaV1_0" : "EventGridSchema",
  };
  const delivery = {
    ...{ id: { event: 0, subscription: 0 }, lease: 0, leasedUntil: at, dueAt: at, since: at },
    ...{ attempts: 0, last: null, reason: null },
    stage: "deliver" as const,
    event: eventOfLetter(letter, become, { systemId: ids.next(), at }),
  };
  return { parcel: { subscription, deliveries: [delivery] }, destination };
}

/**
 * For the dead letter, and for the target: if that is another subscription, its next dead letter is
 * found under that name, with the same count.
 */
export function notesOf(
  { found: { subscription, letter }, goal, times }: Redrivable,
  redrive: string,
): readonly RedrivenNote[] {
  const names = new Set([subscription]);
  if (goal.kind === "subscription") names.add(goal.subscription.name.toUpperCase());
  return [
    ...[...names].map((name) => ({ key: redrivenKey(name, letter), times: times + 1 })),
    { key: handledKey(redrive, { subscription, letter }), times: 1 },
  ];
}

/** Noted of each event that a redrive has sent, so that it can go on with the others. */
export function handledKey(
  redrive: string,
  { subscription, letter }: Pick<FoundLetter, "subscription" | "letter">,
): string {
  return redrivenKey(`${redrive} ${subscription}`, letter);
}

/** For messages about several of them. */
export function nameOf({ subscription, letter }: FoundLetter): string {
  return subscription === "" ? `event ${letter.id}` : `${subscription}, event ${letter.id}`;
}
