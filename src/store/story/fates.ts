// The states of an event's deliveries, in one column: `|12:w:billing|13:d:shop|`. So a list of
// events is read from one table, and a search can look for a name or a state in it.

import type { DeliveryState } from "../../core/api/views.ts";
import { type Fate, isOpen, type Listed, type Rank, rankOf } from "../../core/story/chronicle.ts";
import type { SubscriptionId } from "../../core/subscription.ts";
import type { Act } from "./group-notes.ts";
import type { SqlRow } from "./statements.ts";

export type Fates = Map<SubscriptionId, Fate>;

/** How states are written. */
export const letters: Readonly<Record<DeliveryState, string>> = {
  waiting: "w",
  delivered: "d",
  deadLettering: "l",
  deadLettered: "L",
  dropped: "x",
  unknown: "u",
};

const statesByLetter = new Map(
  Object.entries(letters).map(([state, letter]) => [letter, state as DeliveryState]),
);

const ranks: readonly Rank[] = ["settled", "givenUp", "open"];

/** As written; 0 is settled. */
export function rankIn(fates: Fates): number {
  return ranks.indexOf(rankOf([...fates.values()].map(({ state }) => state)));
}

export function writeFates(fates: Fates): string {
  let text = "|";
  for (const { subscription, name, state } of fates.values()) {
    text += `${subscription}:${letters[state]}:${name}|`;
  }
  return text;
}

export function readFates(text: string): Fates {
  const fates: Fates = new Map();
  for (const part of text.split("|")) {
    const [number = "", letter = "", name = ""] = part.split(":");
    if (number === "") continue;
    const subscription = Number(number);
    const state = statesByLetter.get(letter) ?? "unknown";
    fates.set(subscription, { subscription, name, state });
  }
  return fates;
}

export function listedOf(row: SqlRow): Listed {
  return {
    event: row.event as string,
    id: row.id as string,
    topic: row.topic as string,
    domainTopic: row.domain_topic as string | null,
    subject: row.subject as string,
    type: row.type as string,
    acceptedAt: row.accepted_at as number,
    number: row.store_number as number | null,
    fates: [...readFates(row.states as string).values()],
  };
}

/**
 * What happened to deliveries, applied in order; the result is what has to be written. `choose`:
 * which of two states holds, where the order is not known.
 */
export function applyActs(
  fates: Fates,
  acts: readonly Act[],
  choose: (known: DeliveryState, told: DeliveryState) => DeliveryState = (_, told) => told,
): WrittenParts {
  const seats = new Map<SubscriptionId, string>();
  const notes: string[] = [];
  for (const act of acts) {
    const known = fates.get(act.subscription);
    if (known === undefined && act.seat === null) continue;
    if (act.kind === "seat" && known !== undefined) continue;
    if (act.kind === "lost" && (known === undefined || !isOpen(known.state))) continue;
    // Its endpoint may have changed since.
    if (act.seat !== null) seats.set(act.subscription, act.seat.json);
    const name = known?.name ?? act.seat?.name ?? "";
    const before = known?.state ?? "waiting";
    const state = act.state === "" ? before : choose(before, act.state);
    fates.set(act.subscription, { subscription: act.subscription, name, state });
    if (act.note !== null) notes.push(writtenNote(act.subscription, act.note));
  }
  return { seats: [...seats.values()], notes };
}

/** All of them, as they are written if none is left out. */
export function notesIn(acts: readonly Act[]): string[] {
  const notes: string[] = [];
  for (const { subscription, note } of acts) {
    if (note !== null) notes.push(writtenNote(subscription, note));
  }
  return notes;
}

function writtenNote(subscription: SubscriptionId, note: string): string {
  return `[${subscription},${note}]`;
}

/** Each as JSON. */
export interface WrittenParts {
  readonly seats: readonly string[];
  readonly notes: readonly string[];
}

/** What is written at one time, as JSON; see `Written` in assemble.ts. */
export function storyText(particulars: string | null, { seats, notes }: WrittenParts): string {
  const of = particulars === null ? "" : `"particulars":${particulars},`;
  return `{${of}"seats":[${seats.join()}],"notes":[${notes.join()}]}`;
}
