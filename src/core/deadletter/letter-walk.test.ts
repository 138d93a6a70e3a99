import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Instant } from "../ports.ts";
import { Refusal } from "../refusal.ts";
import {
  type Bookmark,
  bookmarkOf,
  letterId,
  parseBookmark,
  parseLetterId,
  subscriptionIn,
  writtenOf,
} from "./letter-path.ts";
import type { BlobContainer, DeadLetterReader } from "./letter-store.ts";
import { type Step, type WalkQuery, walkLetters } from "./letter-walk.ts";
import { deadLetterPath } from "./record.ts";

const box: BlobContainer = { account: "letters", container: "box" };
const everything: WalkQuery = {
  ...{ containers: [box], subscription: null, from: null, to: null, after: null },
};

interface Reader extends DeadLetterReader {
  readonly listed: string[];
}

/** Blobs by their path and when they were modified, a few names to a page. */
function readerOf(
  blobs: ReadonlyMap<string, Instant>,
  { perPage = 3, failing = "nothing" } = {},
): Reader {
  const listed: string[] = [];
  return {
    listed,
    async list(_, { prefix, after }) {
      listed.push(prefix);
      if (prefix === failing) return { kind: "notRead", why: "Forbidden.", isMissing: false };
      const below = [...blobs.keys()].filter((path) => path.startsWith(prefix));
      const names = [...new Set(below.map((path) => path.slice(prefix.length).split("/", 1)[0]))];
      const left = names
        .map(String)
        .sort()
        .filter((name) => after === null || name > after);
      const page = left.slice(0, perPage);
      const isBlob = (name: string) => blobs.has(prefix + name);
      return {
        kind: "listed",
        folders: page.filter((name) => !isBlob(name)),
        blobs: page.filter(isBlob).map((name) => ({
          path: prefix + name,
          bytes: 2,
          modifiedAt: blobs.get(prefix + name) ?? 0,
        })),
        next: left.length > perPage ? (page.at(-1) ?? null) : null,
      };
    },
    read: async () => ({ kind: "read", records: [], modifiedAt: 0 }),
    whyUnreachable: async () => null,
  };
}

async function stepsOf(reader: DeadLetterReader, query: Partial<WalkQuery> = {}): Promise<Step[]> {
  return Array.fromAsync(walkLetters(reader, { ...everything, ...query }));
}

const pathsOf = (steps: readonly Step[]) =>
  steps.map((step) => (step.kind === "blob" ? step.blob.path : step.why));

const written = fc.record({
  subscription: fc.constantFrom("a-one", "b-two", "c3"),
  at: fc.integer({ min: Date.UTC(2029, 10, 1), max: Date.UTC(2030, 2, 28) }),
  id: fc.uuid(),
});

test("a walk finds every blob once, the newest hour first, whatever the pages", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(written, { maxLength: 30 }), fc.nat(4), async (all, more) => {
      const blobs = new Map(all.map((blob) => [deadLetterPath({ topic: "t", ...blob }), blob.at]));
      const paths = pathsOf(await stepsOf(readerOf(blobs, { perPage: more + 1 })));
      assert.deepEqual([...paths].sort(), [...blobs.keys()].sort());
      const hours = paths.map((path) => Math.floor((blobs.get(path) ?? 0) / 3_600_000));
      assert.deepEqual(
        hours,
        [...hours].sort((one, other) => other - one),
      );
    }),
  );
});

test("a walk goes on where it was left, and meets nothing twice", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(written, { maxLength: 20 }), fc.nat(20), async (all, cut) => {
      const blobs = new Map(all.map((blob) => [deadLetterPath({ topic: "t", ...blob }), blob.at]));
      const steps = await stepsOf(readerOf(blobs));
      const step = steps[cut];
      if (step?.kind !== "blob") return;
      const { until, blob } = step;
      const after = { ...box, path: blob.path, index: 0, until };
      const rest = await stepsOf(readerOf(blobs), { after });
      assert.deepEqual(pathsOf(rest), pathsOf(steps.slice(cut)));
    }),
  );
});

test("a query by subscription and time lists the folders on its way and no others", async () => {
  const hour = (day: number, at: number) => Date.UTC(2030, 0, day, at, 30);
  const blobs = new Map<string, Instant>();
  for (const subscription of ["billing", "other"]) {
    for (const day of [1, 2, 10]) {
      for (const at of [0, 9, 10]) {
        const id = `${subscription}-${day}-${at}`;
        blobs.set(
          deadLetterPath({ topic: "t", subscription, at: hour(day, at), id }),
          hour(day, at),
        );
      }
    }
  }
  const reader = readerOf(blobs, { perPage: 100 });
  const query = { subscription: "Billing", from: hour(2, 9), to: hour(2, 9) };
  assert.deepEqual(pathsOf(await stepsOf(reader, query)), ["BILLING/2030/1/2/9/billing-2-9.json"]);
  assert.deepEqual(reader.listed, [
    ...["", "BILLING/", "BILLING/2030/", "BILLING/2030/1/", "BILLING/2030/1/2/"],
    "BILLING/2030/1/2/9/",
  ]);
  const newYear = { subscription: "billing", from: hour(1, 0), to: hour(1, 0) };
  assert.equal((await stepsOf(reader, newYear)).length, 1, "a year begins with its first hour");
  const late = { subscription: "billing", from: hour(2, 9) + 1, to: hour(2, 10) - 1 };
  assert.deepEqual(pathsOf(await stepsOf(reader, late)), []);
});

