import assert from "node:assert/strict";
import { test } from "node:test";
import { subscriptionDraft } from "../../test/contract/fixture.ts";
import { parseStorageAccounts, storageArmId } from "../core/azure/storage.ts";
import type { BlobContainer } from "../core/deadletter/letter-store.ts";
import type { Subscription } from "../core/subscription.ts";
import { checkContainers } from "./container-check.ts";

const group = { subscriptionId: "s", resourceGroup: "rg" };

function subscriptionOf(id: number, name: string, account: string): Subscription {
  return {
    ...subscriptionDraft({ name }),
    deadLetter: {
      kind: "blob" as const,
      resourceId: storageArmId({ group, account }),
      container: "box",
    },
    ...{ id, revision: 1 },
  };
}

test("a container that cannot be reached is logged once while it is named", async () => {
  const told: unknown[] = [];
  const asked: BlobContainer[] = [];
  const tell = checkContainers({
    accounts: parseStorageAccounts({ good: { folder: "/a" }, bad: { folder: "/b" } }),
    reader: {
      list: assert.fail,
      read: () => assert.fail(),
      async whyUnreachable(place) {
        asked.push(place);
        return place.account === "bad" ? "The store answered 403." : null;
      },
    },
    log: {
      fact: (level, name, { subscription, why }) => told.push([level, name, subscription, why]),
    },
  });
  const settle = () => new Promise<void>((resolve) => setImmediate(resolve));
  const one = subscriptionOf(1, "one", "good");
  const two = subscriptionOf(2, "two", "bad");
  const three = subscriptionOf(3, "three", "bad");
  const four = subscriptionOf(4, "four", "lost");
  const put = (...subscriptions: readonly Subscription[]) =>
    tell({ subscriptions, gone: { topics: [], subscriptions: [] } });
  const remove = (...subscriptions: readonly Subscription[]) =>
    tell({ subscriptions: [], gone: { topics: [], subscriptions } });
  put(one, two, three, four);
  put(one, { ...two });
  remove(three, four);
  put(three);
  await settle();
  assert.deepEqual(told.sort(), [
    ["warn", "deadLetter.unreachable", "four", "The account is not in storageAccounts."],
    ["warn", "deadLetter.unreachable", "two", "The store answered 403."],
  ]);
  assert.deepEqual(asked, [
    { account: "good", container: "box" },
    { account: "bad", container: "box" },
  ]);
  remove(two);
  put({ ...three, deadLetter: one.deadLetter });
  put(two);
  await settle();
  assert.equal(told.length, 3, "named again, it is tried again");
});
