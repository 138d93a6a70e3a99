// The way of one dead letter back: where it goes, what is sent there, and what is remembered of it.

import type { RedrivenNote } from "../../core/deadletter/letter-store.ts";
import { eventOfLetter } from "../../core/deadletter/redrive.ts";
import type { Ids, Instant, Parcel, Routed } from "../../core/ports.ts";
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

/** For that subscription alone, whatever its filter. */
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
 * As a subscription of the letter's name would be sent it, in the schema that it has. The original
 * of a custom schema stays within its envelope: of a URL we do not know what it expects.
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
 * For the letter, and for who gets the event: if that is another subscription, its next letter is
 * found under that name, with as many times behind it.
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

/** To people, where several are told of. */
export function nameOf({ subscription, letter }: FoundLetter): string {
  return subscription === "" ? `event ${letter.id}` : `${subscription}, event ${letter.id}`;
}
