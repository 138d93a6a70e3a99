// What the API shows of dead letters and redrives.

import {
  about,
  type Infer,
  instant,
  list,
  named,
  number,
  object,
  optional,
  orNull,
  text,
  truth,
  whole,
  words,
} from "../schema.ts";
import { DeadLetterLocation } from "./events.ts";

export const DeadLetterView = named(
  "DeadLetter",
  object({
    ...DeadLetterLocation.members,
    id: about(text, "Of this record, to be named in a redrive; good in a path."),
    subscription: about(text, "The name in the blob's path, in upper case."),
    topic: orNull(text),
    eventId: text,
    subject: text,
    type: text,
    reason: text,
    outcome: text,
    status: orNull(whole),
    attempts: whole,
    publishedAt: orNull(instant),
    lastAttemptAt: orNull(instant),
    writtenAt: instant,
    record: optional(about(text, "As written; only for a single dead letter.")),
    redriven: about(whole, "How often it has been sent again."),
  }),
);
export type DeadLetterView = Infer<typeof DeadLetterView>;

export const DeadLetterPage = named(
  "DeadLetterPage",
  object({
    value: list(DeadLetterView),
    next: about(
      orNull(text),
      "To be given as `after`, also where the page is shorter than its limit: a look is bounded.",
    ),
    remarks: about(list(text), "What could not be read on the way, as sentences; the first few."),
  }),
);
export type DeadLetterPage = Infer<typeof DeadLetterPage>;

export const DeadLetterGroup = named(
  "DeadLetterGroup",
  object({
    reason: text,
    outcome: text,
    subscription: text,
    topic: orNull(text),
    endpoint: orNull(text),
    count: whole,
    oldestAt: instant,
    newestAt: instant,
    isPartial: about(truth, "There was more than one answer looks into: ask for fewer hours."),
  }),
);
export type DeadLetterGroup = Infer<typeof DeadLetterGroup>;

export const RedriveView = named(
  "Redrive",
  object({
    id: text,
    state: words("dryRun", "running", "done", "stopped", "failed"),
    startedAt: instant,
    endedAt: orNull(instant),
    to: text,
    perSecond: number,
    total: whole,
    sent: whole,
    failed: whole,
    skipped: about(
      whole,
      "By the loop guard, or because it cannot be read or sent there; in a dry run: would be.",
    ),
    remarks: about(list(text), "The first few that were skipped or failed, as sentences."),
    sample: about(list(DeadLetterView), "Of a dry run: the first few that would be sent."),
  }),
);
export type RedriveView = Infer<typeof RedriveView>;
