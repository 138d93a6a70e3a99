import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Refusal } from "../refusal.ts";
import { type BatchPolicy, batchDefaults, batchPolicyOf, formBatches } from "./batch.ts";

function form(texts: readonly string[], policy: BatchPolicy | null): string[][] {
  return formBatches(texts, { policy, bytesOf: (text) => Buffer.byteLength(text) });
}

/** The body that is sent, which is what a size is about. */
function bodyBytes(batch: readonly string[]): number {
  return Buffer.byteLength(`[${batch.join(",")}]`);
}

test("without batching each event travels alone (D-4, B-5)", () => {
  assert.deepEqual(form(["1", "2", "3"], null), [["1"], ["2"], ["3"]]);
  assert.deepEqual(form([], null), []);
});

test("what is there now goes, in its order, in as few requests as allowed (B-1, B-2)", () => {
  const texts = ["1", "2", "3", "4", "5"];
  const form5 = (maxEvents: number) => form(texts, { maxEvents, preferredBytes: 1024 });
  assert.deepEqual(form5(2), [["1", "2"], ["3", "4"], ["5"]]);
  assert.deepEqual(form5(5), [texts]);
  assert.deepEqual(form5(5000), [texts]);
  assert.deepEqual(form([], { maxEvents: 5, preferredBytes: 1024 }), []);
});

test("a batch is cut where its body would pass the preferred size (B-1)", () => {
  const event = "x".repeat(10);
  const body = 2 + 10 + 1 + 10;
  const sizes = (preferredBytes: number) =>
    form([event, event, event], { maxEvents: 10, preferredBytes }).map((batch) => batch.length);
  assert.deepEqual(sizes(body), [2, 1]);
  assert.deepEqual(sizes(body - 1), [1, 1, 1]);
  assert.deepEqual(sizes(body + 11), [3]);
});

test("an event of 10 KB with 4 KB preferred goes alone, and is not dropped (B-1)", () => {
  const large = "x".repeat(10 * 1024);
  const policy = { maxEvents: 100, preferredBytes: 4 * 1024 };
  assert.deepEqual(form(["1", large, "2", "3"], policy), [["1"], [large], ["2", "3"]]);
});

test("no batch exceeds its limits, loses, doubles or moves an event, or is cut too soon (B-1, B-2)", () => {
  const policies = fc.record({
    maxEvents: fc.integer({ min: 1, max: 12 }),
    preferredBytes: fc.integer({ min: 1, max: 200 }),
  });
  const texts = fc.array(fc.string({ minLength: 1, maxLength: 80, unit: "binary" }), {
    maxLength: 60,
  });
  fc.assert(
    fc.property(texts, policies, (events, policy) => {
      const batches = form(events, policy);
      assert.deepEqual(batches.flat(), events);
      for (const [index, batch] of batches.entries()) {
        assert.ok(batch.length >= 1 && batch.length <= policy.maxEvents);
        assert.ok(batch.length === 1 || bodyBytes(batch) <= policy.preferredBytes);
        const following = batches[index + 1]?.[0];
        if (following === undefined) continue;
        const isFull = batch.length === policy.maxEvents;
        assert.ok(isFull || bodyBytes([...batch, following]) > policy.preferredBytes);
      }
    }),
  );
});

test("batching is on when either setting is given, and the other takes a default (B-4, B-5)", () => {
  const field = "destination";
  assert.equal(batchPolicyOf({}, field), null);
  assert.equal(
    batchPolicyOf({ maxEventsPerBatch: null, preferredBatchSizeInKilobytes: null }, field),
    null,
  );
  assert.deepEqual(batchPolicyOf({ maxEventsPerBatch: 1000 }, field), {
    maxEvents: 1000,
    preferredBytes: 64 * 1024,
  });
  assert.deepEqual(batchPolicyOf({ preferredBatchSizeInKilobytes: 512 }, field), {
    maxEvents: batchDefaults.maxEvents,
    preferredBytes: 512 * 1024,
  });
  const own = { maxEvents: 10, preferredBytes: 1_058_576 };
  assert.deepEqual(batchPolicyOf({ maxEventsPerBatch: 7 }, field, own), { ...own, maxEvents: 7 });
});

test("what Azure stores by default, one event and 64 KB, batches nothing (B-5)", () => {
  const stored = batchPolicyOf(
    { maxEventsPerBatch: 1, preferredBatchSizeInKilobytes: 64 },
    "destination",
  );
  assert.deepEqual(form(["1", "2"], stored), form(["1", "2"], null));
});

test("batching settings at the ends of their ranges are taken (B-1)", () => {
  const both = (maxEventsPerBatch: number, preferredBatchSizeInKilobytes: number) =>
    batchPolicyOf({ maxEventsPerBatch, preferredBatchSizeInKilobytes }, "destination");
  assert.deepEqual(both(1, 1), { maxEvents: 1, preferredBytes: 1024 });
  assert.deepEqual(both(5000, 1024), { maxEvents: 5000, preferredBytes: 1_048_576 });
});

test("batching settings out of range or not whole are refused, naming field and shape (B-1)", () => {
  const events = "d.maxEventsPerBatch must be a whole number from 1 to 5000, and is";
  const size = "d.preferredBatchSizeInKilobytes must be a whole number from 1 to 1024, and is";
  const table: [Parameters<typeof batchPolicyOf>[0], string][] = [
    [{ maxEventsPerBatch: 0 }, `${events} the number 0`],
    [{ maxEventsPerBatch: 5001 }, `${events} the number 5001`],
    [{ maxEventsPerBatch: 1.5 }, `${events} the number 1.5`],
    [{ maxEventsPerBatch: "100" }, `${events} a text of 3 characters`],
    [{ preferredBatchSizeInKilobytes: 0 }, `${size} the number 0`],
    [{ preferredBatchSizeInKilobytes: 1025 }, `${size} the number 1025`],
    [{ preferredBatchSizeInKilobytes: false }, `${size} false`],
  ];
  for (const [wrong, message] of table) {
    assert.throws(
      () => batchPolicyOf(wrong, "d"),
      (error) =>
        error instanceof Refusal && error.code === "InvalidSetting" && error.message === message,
      message,
    );
  }
});
