import assert from "node:assert/strict";
import { test } from "node:test";
import { subscriptionDraft } from "../../test/contract/fixture.ts";
import { parseStorageAccounts, storageArmId } from "../core/azure/storage.ts";
import type { BlobContainer } from "../core/deadletter/letter-store.ts";
import type { Catalog } from "../core/ports.ts";
import { checkContainers } from "./container-check.ts";

const group = { subscriptionId: "s", resourceGroup: "rg" };

function catalogOf(...places: readonly (readonly [name: string, account: string])[]): Catalog {
  const subscriptions = places.map(([name, account], id) => ({
    ...subscriptionDraft({ name }),
    deadLetter: {
      kind: "blob" as const,
      resourceId: storageArmId({ group, account }),
      container: "box",
    },
    ...{ id, revision: 1 },
  }));
  return { topics: [], subscriptions };
}

test("a container that cannot be reached is told of once while it is named", async () => {
  const told: unknown[] = [];
  const asked: BlobContainer[] = [];
  const tell = checkContainers({
    accounts: parseStorageAccounts({ good: { folder: "/a" }, bad: { folder: "/b" } }),
    reader: {
      list: assert.fail,
      read: assert.fail,
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
  tell(catalogOf(["one", "good"], ["two", "bad"], ["three", "bad"], ["four", "lost"]));
  tell(catalogOf(["one", "good"], ["two", "bad"]));
  await settle();
  assert.deepEqual(told.sort(), [
    ["warn", "deadLetter.unreachable", "four", "The account is not in storageAccounts."],
    ["warn", "deadLetter.unreachable", "two", "The store answered 403."],
  ]);
  assert.deepEqual(asked, [
    { account: "good", container: "box" },
    { account: "bad", container: "box" },
  ]);
  tell(catalogOf(["one", "good"]));
  tell(catalogOf(["one", "good"], ["two", "bad"]));
  await settle();
  assert.equal(told.length, 3, "named anew, it is tried anew");
});
