import assert from "node:assert/strict";
import { test } from "node:test";
import { subscriptionDraft } from "../../../test/contract/fixture.ts";
import { plainRequest } from "../../../test/fixtures/request.ts";
import { Refusal } from "../../core/refusal.ts";
import { LiveCatalog } from "../../core/routing/live-catalog.ts";
import { type SubscriptionDraft, termsIn } from "../../core/subscription.ts";
import { plainTopic } from "../../core/topic.ts";
import { MemoryStore } from "../../store/memory.ts";
import { apiRoutes } from "./serve.ts";
import { signingHandlers } from "./signing.ts";

const dayMs = 86_400_000;
const startAt = Date.UTC(2030, 0, 1);
const own = `whsec_${Buffer.alloc(24, "o").toString("base64")}`;

async function open(changes: Partial<SubscriptionDraft> = {}) {
  const store = new MemoryStore();
  await store.putTopic({ ...plainTopic, name: "orders", key1: "a", key2: "b", origin: "api" });
  await store.putSubscription({
    ...subscriptionDraft({ name: "billing", topic: "orders" }),
    ...changes,
  });
  const catalog = new LiveCatalog(await store.catalog());
  let now = startAt;
  let made = 0;
  const facts: unknown[] = [];
  const refresh = async () => {
    catalog.update(null, await store.catalog());
  };
  const handlers = signingHandlers({
    registry: store,
    catalog: () => catalog,
    refresh,
    clock: { now: () => now, after: () => () => {} },
    log: { fact: (...fact) => facts.push(fact) },
    makeKey: () => Buffer.alloc(32, String(++made)).toString("base64"),
  });
  const routes = apiRoutes(handlers);
  const ask = async (method: "GET" | "POST", order?: unknown, params = {}, query = {}) => {
    const route = routes.find((one) => one.method === method);
    assert.equal(route?.path, "/api/v1/topics/:topic/subscriptions/:name/signing");
    const reply = await route?.handle({
      ...plainRequest,
      method,
      params: { topic: "Orders", name: "BILLING", ...params },
      query,
      body: order === undefined ? new Uint8Array() : Buffer.from(JSON.stringify(order)),
    });
    assert.equal(reply?.status, 200);
    assert.equal(route?.headers?.["cache-control"], "no-store");
    return (JSON.parse(reply?.body ?? "") as { secrets: { secret: string; expiresAt: string }[] })
      .secrets;
  };
  return {
    ...{ store, facts, ask, refresh },
    pass: (ms: number) => {
      now += ms;
    },
    record: async () => (await store.catalog()).subscriptions[0],
  };
}

const made = (index: number) => `whsec_${Buffer.alloc(32, String(index)).toString("base64")}`;

test("a subscription is signed from when its first secret is asked for", async () => {
  const broker = await open();
  assert.deepEqual(await broker.ask("GET"), []);
  const secrets = [{ secret: made(1), expiresAt: null }];
  assert.deepEqual(await broker.ask("POST"), secrets);
  assert.deepEqual(await broker.ask("GET"), secrets);
  assert.deepEqual((await broker.record())?.signing, [{ secret: made(1), expiresAt: null }]);
});

test("a new secret follows with an overlap, by default a day, and is logged without it", async () => {
  const broker = await open();
  await broker.ask("POST");
  assert.deepEqual(await broker.ask("POST", { secret: own }), [
    { secret: own, expiresAt: null },
    { secret: made(1), expiresAt: "2030-01-02T00:00:00.000Z" },
  ]);
  broker.pass(dayMs);
  assert.deepEqual(await broker.ask("GET"), [{ secret: own, expiresAt: null }]);
  assert.deepEqual(await broker.ask("POST", { overlapMs: 0 }), [
    { secret: made(2), expiresAt: null },
  ]);
  assert.equal(JSON.stringify(broker.facts).includes("whsec_"), false);
  const change = { topic: "orders", subscription: "billing", change: "rotated" };
  assert.deepEqual(broker.facts.at(-1), ["info", "signing.changed", change]);
});

test("off forgets all secrets", async () => {
  const broker = await open();
  await broker.ask("POST");
  assert.deepEqual(await broker.ask("POST", { off: true }), []);
  assert.deepEqual((await broker.record())?.signing, []);
});

test("terms that wait for their endpoint get the new secret, too", async () => {
  const pending = termsIn(subscriptionDraft({ name: "billing" }));
  const times = { startedAt: startAt, until: startAt + 1, allowedRate: null };
  const broker = await open({ handshake: { code: "c", ...times, pending, exchanges: [] } });
  await broker.ask("POST", { secret: own });
  const record = await broker.record();
  const signing = [{ secret: own, expiresAt: null }];
  assert.deepEqual([record?.signing, record?.handshake?.pending?.signing], [signing, signing]);
});

test("a write by somebody else in between is not undone", async () => {
  const broker = await open();
  const before = await broker.record();
  assert.ok(before);
  const { id: _, revision: __, ...draft } = before;
  await broker.store.putSubscription({ ...draft, labels: ["theirs"] });
  await broker.ask("POST", { secret: own });
  assert.deepEqual((await broker.record())?.labels, ["theirs"]);
  assert.equal((await broker.record())?.signing.length, 1);
});

test("within a domain the topic is named as well", async () => {
  const broker = await open({ domainTopic: "eu" });
  await assert.rejects(broker.ask("GET"), /There is no subscription "BILLING" of "Orders"/);
  assert.deepEqual(await broker.ask("GET", undefined, {}, { domainTopic: "EU" }), []);
});

test("bad orders are refused in words, and change nothing", async () => {
  const broker = await open();
  await broker.ask("POST", { secret: own });
  const refused = async (order: unknown, words: RegExp) => {
    await assert.rejects(broker.ask("POST", order), (error) => {
      assert.ok(error instanceof Refusal);
      assert.match(error.message, words);
      assert.equal(error.message.includes("c2hvcnQ"), false, "no word of the secret");
      return true;
    });
  };
  await refused({ secret: "whsec_c2hvcnQ=" }, /secret must be whsec_ and 24 to 64 bytes in base64/);
  await refused({ secret: own }, /secret must differ from the active ones/);
  await refused({ overlapMs: -1 }, /overlapMs must be a whole number of milliseconds from 0 to/);
  await refused({ overlapMs: 31 * dayMs }, /overlapMs must be/);
  await refused({ overlapMs: "P1D" }, /overlapMs must be/);
  await refused({ off: "yes" }, /off must be true or false/);
  await refused({ off: true, secret: own }, /secret must be left out: off forgets all secrets/);
  await refused({ overlap: 1 }, /overlap/);
  await refused([], /must be an object/);
  assert.equal((await broker.record())?.signing.length, 1);
});
