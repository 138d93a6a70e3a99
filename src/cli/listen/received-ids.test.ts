import assert from "node:assert/strict";
import { test } from "node:test";
import { drawReceivedIds, gapsIn, ReceivedIds } from "./received-ids.ts";

test("gaps are found in rows of ids that end in numbers, whatever order they came in", () => {
  const table: [string[], string[]][] = [
    [[], []],
    [["a-1", "a-2", "a-3"], []],
    [["a-4", "a-1", "a-2"], ["a-3 a-3 1"]],
    [["a-1", "a-5", "b-1", "b-2"], ["a-2 a-4 3"]],
    [["1", "3"], ["2 2 1"]],
    [["order/7", "order/9"], ["order/8 order/8 1"]],
    [["f47ac10b-58cc-4372-a567-0e02b2c3d479", "9c858901-8a57-4791-81fe-4c455b099bc9"], []],
    [["x", "y"], []],
  ];
  for (const [ids, gaps] of table) {
    assert.deepEqual(
      gapsIn(ids).map(({ from, to, count }) => `${from} ${to} ${count}`),
      gaps,
      ids.join(),
    );
  }
});

test("an event that fails and is taken later is no duplicate; one that is taken twice is", () => {
  const receivedIds = new ReceivedIds();
  receivedIds.note(["a-1"], false);
  receivedIds.note(["a-1", "a-2"], true);
  receivedIds.note(["a-2"], true);
  receivedIds.note(["a-4"], false);
  receivedIds.note(["a-5"], true);
  const view = receivedIds.view();
  assert.deepEqual(
    { ...view, signatures: undefined },
    {
      requests: 5,
      arrived: 6,
      accepted: 3,
      refused: 1,
      refusedIds: ["a-4"],
      duplicates: [{ id: "a-2", times: 2 }],
      gaps: [{ from: "a-3", to: "a-4", count: 2 }],
      signatures: undefined,
      isCut: false,
    },
  );
  assert.equal(
    drawReceivedIds(view),
    "5 requests with 6 events, 3 different ids accepted\nnever accepted: a-4\n" +
      "duplicates: a-2 (2 times)\ngaps: a-3 to a-4\n",
  );
});

test("signatures are counted, and a single one is named in the singular", () => {
  const receivedIds = new ReceivedIds();
  receivedIds.note(["a"], true);
  receivedIds.noteSignature(true);
  receivedIds.noteSignature(false);
  assert.equal(
    drawReceivedIds(receivedIds.view()),
    "1 request with 1 event, 1 different id accepted\nno duplicates\nno gaps\n" +
      "signatures: 1 good, 1 bad\n",
  );
});
