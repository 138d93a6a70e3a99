// What the tests of the simulation make of a run: it broke no law, or it is shown how, with the way
// to replay it; and which of the things that can happen did.

import assert from "node:assert/strict";
import { tellWeather, type Weather } from "./weather.ts";
import type { Run } from "./world.ts";

/** Violations shown of one run; the replay shows them all. */
const violationsShown = 5;

export function assertLawful({ weather, violations }: Run): void {
  if (violations.length === 0) return;
  const shown = violations.slice(0, violationsShown);
  const words = shown.map(({ rule, words }) => `${rule}: ${words}`).join("\n");
  const told = `${tellWeather(weather)}\n\n${replayOf(weather)}`;
  assert.fail(`${violations.length} violations\n${words}\n\n${told}`);
}

/** The command that shows a run of this weather. */
export function replayOf({ seed, store, visits }: Weather): string {
  return `npm run sim -- --seed ${seed} --store ${store} --visits ${visits} --verbose`;
}

export const everyOccurrence = [
  ...["crash", "stop", "publish refused", "publish lost", "batch", "removed"],
  ...["retried", "delivered", "delivered late", "given up", "dead-lettered", "dropped", "expired"],
  ...["unhealthy", "probing", "recovering", "healthy", "store failed"],
  ...["acknowledge", "release", "reject", "renewLock", "too late", "received again"],
  ...["closed", "paused", "resumed", "draining", "drained", "skipped", "hastened", "halved"],
] as const;

export type Occurrence = (typeof everyOccurrence)[number];

/** What a run had in it. */
export function* occurrences({ journal }: Run): Iterable<Occurrence> {
  for (const { ended } of journal.lives) if (ended !== null) yield ended.how;
  for (const { answer } of journal.publications) {
    if (answer === "refused" || answer === "lost") yield `publish ${answer}`;
  }
  for (const { kind, answer } of journal.pull.orders) {
    if (answer !== "unknown") yield answer === "failed" ? "too late" : kind;
  }
  if (journal.pull.visits.some(({ got }) => got.some(({ count }) => count > 1))) {
    yield "received again";
  }
  if (journal.sends.some(({ deliveries }) => deliveries.length > 1)) yield "batch";
  for (const { name, fields } of journal.facts) {
    if (name === "deliveries.dropped" && fields.reason !== "Skipped") yield "removed";
    if (name === "delivery.givenUp") yield "given up";
    if (name === "delivery.dropped") yield "dropped";
    if (fields.reason === "TimeToLiveExceeded") yield "expired";
    if (name === "store.failed") yield "store failed";
    if (name === "subscription.paused") yield "paused";
    if (name === "subscription.resumed") yield "resumed";
    if (name === "subscription.draining") yield "draining";
    if (name === "subscription.drained") yield "drained";
    if (name === "deliveries.hastened" && Number(fields.count) > 0) yield "hastened";
    if (fields.reason === "Skipped" && Number(fields.count) > 0) yield "skipped";
    if (name === "batch.halved") yield "halved";
    if (name === "endpoint.changed") yield fields.to as "unhealthy";
    if (name !== "delivery.attempted") continue;
    if (fields.decision === "retry") yield "retried";
    if (fields.decision !== "delivered") continue;
    if (fields.stage === "deadLetter") yield "dead-lettered";
    else yield fields.late === true ? "delivered late" : "delivered";
  }
}
