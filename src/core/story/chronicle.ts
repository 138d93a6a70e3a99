// What the chronicle keeps, as pure functions: how notes become an entry, which state they leave a
// delivery in, which entries may be removed and when, and which a search finds. Both
// implementations of the chronicle use them; story.ts makes stories from entries.

import type { DeliveryState } from "../api/views.ts";
import type { Event, InputSchema } from "../event.ts";
import type { Instant } from "../ports.ts";
import type { Filter } from "../routing/filter.ts";
import { endpointOf, type Subscription, type SubscriptionId } from "../subscription.ts";
import { foldCase } from "../text/compare.ts";
import { isoInstant } from "../text/time.ts";
import { refuseValue } from "../text/wording.ts";
import type { AcceptedNote, KeptNote, Seat, StoryNote } from "./note.ts";
import { domainTopicIn, recallFields } from "./recall.ts";

/**
 * Keeps the story of each event, for people. The path of an event only writes to it and never reads
 * it, and notes may be lost: the store is the truth, and a failing chronicle slows nothing.
 */
export interface Chronicle {
  /**
   * Returns at once and never throws. What was noted is visible to the next read, unless so much
   * waits for the disk that the read would have to wait, too.
   */
  note(note: StoryNote): void;
  /** Called with every note as it is made. The result ends it. */
  listen(listener: (note: StoryNote) => void): () => void;
  /**
   * The latest first. A page may be short, and even empty, and still have a next one. Refusals:
   * InvalidSetting (`after`), Unavailable.
   */
  search(query: EventQuery): Promise<{
    readonly found: readonly Listed[];
    /** Pass it as `after`; null: there is no more. */
    readonly next: string | null;
  }>;
  /** By our id, or the latest with this publisher's id. Refusal: Unavailable. */
  find(id: string): Promise<Entry | null>;
  /** What was noted before is written first. */
  close(): Promise<void>;
}

/** All given conditions must hold. */
export interface EventQuery {
  /** Ours or the publisher's. */
  readonly id?: string;
  /** A part of the subject; with `*` as a wildcard, the whole of it. */
  readonly subject?: string;
  /** The whole type; `*` is a wildcard. */
  readonly type?: string;
  /** Of topic and subscription the whole name; `*` is a wildcard. */
  readonly topic?: string;
  readonly subscription?: string;
  /** Of the delivery to that subscription, or to any. */
  readonly state?: DeliveryState;
  /** One of them. */
  readonly states?: readonly DeliveryState[];
  /** Has been tried; the chronicle does not know, and finds all that wait. */
  readonly isFailing?: boolean;
  /** Each is a part of an id, of the subject, type or topic, or of a subscription's name. */
  readonly words?: readonly string[];
  /** A part of an id, ours or the publisher's. */
  readonly idPart?: string;
  readonly from?: Instant;
  readonly to?: Instant;
  readonly after?: string;
  readonly limit: number;
}

/** An event as it is listed. */
export interface Head {
  /** Our own id. */
  readonly event: string;
  /** The publisher's. */
  readonly id: string;
  readonly topic: string;
  readonly domainTopic: string | null;
  readonly subject: string;
  readonly type: string;
  readonly acceptedAt: Instant;
  /** The store's number; null: it was not stored, because nothing matched. */
  readonly number: number | null;
}

/** The other parts that are kept of an event. */
export interface Particulars {
  readonly schema: InputSchema;
  readonly bytes: number;
  readonly acceptedWith: string;
  readonly traceparent: string | null;
  readonly dataVersion: string;
  readonly envelope: string | null;
}

/** One delivery as it is listed. */
export interface Fate {
  readonly subscription: SubscriptionId;
  readonly name: string;
  readonly state: DeliveryState;
}

export interface DeliveryNotes extends Seat {
  readonly state: DeliveryState;
  /** In the order they were made. */
  readonly notes: readonly KeptNote[];
}

