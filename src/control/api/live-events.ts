// Notes of an event's story, as live events.

import type { DeliveryState, LiveEvent } from "../../core/api/views.ts";
import type { Event } from "../../core/event.ts";
import type { Instant } from "../../core/ports.ts";
import type { AttemptedNote, EndedNote, StoryNote } from "../../core/story/note.ts";
import { attemptOfNote, summaryOfNote } from "../../core/story/story.ts";
import { findMembers } from "../../core/text/json.ts";
import { isoInstant } from "../../core/text/time.ts";

export function liveEventsOf(note: StoryNote): readonly LiveEvent[] {
  switch (note.kind) {
    case "accepted":
      return [{ kind: "published", event: summaryOfNote(note) }];
    case "attempted":
      return [attemptOf(note), ...endOfAttempt(note)];
    case "ended":
      return [endOf(note, { at: note.at, reason: note.reason, state: stateAfter(note.decision) })];
    default:
      return [];
  }
}

function attemptOf(note: AttemptedNote): LiveEvent {
  const { delivery, subscription } = note;
  return {
    kind: "attempt",
    attempt: {
      ...attemptOfNote(note),
      event: delivery.event.systemId,
      eventId: idIn(delivery.event),
      topic: subscription.topic,
      domainTopic: subscription.domainTopic,
      subscription: subscription.name,
    },
  };
}

/** For attempts that decided something; a superseded one did not. */
function endOfAttempt(note: AttemptedNote): readonly LiveEvent[] {
  const { decision, counts, delivery, endedAt } = note;
  if (!counts || decision.kind === "retry") return [];
  if (decision.kind === "delivered") {
    const state = delivery.stage === "deliver" ? "delivered" : "deadLettered";
    return [endOf(note, { at: endedAt, reason: delivery.reason, state })];
  }
  const { reason } = decision;
  return [endOf(note, { at: endedAt, reason, state: stateAfter(decision.kind) })];
}

function stateAfter(decision: "deadLetter" | "drop"): DeliveryState {
  return decision === "drop" ? "dropped" : "deadLettering";
}

function endOf(
  { delivery, subscription }: AttemptedNote | EndedNote,
  how: {
    readonly at: Instant;
    readonly reason: string | null;
    readonly state: DeliveryState;
  },
): LiveEvent {
  return {
    kind: "ended",
    ended: {
      event: delivery.event.systemId,
      topic: subscription.topic,
      domainTopic: subscription.domainTopic,
      subscription: subscription.name,
      state: how.state,
      reason: how.reason,
      at: isoInstant(how.at),
    },
  };
}

/** The publisher's id, from the event. */
function idIn({ envelope, text }: Event): string {
  const source = envelope ?? text;
  const found = findMembers(source, 0)?.members.find(({ name }) => name === "id");
  return found === undefined ? "" : String(JSON.parse(source.slice(found.start, found.end)));
}
