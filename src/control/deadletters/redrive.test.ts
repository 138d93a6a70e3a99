// Redrives where the broker's own parts fail or change under them: a store without room, a
// subscription that goes, too many at once. What they do when all is well is in
// test/redrive.test.ts.

import assert from "node:assert/strict";
import { test } from "node:test";
import { subscriptionDraft, topicDraft } from "../../../test/contract/fixture.ts";
import { HandClock } from "../../../test/contract/sink.ts";
import type { RedriveView } from "../../core/api/views.ts";
import { parseStorageAccounts, storageArmId } from "../../core/azure/storage.ts";
import { readRecords } from "../../core/deadletter/letter.ts";
import { letterId } from "../../core/deadletter/letter-path.ts";
import type { DeadLetterReader } from "../../core/deadletter/letter-store.ts";
import { redriveLimits } from "../../core/deadletter/redrive.ts";
import { Refusal } from "../../core/refusal.ts";
import type { Route } from "../../core/request.ts";
import { topicArmId } from "../../core/topic.ts";
import { MemoryStore } from "../../store/memory.ts";
import { apiRoutes } from "../api/serve.ts";
import { Redrives, type RedrivesCluster, type RedrivesDeps } from "./redrives.ts";

const path = "BILLING/2030/1/1/0/x.json";
const resourceId = storageArmId({
  group: { subscriptionId: "s", resourceGroup: "rg" },
  account: "letters",
});

const record = (id: string) => ({
  ...{ id, topic: topicArmId(topicDraft()), subject: "s", data: 1, eventType: "t" },
  ...{ eventTime: "2030-01-01T00:00:00Z", deadLetterReason: "TimeToLiveExceeded" },
});

/** One container with one blob of these events, and time that moves when the test says so. */
async function openBroker(...ids: readonly string[]) {
  const clock = new HandClock();
  const store = new MemoryStore();
  await store.putTopic(topicDraft());
  const draft = subscriptionDraft({
    name: "billing",
    deadLetter: { kind: "blob", resourceId, container: "box" },
  });
  const billing = await store.putSubscription(draft);
  const text = JSON.stringify(ids.map(record));
  const folders = [
    "",
    ...path.split("/").map((_, index, all) => `${all.slice(0, index + 1).join("/")}/`),
  ];
  const reader: DeadLetterReader = {
    async list(_, { prefix }) {
      const place = folders.indexOf(prefix);
      const name = path.split("/")[place] ?? "";
      const isBlob = name.endsWith(".json");
      return {
        kind: "listed",
        folders: isBlob ? [] : [name],
        blobs: isBlob ? [{ path, bytes: text.length, modifiedAt: 0 }] : [],
        next: null,
      };
    },
    read: async (_, _path, wanted) => ({
      ...{ kind: "read", records: readRecords(text, wanted), modifiedAt: 0 },
    }),
    whyUnreachable: async () => null,
  };
  const calls: string[] = [];
  let made = 0;
  let catalog = await store.catalog();
  const broker = { refusals: 0, noteFailures: 0, calls, clock, store, billing };
  const told: RedriveView[] = [];
  const deps: RedrivesDeps = {
    ...{ reader, clock, catalog: () => catalog, profile: "azure" as const, memos: store },
    accounts: parseStorageAccounts({ letters: { folder: "/nowhere" } }),
    redriven: {
      redriven: (keys) => store.redriven(keys),
      async noteRedriven(notes) {
        calls.push("note");
        if (broker.noteFailures-- > 0) throw new Error("The store failed: disk I/O error");
        await store.noteRedriven(notes);
      },
    },
    deliveries: {
      async append(routed, now) {
        calls.push("append");
        if (broker.refusals-- > 0) throw new Refusal("Unavailable", "The disk is full.");
        return store.append(routed, now);
      },
    },
    sink: { send: () => assert.fail() },
    ids: { next: () => `made-${++made}` },
    log: { fact: () => {} },
    meter: { count: () => {} },
  };
  const verbs = new Map<string, (order: never) => Promise<unknown>>();
  /** Of a cluster in which only these are alive, and it has the odd jobs. */
  const openOf = (name: string, others: readonly string[] = []) => {
    let ring = () => {};
    const every = (_ms: number, given: () => void) => {
      ring = given;
      return () => {};
    };
    const cluster: RedrivesCluster = {
      ...{ broker: name, alive: async () => [name, ...others], hasOddJobs: () => true, every },
      calls: {
        answer: (verb, act) => void verbs.set(`${name} ${verb}`, act),
        ask: async <T>(to: string, verb: string, order: unknown) =>
          (await verbs.get(`${to} ${verb}`)?.(order as never)) as T,
      },
    };
    return { redrives: new Redrives({ ...deps, cluster }), look: () => ring() };
  };
  const redrives = new Redrives(deps, (view) => told.push(view));
  const call = async (method: string, body?: object, id?: string) => {
    const route = apiRoutes(redrives.handlers).find(
      (each) => each.method === method && each.path.endsWith(":id") === (id !== undefined),
    ) as Route;
    const bytes = new TextEncoder().encode(body === undefined ? "" : JSON.stringify(body));
    const request = { method, params: id === undefined ? {} : { id }, query: {}, headers: {} };
    const reply = await route.handle({ ...request, body: bytes, remote: "", scheme: "http" });
    return JSON.parse(String(reply.body)) as RedriveView;
  };
  return Object.assign(broker, {
    redrives,
    openOf,
    told,
    call,
    order: (more: object = {}) => call("POST", { query: {}, ...more }),
    /** Lets what can go on go on, and time pass where it waits. */
    async pass(ms: number) {
      for (let step = 0; step < ms; step += 100) {
        for (let turn = 0; turn < 20; turn++) await new Promise((go) => setImmediate(go));
        clock.advance(100);
      }
      for (let turn = 0; turn < 20; turn++) await new Promise((go) => setImmediate(go));
    },
    async refresh() {
      catalog = await store.catalog();
    },
  });
}

