import assert from "node:assert/strict";
import { test } from "node:test";
import { LiveCatalog } from "../core/routing/live-catalog.ts";
import { plainSubscription } from "../core/subscription.ts";
import { plainTopic } from "../core/topic.ts";
import { MemoryStore } from "../store/memory.ts";
import { logUnusedSettings } from "./unused-settings.ts";

test("settings that a new profile does not know are logged, and stay as they are (P-6, P-9)", async () => {
  const store = new MemoryStore();
  const keys = { key1: "a", key2: "b", origin: "api" } as const;
  await store.putTopic({ ...plainTopic, ...keys, name: "orders" });
  await store.putTopic({ ...plainTopic, ...keys, name: "own", profile: "azure" });
  const batched = {
    ...plainSubscription,
    name: "billing",
    batch: { maxEvents: 5, preferredBytes: 1024 },
    origin: "api",
    destination: { kind: "webhook", url: "http://endpoint.test/" },
    retryPolicy: { maxDeliveryAttempts: 3, eventTimeToLiveMs: null },
  } as const;
  await store.putSubscription({ ...batched, topic: "orders" });
  await store.putSubscription({ ...batched, topic: "own" });
  const told: unknown[] = [];
  const log = { fact: (...fact: unknown[]) => void told.push(fact) };
  const catalog = await store.catalog();
  logUnusedSettings(new LiveCatalog(catalog), "azure", log);
  assert.deepEqual(told, []);
  logUnusedSettings(new LiveCatalog(catalog), "ga-2018", log);
  const words =
    "the profile ga-2018 does not support a number of attempts per subscription; " +
    "the profile ga-2018 does not support batches";
  const members = ["retryPolicy.maxDeliveryAttempts", "destination.properties.maxEventsPerBatch"];
  assert.deepEqual(told, [
    ["warn", "subscription.idle", { topic: "orders", subscription: "billing", members, words }],
  ]);
  assert.deepEqual(await store.catalog(), catalog);
});
