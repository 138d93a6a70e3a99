// One admin key for all brokers of a cluster: a client whose next request comes to another broker
// must not be refused there. The database keeps a hash of the key that the brokers alive use.

import { randomBytes, scryptSync, timingSafeEqual } from "node:crypto";
import type { WholeStore } from "../../core/ports.ts";
import { Refusal } from "../../core/refusal.ts";

const memo = ["cluster.adminKey", "hash"] as const;

interface Kept {
  readonly salt: string;
  readonly hash: string;
}

type Cluster = Pick<WholeStore, "keepMemo" | "putMemo" | "ownership" | "peers">;

/** A broker that is alone may bring another key. Refusal: InvalidSetting. */
export async function agreeOnKey(cluster: Cluster, key: string): Promise<void> {
  const salt = randomBytes(16).toString("base64");
  const own: Kept = { salt, hash: hashOf(key, salt) };
  const kept = (await cluster.keepMemo(...memo, own)) as Kept;
  if (timingSafeEqual(Buffer.from(hashOf(key, kept.salt)), Buffer.from(kept.hash))) return;
  const peers = await cluster.peers.list();
  const others = peers.filter(({ id }) => id !== cluster.ownership.broker);
  if (others.length > 0) {
    throw new Refusal(
      "InvalidSetting",
      `The other brokers of this cluster (${others.length}) have another admin key. Give all of them the ` +
        "same one with --admin-key; to change it, stop them first.",
      { target: "admin-key" },
    );
  }
  await cluster.putMemo(...memo, own);
}

function hashOf(key: string, salt: string): string {
  return scryptSync(key, salt, 32).toString("base64");
}