/** A subscription that was considered, as it was then. */
export interface Member {
  readonly subscription: SubscriptionId;
  readonly name: string;
  readonly domainTopic: string | null;
  readonly filter: Filter;
  /** Why it got nothing, whatever its filter; null: it was active. */
  readonly whyNot: string | null;
}

/** All that is kept of one event. */
export interface Entry extends Head, Particulars {
  readonly passages: readonly DeliveryNotes[];
  /** To explain filters, and to send it again; null: not kept (`StoryTexts`), or no room. */
  readonly text: string | null;
  /** The subscriptions that were considered; null: all matched, or it is no longer known. */
  readonly roll: readonly Member[] | null;
}

export interface Listed extends Head {
  readonly fates: readonly Fate[];
}

/** For events accepted before notes were taken, or just before a crash. */
export const acceptedUnseen = "unknown";

export function seatOf(subscription: Subscription): Seat {
  const { id, topic, domainTopic, name, destination } = subscription;
  return { subscription: id, topic, domainTopic, name, endpoint: endpointOf(destination) };
}

export function membersOf(subscriptions: Iterable<Subscription>): Member[] {
  return Array.from(subscriptions, rollMember);
}

function rollMember(subscription: Subscription): Member {
  const { id, name, domainTopic, filter, isActive, state } = subscription;
  return { subscription: id, name, domainTopic, filter, whyNot: isActive ? null : state };
}

/** Whether a subscription did not match. */
export function hasUnmatched({ to, roll }: AcceptedNote): boolean {
  return to.length < roll.size;
}

export function particularsOf(
  event: Event,
  acceptedWith: string,
  bytes = event.text.length,
): Particulars {
  const { schema, dataVersion, envelope, trace } = event;
  const traceparent = trace?.parent ?? null;
  return { schema, bytes, acceptedWith, traceparent, dataVersion, envelope };
}

/** The head of an event whose acceptance was not noted. */
export function headOf(event: Event, number: number | null): Head {
  const fields = recallFields(event);
  return {
    event: event.systemId,
    id: fields.id,
    topic: event.topic,
    domainTopic: domainTopicIn(fields.topic),
    subject: fields.subject,
    type: fields.eventType,
    acceptedAt: event.publishedAt,
    number,
  };
}

/** The state after a note. */
export function stateAfter(state: DeliveryState, note: KeptNote): DeliveryState {
  if (note.kind === "steered") return state;
  if (note.kind === "lost") return isOpen(state) ? "unknown" : state;
  if (note.kind === "attempted" && !note.counts) return state;
  const isFirstStage = note.stage === "deliver";
  switch (note.decision) {
    case "delivered":
      return isFirstStage ? "delivered" : "deadLettered";
    case "retry":
      return isFirstStage ? "waiting" : "deadLettering";
    case "deadLetter":
      return "deadLettering";
    case "drop":
      return "dropped";
    default:
      return note satisfies never;
  }
}

export function isOpen(state: DeliveryState): boolean {
  return state === "waiting" || state === "deadLettering";
}

/**
 * Which are removed first. `settled`: delivered to all matching subscriptions, or nothing matched;
 * removed when it is old, or when space is needed. `givenUp`: removed only when space is needed and
 * nothing settled is left. `open`: never removed.
 */
export type Rank = "settled" | "givenUp" | "open";

export function rankOf(states: Iterable<DeliveryState>): Rank {
  let rank: Rank = "settled";
  for (const state of states) {
    if (isOpen(state)) return "open";
    if (state === "deadLettered" || state === "dropped") rank = "givenUp";
  }
  return rank;
}

// Searching.

/** What a page may contain. */
export const searchRange = { min: 1, max: 500 } as const;

export interface Cursor {
  readonly at: Instant;
  /** The chronicle's own number of the entry, for entries of the same millisecond. */
  readonly place: number;
}

