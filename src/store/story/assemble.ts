// An entry assembled from what was written about it at different times.

import type {
  DeliveryNotes,
  Entry,
  Listed,
  Member,
  Particulars,
} from "../../core/story/chronicle.ts";
import type { KeptNote, Seat } from "../../core/story/note.ts";
import type { SubscriptionId } from "../../core/subscription.ts";
import { noteOf } from "./attempt-text.ts";

/** What is written at one time, as JSON. */
export interface Written {
  /** If an entry was reported several times: the last one is right. */
  readonly particulars?: Particulars;
  readonly seats: readonly Seat[];
  readonly notes: readonly (readonly [SubscriptionId, Parameters<typeof noteOf>[0]])[];
}

export function assemble(kept: {
  readonly listed: Listed;
  /** The earliest first. */
  readonly written: readonly Written[];
  readonly text: string | null;
  readonly roll: readonly Member[] | null;
}): Entry {
  const { listed, written, text, roll } = kept;
  const { fates, ...head } = listed;
  const told = written.findLast(({ particulars }) => particulars !== undefined);
  const seats = new Map<SubscriptionId, Seat>();
  const notes = new Map<SubscriptionId, KeptNote[]>();
  for (const part of written) {
    for (const seat of part.seats) seats.set(seat.subscription, seat);
    for (const [subscription, note] of part.notes) {
      const known = notes.get(subscription) ?? [];
      known.push(noteOf(note));
      notes.set(subscription, known);
    }
  }
  const passages = fates.map(({ subscription, name, state }): DeliveryNotes => {
    const { topic, domainTopic } = head;
    const bare: Seat = { subscription, topic, domainTopic, name, endpoint: "" };
    const seat = seats.get(subscription) ?? bare;
    return { ...seat, state, notes: notes.get(subscription) ?? [] };
  });
  return { ...head, ...(told?.particulars ?? nothingKnown), passages, text, roll };
}

const nothingKnown: Particulars = {
  schema: "EventGridSchema",
  bytes: 0,
  acceptedWith: "unknown",
  traceparent: null,
  dataVersion: "",
  envelope: null,
};
