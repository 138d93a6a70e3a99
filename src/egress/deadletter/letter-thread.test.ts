import assert from "node:assert/strict";
import { test } from "node:test";
import { readRecords } from "../../core/deadletter/letter.ts";
import { openLetterThread } from "./letter-thread.ts";

const letter = (id: string) => ({
  ...{ id, eventType: "t", eventTime: "2030-01-01T00:00:00Z", subject: "s", data: { n: 1 } },
  deadLetterReason: "TimeToLiveExceeded",
});

test("blobs are parsed as they would be here, each to whoever asked", async (t) => {
  const thread = openLetterThread();
  t.after(() => thread.close());
  const texts = ["a", "b", "c"].map((id) => JSON.stringify([letter(id), { no: "letter" }]));
  const heads = texts.map((text) => thread.parse(Buffer.from(text), "heads"));
  const whole = texts.map((text) => thread.parse(Buffer.from(text), [0]));
  for (const [index, text] of texts.entries()) {
    assert.deepEqual(await heads[index], readRecords(text, "heads"));
    assert.deepEqual(await whole[index], readRecords(text, [0]));
  }
  const many = JSON.stringify(Array.from({ length: 1_001 }, (_, index) => letter(`e${index}`)));
  assert.deepEqual(await thread.parse(Buffer.from(many), "heads"), readRecords(many, "heads"));
  assert.deepEqual(await thread.parse(Buffer.from("no JSON"), "heads"), [
    { kind: "unreadable", index: 0, why: "The blob is not JSON." },
  ]);
});

test("a thread that ends gives nothing, and the next blob gets a new one", async () => {
  const thread = openLetterThread();
  const lost = thread.parse(Buffer.from(JSON.stringify([letter("a")])), "heads");
  await thread.close();
  assert.equal(await lost, null);
  const again = await thread.parse(Buffer.from(JSON.stringify([letter("a")])), "heads");
  assert.equal(again?.length, 1);
  await thread.close();
});
