// One event's story, from what the chronicle keeps and from the current state. Pure: the caller
// passes both in. If the two disagree the store is right, and the story says what is missing.

import type {
  AttemptView,
  DeliveryState,
  DeliveryStory,
  EventSummary,
  Story,
} from "../api/views.ts";
import type { LastAttempt } from "../delivery/delivery.ts";
import type { Seen } from "../ledger.ts";
import type { Instant } from "../ports.ts";
import { acknowledgedOutcome, isHandOut } from "../pull/pull-rules.ts";
import { explainFilter } from "../routing/filter/explain.ts";
import type { SubscriptionId } from "../subscription.ts";
import { isoInstant } from "../text/time.ts";
import { type DeliveryNotes, type Entry, isOpen, type Listed, type Member } from "./chronicle.ts";
import { type AcceptedNote, type AttemptedNote, type KeptAttempt, keepAttempt } from "./note.ts";
import { recallFields } from "./recall.ts";
import type { KeptWire } from "./wire.ts";

/** The current state of one delivery. */
export interface Live {
  /** As it waits in the store; null: it does not wait. */
  readonly waiting: Seen | null;
  /** Whether its subscription still exists. */
  readonly isSubscribed: boolean;
  /** Why nothing is sent though it is due, as text. */
  readonly held: string | null;
  /** When it expires; null: not known, or never. */
  readonly expiresAt: Instant | null;
  readonly attemptsMax: number | null;
}

/** By the number of the subscription. */
export type LiveStates = ReadonlyMap<SubscriptionId, Live>;

export function storyOf(entry: Entry, live: LiveStates): Story {
  const deliveryStories = entry.passages.map((passage) =>
    describeDelivery(passage, live.get(passage.subscription)),
  );
  const waiting = [...live.values()].find((one) => one.waiting !== null)?.waiting;
  return {
    ...summaryOf(entry),
    deliveries: deliveryStories.map(({ subscription, state }) => ({ subscription, state })),
    domainTopic: entry.domainTopic,
    schema: entry.schema,
    bytes: entry.bytes,
    acceptedWith: entry.acceptedWith,
    traceparent: entry.traceparent,
    body: waiting?.event.text ?? entry.text,
    deliveryStories,
    unmatched: describeUnmatched(entry),
    cut: describeCut(entry, deliveryStories),
  };
}

/** `states`: where they are known better than from notes alone. */
export function summaryOfListed(listed: Listed, live: LiveStates): EventSummary {
  return {
    ...summaryOf(listed),
    deliveries: listed.fates.map(({ subscription, name, state }) => ({
      subscription: name,
      state: stateNow(state, live.get(subscription)),
    })),
  };
}

type Head = Omit<Listed, "fates">;

function summaryOf({ event, id, topic, subject, type, acceptedAt }: Head) {
  return { event, id, topic, subject, type, acceptedAt: isoInstant(acceptedAt) };
}

/** A newly accepted event, for live watchers. */
export function summaryOfNote(note: AcceptedNote): EventSummary {
  const { event, id, subject, type, at, to, roll } = note;
  return {
    event: event.systemId,
    ...{ id, topic: event.topic, subject, type },
    acceptedAt: isoInstant(at),
    deliveries: to.flatMap((id) => {
      const member = roll.get(id);
      return member === undefined ? [] : [{ subscription: member.name, state: "waiting" }];
    }),
  };
}

/** An attempt, for live watchers. */
export function attemptOfNote(note: AttemptedNote): AttemptView {
  return describeAttempt(keepAttempt(note));
}

function stateNow(state: DeliveryState, live: Live | undefined): DeliveryState {
  if (live === undefined) return state;
  if (live.waiting !== null) return live.waiting.stage === "deliver" ? "waiting" : "deadLettering";
  if (!isOpen(state)) return state;
  return live.isSubscribed ? "unknown" : "dropped";
}

function describeDelivery(passage: DeliveryNotes, live: Live | undefined): DeliveryStory {
  const state = stateNow(passage.state, live);
  const waiting = live?.waiting ?? null;
  const attempts = attemptsOf(passage, waiting?.last ?? null);
  const end = endOf(passage);
  const isDropped = state === "dropped" && passage.state !== "dropped";
  const isFirstStage = waiting?.stage === "deliver";
  const attemptsMax = live?.attemptsMax ?? null;
  return {
    topic: passage.topic,
    domainTopic: passage.domainTopic,
    subscription: passage.name,
    endpoint: passage.endpoint,
    state,
    attempts,
    nextDueAt: isoOrNull(waiting?.dueAt ?? null),
    held: live?.held ?? null,
    expiresAt: waiting === null ? null : isoOrNull(live?.expiresAt ?? null),
    attemptsLeft:
      isFirstStage && attemptsMax !== null ? Math.max(0, attemptsMax - waiting.attempts) : null,
    reason: isDropped ? "SubscriptionDeleted" : (waiting?.reason ?? reasonOf(passage)),
    endedAt: isOpen(state) || isDropped ? null : isoOrNull(end),
    deadLetter: placeOf(passage),
    remarks: passage.notes.flatMap((note) =>
      note.kind === "steered" || note.kind === "ended"
        ? [{ at: isoInstant(note.at), words: note.words }]
        : [],
    ),
  };
}

