// Sending a dead letter again: the event as the store will keep it, how fast, and how often. A
// redriven event keeps its id, time and data unchanged; what dead-lettering added is removed. For
// the broker it is a new event, with a new system id and a new time to live.
//
// The loop guard: how often an event has been redriven is kept beside the store's deliveries
// (`Redriven` in letter-store.ts) and not in the record, whose bytes are Event Grid's. See decision
// 0014.

import type { DeliverySchema, Event, InputSchema } from "../event.ts";
import type { Instant } from "../ports.ts";
import { isConversionAllowed } from "../schema/convert.ts";
import { findMembers } from "../text/json.ts";
import type { Letter, LetterHead } from "./letter.ts";

export const redriveLimits = {
  perSecondDefault: 10,
  perSecondMax: 1_000,
  /** An event that was redriven this often is skipped, unless forced. */
  timesMax: 3,
  /** The most that one redrive covers; the rest is for another one. */
  lettersMax: 100_000,
  idsMax: 1_000,
  runningMax: 8,
  /** Redrives that are remembered; the oldest ended one is removed first. */
  keptMax: 100,
  /** Events whose count is kept; those counted longest ago are removed first. */
  rememberedMax: 250_000,
  remarksMax: 20,
  sampleMax: 20,
} as const;

/** The topic and subscription that the event is stored for. */
export interface RedriveGoal {
  /** Name of the topic or domain. */
  readonly topic: string;
  readonly topicArmId: string;
  readonly inputSchema: InputSchema;
}

/** On a topic of a custom schema, an Event Grid record wraps the original event (L-8). */
export function eventOfLetter(
  letter: Letter,
  goal: RedriveGoal,
  stamp: { readonly systemId: string; readonly at: Instant },
): Event {
  const plain: Event = {
    systemId: stamp.systemId,
    topic: goal.topic,
    publishedAt: stamp.at,
    schema: schemaOf(letter, goal.inputSchema),
    dataVersion: "",
    text: letter.text,
    envelope: null,
    trace: null,
    hops: 0,
  };
  if (letter.form === "cloudEvent") return plain;
  const raw = membersOf(letter);
  const stamped = letter.source === "";
  if (stamped) raw.set("topic", JSON.stringify(goal.topicArmId));
  const version: unknown = JSON.parse(raw.get("dataVersion") ?? '""');
  const dataVersion = typeof version === "string" ? version : "";
  if (plain.schema !== "CustomEventSchema") {
    return { ...plain, dataVersion, text: stamped ? joined(raw, [...raw.keys()]) : letter.text };
  }
  const envelope = joined(raw, envelopeOrder);
  return { ...plain, dataVersion, text: raw.get("data") ?? "{}", envelope };
}

/** As the mapping of a topic makes it (schema/custom.ts). */
const envelopeOrder = [
  ...["id", "topic", "subject", "eventType", "eventTime", "dataVersion"],
  "metadataVersion",
];

/** Null, or why the event cannot be delivered as that, as a sentence. */
export function whyNotAs(
  letter: Letter,
  inputSchema: InputSchema,
  delivery: DeliverySchema,
): string | null {
  const schema = schemaOf(letter, inputSchema);
  if (isConversionAllowed(schema, delivery)) return null;
  return `An event in the schema ${schema} cannot be delivered as ${delivery}.`;
}

function schemaOf(letter: Letter, inputSchema: InputSchema): InputSchema {
  if (letter.form === "cloudEvent") return "CloudEventSchemaV1_0";
  const isWrapping = inputSchema === "CustomEventSchema";
  return isWrapping && membersOf(letter).get("data")?.startsWith("{") === true
    ? "CustomEventSchema"
    : "EventGridSchema";
}

function membersOf({ text }: Letter): Map<string, string> {
  const members = findMembers(text, text.indexOf("{"))?.members ?? [];
  return new Map(members.map(({ name, start, end }) => [name, text.slice(start, end)]));
}

function joined(raw: ReadonlyMap<string, string>, names: readonly string[]): string {
  const members = names.map((name) => `${JSON.stringify(name)}:${raw.get(name) ?? '""'}`);
  return `{${members.join(",")}}`;
}

/** At most ten steps a second, so that a fast redrive shares its writes; never a burst. */
export function turnsOf(perSecond: number): { readonly together: number; readonly gapMs: number } {
  const together = Math.max(1, Math.ceil(perSecond / 10));
  return { together, gapMs: (together * 1_000) / perSecond };
}

/**
 * The letters that one redrive sends: an event that was dead-lettered several times is sent once,
 * by its newest letter. In the order in which they were found.
 */
export class NewestLetters<P> {
  readonly #chosen = new Map<string, { readonly at: Instant; readonly place: P }>();

  get size(): number {
    return this.#chosen.size;
  }

  has(event: string): boolean {
    return this.#chosen.has(event);
  }

  /** `event`: what all letters of an event have in common. False: a newer one is known. */
  add(event: string, letter: LetterHead, place: P): boolean {
    const at = letter.lastAttemptAt ?? letter.publishedAt ?? Number.NEGATIVE_INFINITY;
    const known = this.#chosen.get(event);
    if (known !== undefined && known.at >= at) return false;
    // To the end: letters of one blob stay together.
    this.#chosen.delete(event);
    this.#chosen.set(event, { at, place });
    return true;
  }

  places(): readonly P[] {
    return [...this.#chosen.values()].map(({ place }) => place);
  }
}

/**
 * Whether a letter was there when a redrive began. One that came later belongs to another: it may
 * be of an event that this one has sent.
 */
export function wasThereAt(letter: LetterHead, startedAt: Instant): boolean {
  return (letter.lastAttemptAt ?? letter.publishedAt ?? startedAt) <= startedAt;
}
