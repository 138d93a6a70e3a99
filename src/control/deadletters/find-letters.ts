// The dead letters as a file that can be gone through: what the stores hold, walked, read, put
// beside the subscriptions they belong to, and sifted by a query. Nothing is kept between two
// questions; an id or a bookmark holds all there is to know.

import { createHash } from "node:crypto";
import type { DeadLetterView } from "../../core/api/views.ts";
import type { StorageAccount } from "../../core/azure/storage.ts";
import { type Letter, readLetters } from "../../core/deadletter/letter.ts";
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
  letterQueryOf,
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
import type { Catalog } from "../../core/ports.ts";
import { isoInstant } from "../../core/text/time.ts";

export interface LetterDeps {
  readonly reader: DeadLetterReader;
  readonly accounts: readonly StorageAccount[];
  readonly catalog: () => Catalog;
  readonly redriven: Redriven;
}

export interface FoundLetter {
  readonly kind: "letter";
  readonly place: LetterPath;
  readonly letter: Letter;
  readonly home: Home;
  readonly view: DeadLetterView;
  readonly record: string;
  /** Where the walk is with it. */
  readonly bookmark: Bookmark;
}

export type Found =
  | FoundLetter
  /** What could not be read, as a sentence; one record, or with null all of them. */
  | { readonly kind: "remark"; readonly words: string; readonly index: number | null }
  /** A blob has been gone through. */
  | { readonly kind: "blob"; readonly bookmark: Bookmark };

const nowhere =
  "No subscription names such a container for its dead letters; name any with account and container.";

/** The store's thread is not to be kept busy by one blob. */
const keysPerLook = 1_000;

/** Blobs that are read at the same time. */
const readsMax = 8;

/** From the newest hour back; after the bookmark, where there is one. */
export async function* findLetters(
  deps: LetterDeps,
  query: LetterQuery,
  after: Bookmark | null = null,
): AsyncGenerator<Found, void, void> {
  const { account, container } = query;
  const containers = containersOf({ account, container }, deps.catalog(), deps.accounts);
  if (containers.length === 0) yield { kind: "remark", words: nowhere, index: null };
  const walk = walkLetters(deps.reader, { ...query, containers, after });
  for await (const steps of inGroups(walk, readsMax)) {
    for (const read of await Promise.all(steps.map((step) => readStep(deps, step)))) {
      yield* siftBlob(deps, { query, after, read });
    }
  }
}

/** Everything in one blob. */
export async function lettersIn(
  deps: LetterDeps,
  container: BlobContainer,
  path: string,
): Promise<readonly Found[] | NotRead> {
  const read = await deps.reader.read(container, path);
  if (read.kind === "notRead") return read;
  const { text, modifiedAt } = read;
  const blob: BlobListing = { path, bytes: text.length, modifiedAt };
  const step = { kind: "blob", container, blob, text, until: 0 } as const;
  return Array.fromAsync(siftBlob(deps, { query: anything, after: null, read: step }));
}

const anything = letterQueryOf({});

async function* inGroups<T>(
  items: AsyncIterable<T>,
  size: number,
): AsyncGenerator<T[], void, void> {
  let group: T[] = [];
  for await (const item of items) {
    group.push(item);
    if (group.length < size) continue;
    yield group;
    group = [];
  }
  if (group.length > 0) yield group;
}

type Read = Step & { readonly text?: string; readonly why?: string };

async function readStep({ reader }: LetterDeps, step: Step): Promise<Read> {
  if (step.kind === "notRead") return step;
  const read = await reader.read(step.container, step.blob.path);
  return read.kind === "read" ? { ...step, text: read.text } : { ...step, why: read.why };
}

interface Sifting {
  readonly query: LetterQuery;
  readonly after: Bookmark | null;
  readonly read: Read;
}

async function* siftBlob(
  deps: LetterDeps,
  { query, after, read }: Sifting,
): AsyncGenerator<Found, void, void> {
  const { account, container } = read.container;
  if (read.kind === "notRead") {
    yield { kind: "remark", words: `${account}/${container}: ${read.why}`, index: null };
    return;
  }
  const { path } = read.blob;
  if (read.text === undefined) {
    yield { kind: "remark", words: `${account}/${container}/${path}: ${read.why}`, index: null };
    return;
  }
  const catalog = deps.catalog();
  // The letters of a blob mostly have one topic; it is looked for once.
  const homes = new Map<string, Home>();
  const records = readLetters(read.text);
  const keys = records.map((each) => (each.kind === "letter" ? letterKey(path, each.letter) : ""));
  const times: number[] = [];
  for (let from = 0; from < keys.length; from += keysPerLook) {
    times.push(...(await deps.redriven.redriven(keys.slice(from, from + keysPerLook))));
  }
  const seen = after !== null && after.path === path && isIn(read.container, after);
  for (const [index, each] of records.entries()) {
    if (seen && index <= after.index) continue;
    const place: LetterPath = { account, container, path, index };
    if (each.kind === "unreadable") {
      const words = `${account}/${container}/${path}, record ${index}: ${each.why}`;
      yield { kind: "remark", words, index };
      continue;
    }
    const { letter, record } = each;
    const from = `${letter.form} ${letter.source}`;
    const home = homes.get(from) ?? homeOf(place, letter, catalog, deps.accounts);
    homes.set(from, home);
    const view = viewOf({ place, letter, home, redriven: times[index] ?? 0 }, read.blob);
    if (!matchesLetter(query, { ...view, letter })) continue;
    const bookmark = { ...place, until: read.until };
    yield { kind: "letter", place, letter, home, view, record, bookmark };
  }
  const last = { ...read.container, path, index: records.length, until: read.until };
  yield { kind: "blob", bookmark: last };
}

function isIn(one: BlobContainer, other: BlobContainer): boolean {
  return one.account === other.account && one.container === other.container;
}

/**
 * By what an event is known when it comes back as another dead letter: who was to have it, and what
 * its publisher calls it.
 */
function letterKey(path: string, { source, id }: Letter): string {
  return redrivenKey(subscriptionIn(path), { source, id });
}

export function redrivenKey(
  subscription: string,
  { source, id }: Pick<Letter, "source" | "id">,
): string {
  const named = JSON.stringify([subscription.toUpperCase(), source, id]);
  return createHash("sha256").update(named).digest("base64url");
}

function viewOf(
  {
    place,
    letter,
    home,
    redriven,
  }: {
    readonly place: LetterPath;
    readonly letter: Letter;
    readonly home: Home;
    readonly redriven: number;
  },
  blob: BlobListing,
): DeadLetterView {
  const { account, container, path } = place;
  const iso = (at: number | null) => (at === null ? null : isoInstant(at));
  return {
    ...{ id: letterId(place), account, container, blob: path },
    subscription: subscriptionIn(path).toUpperCase(),
    topic: home.kind === "known" ? home.topic.name : topicNameIn(letter),
    ...{ eventId: letter.id, subject: letter.subject, type: letter.type },
    ...{ reason: letter.reason, outcome: letter.outcome, status: letter.status },
    attempts: letter.attempts,
    publishedAt: iso(letter.publishedAt),
    lastAttemptAt: iso(letter.lastAttemptAt),
    writtenAt: isoInstant(writtenOf(blob).from),
    redriven,
  };
}
