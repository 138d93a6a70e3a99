// What the API shows of endpoints, and of what is wrong.

import { problemKinds } from "../../problems/problems.ts";
import {
  about,
  type Infer,
  instant,
  list,
  named,
  object,
  orNull,
  text,
  truth,
  whole,
  words,
} from "../schema.ts";

export const HealthView = named(
  "Health",
  object({
    kind: about(
      words("healthy", "unhealthy", "probing", "recovering", "closed"),
      "`closed`: held by an operator.",
    ),
    words: text,
    failures: about(whole, "Failed sends in a row."),
    until: about(
      orNull(instant),
      "When an unhealthy one is tried next; null: with the next send, or it is not unhealthy.",
    ),
  }),
);
export type HealthView = Infer<typeof HealthView>;

export const EndpointView = named(
  "Endpoint",
  object({
    endpoint: text,
    health: about(HealthView, "The worst of its URLs: they may differ in their queries."),
    isDelayed: about(truth, "Whether its profile leaves an unhealthy endpoint alone for a while."),
    subscriptions: about(
      list(object({ topic: text, domainTopic: orNull(text), name: text, health: HealthView })),
      "Each with the health of its own URL.",
    ),
    said: about(
      orNull(object({ since: instant, status: orNull(whole), answer: orNull(text) })),
      "While it fails: since when, and the first line of what it answered last, or why it did not.",
    ),
    sendsUnderWay: whole,
    waiting: whole,
    history: about(
      list(object({ at: instant, from: text, to: text, because: text })),
      "The latest first; since the broker started.",
    ),
    rules: about(text, "The rules in force, as text."),
  }),
);
export type EndpointView = Infer<typeof EndpointView>;

const ProblemBearer = object({
  endpoint: orNull(text),
  subscriptions: about(
    list(object({ topic: text, domainTopic: orNull(text), name: text })),
    "At most twenty.",
  ),
  since: orNull(instant),
  failures: about(whole, "In a row; of dropped or dead-lettered events, how many in an hour."),
  waiting: whole,
  nextTryAt: orNull(instant),
});

export const ProblemView = named(
  "Problem",
  object({
    id: about(text, "The same as long as it is the same problem."),
    kind: words(...problemKinds),
    severity: words("error", "warning"),
    title: text,
    words: about(text, "What is wrong and what happens next, as sentences."),
    status: about(orNull(whole), "What the endpoint answered."),
    answer: about(orNull(text), "The first line of what it said, or why there was no answer."),
    since: orNull(instant),
    failures: whole,
    waiting: whole,
    nextTryAt: orNull(instant),
    count: about(whole, "How many have it."),
    members: about(list(ProblemBearer), "Who has it, the worst first; at most 250."),
  }),
);
export type ProblemView = Infer<typeof ProblemView>;
