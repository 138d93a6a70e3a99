// Walks through the containers, the newest hour first, without listing more than needed. Paths have
// no leading zeros, so their text order is not their time order; but every level of a path is an
// interval of time. So the walk keeps the folders it has seen and opens the one that may contain
// the newest blob: best-first search. A query for one day of one subscription lists four folders,
// however many there are beside them.
//
// Within an hour the order is that of the names: not by time, but the same each time.

import type { Instant } from "../ports.ts";
import { Heap } from "./heap.ts";
import { type Bookmark, isLetterBlob, writtenOf } from "./letter-path.ts";
import type { BlobContainer, BlobListing, DeadLetterReader, Listing } from "./letter-store.ts";

export interface WalkQuery {
  readonly containers: readonly BlobContainer[];
  /** The first name of the path, in any letter case. */
  readonly subscription: string | null;
  /** Both inclusive; null: no limit. */
  readonly from: Instant | null;
  readonly to: Instant | null;
  /** Blobs before this one have been seen; this one is returned again. */
  readonly after: Bookmark | null;
}

export type Step =
  | {
      readonly kind: "blob";
      readonly container: BlobContainer;
      readonly blob: BlobListing;
      /** The position of the walk, for a bookmark. */
      readonly until: Instant;
    }
  /** A folder could not be listed; the walk continues without it. */
  | { readonly kind: "notRead"; readonly container: BlobContainer; readonly why: string };

type Level = "name" | "year" | "month" | "day" | "hour" | "blob";

interface Node {
  readonly container: BlobContainer;
  readonly level: Level;
  /** How many names come before the date. */
  readonly names: number;
  readonly prefix: string;
  /** A blob below it was written in this interval, the end exclusive. */
  readonly from: Instant;
  readonly until: Instant;
  readonly blob: BlobListing | null;
}

/** Namespaces have three names before the date. */
const namesMax = 3;
/**
 * Pages of one folder; with a thousand names per page this is more than any container should have.
 */
const pagesMax = 1_000;

export async function* walkLetters(
  reader: DeadLetterReader,
  query: WalkQuery,
): AsyncGenerator<Step, void, void> {
  const open = new Heap<Node>(comesBefore);
  for (const container of query.containers) {
    open.add({ container, level: "name", names: 0, prefix: "", ...ever, blob: null });
  }
  for (let node = open.take(); node !== undefined; node = open.take()) {
    const { container, until } = node;
    if (node.blob !== null) {
      yield { kind: "blob", container, blob: node.blob, until };
      continue;
    }
    for await (const listing of pagesOf(reader, node)) {
      if (typeof listing === "string") {
        yield { kind: "notRead", container, why: listing };
        break;
      }
      for (const name of listing.folders) {
        const child = childOf(node, name, query);
        if (child !== null && isWanted(child, query)) open.add(child);
      }
      for (const blob of listing.blobs) {
        const found = blobOf(node, blob);
        if (!isLetterBlob(blob.path) || !isWanted(found, query)) continue;
        if (node.level === "hour") yield { kind: "blob", container, blob, until };
        else open.add(found);
      }
    }
  }
}

const ever = { from: Number.NEGATIVE_INFINITY, until: Number.POSITIVE_INFINITY };

/** The newest; folders before blobs of the same end, because they may contain some. */
function comesBefore(one: Node, other: Node): boolean {
  if (one.until !== other.until) return one.until > other.until;
  const isLeaf = ({ level }: Node) => level === "hour" || level === "blob";
  if (isLeaf(one) !== isLeaf(other)) return isLeaf(other);
  return compare(placeOf(one), placeOf(other)) < 0;
}

async function* pagesOf(
  reader: DeadLetterReader,
  { container, prefix }: Node,
): AsyncGenerator<Listing | string, void, void> {
  let after: string | null = null;
  for (let page = 0; page < pagesMax; page++) {
    const listing: Awaited<ReturnType<DeadLetterReader["list"]>> = await reader.list(container, {
      prefix,
      after,
    });
    if (listing.kind === "notRead") {
      yield listing.why;
      return;
    }
    yield listing;
    if (listing.next === null) return;
    after = listing.next;
  }
}

/** Null for what is not a folder of dead letters. */
function childOf(node: Node, name: string, { subscription }: WalkQuery): Node | null {
  const child = { ...node, prefix: `${node.prefix}${name}/` };
  if (node.level === "name") {
    if (node.names > 0 && /^\d{4}$/.test(name)) {
      return { ...child, level: "year", ...spanOf([Number(name), 1, 1, 0], "year") };
    }
    const isMeant =
      node.names > 0 || subscription === null || name.toUpperCase() === subscription.toUpperCase();
    return isMeant && node.names < namesMax ? { ...child, names: node.names + 1 } : null;
  }
  const level = below[node.level];
  if (level === undefined || !/^\d{1,2}$/.test(name)) return null;
  const start = new Date(node.from);
  const parts = [start.getUTCFullYear(), start.getUTCMonth() + 1, start.getUTCDate(), 0];
  parts[places[level] ?? 0] = Number(name);
  return { ...child, level, ...spanOf(parts, level) };
}

const below: Readonly<Partial<Record<Level, Level>>> = { year: "month", month: "day", day: "hour" };
const places: Readonly<Partial<Record<Level, number>>> = { year: 0, month: 1, day: 2, hour: 3 };

function spanOf(parts: readonly number[], level: Level): { from: Instant; until: Instant } {
  const at = (more: number) => {
    const [year = 0, month = 1, day = 1, hour = 0] = parts.map((part, place) =>
      place === places[level] ? part + more : part,
    );
    return new Date(0).setUTCFullYear(year, month - 1, day) + hour * 3_600_000;
  };
  return { from: at(0), until: at(1) };
}

function blobOf(node: Node, blob: BlobListing): Node {
  if (node.level === "hour") return { ...node, level: "blob", blob };
  const { from, until } = writtenOf(blob);
  return { ...node, level: "blob", from, until, blob };
}

/** Whether it can contain something that matches and has not been seen. */
function isWanted(node: Node, { from, to, after }: WalkQuery): boolean {
  const span = node.blob === null ? node : writtenOf(node.blob);
  if (from !== null && span.until <= from) return false;
  if (to !== null && span.from > to) return false;
  if (after === null) return true;
  if (node.level === "name") return true;
  if (node.blob === null) return node.from < after.until;
  if (node.until !== after.until) return node.until < after.until;
  return compare(placeOf(node), [after.account, after.container, after.path]) >= 0;
}

function placeOf({ container, prefix, blob }: Node): readonly string[] {
  return [container.account, container.container, blob?.path ?? prefix];
}

function compare(one: readonly string[], other: readonly string[]): number {
  for (const [index, text] of one.entries()) {
    const against = other[index] ?? "";
    if (text !== against) return text < against ? -1 : 1;
  }
  return 0;
}