test("an event is counted before it is sent, and a store without room is asked again", async () => {
  const broker = await openBroker("a");
  broker.refusals = 2;
  const { id } = await broker.order();
  await broker.pass(3_000);
  const view = await broker.call("GET", undefined, id);
  assert.deepEqual([view.state, view.sent, view.failed], ["done", 1, 0]);
  assert.deepEqual(broker.calls, ["note", "append", "append", "append"]);
  assert.deepEqual(broker.told.at(-1), view, "who watches is told of the end");
});

test("a store that stays full fails the letters by name, and the redrive goes on", async () => {
  const broker = await openBroker("a", "b");
  broker.refusals = 5;
  const { id } = await broker.order();
  await broker.pass(10_000);
  const view = await broker.call("GET", undefined, id);
  assert.deepEqual([view.state, view.sent, view.failed], ["done", 1, 1]);
  assert.deepEqual(view.remarks, ["BILLING, event a: The disk is full."]);
});

test("what cannot be counted is not sent", async () => {
  const broker = await openBroker("a", "b");
  broker.noteFailures = 6;
  const { id } = await broker.order();
  await broker.pass(10_000);
  const view = await broker.call("GET", undefined, id);
  assert.deepEqual([view.state, view.sent, view.failed], ["done", 1, 1]);
  assert.deepEqual(view.remarks, ["BILLING, event a: The store failed: disk I/O error"]);
  assert.deepEqual(broker.calls.slice(5), ["note", "note", "append"]);
});

test("a subscription that goes while a redrive runs gets no more", async () => {
  const broker = await openBroker("a", "b", "c");
  const to = { topic: "orders", subscription: "billing" };
  const { id } = await broker.order({ to, perSecond: 1 });
  await broker.pass(1_000);
  await broker.store.removeSubscription(broker.billing.id);
  await broker.refresh();
  await broker.pass(5_000);
  const view = await broker.call("GET", undefined, id);
  assert.equal(view.state, "done");
  assert.equal(view.sent + view.skipped, 3);
  assert.ok(view.skipped >= 1);
  assert.match(view.remarks[0] ?? "", /^BILLING, event [bc]: orders\/billing has gone\.$/);
});

