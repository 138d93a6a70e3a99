// Notes as they are written. Most of them are attempts, so these are written without names.

import type { KeptAttempt, KeptNote } from "../../core/story/note.ts";

export function textOf(note: KeptNote): string {
  if (note.kind !== "attempted") return JSON.stringify(note);
  if (isPlain(note)) return plainText(note);
  const { stage, number, at, durationMs, outcome, status, detail, excerpt } = note;
  const { isLate, batch, decision, words, nextDueAt, reason, health, counts, place, wire } = note;
  const flags = (isLate ? 1 : 0) + (counts ? 0 : 2);
  const row: Row = [
    stage,
    number,
    at,
    durationMs,
    outcome,
    status,
    detail,
    excerpt,
    flags,
    batch,
    decision,
    words,
    nextDueAt,
    reason,
    health,
    place,
  ];
  return JSON.stringify(wire === null ? row : [...row, wire]);
}

/** A success that there is little to say about, as most are. */
function isPlain({ decision, detail, words, nextDueAt, reason, place, wire }: KeptAttempt) {
  const isSaid = detail !== null || words !== null || nextDueAt !== null || reason !== null;
  return decision === "delivered" && !isSaid && place === null && wire === null;
}

const quoted = new Map<string, string>();
const quotedMax = 1_000;

/** As JSON; there are only a few different ones. */
export function quote(word: string): string {
  const known = quoted.get(word);
  if (known !== undefined) return known;
  const text = JSON.stringify(word);
  if (quoted.size < quotedMax) quoted.set(word, text);
  return text;
}

/** The same as the row below, in a third of the time. */
function plainText(note: KeptAttempt): string {
  const { stage, number, at, durationMs, status, excerpt, isLate, counts, batch } = note;
  const flags = (isLate ? 1 : 0) + (counts ? 0 : 2);
  const answer = excerpt === null ? "null" : excerpt === "" ? '""' : JSON.stringify(excerpt);
  const outcome = quote(note.outcome);
  const health = quote(note.health);
  const sent = `${quote(stage)},${number},${at},${durationMs},${outcome},${status},null`;
  return `[${sent},${answer},${flags},${batch},"delivered",null,null,null,${health},null]`;
}

type Row = readonly [
  ...[stage: KeptAttempt["stage"], number: number, at: number, durationMs: number],
  ...[outcome: string, status: number | null, detail: string | null, excerpt: string | null],
  ...[flags: number, batch: number, decision: KeptAttempt["decision"], words: string | null],
  ...[nextDueAt: number | null, reason: string | null, health: string, place: KeptAttempt["place"]],
  wire?: KeptAttempt["wire"],
];

export function noteOf(written: KeptNote | Row): KeptNote {
  if (!Array.isArray(written)) return written as KeptNote;
  const [stage, number, at, durationMs, outcome, status, detail, excerpt, ...rest] = written as Row;
  const [flags, batch, decision, words, nextDueAt, reason, health, place, wire = null] = rest;
  return {
    kind: "attempted",
    ...{ stage, number, at, durationMs, outcome, status, detail, excerpt },
    ...{ isLate: (flags & 1) === 1, counts: (flags & 2) === 0 },
    ...{ batch, decision, words, nextDueAt, reason, health, place, wire },
  };
}
