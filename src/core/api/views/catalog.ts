// What the API shows of topics and subscriptions.

import {
  about,
  type Infer,
  instant,
  list,
  named,
  number,
  object,
  oneOf,
  orNull,
  text,
  truth,
  whole,
  words,
} from "../schema.ts";
import { HealthView } from "./endpoints.ts";

export const TopicView = named(
  "Topic",
  object({
    name: text,
    kind: words("topic", "domain", "storage", "namespaceTopic"),
    armId: text,
    endpoint: text,
    inputSchema: text,
    profile: about(text, "The profile in force."),
    isOwnProfile: about(truth, "Whether the topic chose its profile."),
    subscriptions: whole,
    waiting: whole,
    origin: words("file", "api"),
  }),
);
export type TopicView = Infer<typeof TopicView>;

export const FlowView = named(
  "Flow",
  oneOf([
    object({ kind: words("running") }),
    object({ kind: words("paused"), since: instant }),
    object({ kind: words("draining"), perSecond: number }),
  ]),
);
export type FlowView = Infer<typeof FlowView>;

export const SubscriptionView = named(
  "Subscription",
  object({
    topic: text,
    domainTopic: orNull(text),
    name: text,
    armId: text,
    provisioningState: text,
    isActive: truth,
    destination: object({ kind: text, endpoint: text }),
    deliverySchema: text,
    profile: text,
    policy: about(
      object({
        maxDeliveryAttempts: about(orNull(whole), "Null: without limit."),
        ttlMs: whole,
        waitMs: whole,
        scheduleMs: list(whole),
        deadLetters: truth,
      }),
      "The active settings, defaults filled in.",
    ),
    flow: FlowView,
    waiting: whole,
    waitingDeadLetters: whole,
    oldestAt: orNull(instant),
    nextDueAt: about(
      orNull(instant),
      "The next attempt; not before an unhealthy endpoint may be tried.",
    ),
    health: HealthView,
    queue: about(
      orNull(object({ lockMs: whole, locked: whole, available: whole, receivers: whole })),
      "Of a queue that clients fetch from; null: events are sent.",
    ),
  }),
);
export type SubscriptionView = Infer<typeof SubscriptionView>;

export const HandshakeView = named(
  "Handshake",
  object({
    state: text,
    until: orNull(instant),
    nextAt: about(orNull(instant), "When the webhook is asked again; null: it is not."),
    validationUrl: about(orNull(text), "For a person to call, while it is awaited."),
    exchanges: list(object({ at: instant, request: text, answer: text, verdict: text })),
  }),
);
export type HandshakeView = Infer<typeof HandshakeView>;

export const SigningSecrets = named(
  "SigningSecrets",
  object({
    secrets: about(list(object({ secret: text, expiresAt: orNull(instant) })), "The newest first."),
  }),
);
export type SigningSecrets = Infer<typeof SigningSecrets>;

export const FilterVerdict = named(
  "FilterVerdict",
  object({
    subscription: about(orNull(text), "Null: the filter that was given."),
    matches: truth,
    held: about(
      orNull(text),
      "Why it gets no events though they match: its handshake failed or is not over.",
    ),
    clauses: list(object({ clause: text, holds: truth, because: text })),
  }),
);
export type FilterVerdict = Infer<typeof FilterVerdict>;
