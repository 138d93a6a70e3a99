// The wire of namespaces, rule by rule, where no client of Microsoft's goes: versions, limits,
// filters, and what becomes of a queue, its dead letters and its pushes on the virtual clock.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import {
  type NamespaceBroker,
  namespaceKey,
  openNamespaceBroker,
} from "./fixtures/namespace-broker.ts";
import { openReceiver } from "./fixtures/receiver.ts";

const queue = (over: object = {}, more: object = {}) => ({
  deliveryConfiguration: { deliveryMode: "Queue", queue: over },
  ...more,
});
const wanting = (...filters: readonly object[]) => queue({}, { filtersConfiguration: { filters } });

const account = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Storage/storageAccounts/box";
const deadLetterDestination = {
  endpointType: "StorageBlob",
  properties: { resourceId: account, blobContainerName: "letters" },
};

const topics = {
  versions: { all: queue() },
  checked: { all: queue() },
  copies: { one: queue(), two: queue() },
  filters: {
    source: wanting({ operatorType: "StringIn", key: "source", values: ["/A"] }),
    data: wanting({ operatorType: "NumberGreaterThan", key: "data.n", value: 5 }),
    extension: wanting({ operatorType: "StringContains", key: "color", values: ["RE"] }),
    absent: wanting({ operatorType: "StringNotIn", key: "color", values: ["red"] }),
    both: wanting(
      { operatorType: "StringBeginsWith", key: "type", values: ["x", "T"] },
      { operatorType: "IsNotNull", key: "data.n" },
    ),
  },
  brief: {},
  letters: { all: queue({ deadLetterDestination }) },
};

let broker: NamespaceBroker;
const ends: (() => unknown)[] = [];

before(async () => {
  broker = await openNamespaceBroker(
    { after: (end) => void ends.push(end) },
    Object.fromEntries(
      Object.entries(topics).map(([name, subscriptions]) => [name, { subscriptions }]),
    ),
    {
      sections: (folder) => {
        // A file where the folder should be: nothing can be written there.
        writeFileSync(join(folder, "dead"), "");
        return { storageAccounts: { box: { folder: join(folder, "dead") } } };
      },
    },
  );
});

after(async () => {
  for (const end of ends) await end();
});

const batch = "application/cloudevents-batch+json";
const event = (id: string, over: object = {}) => ({
  ...{ specversion: "1.0", id, source: "/s", type: "t" },
  ...over,
});
const publish = (topic: string, body: unknown, type = batch) =>
  broker.post(`/topics/${topic}:publish`, JSON.stringify(body), type);
const idsAt = async (topic: string, subscription: string) =>
  (await broker.receive(topic, subscription)).map(({ id, count }) => `${id} ${count}`);

test("every version is served, also for what it did not have; no other is (N-4)", async () => {
  const at = async (version: string) => {
    const path = "/topics/versions/eventsubscriptions/all";
    const ask = async (order: string, body: object) => {
      const answer = await fetch(`${broker.program.url}${path}:${order}?${version}`, {
        method: "POST",
        headers: { authorization: `SharedAccessKey ${namespaceKey}` },
        body: JSON.stringify(body),
      });
      return { status: answer.status, body: JSON.parse(await answer.text()) };
    };
    const renewed = await ask("renewLock", { lockTokens: [] });
    const released = await ask("release", { lockTokens: [] });
    assert.equal(renewed.status, released.status);
    return [renewed.status, renewed.body.error?.code];
  };
  const known = ["2023-06-01-preview", "2023-09-01-preview", "2023-10-01-preview"];
  for (const version of [...known, "2023-11-01", "2024-06-01", "2023-10-01-PREVIEW"]) {
    assert.deepEqual(await at(`api-version=${version}`), [200, undefined], version);
    assert.deepEqual(await at(`API-Version=${version}`), [200, undefined], version);
  }
  for (const wrong of ["api-version=2022-01-01", "api-version=", ""]) {
    assert.deepEqual(await at(wrong), [400, "InvalidApiVersion"], wrong);
  }
});

test("what an event must have, all of a publish or none, and nothing is a repetition (N-11, N-13)", async () => {
  for (const missing of ["id", "source", "type", "specversion"]) {
    const bad = { ...event("bad"), [missing]: undefined };
    const { status, body } = await publish("checked", [event("good"), bad]);
    assert.equal(status, 400, missing);
    assert.match(body.error.message, new RegExp(missing));
  }
  assert.deepEqual(await publish("checked", [event("same"), event("same")]), {
    ...{ status: 200, body: {} },
  });
  assert.deepEqual(await idsAt("checked", "all"), ["same 1", "same 1"]);
});

test("a thousand events and a megabyte, and no more; none are welcome (N-14, N-20)", async () => {
  const many = Array.from({ length: 1_001 }, (_, index) => event(`e${index}`));
  assert.equal((await publish("brief", many)).status, 413);
  assert.equal((await publish("brief", many.slice(1))).status, 200);
  const large = event("large", { data: "x".repeat(1024 * 1024) });
  const refused = await publish("brief", [large]);
  assert.deepEqual([refused.status, refused.body.error.code], [413, "PayloadTooLarge"]);
  assert.deepEqual(await publish("brief", []), { status: 200, body: {} });
});

