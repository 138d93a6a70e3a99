// What the API sends to whoever watches.

import {
  about,
  type Infer,
  instant,
  named,
  object,
  oneOf,
  orNull,
  text,
  whole,
  words,
} from "../schema.ts";
import { RedriveView } from "./deadletters.ts";
import { EndpointView } from "./endpoints.ts";
import { AttemptView, DeliveryState, EventSummary } from "./events.ts";
import { InboxRequestView } from "./inboxes.ts";
import { Overview } from "./overview.ts";

/** The delivery that it is about. */
const deliveryNames = {
  event: text,
  eventId: text,
  subject: text,
  type: text,
  topic: text,
  domainTopic: orNull(text),
  subscription: text,
};

const LiveAttempt = object({ ...AttemptView.members, ...deliveryNames });
export type LiveAttempt = Infer<typeof LiveAttempt>;

const LiveEnd = object({
  ...deliveryNames,
  state: DeliveryState,
  reason: orNull(text),
  at: instant,
});
export type LiveEnd = Infer<typeof LiveEnd>;

/** One server-sent event: `event:` is its kind, `data:` the rest as JSON. Bounded per second. */
export const LiveEvent = named(
  "LiveEvent",
  oneOf([
    object({ kind: words("overview"), overview: Overview }),
    object({ kind: words("published"), event: EventSummary }),
    object({ kind: words("attempt"), attempt: LiveAttempt }),
    about(
      object({ kind: words("ended"), ended: LiveEnd }),
      "For one subscription: delivered, found undeliverable, dead-lettered or dropped.",
    ),
    object({ kind: words("endpoint"), endpoint: EndpointView }),
    about(object({ kind: words("catalog") }), "Topics or subscriptions changed: read them again."),
    object({ kind: words("redrive"), redrive: RedriveView }),
    object({ kind: words("inbox"), inbox: text, request: InboxRequestView }),
    about(
      object({ kind: words("missed"), count: whole }),
      "So many were left out because there were too many to show.",
    ),
  ]),
);
export type LiveEvent = Infer<typeof LiveEvent>;

export const liveKinds = words(
  ...(["overview", "published", "attempt", "ended"] as const),
  ...(["endpoint", "catalog", "redrive", "inbox", "missed"] as const),
);
