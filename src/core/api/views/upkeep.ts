// What the API shows of what-if, settings and backups.

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

const SimulatedAttempt = object({
  number: whole,
  atMs: number,
  heldMs: about(
    number,
    "How long it was due but waited, because the endpoint was unhealthy or had a rate.",
  ),
  saw: text,
  words: text,
  nextDueAtMs: about(orNull(number), "Null: there is none."),
});
export type SimulatedAttempt = Infer<typeof SimulatedAttempt>;

export const Simulation = named(
  "Simulation",
  object({
    attempts: about(
      list(
        object({
          ...SimulatedAttempt.members,
          lateAtMs: about(orNull(number), "When a late answer came, if it counted."),
        }),
      ),
      "Of the event that is followed; the first 2,000.",
    ),
    attemptsMade: whole,
    end: object({
      kind: words("delivered", "deadLettered", "dropped"),
      atMs: number,
      reason: orNull(text),
      words: text,
      writtenAtMs: about(orNull(number), "When the dead letter is written; null: never."),
    }),
    deadLetters: about(
      orNull(
        object({
          attempts: about(list(SimulatedAttempt), "To write the one that is followed."),
          lostAtMs: about(
            orNull(number),
            "When that one is lost, because its store takes nothing.",
          ),
          written: about(whole, "Of all events."),
          lost: whole,
        }),
      ),
      "Null: without a dead-letter destination.",
    ),
    returnsAtMs: about(orNull(number), "When the last outage is over; null: never."),
    load: about(
      orNull(list(object({ atMs: number, requests: whole }))),
      "Requests to the endpoint from the first after its return; null: without a backlog.",
    ),
    loadStepMs: about(whole, "How long each point of the load is."),
    peakPerSecond: about(number, "The most requests within one second from the return on."),
    settledAtMs: about(number, "When the last event of all ended."),
    saved: about(whole, "Of the backlog: delivered."),
    lost: about(whole, "Of the backlog: undeliverable."),
  }),
);
export type Simulation = Infer<typeof Simulation>;

export const SettingView = named(
  "Setting",
  object({
    name: text,
    value: about(orNull(text), "As it would be written; secrets are masked."),
    source: words("option", "environment", "file", "default"),
    about: text,
    isSecret: truth,
  }),
);
export type SettingView = Infer<typeof SettingView>;

export const BackupView = named(
  "Backup",
  object({
    name: text,
    path: about(text, "On the broker's machine."),
    bytes: whole,
    takenAt: instant,
  }),
);
export type BackupView = Infer<typeof BackupView>;
