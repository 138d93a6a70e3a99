// The real program in the place of the retired IoT Edge module: its routes, its keys and its
// environment, asked in plain HTTP as its clients did, against endpoints on real sockets.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { type Program, startProgram } from "./fixtures/program.ts";
import { openReceiver } from "./fixtures/receiver.ts";

type Json = Readonly<Record<string, unknown>>;

const startAt = "2030-01-01T00:00:00.000Z";
const still = ["--clock", "virtual", "--clock-start", startAt];
const moduleKeys = {
  inbound__clientAuth__sasKeys__enabled: "true",
  inbound__clientAuth__sasKeys__key1: "module-key",
};

interface Module {
  readonly program: Program;
  ask(method: string, path: string, body?: unknown, key?: string): Promise<Response>;
  good(method: string, path: string, body?: unknown): Promise<unknown>;
  /** Publishes one event by the module's route. */
  publish(topic: string, id: string): Promise<void>;
  advance(duration: string): Promise<void>;
}

function makeFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "posthorn-module-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

async function openModule(
  t: TestContext,
  env: Readonly<Record<string, string>> = {},
  { folder = makeFolder(t), options = still }: { folder?: string; options?: string[] } = {},
): Promise<Module> {
  const data = ["--data", join(folder, "data"), "--seed", "1"];
  const program = await startProgram([...data, ...options], { ...moduleKeys, ...env });
  t.after(() => program.end("SIGKILL"));
  const module: Module = {
    program,
    ask: (method, path, body, key = "module-key") =>
      fetch(`${program.url}${path}?api-version=2019-01-01-preview`, {
        method,
        headers: { "aeg-sas-key": key, "content-type": "application/json" },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      }),
    async good(method, path, body) {
      const answer = await module.ask(method, path, body);
      const text = await answer.text();
      assert.equal(answer.status, 200, text);
      return text === "" ? null : JSON.parse(text);
    },
    async publish(topic, id) {
      const event = { id, subject: "s", eventType: "t", eventTime: startAt, dataVersion: "1" };
      assert.equal(
        await module.good("POST", `/topics/${topic}/events`, [{ ...event, data: 1 }]),
        null,
      );
    },
    async advance(duration) {
      const body = JSON.stringify({ advance: duration });
      const answer = await fetch(`${program.url}/clock`, { method: "POST", body });
      assert.equal(answer.status, 200, await answer.text());
    },
  };
  return module;
}

const webHook = (endpointUrl: string, more: Json = {}) => ({
  properties: { destination: { endpointType: "WebHook", properties: { endpointUrl } }, ...more },
});

/** Whole minutes between a subscription's attempts, beyond which there is chance, and its end. */
function lifeIn({ program }: Module, subscription: string) {
  const own = program.facts.filter((fact) => fact.subscription === subscription);
  const times = own
    .filter(({ fact }) => fact === "delivery.attempted")
    .map(({ time }) => Date.parse(String(time)));
  const waits = times.slice(1).map((at, index) => Math.floor((at - (times[index] ?? 0)) / 60_000));
  const [end] = own.filter(({ fact }) => fact === "delivery.dropped");
  return { waits, reason: end?.reason };
}

test("limits are set for all, a subscription's own come first, in two queues (E-1, E-2, E-3)", async (t) => {
  const receiver = await openReceiver(t);
  receiver.answer = () => 500;
  const module = await openModule(t, {
    broker__defaultMaxDeliveryAttempts: "3",
    broker__defaultEventTimeToLiveInSeconds: "1800",
  });
  await module.good("PUT", "/topics/t1", { name: "t1" });
  const put = (name: string, retryPolicy?: Json) => {
    const more = retryPolicy === undefined ? {} : { retryPolicy };
    const path = `/topics/t1/eventSubscriptions/${name}`;
    return module.good("PUT", path, webHook(`${receiver.url}/${name}`, more));
  };
  await put("by-default");
  await put("more-attempts", { maxDeliveryAttempts: 50 });
  await put("longer", { eventExpiryInMinutes: 120, maxDeliveryAttempts: 50 });
  await module.publish("t1", "a");
  await module.advance("PT3H");
  await module.program.told("delivery.dropped", 3);
  const ends = { attempts: "MaxDeliveryAttemptsExceeded", life: "TimeToLiveExceeded" };
  assert.deepEqual(lifeIn(module, "by-default"), { waits: [1, 10], reason: ends.attempts });
  assert.deepEqual(lifeIn(module, "more-attempts"), { waits: [1, 10, 10], reason: ends.life });
  const { waits, reason } = lifeIn(module, "longer");
  assert.equal(reason, ends.life);
  assert.deepEqual(waits, [1, ...Array.from({ length: 11 }, () => 10)]);
});

