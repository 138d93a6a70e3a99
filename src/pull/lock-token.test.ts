import assert from "node:assert/strict";
import { test } from "node:test";
import type { Delivery } from "../core/delivery/delivery.ts";
import type { Topic } from "../core/topic.ts";
import { lockTokenOf, parseLockToken } from "./lock-token.ts";

const namespace = { lockKey: "secret" } as Topic;
const subscription = 7;

function tokenOf(event: number, lease = 1): string {
  return lockTokenOf(namespace, { id: { event, subscription }, lease } as unknown as Delivery);
}

test("a lock token says which delivery and lease it is for (N-27)", () => {
  const token = tokenOf(1_234_567, 3);
  assert.deepEqual(parseLockToken(namespace, subscription, token), { event: 1_234_567, lease: 3 });
  assert.equal(parseLockToken(namespace, 8, token), null);
});

test("a lock token that was changed anywhere is none (N-27)", () => {
  const token = tokenOf(41);
  for (const at of Buffer.from(token, "base64url").keys()) {
    const bytes = Buffer.from(token, "base64url");
    bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at);
    const changed = bytes.toString("base64url");
    assert.equal(parseLockToken(namespace, subscription, changed), null, `byte ${at}`);
  }
  for (const cut of ["", "-", token.slice(0, 8), token.slice(8), `${token}A`, `${token}-_`]) {
    assert.equal(parseLockToken(namespace, subscription, cut), null, cut);
  }
  const other = { lockKey: "another" } as Topic;
  assert.equal(parseLockToken(other, subscription, token), null);
});

test("a lock token cannot be taken for an option of a command", () => {
  for (let event = 0; event < 1_000; event++) assert.match(tokenOf(event), /^[A-Za-z]/);
});
