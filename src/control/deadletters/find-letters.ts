// Dead letters, found: what the stores hold, walked, read, put beside the subscriptions they belong
// to, and filtered by a query. Nothing is kept between two requests; an id or a bookmark holds all
// there is to know. Only the heads of letters are read, a few blobs at a time, so finding takes
// little memory however many there are; counts of redrives are read only where they matter.

import { createHash } from "node:crypto";
import type { DeadLetterView } from "../../core/api/views.ts";
import type { StorageAccount } from "../../core/azure/storage.ts";
import type { Letter, LetterHead, ReadRecord } from "../../core/deadletter/letter.ts";
import {
  type Bookmark,
  type LetterPath,
  letterId,
  subscriptionIn,
  writtenOf,
} from "../../core/deadletter/letter-path.ts";
import {
  containersOf,
  type Home,
  homeOf,
  type LetterQuery,
  matchesLetter,
  topicNameIn,
} from "../../core/deadletter/letter-query.ts";
import type {
  BlobContainer,
  BlobListing,
  DeadLetterReader,
  NotRead,
  Redriven,
} from "../../core/deadletter/letter-store.ts";
import { type Step, walkLetters } from "../../core/deadletter/letter-walk.ts";
import type { Instant } from "../../core/ports.ts";
import type { Catalog } from "../../core/registry.ts";
import { isoInstant } from "../../core/text/time.ts";

export interface LetterDeps {
  readonly reader: DeadLetterReader;
  readonly accounts: readonly StorageAccount[];
  readonly catalog: () => Catalog;
  readonly redriven: Redriven;
}

export interface FoundLetter<L extends LetterHead = LetterHead> {
  readonly place: LetterPath;
  readonly letter: L;
  readonly home: Home;
  readonly topic: string | null;
  /** The name in the blob's path, in upper case. */
  readonly subscription: string;
  readonly writtenAt: Instant;
}

/** With its event, and the record as it is written. */
export interface WholeLetter extends FoundLetter<Letter> {
  readonly record: string;
}

/** What could not be read, as a sentence; one record, or with null all of them. */
export interface LetterRemark {
  readonly words: string;
  readonly index: number | null;
}

/** One blob, gone through; null: it is nowhere in the walk. */
export interface FoundBlob {
  readonly letters: readonly FoundLetter[];
  readonly remarks: readonly LetterRemark[];
  readonly bookmark: Bookmark | null;
}

const nowhere =
  "No subscription names such a container for its dead letters; name any with account and container.";

/** The event loop must not be kept busy by one blob. */
const keysPerLook = 1_000;

/** Blobs that are read at the same time, and how large they may be together. */
const readsMax = 16;
const readBytesMax = 1024 * 1024;

/** From the newest hour back; after the bookmark, where there is one. */
export async function* findLetters(
  deps: LetterDeps,
  query: LetterQuery,
  after: Bookmark | null = null,
): AsyncGenerator<FoundBlob, void, void> {
  const { account, container } = query;
  const containers = containersOf({ account, container }, deps.catalog(), deps.accounts);
  if (containers.length === 0) yield remarked(nowhere);
  const walk = walkLetters(deps.reader, { ...query, containers, after });
  for await (const steps of inGroups(walk)) {
    const reads = steps.map((step) => readStep(deps, step));
    for (const read of reads) yield await siftBlob(deps, { query, after, read: await read });
  }
}

/** Some letters of one blob, whole. */
export async function lettersIn(
  deps: LetterDeps,
  container: BlobContainer,
  path: string,
  indexes: readonly number[],
): Promise<
  { readonly letters: readonly WholeLetter[]; readonly remarks: readonly LetterRemark[] } | NotRead
> {
  const read = await deps.reader.read(container, path, indexes);
  if (read.kind === "notRead") return read;
  const blob: BlobListing = { path, bytes: 0, modifiedAt: read.modifiedAt };
  const sift = siftingOf(deps, container, blob);
  return {
    letters: read.records.flatMap((each) =>
      each.kind === "letter" ? { ...sift.found(each.letter, each.index), record: each.record } : [],
    ),
    remarks: read.records.flatMap(sift.remark),
  };
}

async function* inGroups(walk: AsyncIterable<Step>): AsyncGenerator<Step[], void, void> {
  let group: Step[] = [];
  let bytes = 0;
  for await (const step of walk) {
    group.push(step);
    bytes += step.kind === "blob" ? step.blob.bytes : 0;
    if (group.length < readsMax && bytes < readBytesMax) continue;
    yield group;
    group = [];
    bytes = 0;
  }
  if (group.length > 0) yield group;
}

type Read = Step & { readonly records?: readonly ReadRecord[]; readonly why?: string };

