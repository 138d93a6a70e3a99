// Notes of an event's story, as live events.

import type { AttemptView, DeliveryState, EventSummary, LiveEvent } from "../../core/api/views.ts";
import type { Stage } from "../../core/delivery/delivery.ts";
import type { Event } from "../../core/event.ts";
import type { Instant } from "../../core/ports.ts";
import { type EventQuery, isFound, type Listed } from "../../core/story/chronicle.ts";
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
  return { kind: "attempt", attempt: { ...attemptOfNote(note), ...namesIn(note) } };
}

function namesIn({ delivery, subscription }: AttemptedNote | EndedNote) {
  const { topic, domainTopic, name } = subscription;
  const { event } = delivery;
  return { event: event.systemId, ...headIn(event), topic, domainTopic, subscription: name };
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
  note: AttemptedNote | EndedNote,
  {
    at,
    ...how
  }: {
    readonly at: Instant;
    readonly reason: string | null;
    readonly state: DeliveryState;
  },
): LiveEvent {
  return { kind: "ended", ended: { ...namesIn(note), ...how, at: isoInstant(at) } };
}

/** What the publisher calls it, found in its text. */
function headIn({ envelope, text, schema }: Event) {
  const source = envelope ?? text;
  const { members = [] } = findMembers(source, 0) ?? {};
  const find = (name: string) => {
    const found = members.find((member) => member.name === name);
    return found === undefined ? "" : String(JSON.parse(source.slice(found.start, found.end)));
  };
  const type = schema === "CloudEventSchemaV1_0" ? "type" : "eventType";
  return { eventId: find("id"), subject: find("subject"), type: find(type) };
}

/** Whether a live event is about what a search asks for; what is about no event is not. */
export function isAsked(query: Omit<EventQuery, "limit">): (event: LiveEvent) => boolean {
  const isWanted = isFound({ ...query, limit: 1 });
  return (event) => {
    switch (event.kind) {
      case "published":
        return isWanted(listedOf(event.event, event.event.deliveries));
      case "attempt": {
        const { stage, decision, subscription, eventId: id } = event.attempt;
        if (query.isFailing === true && decision !== "retry") return false;
        const state = stateOf(stage, decision);
        return isWanted(listedOf({ ...event.attempt, id }, [{ subscription, state }]));
      }
      case "ended": {
        const { eventId: id, ...ended } = event.ended;
        return query.isFailing !== true && isWanted(listedOf({ ...ended, id }, [ended]));
      }
      default:
        return false;
    }
  };
}

function stateOf(stage: Stage, decision: AttemptView["decision"]): DeliveryState {
  switch (decision) {
    case "delivered":
      return stage === "deliver" ? "delivered" : "deadLettered";
    case "retry":
      return stage === "deliver" ? "waiting" : "deadLettering";
    case "deadLetter":
    case "drop":
      return stateAfter(decision);
    default:
      return decision satisfies never;
  }
}

function listedOf(
  head: Pick<EventSummary, "event" | "id" | "subject" | "type" | "topic">,
  deliveries: EventSummary["deliveries"],
): Listed {
  const fates = deliveries.map(({ subscription: name, state }) => ({
    subscription: 0,
    name,
    state,
  }));
  return { ...head, domainTopic: null, acceptedAt: 0, number: null, fates };
}