test("each subscription has its own copy, and tokens for it alone (N-15, N-24, N-27, N-43)", async () => {
  await broker.publish("copies", "a", "b");
  // A body means nothing to a receive.
  const path = "/topics/copies/eventsubscriptions/one:receive";
  const { body } = await broker.post(path, '{"maxEvents":2}');
  assert.deepEqual(
    body.value.map((each: { event: { id: string } }) => each.event.id),
    ["a"],
  );
  const { lockToken } = body.value[0].brokerProperties;
  const foreign = await broker.settle("copies", "two", "acknowledge", lockToken);
  assert.equal(foreign.body.failedLockTokens[0].error.code, "BadToken");
  const own = await broker.settle("copies", "one", "release", lockToken);
  assert.deepEqual(own.body.succeededLockTokens, [lockToken]);
  // Released, it is where its publish time puts it: first.
  assert.deepEqual(await idsAt("copies", "one"), ["a 2", "b 1"]);
  assert.deepEqual(await idsAt("copies", "two"), ["a 1", "b 1"]);
  await broker.arm("PUT", "/namespaces/shop/topics/copies/eventSubscriptions/three", {
    properties: queue(),
  });
  await broker.publish("copies", "c");
  assert.deepEqual(await idsAt("copies", "three"), ["c 1"]);
});

test("filters by attribute, extension and data, as those of topics (N-79, N-80)", async () => {
  await publish("filters", [
    event("source", { source: "/a" }),
    event("data", { data: { n: 6 } }),
    event("text", { data: { n: "7" } }),
    event("red", { color: "Red" }),
  ]);
  const wanted = {
    source: ["source"],
    data: ["data"],
    extension: ["red"],
    // A missing key matches the operators that deny.
    absent: ["source", "data", "text"],
    both: ["data", "text"],
  };
  for (const [subscription, ids] of Object.entries(wanted)) {
    const got = await broker.receive("filters", subscription);
    assert.deepEqual([subscription, ...got.map(({ id }) => id)], [subscription, ...ids]);
  }
});

test("an event subscription that has expired is there no longer (N-47)", async () => {
  const path = "/namespaces/shop/topics/brief/eventSubscriptions/soon";
  const properties = queue({}, { expirationTimeUtc: "2030-01-01T01:00:00Z" });
  assert.ok((await broker.arm("PUT", path, { properties })).status < 300);
  await broker.publish("brief", "a", "b");
  const [first] = await broker.receive("brief", "soon", 1);
  await broker.advance("PT1H");
  const receive = "/topics/brief/eventsubscriptions/soon:receive";
  assert.equal((await broker.post(receive)).status, 404);
  const late = await broker.settle("brief", "soon", "acknowledge", first?.token ?? "");
  assert.equal(late.status, 404);
});

test("a store of dead letters that fails is tried for two days, and then they are dropped (N-53)", async () => {
  await broker.publish("letters", "a");
  const [got] = await broker.receive("letters", "all");
  await broker.settle("letters", "all", "reject", got?.token ?? "");
  const drops = () =>
    broker.program.facts.filter(
      ({ fact, topic }) => fact === "delivery.dropped" && topic === "shop/letters",
    );
  await broker.advance("PT47H");
  assert.deepEqual(drops(), []);
  await broker.advance("PT2H");
  await broker.program.until(() => drops().length > 0);
  assert.deepEqual(
    drops().map(({ reason }) => reason),
    ["DeadLetterStoreUnavailable"],
  );
});

test("a push has its own headers, and batches if it asks for them (N-56, N-62)", async (t) => {
  const receiver = await openReceiver(t);
  const push = (path: string, more: object) => ({
    deliveryConfiguration: {
      deliveryMode: "Push",
      push: {
        destination: {
          endpointType: "WebHook",
          properties: { endpointUrl: `${receiver.url}/${path}`, ...more },
        },
      },
    },
  });
  const deliveryAttributeMappings = [
    { name: "x-fixed", type: "Static", properties: { value: "v", isSecret: false } },
    { name: "x-id", type: "Dynamic", properties: { sourceField: "id" } },
  ];
  const pushing = await openNamespaceBroker(t, {
    orders: {
      subscriptions: {
        one: push("one", { deliveryAttributeMappings }),
        many: push("many", { maxEventsPerBatch: 10, preferredBatchSizeInKilobytes: 64 }),
      },
    },
  });
  await pushing.publish("orders", "a", "b");
  await pushing.advance("PT1M");
  const sent = (path: string) => receiver.received.filter((one) => one.path === path);
  await pushing.program.until(() => sent("/one").length === 2 && sent("/many").length > 0);
  const [first] = sent("/one");
  assert.equal(first?.headers["x-fixed"], "v");
  assert.equal(first?.headers["x-id"], JSON.parse(String(first?.body)).id);
  const [both] = sent("/many");
  assert.equal(both?.headers["content-type"], `${batch}; charset=utf-8`);
  for (const each of [first, both]) {
    assert.equal(each?.headers["aeg-compatibility-mode-enabled"], "false");
  }
  assert.deepEqual(
    JSON.parse(String(both?.body)).map(({ id }: { id: string }) => id),
    ["a", "b"],
  );
});
