import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Catalog } from "../registry.ts";
import { plainSubscription, type Subscription } from "../subscription.ts";
import { plainTopic, type Topic } from "../topic.ts";
import { LiveCatalog } from "./live-catalog.ts";

function topic(name: string, revision = 1): Topic {
  return { ...plainTopic, name, key1: "one", key2: "two", origin: "api", revision };
}

function subscription(id: number, over: Partial<Subscription> = {}): Subscription {
  return {
    ...plainSubscription,
    ...{ id, topic: "orders", name: `sub-${id}`, revision: 1, origin: "api" },
    destination: { kind: "webhook", url: "https://subscriber.example/hook" },
    ...over,
  };
}

const nothing: Catalog = { topics: [], subscriptions: [] };

test("only what is named is looked at, and only what is different is told", () => {
  const [orders, one, two] = [topic("orders"), subscription(1), subscription(2)];
  const catalog = new LiveCatalog({ topics: [orders], subscriptions: [one, two] });
  const changed = subscription(2, { revision: 2 });
  const change = catalog.update(
    { topics: ["ORDERS", "unknown"], subscriptions: [2, 3, 9] },
    { topics: [topic("Orders")], subscriptions: [changed, subscription(3)] },
  );
  assert.deepEqual(change, {
    topics: [],
    subscriptions: [changed, subscription(3)],
    gone: nothing,
  });
  assert.equal(catalog.subscription(1), one);
  assert.equal(catalog.topic("oRDERS"), orders, "the same revision is the same record");
});

test("what is named and was not read is gone, whatever else is there", () => {
  const [orders, one, two] = [topic("orders"), subscription(1), subscription(2)];
  const catalog = new LiveCatalog({ topics: [orders], subscriptions: [one, two] });
  const { gone } = catalog.update({ topics: ["ORDERS"], subscriptions: [1] }, nothing);
  assert.deepEqual(gone, { topics: [orders], subscriptions: [one] });
  assert.deepEqual([catalog.topics, catalog.subscriptions], [[], [two]]);
  assert.equal(catalog.named(one), undefined);
});

test("a subscription is found by name, also when another has taken the name", () => {
  const old = subscription(1, { domainTopic: "Berlin", name: "mail" });
  const catalog = new LiveCatalog({ topics: [topic("orders")], subscriptions: [old] });
  const name = { topic: "ORDERS", domainTopic: "berlin", name: "MAIL" };
  assert.equal(catalog.named(name), old);
  assert.equal(catalog.named({ ...name, domainTopic: null }), undefined);
  const anew = { ...old, id: 2, revision: 2 };
  catalog.update({ topics: [], subscriptions: [2] }, { topics: [], subscriptions: [anew] });
  catalog.update({ topics: [], subscriptions: [1] }, nothing);
  assert.equal(catalog.named(name), anew);
});

test("read record by record or as a whole, the catalog is the same", () => {
  const record = fc.record({ id: fc.nat(5), isThere: fc.boolean() });
  fc.assert(
    fc.property(fc.array(fc.array(record, { maxLength: 4 }), { maxLength: 10 }), (steps) => {
      const stored = new Map<number, Subscription>();
      const live = new LiveCatalog();
      const whole = new LiveCatalog();
      let revision = 0;
      for (const step of steps) {
        for (const { id, isThere } of step) {
          if (isThere) stored.set(id, subscription(id, { revision: ++revision }));
          else stored.delete(id);
        }
        const ids = step.map(({ id }) => id);
        live.update(
          { topics: [], subscriptions: ids },
          { topics: [], subscriptions: ids.flatMap((id) => stored.get(id) ?? []) },
        );
        whole.update(null, { topics: [], subscriptions: [...stored.values()] });
        const sorted = (all: readonly Subscription[]) => all.toSorted((a, b) => a.id - b.id);
        assert.deepEqual(sorted(live.subscriptions), sorted(whole.subscriptions));
      }
    }),
  );
});