test("letters in a namespace's layout and outside of any are found, other blobs are not", async () => {
  const at = Date.UTC(2030, 0, 2, 5);
  const blobs = new Map([
    ["ns/topic/sub/2030/1/2/5/a.json", at],
    ["copied.json", at + 3_600_000],
    ["old/by-hand.JSONL", at - 1],
    ["SUB/2030/1/2/5/half.json.part", at],
    ["notes.txt", at],
    ["SUB/not/a/date/at/all.json", at],
  ]);
  assert.deepEqual(pathsOf(await stepsOf(readerOf(blobs))), [
    ...["copied.json", "ns/topic/sub/2030/1/2/5/a.json", "old/by-hand.JSONL"],
  ]);
  assert.deepEqual(
    [...blobs.keys()].slice(0, 3).map((path) => subscriptionIn(path)),
    ["sub", "", "old"],
  );
});

test("a folder that cannot be listed is reported, and the others are walked", async () => {
  const at = Date.UTC(2030, 0, 2, 5);
  const blobs = new Map(
    ["one", "two"].map((subscription) => [
      deadLetterPath({ topic: "t", subscription, at, id: "x" }),
      at,
    ]),
  );
  const steps = await stepsOf(readerOf(blobs, { failing: "ONE/2030/" }));
  assert.deepEqual(pathsOf(steps), ["Forbidden.", "TWO/2030/1/2/5/x.json"]);
});

test("a blob is as old as its path says, and to the millisecond where its store agrees", () => {
  const path = "S/2030/1/2/5/x.json";
  const from = Date.UTC(2030, 0, 2, 5);
  const of = (modifiedAt: Instant, at = path) => writtenOf({ path: at, bytes: 1, modifiedAt });
  assert.deepEqual(of(from + 7), { from: from + 7, until: from + 8 });
  assert.deepEqual(of(from - 1), { from, until: from + 3_600_000 });
  assert.deepEqual(of(from - 1, "x.json"), { from: from - 1, until: from });
});

test("an id holds its place, in letters good for a URL", () => {
  const names = fc.string({ unit: "grapheme", minLength: 1, maxLength: 20 });
  const safe = names.filter((name) => !/[\\/\p{Cc}]|^\.\.?$/u.test(name) && name.isWellFormed());
  fc.assert(
    fc.property(fc.array(safe, { minLength: 1, maxLength: 6 }), fc.nat(), (path, index) => {
      const place = { ...box, path: path.join("/"), index };
      const id = letterId(place);
      assert.match(id, /^[\w-]+$/);
      assert.deepEqual(parseLetterId(id), place);
      const bookmark: Bookmark = { ...place, until: index };
      assert.deepEqual(parseBookmark(bookmarkOf(bookmark), "after"), bookmark);
    }),
  );
});

test("an id that leads elsewhere, or nowhere, is refused in words", () => {
  const bad = [
    ...["", "x", "%", "a".repeat(5_000), btoa("null"), btoa('["a"]')],
    letterId({ ...box, path: "../secret.json", index: 0 }),
    letterId({ ...box, path: "a//b.json", index: 0 }),
    letterId({ ...box, path: "a\\..\\b.json", index: 0 }),
    letterId({ ...box, container: "..", path: "a.json", index: 0 }),
    letterId({ ...box, account: "a/b", path: "a.json", index: 0 }),
    letterId({ ...box, path: "a.json", index: -1 }),
    letterId({ ...box, path: "a.json", index: 0.5 }),
    letterId({ ...box, path: `${"a".repeat(1_024)}.json`, index: 0 }),
  ];
  for (const id of bad) {
    const isInWords = (error: unknown) =>
      error instanceof Refusal && error.message === "id is not the id of a dead letter";
    assert.throws(() => parseLetterId(id), isInWords, id);
  }
  const next = /^after must be the `next` of a page before$/;
  const id = letterId({ ...box, path: "a.json", index: 0 });
  for (const text of ["x", id]) {
    assert.throws(
      () => parseBookmark(text, "after"),
      (error: unknown) => error instanceof Refusal && next.test(error.message),
    );
  }
});