test("the bodies are the module's, from topic to delivery", async (t) => {
  const receiver = await openReceiver(t);
  const module = await openModule(t);
  const topic = await module.good("PUT", "/topics/t1", {});
  const { url } = module.program;
  assert.deepEqual((topic as Json).properties, {
    endpoint: `${url}/topics/t1/events?api-version=2019-01-01-preview`,
    inputSchema: "EventGridSchema",
  });
  await module.good("PUT", "/topics/t1/eventSubscriptions/hook", webHook(receiver.url));
  assert.deepEqual(await module.good("GET", "/topics"), [topic]);
  await module.publish("t1", "a");
  await module.advance("PT1S");
  const [received] = receiver.received;
  assert.deepEqual(JSON.parse(received?.body ?? ""), [
    {
      ...{ id: "a", topic: "t1", subject: "s", data: 1, eventType: "t" },
      ...{ eventTime: startAt, dataVersion: "1", metadataVersion: "1" },
    },
  ]);
  assert.equal(receiver.received.length, 1, "the endpoint was not asked for its consent");
  await module.good("DELETE", "/topics/t1");
  assert.deepEqual(await module.good("GET", "/topics"), []);
  const wrong = await module.ask("GET", "/topics", undefined, "other");
  const { error } = (await wrong.json()) as { error: { code: string; details: { code: string } } };
  assert.deepEqual(
    [wrong.status, error.code, error.details.code],
    [401, "Unauthorized", "UnAuthorized"],
  );
});

test("what is persisted survives a crash, and what is not asked to be does, too (P-13)", async (t) => {
  const receiver = await openReceiver(t);
  receiver.answer = () => 500;
  const folder = makeFolder(t);
  const module = await openModule(t, {}, { folder });
  await module.good("PUT", "/topics/t1", {});
  for (const [name, isPersisted] of [
    ["kept", "true"],
    ["in-memory", "false"],
  ]) {
    const body = webHook(`${receiver.url}/${name}`, { persistencePolicy: { isPersisted } });
    await module.good("PUT", `/topics/t1/eventSubscriptions/${name}`, body);
  }
  await module.publish("t1", "a");
  await module.program.told("delivery.attempted", 2);
  await module.program.end("SIGKILL");
  receiver.answer = () => 200;
  const again = await openModule(t, { broker__logDeliverySuccess: "true" }, { folder });
  await again.advance("PT2M");
  await again.program.told("delivery.attempted", 2);
  const delivered = again.program.facts
    .filter(({ fact, decision }) => fact === "delivery.attempted" && decision === "delivered")
    .map(({ subscription }) => String(subscription));
  assert.deepEqual(delivered.toSorted(), ["in-memory", "kept"]);
  const shown = (await again.good("GET", "/topics/t1/eventSubscriptions")) as {
    properties: { persistencePolicy: unknown };
  }[];
  assert.deepEqual(
    shown.map(({ properties }) => properties.persistencePolicy),
    [{ isPersisted: true }, { isPersisted: false }],
  );
});

