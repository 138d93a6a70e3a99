import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { readRetryAfter } from "./message.ts";

const now = Date.UTC(2030, 0, 1, 12, 0, 0);

const table: readonly (readonly [string, number | undefined])[] = [
  ["0", 0],
  ["120", 120_000],
  [" 7 ", 7_000],
  ["999999999", 999_999_999_000],
  ["9999999999", undefined],
  ["1.5", undefined],
  ["-1", undefined],
  ["+1", undefined],
  ["1e3", undefined],
  ["0x10", undefined],
  ["", undefined],
  ["soon", undefined],
  ["Tue, 01 Jan 2030 12:01:30 GMT", 90_000],
  ["Tue, 01 Jan 2030 11:59:59 GMT", 0],
  ["Tue, 32 Jan 2030 12:01:30 GMT", undefined],
  ["Tue, 01 Jan 2030 12:01:30 CET", undefined],
  ["Tue, 01 Jan 2030 12:01:30", undefined],
  ["Tuesday, 01-Jan-30 12:01:30 GMT", undefined],
  ["Tue Jan  1 12:01:30 2030", undefined],
  ["2030-01-01T12:01:30Z", undefined],
];

for (const [text, ms] of table) {
  test(`Retry-After "${text}" means ${ms === undefined ? "nothing" : `${ms} ms`}`, () => {
    assert.equal(readRetryAfter(text, now), ms);
  });
}

test("whatever an endpoint writes, Retry-After is a length of time or nothing", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      const ms = readRetryAfter(text, now);
      assert.ok(ms === undefined || (Number.isSafeInteger(ms) && ms >= 0));
    }),
  );
});

test("an HTTP date is read to the second", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 10_000_000 }), (seconds) => {
      const date = new Date(now + seconds * 1_000).toUTCString();
      assert.equal(readRetryAfter(date, now), seconds * 1_000);
    }),
  );
});