export function writeCursor({ at, place }: Cursor): string {
  return `${at.toString(36)}-${place.toString(36)}`;
}

/** Refusal: InvalidSetting. */
export function readCursor(text: string): Cursor {
  const [, at = "", place = ""] = /^([0-9a-z]{1,10})-([0-9a-z]{1,11})$/.exec(text) ?? [];
  if (at === "") {
    throw refuseValue({ field: "after", value: text, allowed: "what an answer gave as next" });
  }
  return { at: Number.parseInt(at, 36), place: Number.parseInt(place, 36) };
}

/** Whether a search finds it, whatever its position in the order. */
export function isFound(query: EventQuery): (listed: Listed) => boolean {
  const subject = query.subject === undefined ? null : wordTest(query.subject, "within");
  const type = query.type === undefined ? null : wordTest(query.type, "whole");
  const topic = query.topic === undefined ? null : wordTest(query.topic, "whole");
  const name = query.subscription === undefined ? null : wordTest(query.subscription, "whole");
  const states = statesOf(query);
  const words = (query.words ?? []).map((word) => wordTest(word, "within"));
  const idPart = query.idPart === undefined ? null : wordTest(query.idPart, "within");
  const { id, from, to } = query;
  return (listed) => {
    if (id !== undefined && listed.id !== id && listed.event !== id) return false;
    if (idPart !== null && !idPart(listed.id) && !idPart(listed.event)) return false;
    if (topic !== null && !topic(listed.topic)) return false;
    if (from !== undefined && listed.acceptedAt < from) return false;
    if (to !== undefined && listed.acceptedAt > to) return false;
    if (type !== null && !type(listed.type)) return false;
    if (subject !== null && !subject(listed.subject)) return false;
    if (words.some((isIn) => !textsOf(listed).some(isIn))) return false;
    if (name === null && states === null) return true;
    return listed.fates.some(
      (fate) =>
        (name === null || name(fate.name)) && (states === null || states.includes(fate.state)),
    );
  };
}

/** Null: any. */
export function statesOf({ state, states }: EventQuery): readonly DeliveryState[] | null {
  return state === undefined ? (states ?? null) : [state];
}

function textsOf({ id, event, subject, type, topic, fates }: Listed): readonly string[] {
  return [id, event, subject, type, topic, ...fates.map(({ name }) => name)];
}

/** Case-insensitive. With the wildcard `*` the whole must match. */
function wordTest(pattern: string, without: "within" | "whole"): (text: string) => boolean {
  const folded = foldCase(pattern);
  if (!folded.includes("*")) {
    return without === "whole"
      ? (text) => foldCase(text) === folded
      : (text) => foldCase(text).includes(folded);
  }
  const parts = folded.split("*");
  return (text) => fits(foldCase(text), parts);
}

/** Whether the parts occur in the text in order, the first and the last at its ends. */
function fits(text: string, parts: readonly string[]): boolean {
  const first = parts[0] ?? "";
  const last = parts.at(-1) ?? "";
  if (!text.startsWith(first) || text.length < first.length + last.length) return false;
  let place = first.length;
  for (const part of parts.slice(1, -1)) {
    const found = text.indexOf(part, place);
    if (found < 0) return false;
    place = found + part.length;
  }
  return text.length - last.length >= place && text.endsWith(last);
}

/** Which events are kept with their text: all, or those that some subscription did not want. */
export type StoryTexts = "all" | "unmatched";

/** How long and how much is kept. */
export interface Retention {
  readonly keptMs: number;
  readonly bytesMax: number;
}

/** For requests of what does not exist. */
export function sayRetention({ keptMs, bytesMax }: Retention, now: Instant): string {
  const megabytes = Math.round(bytesMax / 1_048_576);
  const since = isoInstant(Math.max(0, now - keptMs));
  return `Of events that were delivered, stories are kept since ${since}, up to ${megabytes} MB.`;
}
