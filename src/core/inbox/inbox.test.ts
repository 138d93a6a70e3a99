import assert from "node:assert/strict";
import { test } from "node:test";
import { startAt } from "../../../test/contract/fixture.ts";
import { type InboxAnswer, inboxLimits, inboxModes, keepLatest, receive } from "./inbox.ts";

const times = { turn: 0, number: 1, at: startAt };
const accept = { mode: "accept", delayMs: 0 } as const;
const event = { id: "a", eventType: "t", subject: "s", data: {} };

function post(body: unknown, headers: Readonly<Record<string, string>> = {}) {
  return { method: "POST", path: "/inboxes/test", headers, body: JSON.stringify(body) };
}

test("an inbox answers deliveries as it was told to", () => {
  const table: [InboxAnswer["mode"], turn: number, status: number][] = [
    ["accept", 0, 200],
    ["fail", 0, 500],
    ["slow", 0, 200],
    ["tooLarge", 0, 413],
    ["flapping", 0, 500],
    ["flapping", 1, 200],
    ["flapping", 2, 500],
  ];
  assert.deepEqual(new Set(table.map(([mode]) => mode)), new Set(inboxModes));
  for (const [mode, turn, status] of table) {
    const { reply, kept } = receive(post([event]), { mode, delayMs: 7 }, { ...times, turn });
    assert.deepEqual([reply.status, reply.delayMs], [status, 7], `${mode} ${turn}`);
    assert.deepEqual([kept.kind, kept.status, kept.eventIds], ["events", status, ["a"]]);
  }
});

test("what is no delivery is answered well and at once, whatever it was told", () => {
  const told = { mode: "fail", delayMs: 1_000 } as const;
  const validation = post([{ ...event, data: { validationCode: "C" } }], {
    "aeg-event-type": "SubscriptionValidation",
  });
  const options = { ...post({}), method: "OPTIONS", headers: { "webhook-request-origin": "o" } };
  const deletion = post([event], { "aeg-event-type": "SubscriptionDeletion" });
  const table: [Parameters<typeof receive>[0], kind: string, status: number][] = [
    [validation, "handshake", 200],
    [options, "handshake", 200],
    [deletion, "deletion", 200],
    [{ ...post({}), body: "no JSON" }, "other", 400],
  ];
  for (const [arrived, kind, status] of table) {
    const { reply, kept } = receive(arrived, told, times);
    assert.deepEqual([kept.kind, reply.status, reply.delayMs], [kind, status, 0]);
  }
  assert.equal(receive(validation, told, times).reply.body, '{"validationResponse":"C"}');
  assert.equal(receive(options, told, times).reply.headers["webhook-allowed-origin"], "o");
});

test("of long bodies the beginning is kept, and of many requests the latest", () => {
  const { bodyCharsMax, requestsMax, bytesMax } = inboxLimits;
  const { kept } = receive(post(["x".repeat(2 * bodyCharsMax)]), accept, times);
  assert.deepEqual([kept.body.length, kept.isCut], [bodyCharsMax, true]);
  assert.ok(kept.bytes > 2 * bodyCharsMax);
  const small = receive(post([event]), accept, times).kept;
  const fill = (one: typeof kept) => {
    let requests: readonly (typeof kept)[] = [];
    for (let number = 1; number <= 150; number += 1) {
      requests = keepLatest(requests, { ...one, number });
    }
    return requests.map(({ number }) => number);
  };
  assert.deepEqual([fill(small).length, fill(small).at(-1)], [requestsMax, 150]);
  assert.deepEqual([fill(kept).length, fill(kept).at(-1)], [bytesMax / bodyCharsMax, 150]);
  const huge = { ...kept, body: "x".repeat(2 * bytesMax) };
  assert.equal(keepLatest([small], huge).length, 1, "the latest stays, however large it is");
});