async function readStep({ reader }: LetterDeps, step: Step): Promise<Read> {
  if (step.kind === "notRead") return step;
  const read = await reader.read(step.container, step.blob.path, "heads");
  return read.kind === "read" ? { ...step, records: read.records } : { ...step, why: read.why };
}

function remarked(words: string): FoundBlob {
  return { letters: [], remarks: [{ words, index: null }], bookmark: null };
}

async function siftBlob(
  deps: LetterDeps,
  {
    query,
    after,
    read,
  }: { readonly query: LetterQuery; readonly after: Bookmark | null; readonly read: Read },
): Promise<FoundBlob> {
  const { account, container } = read.container;
  if (read.kind === "notRead") return remarked(`${account}/${container}: ${read.why}`);
  const { path } = read.blob;
  if (read.records === undefined) {
    return remarked(`${account}/${container}/${path}: ${read.why}`);
  }
  const isSeen = after !== null && after.path === path && isIn(read.container, after);
  const records = isSeen ? read.records.filter(({ index }) => index > after.index) : read.records;
  const sift = siftingOf(deps, read.container, read.blob);
  const found = records.flatMap((each) =>
    each.kind === "head" ? sift.found(each.letter, each.index) : [],
  );
  const counts = query.redriven === null ? null : await timesRedriven(deps, found);
  return {
    letters: found.filter((each, at) =>
      matchesLetter(query, { ...each, redriven: counts?.[at] ?? 0 }),
    ),
    remarks: records.flatMap(sift.remark),
    bookmark: { ...read.container, path, index: read.records.length, until: read.until },
  };
}

/** The dead letters of a blob usually have one topic; it is looked up once. */
function siftingOf(deps: LetterDeps, container: BlobContainer, blob: BlobListing) {
  const catalog = deps.catalog();
  const homes = new Map<string, Home>();
  const { path } = blob;
  const subscription = subscriptionIn(path).toUpperCase();
  const writtenAt = writtenOf(blob).from;
  return {
    found<L extends LetterHead>(letter: L, index: number): FoundLetter<L> {
      const place: LetterPath = { ...container, path, index };
      const from = `${letter.form} ${letter.source}`;
      const home = homes.get(from) ?? homeOf(place, letter, catalog, deps.accounts);
      homes.set(from, home);
      const topic = home.kind === "known" ? home.topic.name : topicNameIn(letter);
      return { place, letter, home, topic, subscription, writtenAt };
    },
    remark(each: ReadRecord): readonly LetterRemark[] {
      if (each.kind !== "unreadable") return [];
      const name = `${container.account}/${container.container}/${path}, record ${each.index}`;
      return [{ words: `${name}: ${each.why}`, index: each.index }];
    },
  };
}

function isIn(one: BlobContainer, other: BlobContainer): boolean {
  return one.account === other.account && one.container === other.container;
}

/** How often each has been redriven. */
export async function timesRedriven(
  deps: LetterDeps,
  letters: readonly FoundLetter[],
): Promise<readonly number[]> {
  const keys = letters.map(({ subscription, letter }) => redrivenKey(subscription, letter));
  return await countsOf(deps, keys);
}

/** What is counted under each key, asked for in steps. */
export async function countsOf(
  { redriven }: LetterDeps,
  keys: readonly string[],
): Promise<readonly number[]> {
  const counts: number[] = [];
  for (let from = 0; from < keys.length; from += keysPerLook) {
    counts.push(...(await redriven.redriven(keys.slice(from, from + keysPerLook))));
  }
  return counts;
}

/** Identifies an event that is dead-lettered again: its subscription, and the publisher's id. */
export function redrivenKey(
  subscription: string,
  { source, id }: Pick<LetterHead, "source" | "id">,
): string {
  const named = JSON.stringify([subscription.toUpperCase(), source, id]);
  return createHash("sha256").update(named).digest("base64url");
}

export async function viewsOf(
  deps: LetterDeps,
  letters: readonly FoundLetter[],
): Promise<readonly DeadLetterView[]> {
  const times = await timesRedriven(deps, letters);
  return letters.map((each, index) => viewOf(each, times[index] ?? 0));
}

export function viewOf(found: FoundLetter, redriven: number): DeadLetterView {
  const { place, letter, topic, subscription, writtenAt } = found;
  const { account, container, path } = place;
  const iso = (at: number | null) => (at === null ? null : isoInstant(at));
  return {
    ...{ id: letterId(place), account, container, blob: path, subscription, topic },
    ...{ eventId: letter.id, subject: letter.subject, type: letter.type },
    ...{ reason: letter.reason, outcome: letter.outcome, status: letter.status },
    attempts: letter.attempts,
    publishedAt: iso(letter.publishedAt),
    lastAttemptAt: iso(letter.lastAttemptAt),
    writtenAt: isoInstant(writtenAt),
    redriven,
  };
}
