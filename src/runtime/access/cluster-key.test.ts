import assert from "node:assert/strict";
import { test } from "node:test";
import type { Peer } from "../../core/cluster/peers.ts";
import { MemoryStore } from "../../store/memory.ts";
import { agreeOnKey } from "./cluster-key.ts";

function openCluster() {
  const store = new MemoryStore();
  const alive: string[] = [];
  return {
    alive,
    start: async (broker: string, key: string) => {
      alive.push(broker);
      await agreeOnKey(
        {
          keepMemo: (...memo) => store.keepMemo(...memo),
          putMemo: (...memo) => store.putMemo(...memo),
          ownership: { ...store.ownership, broker },
          peers: { ...store.peers, list: async () => alive.map((id) => ({ id }) as Peer) },
        },
        key,
      );
    },
    notes: () => store.notes("cluster.adminKey"),
  };
}

test("a broker with another admin key than the others is refused", async () => {
  const { start } = openCluster();
  await start("a", "one key");
  await start("b", "one key");
  await assert.rejects(start("c", "other key"), /other brokers .* \(2\) have another admin key/);
});

test("a broker that is alone may bring another key, which holds from then on", async () => {
  const { alive, start, notes } = openCluster();
  await start("a", "one key");
  alive.length = 0;
  await start("b", "other key");
  await start("c", "other key");
  await assert.rejects(start("d", "one key"));
  assert.doesNotMatch(JSON.stringify([...(await notes())]), /other key/);
});
