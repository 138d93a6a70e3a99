// What the API shows of events and their stories.

import {
  about,
  type Infer,
  instant,
  list,
  named,
  number,
  object,
  orNull,
  text,
  truth,
  whole,
  words,
} from "../schema.ts";
import { HeaderView } from "./pages.ts";

/**
 * `waiting`: for its first or next attempt. `deadLettering`: we gave up, and its dead letter waits
 * to be written. `unknown`: it waits no more, and nothing was noted of its end, because the broker
 * was killed just then.
 */
export const DeliveryState = words(
  "waiting",
  "delivered",
  "deadLettering",
  "deadLettered",
  "dropped",
  "unknown",
);
export type DeliveryState = Infer<typeof DeliveryState>;

export const EventSummary = named(
  "EventSummary",
  object({
    event: about(text, "Ours, unique; the header `aeg-output-event-id`."),
    id: about(text, "The publisher's."),
    topic: text,
    subject: text,
    type: text,
    acceptedAt: instant,
    deliveries: list(object({ subscription: text, state: DeliveryState })),
  }),
);
export type EventSummary = Infer<typeof EventSummary>;

export const AttemptView = named(
  "Attempt",
  object({
    stage: words("deliver", "deadLetter"),
    number: about(whole, "From one."),
    at: instant,
    durationMs: number,
    outcome: about(text, "Event Grid's word."),
    status: orNull(whole),
    detail: about(orNull(text), "The system's own words, when there was no answer."),
    excerpt: about(orNull(text), "The first bytes of the answer."),
    isLate: truth,
    batch: about(whole, "How many events travelled together."),
    decision: words("delivered", "retry", "deadLetter", "drop"),
    words: about(text, "The decision as a sentence: why, and what comes next."),
    nextDueAt: orNull(instant),
    health: about(text, "How the endpoint was when it was sent."),
    wire: about(
      orNull(
        object({
          method: text,
          headers: list(HeaderView),
          body: about(text, "The first thousand characters."),
          size: about(whole, "Of the whole body."),
          answer: about(list(HeaderView), "The headers of the answer, where they were recorded."),
          rebuilt: about(
            orNull(text),
            "Null: recorded as it was sent. Otherwise the request was made again for this answer; how, as sentences.",
          ),
        }),
      ),
      "What was sent and what came back; secrets are hidden. Null: there is no record, and it cannot be made again.",
    ),
  }),
);
export type AttemptView = Infer<typeof AttemptView>;

export const DeadLetterLocation = named(
  "DeadLetterPlace",
  object({ account: text, container: text, blob: text }),
);
export type DeadLetterLocation = Infer<typeof DeadLetterLocation>;

export const DeliveryStory = named(
  "DeliveryStory",
  object({
    topic: text,
    domainTopic: orNull(text),
    subscription: text,
    endpoint: text,
    state: DeliveryState,
    attempts: list(AttemptView),
    nextDueAt: orNull(instant),
    held: about(
      orNull(text),
      "Why nothing is sent though it is due: paused, or the endpoint is unhealthy or closed.",
    ),
    expiresAt: orNull(instant),
    attemptsLeft: orNull(whole),
    reason: orNull(text),
    endedAt: orNull(instant),
    deadLetter: orNull(DeadLetterLocation),
    remarks: about(
      list(object({ at: instant, words: text })),
      "What people did about it: hastened, skipped or sent it again.",
    ),
  }),
);
export type DeliveryStory = Infer<typeof DeliveryStory>;

export const Story = named(
  "Story",
  object({
    ...EventSummary.members,
    domainTopic: orNull(text),
    schema: text,
    bytes: whole,
    acceptedWith: about(
      text,
      "`key1`, `key2`, `sas key1`, `bearer`, `none` (without auth), `notice` and `own` " +
        "(made by the broker), " +
        "`redrive` (a dead letter sent again), `resend` (a kept event sent again), or `unknown` when nothing was noted.",
    ),
    traceparent: orNull(text),
    body: about(orNull(text), "While it waits, or as the setting `story-texts` says."),
    deliveryStories: list(DeliveryStory),
    unmatched: about(
      list(object({ subscription: text, clause: text, because: text })),
      "Subscriptions of the topic at that time which it did not match, with the clause that said no.",
    ),
    cut: about(orNull(text), "What is missing of the story, and why; null: nothing."),
  }),
);
export type Story = Infer<typeof Story>;

export const ResentView = named(
  "Resent",
  object({
    event: about(text, "Our id of the new event, to follow it by."),
    id: about(text, "The publisher's, as before."),
    topic: text,
    subscriptions: about(list(text), "Who gets it; empty: no filter matches it now."),
  }),
);
export type ResentView = Infer<typeof ResentView>;
