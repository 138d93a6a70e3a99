import assert from "node:assert/strict";
import { test } from "node:test";
import { startAt } from "../../../test/contract/fixture.ts";
import { type EventQuery, isFound, type Listed, readCursor, writeCursor } from "./chronicle.ts";

const listed = {
  ...{ event: "system-1", id: "own-1", topic: "Orders", domainTopic: null },
  ...{ subject: "/Shop/A/17", type: "Order.Made", acceptedAt: startAt, number: 1 },
  fates: [
    { subscription: 1, name: "Billing", state: "delivered" },
    { subscription: 2, name: "audit", state: "waiting" },
  ],
} as Listed;

test("a search finds an event by all that it asks for, and by nothing less", () => {
  const table: [Omit<EventQuery, "limit">, boolean][] = [
    [{}, true],
    [{ id: "own-1" }, true],
    [{ id: "system-1" }, true],
    [{ id: "other" }, false],
    [{ topic: "ORDERS" }, true],
    [{ topic: "order" }, false],
    [{ type: "order.made" }, true],
    [{ type: "order" }, false],
    [{ type: "order*" }, true],
    [{ type: "*made" }, true],
    [{ type: "*paid" }, false],
    [{ type: "o*d*m*e" }, true],
    [{ type: "order.made*order.made" }, false],
    [{ subject: "shop/a" }, true],
    [{ subject: "shop/b" }, false],
    [{ subject: "/shop/*/17" }, true],
    [{ subject: "shop/*/17" }, false],
    [{ subject: "/shop/a/1*/17" }, false],
    [{ from: startAt, to: startAt }, true],
    [{ from: startAt + 1 }, false],
    [{ to: startAt - 1 }, false],
    [{ subscription: "billing" }, true],
    [{ subscription: "nobody" }, false],
    [{ state: "waiting" }, true],
    [{ state: "dropped" }, false],
    [{ subscription: "billing", state: "delivered" }, true],
    [{ subscription: "billing", state: "waiting" }, false],
    [{ type: "order.made", subject: "shop/b" }, false],
  ];
  for (const [query, expected] of table) {
    const isIt = isFound({ ...query, limit: 1 })(listed);
    assert.equal(isIt, expected, JSON.stringify(query));
  }
});

test("a place in a list is written and read back, and nothing else is read", () => {
  for (const cursor of [
    { at: 0, place: 0 },
    { at: startAt, place: Number.MAX_SAFE_INTEGER },
  ]) {
    assert.deepEqual(readCursor(writeCursor(cursor)), cursor);
  }
  for (const text of ["", "1", "-", "1-", "A-1", "1-1-1", `${"1".repeat(11)}-1`]) {
    assert.throws(() => readCursor(text), /^Error: after must be|after must be/, text);
  }
});