test("a subscription that is not active is sent nothing", async () => {
  const broker = await openBroker("a");
  const { id: _, revision: __, ...draft } = broker.billing;
  await broker.store.putSubscription({ ...draft, isActive: false });
  await broker.refresh();
  const { remarks } = await broker.order({ dryRun: true });
  assert.deepEqual(remarks, ["BILLING, event a: The subscription is not active."]);
});

test("so many redrives run at a time, and so many are remembered", async () => {
  const broker = await openBroker("a", "b");
  const { runningMax, keptMax } = redriveLimits;
  const slow = { perSecond: 0.01, force: true };
  for (let count = 0; count < runningMax; count++) await broker.order(slow);
  await assert.rejects(
    broker.order(),
    (error) =>
      error instanceof Refusal && error.code === "Conflict" && /8 redrives/.test(error.message),
  );
  await broker.redrives.close();
  const page = (await broker.call("GET")) as unknown as { value: RedriveView[] };
  assert.deepEqual(new Set(page.value.map(({ state }) => state)), new Set(["stopped"]));
  await assert.rejects(broker.order(), /The broker is stopping/);
  const busy = await openBroker("a");
  const ids = [letterId({ account: "letters", container: "box", path, index: 7 })];
  const first = await busy.call("POST", { ids });
  for (let count = 0; count < keptMax; count++) {
    await busy.pass(100);
    await busy.call("POST", { ids });
  }
  await busy.pass(100);
  await assert.rejects(busy.call("GET", undefined, first.id), /There is no redrive/);
  const kept = (await busy.call("GET")) as unknown as { value: RedriveView[] };
  assert.equal(kept.value.length, keptMax);
  assert.deepEqual(kept.value[0]?.remarks, [
    `letters/box/${path}, record 7: There is no such record.`,
  ]);
});

test("a redrive outlives the broker that began it: another goes on with what is left", async () => {
  const broker = await openBroker("a", "b", "c", "d");
  const first = broker.openOf("first");
  const started = await first.redrives.handlers.startRedrive({
    body: { query: {}, perSecond: 1 },
  } as Parameters<typeof first.redrives.handlers.startRedrive>[0]);
  const { id } = ("value" in started ? started.value : started) as RedriveView;
  await broker.pass(1_500);
  await first.redrives.close();
  const sent = broker.calls.filter((call) => call === "append").length;
  assert.ok(sent > 0 && sent < 4, `${sent} sent by the first`);
  const second = broker.openOf("second");
  second.look();
  await broker.pass(8_000);
  const asked = { params: { id } } as Parameters<typeof second.redrives.handlers.showRedrive>[0];
  const view = await second.redrives.handlers.showRedrive(asked);
  assert.deepEqual([(view as RedriveView).state, (view as RedriveView).sent], ["done", 4]);
  assert.equal(broker.calls.filter((call) => call === "append").length, 4);
});

test("a redrive is stopped at any broker", async () => {
  const broker = await openBroker("a", "b", "c", "d");
  const first = broker.openOf("first", ["second"]);
  const second = broker.openOf("second", ["first"]);
  const { handlers } = second.redrives;
  const started = await first.redrives.handlers.startRedrive({
    body: { query: {}, perSecond: 1 },
  } as Parameters<typeof handlers.startRedrive>[0]);
  const { id } = ("value" in started ? started.value : started) as RedriveView;
  await broker.pass(1_500);
  const asked = { params: { id } } as Parameters<typeof handlers.stopRedrive>[0];
  const stopping = handlers.stopRedrive(asked);
  await broker.pass(1_000);
  const stopped = (await stopping) as RedriveView;
  assert.equal(stopped.state, "stopped");
  await broker.pass(8_000);
  assert.equal(broker.calls.filter((call) => call === "append").length, stopped.sent);
  const asking = {} as Parameters<typeof handlers.listRedrives>[0];
  const { value } = (await handlers.listRedrives(asking)) as { value: readonly RedriveView[] };
  assert.deepEqual([value[0]?.state, value[0]?.sent], ["stopped", stopped.sent]);
});
