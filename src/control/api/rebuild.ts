// The request of an attempt that went well and was not recorded, made again for whoever looks: it
// follows from the event, the subscription and the number of the attempt. What does not follow from
// these is left out, and the story says so.

import type { AttemptView, DeliveryStory, Story } from "../../core/api/views.ts";
import type { Exchanged } from "../../core/delivery/outcome.ts";
import type { Parcel } from "../../core/delivery/sink.ts";
import type { Event } from "../../core/event.ts";
import type { Catalog } from "../../core/registry.ts";
import type { Entry } from "../../core/story/chronicle.ts";
import { recallEvent } from "../../core/story/recall.ts";
import { showWire } from "../../core/story/story.ts";
import { keepWire } from "../../core/story/wire.ts";
import type { Subscription } from "../../core/subscription.ts";

export interface RebuildDeps {
  readonly catalog: () => Catalog;
  /** The request to a webhook, as it is sent. */
  readonly postOf: (parcel: Parcel, path: string) => Exchanged["request"];
}

export function rebuildRequests(deps: RebuildDeps, entry: Entry, story: Story): Story {
  const event = recallEvent(entry);
  if (event === null) return story;
  const { subscriptions } = deps.catalog();
  const deliveryStories = story.deliveryStories.map((delivery, place) => {
    const id = entry.passages[place]?.subscription;
    const subscription = subscriptions.find((each) => each.id === id);
    return subscription === undefined
      ? delivery
      : rebuildIn(deps, delivery, { subscription, event });
  });
  return { ...story, deliveryStories };
}

interface Parts {
  readonly subscription: Subscription;
  readonly event: Event;
}

function rebuildIn(deps: RebuildDeps, delivery: DeliveryStory, parts: Parts): DeliveryStory {
  const { destination } = parts.subscription;
  if (destination.kind !== "webhook") return delivery;
  const path = pathOf(destination.url);
  const attempts = delivery.attempts.map((attempt) =>
    isMissing(attempt) ? { ...attempt, wire: rebuild(deps, attempt, { ...parts, path }) } : attempt,
  );
  return { ...delivery, attempts };
}

/** Of a failed one nothing is made again: what was refused may have been something else. */
function isMissing({ wire, stage, decision, status }: AttemptView): boolean {
  return wire === null && stage === "deliver" && decision === "delivered" && status !== null;
}

function rebuild(
  { postOf }: RebuildDeps,
  { number, at, batch }: AttemptView,
  { subscription, event, path }: Parts & { readonly path: string },
): AttemptView["wire"] {
  const sentAt = Date.parse(at);
  const delivery = {
    id: { event: 0, subscription: subscription.id },
    stage: "deliver" as const,
    ...{ lease: 0, leasedUntil: sentAt, dueAt: sentAt, since: event.publishedAt },
    ...{ attempts: number - 1, last: null, reason: null, event },
  };
  const request = postOf({ subscription, deliveries: [delivery] }, path);
  return showWire(keepWire({ request, head: null }, subscription), sayHow(subscription, batch));
}

function sayHow({ signing }: Subscription, batch: number): string {
  const others =
    batch > 1 && `the ${batch - 1} other events of the batch, whose first one the headers speak of`;
  const missing = [others, "trace context", signing.length > 0 && "signature"].filter(
    (each) => each !== false,
  );
  return (
    "Not recorded, but made again from the event and the subscription as it is now. Without: " +
    `${missing.join("; ")}.`
  );
}

function pathOf(address: string): string {
  const url = URL.parse(address);
  return url === null ? "/" : url.pathname + url.search;
}
