// Times as people type them in a range, and the words of a search put together and taken apart.

import assert from "node:assert/strict";
import { test } from "node:test";
import { readInstant, writeInstant } from "../../portal/instants.ts";
import { hasWord, withWord, wordsIn } from "../../portal/search.ts";

const now = Date.parse("2026-11-17T12:30:00Z");
const iso = (text: string) => {
  const at = readInstant(text, now, true);
  return at === null ? null : new Date(at).toISOString();
};

test("times are read as people write them", () => {
  const cases: readonly (readonly [string, string | null])[] = [
    ["now", "2026-11-17T12:30:00.000Z"],
    ["1h", "2026-11-17T11:30:00.000Z"],
    ["90 min ago", "2026-11-17T11:00:00.000Z"],
    ["1.5h", "2026-11-17T11:00:00.000Z"],
    ["2d", "2026-11-15T12:30:00.000Z"],
    ["10:00", "2026-11-17T10:00:00.000Z"],
    ["9:05:30", "2026-11-17T09:05:30.000Z"],
    // That is still to come today, so it was yesterday.
    ["23:00", "2026-11-16T23:00:00.000Z"],
    ["2026-11-16", "2026-11-16T00:00:00.000Z"],
    ["2026-11-16 10:00", "2026-11-16T10:00:00.000Z"],
    ["2026-11-16t10:00:01.5z", "2026-11-16T10:00:01.500Z"],
    ["2026-11-16T10:00+02:00", "2026-11-16T08:00:00.000Z"],
    ["25:00", null],
    ["2026-13-01", null],
    ["2026", null],
    ["yesterday", null],
    ["", null],
  ];
  for (const [text, wanted] of cases) assert.equal(iso(text), wanted, text);
});

test("an instant is written as it can be typed again", () => {
  assert.equal(writeInstant(now, true), "2026-11-17 12:30:00");
  for (const isUtc of [true, false])
    assert.equal(readInstant(writeInstant(now, isUtc), now + 5, isUtc), now);
});

test("words of a search are added, found and taken away", () => {
  assert.equal(wordsIn(new URLSearchParams("topic=orders&q=8f3c")), "topic:orders 8f3c");
  assert.equal(wordsIn(new URLSearchParams({ subject: "a b" })), 'subject:"a b"');
  assert.equal(withWord("8f3c state:waiting", "state", "failing"), "8f3c state:failing");
  assert.equal(withWord("state:waiting", "state", null), "");
  assert.ok(hasWord("x STATE:Waiting", "state", "waiting"));
  assert.ok(!hasWord("x", "state", "waiting"));
});