test("events are forwarded to a topic of another broker, in batches and with its key", async (t) => {
  const receiver = await openReceiver(t);
  const cloud = await openModule(t, {}, { options: [...still, "--admin-key", "admin"] });
  await cloud.good("PUT", "/topics/cloud", {});
  await cloud.good("PUT", "/topics/cloud/eventSubscriptions/hook", webHook(receiver.url));
  const id = "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/posthorn";
  const topicId = `${id}/providers/Microsoft.EventGrid/topics/cloud`;
  const keys = await fetch(`${cloud.program.url}${topicId}/listKeys`, {
    method: "POST",
    headers: { authorization: "Bearer admin" },
  });
  const { key1 } = (await keys.json()) as { key1: string };
  const module = await openModule(t);
  await module.good("PUT", "/topics/edge", {});
  const forward = (sasKey: string, topicName: string | null) => {
    const endpointUrl = `${cloud.program.url}/topics/cloud/api/events?api-version=2018-01-01`;
    const properties = { endpointUrl, sasKey, topicName, maxEventsPerBatch: 10 };
    const body = { properties: { destination: { endpointType: "EventGrid", properties } } };
    return module.good("PUT", "/topics/edge/eventSubscriptions/up", body);
  };
  for (const topicName of [null, topicId]) {
    await forward(key1, topicName);
    await module.publish("edge", `to ${topicName}`);
    await module.advance("PT1S");
    await cloud.advance("PT1S");
  }
  const received = receiver.received.flatMap(({ body }) => JSON.parse(body) as Json[]);
  assert.deepEqual(
    received.map(({ id: own, topic }) => [own, topic]),
    [
      ["to null", topicId],
      [`to ${topicId}`, topicId],
    ],
  );
  await forward("wrong", null);
  await module.publish("edge", "refused");
  await module.program.told("delivery.attempted");
  const [refused] = module.program.facts.filter(({ fact }) => fact === "delivery.attempted");
  assert.deepEqual([refused?.status, refused?.decision], [401, "retry"]);
});

test("keys without effect here are logged at start, and nothing else is", async (t) => {
  const { program } = await openModule(t, {
    "inbound:clientAuth:clientCert:enabled": "true",
    outbound__webhook__httpsOnly: "true",
    brokers__defaultMaxDeliveryAttempts: "3",
    broker__defaultMaxDeliveryAttemps: "4",
    inbound__mystery: "x",
  });
  await program.told("setting.idle", 3);
  const idle = program.facts.filter(({ fact }) => fact === "setting.idle");
  assert.deepEqual(idle.map(({ name, why }) => [name, String(why).slice(0, 26)]).toSorted(), [
    ["broker__defaultMaxDeliveryAttemps", "The module has no such key"],
    ["inbound__clientAuth__clientCert__enabled", "There is no IoT Edge secur"],
    ["inbound__mystery", "The module has no such key"],
  ]);
});

test("the batching defaults are settings, for subscriptions made by any API (B-4)", async (t) => {
  const folder = makeFolder(t);
  const file = join(folder, "config.json");
  const destination = (properties: Json) => ({
    endpointType: "WebHook",
    properties: { endpointUrl: "http://127.0.0.1:9/", ...properties },
  });
  const declared = { destination: destination({ maxEventsPerBatch: 7 }) };
  const orders = { key1: "k", key2: "l", subscriptions: { declared } };
  writeFileSync(file, JSON.stringify({ topics: { orders } }));
  const options = ["--config", file, "--auth", "off", "--handshake", "off"];
  const settings = ["--default-max-events-per-batch=25", "--default-preferred-batch-size=256"];
  const module = await openModule(
    t,
    { broker__defaultMaxEventsPerBatch: "12" },
    { folder, options: [...options, ...settings] },
  );
  const local = "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/posthorn";
  const scope = `${local}/providers/Microsoft.EventGrid/topics/orders/eventSubscriptions`;
  const arm = async (method: string, name: string, body?: unknown) => {
    const answer = await fetch(`${module.program.url}${scope}/${name}`, {
      method,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const shown = (await answer.json()) as { properties: { destination: { properties: Json } } };
    const { properties } = shown.properties.destination;
    return [properties.maxEventsPerBatch, properties.preferredBatchSizeInKilobytes];
  };
  assert.deepEqual(await arm("GET", "declared"), [7, 256]);
  const sized = { properties: { destination: destination({ preferredBatchSizeInKilobytes: 9 }) } };
  assert.deepEqual(await arm("PUT", "by-arm", sized), [25, 9]);
  const put = (properties: Json) =>
    module.good("PUT", "/topics/orders/eventSubscriptions/by-module", {
      properties: { destination: destination(properties) },
    });
  await put({ maxEventsPerBatch: 3 });
  assert.deepEqual(await arm("GET", "by-module"), [3, 256]);
  await put({ preferredBatchSizeInKilobytes: 9 });
  assert.deepEqual(await arm("GET", "by-module"), [12, 9], "the module's own key comes first");
});
