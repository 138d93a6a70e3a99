import assert from "node:assert/strict";
import { test } from "node:test";
import { noPeers } from "../../core/cluster/peers.ts";
import { otherDeclarers } from "./brokers.ts";

test("brokers whose files declare something else are named, and those that declare nothing not", async () => {
  const peer = (id: string, about: object) => ({ id, about, startedAt: 0, seenAt: 0, slots: [] });
  const list = async () => [
    peer("alike", { declares: "a" }),
    peer("nothing", { declares: null }),
    peer("new", {}),
    peer("other", { declares: "b" }),
  ];
  const others = await otherDeclarers({ ...noPeers, list }, { declares: "a" });
  assert.deepEqual(others, ["other"]);
});