/** With the last one from the store, if no note of it was kept. */
function attemptsOf({ notes }: DeliveryNotes, last: LastAttempt | null): AttemptView[] {
  const kept = notes.filter((note) => note.kind === "attempted");
  const views = kept.map(describeAttempt);
  const isKnown = kept.some(({ stage, number }) => stage === "deliver" && number === last?.number);
  if (last === null || isKnown || isHandOut(last)) return views;
  return [...views, describeLast(last)];
}

function describeAttempt(kept: KeptAttempt): AttemptView {
  const { kind, words, counts, reason, place, at, nextDueAt, wire, ...shown } = kept;
  const said = words ?? sayDelivered(kept);
  return {
    ...shown,
    at: isoInstant(at),
    words: counts ? said : `superseded by another send, so without effect: ${said}`,
    nextDueAt: counts ? isoOrNull(nextDueAt) : null,
    wire: wire && showWire(wire, null),
  };
}

/** `rebuilt`: how it was made again; null: it was recorded. */
export function showWire(wire: KeptWire, rebuilt: string | null): AttemptView["wire"] {
  return { ...wire, headers: listOf(wire.headers), answer: listOf(wire.answer), rebuilt };
}

function listOf(headers: KeptWire["headers"]) {
  return headers.map(([name, value]) => ({ name, value }));
}

function sayDelivered({ stage, status, number, outcome }: KeptAttempt): string {
  if (outcome === acknowledgedOutcome) return `acknowledged (delivery ${number})`;
  const what = stage === "deliver" ? "delivered" : "dead letter written";
  return `${status}: ${what} with attempt ${number}`;
}

function describeLast({ at, number, outcome, status }: LastAttempt): AttemptView {
  return {
    stage: "deliver",
    number,
    at: isoInstant(at),
    durationMs: 0,
    outcome,
    status,
    detail: null,
    excerpt: null,
    isLate: false,
    batch: 1,
    decision: "retry",
    words: "what the store remembers of it; its note was lost",
    nextDueAt: null,
    health: "not noted",
    wire: null,
  };
}

function endOf({ notes }: DeliveryNotes): Instant | null {
  const last = notes.findLast(
    (note) => note.kind === "lost" || note.kind === "ended" || note.kind === "attempted",
  );
  if (last === undefined) return null;
  return last.kind === "attempted" ? last.at + last.durationMs : last.at;
}

/** Why it is undeliverable, also after its dead letter was written. */
function reasonOf({ notes, state }: DeliveryNotes): string | null {
  if (state === "delivered") return null;
  const end = notes.findLast(
    (note) => (note.kind === "attempted" || note.kind === "ended") && note.reason !== null,
  );
  return end !== undefined && "reason" in end ? end.reason : null;
}

function placeOf({ notes }: DeliveryNotes) {
  const written = notes.findLast((note) => note.kind === "attempted" && note.place !== null);
  return written?.kind === "attempted" ? written.place : null;
}

function describeUnmatched(entry: Entry): Story["unmatched"] {
  const { roll, text, passages } = entry;
  if (roll === null || text === null) return [];
  const fields = recallFields({ ...entry, text });
  const matched = new Set(passages.map(({ subscription }) => subscription));
  return roll
    .filter(({ subscription }) => !matched.has(subscription))
    .map((member) => ({ subscription: nameIn(member), ...whyNot(member, fields) }));
}

/** Within a domain the same name may occur under several of its topics. */
function nameIn({ name, domainTopic }: Member): string {
  return domainTopic === null ? name : `${domainTopic}/${name}`;
}

function whyNot({ filter, whyNot: why }: Member, fields: Parameters<typeof explainFilter>[1]) {
  if (why !== null) {
    return { clause: "provisioningState", because: `it was not active: ${why}` };
  }
  const no = explainFilter(filter, fields).clauses.find(({ holds }) => !holds);
  return {
    clause: no?.clause ?? "",
    because: no?.because ?? "its filter matches; it was changed or removed meanwhile",
  };
}

function describeCut(entry: Entry, stories: readonly DeliveryStory[]): string | null {
  const missing: string[] = [];
  if (entry.acceptedWith === "unknown") {
    missing.push("its acceptance was not recorded, so the subscriptions considered are not known");
  } else if (entry.roll !== null && entry.text === null) {
    missing.push(
      "the event itself was not kept, so the filters that did not match cannot be shown",
    );
  }
  if (stories.some(({ state }) => state === "unknown")) {
    missing.push("the end of a delivery was not noted, for the broker was killed or overloaded");
  }
  return missing.length === 0 ? null : missing.join("; ");
}

function isoOrNull(at: Instant | null): string | null {
  return at === null ? null : isoInstant(at);
}
