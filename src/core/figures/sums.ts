// What is counted of one scope within one stretch of time, and its form on disk: a few small
// numbers of variable length, most of them one byte. Sums are added in any order: counts and
// histograms add up, and of what waited the most is kept, because brokers that share a store all
// see the same backlog.

import { bucketCount, emptyHistogram, type Histogram } from "./histogram.ts";

export const counts = ["published", "delivered", "failed", "deadLettered", "dropped"] as const;
export type Count = (typeof counts)[number];

export interface Sums extends Record<Count, number> {
  /** The most deliveries that waited at one time; null: nobody looked. */
  waiting: number | null;
  /** From the acceptance of an event to its delivery. */
  readonly delivery: Histogram;
  /** How long the endpoint took for an attempt, good or bad. */
  readonly answer: Histogram;
}

export function emptySums(): Sums {
  return {
    ...{ published: 0, delivered: 0, failed: 0, deadLettered: 0, dropped: 0, waiting: null },
    ...{ delivery: emptyHistogram(), answer: emptyHistogram() },
  };
}

export function clearSums(sums: Sums): void {
  for (const count of counts) sums[count] = 0;
  sums.waiting = null;
  sums.delivery.fill(0);
  sums.answer.fill(0);
}

export function addSums(into: Sums, from: Sums): void {
  for (const count of counts) into[count] += from[count];
  if (from.waiting !== null) sawWaiting(into, from.waiting);
  addHistogram(into.delivery, from.delivery);
  addHistogram(into.answer, from.answer);
}

export function sawWaiting(sums: Sums, waiting: number): void {
  sums.waiting = Math.max(sums.waiting ?? 0, waiting);
}

function addHistogram(into: Histogram, from: Histogram): void {
  for (let bucket = 0; bucket < bucketCount; bucket += 1) {
    into[bucket] = (into[bucket] ?? 0) + (from[bucket] ?? 0);
  }
}

/** The first byte of every record; another number is another form. */
const form = 1;

export function packSums(sums: Sums): Uint8Array {
  const bytes = [form];
  for (const count of counts) pushNumber(bytes, sums[count]);
  pushNumber(bytes, sums.waiting === null ? 0 : sums.waiting + 1);
  pushHistogram(bytes, sums.delivery);
  pushHistogram(bytes, sums.answer);
  return Uint8Array.from(bytes);
}

/** Adds what was packed. Nothing is added from a form that is not known. */
export function addPacked(into: Sums, packed: Uint8Array): void {
  if (packed[0] !== form) return;
  const reader = { packed, at: 1 };
  for (const count of counts) into[count] += readNumber(reader);
  const waiting = readNumber(reader);
  if (waiting > 0) sawWaiting(into, waiting - 1);
  readHistogram(reader, into.delivery);
  readHistogram(reader, into.answer);
}

/** Seven bits a byte, the lowest first. Multiplied, not shifted: counts may exceed 32 bits. */
function pushNumber(bytes: number[], number: number): void {
  let left = number;
  while (left >= 128) {
    bytes.push((left % 128) + 128);
    left = Math.floor(left / 128);
  }
  bytes.push(left);
}

interface Reader {
  readonly packed: Uint8Array;
  at: number;
}

function readNumber(reader: Reader): number {
  let number = 0;
  for (let factor = 1; ; factor *= 128) {
    const byte = reader.packed[reader.at] ?? 0;
    reader.at += 1;
    number += (byte % 128) * factor;
    if (byte < 128) return number;
  }
}

/** How many buckets are used, then for each its distance from the last one, and its count. */
function pushHistogram(bytes: number[], histogram: Histogram): void {
  let used = 0;
  for (const count of histogram) if (count > 0) used += 1;
  pushNumber(bytes, used);
  let last = 0;
  for (let bucket = 0; used > 0; bucket += 1) {
    const count = histogram[bucket] ?? 0;
    if (count === 0) continue;
    pushNumber(bytes, bucket - last);
    pushNumber(bytes, count);
    last = bucket;
    used -= 1;
  }
}

function readHistogram(reader: Reader, into: Histogram): void {
  let bucket = 0;
  for (let used = readNumber(reader); used > 0; used -= 1) {
    bucket += readNumber(reader);
    into[bucket] = (into[bucket] ?? 0) + readNumber(reader);
  }
}
