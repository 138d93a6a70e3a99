// Real processes on a real PostgreSQL: what is done at one broker holds at the other, a broker that
// dies is replaced, and everything is served once.

import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { InboxRequestView, InboxView } from "../src/core/api/views.ts";
import { Looks } from "./fixtures/looks.ts";
import { startPostgres } from "./fixtures/postgres.ts";
import { type Program, startProgram } from "./fixtures/program.ts";

/** An endpoint that answers handshakes, and collects the ids of what it gets. */
async function openEndpoint(t: TestContext) {
  const got: string[] = [];
  const asked: string[] = [];
  const looks = new Looks();
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    const events = JSON.parse(body) as { id: string; data?: { validationCode?: string } }[];
    const kind = request.headers["aeg-event-type"];
    if (kind === "SubscriptionValidation") {
      asked.push(events[0]?.id ?? "");
      response.end(JSON.stringify({ validationResponse: events[0]?.data?.validationCode }));
      return;
    }
    if (kind === "Notification") got.push(...events.map(({ id }) => id));
    response.end();
    looks.again();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const until = (isWanted: () => boolean) => looks.until(isWanted);
  return { url: `http://127.0.0.1:${port}/hook`, got, asked, until };
}

async function openBrokers(t: TestContext, count: number) {
  const postgres = await startPostgres(t);
  const url = await postgres.newDatabase();
  const start = async () => {
    const data = mkdtempSync(join(tmpdir(), "posthorn-cluster-"));
    const broker = await startProgram(["--store", url, "--data", data]);
    t.after(async () => {
      await broker.end("SIGKILL");
      rmSync(data, { recursive: true });
    });
    const key = readFileSync(join(data, "admin.key"), "utf8").trim();
    return { ...broker, key };
  };
  const brokers: (Program & { key: string })[] = [];
  for (let each = 0; each < count; each += 1) brokers.push(await start());
  return { brokers, start };
}

async function ask(broker: Program & { key: string }, method: string, path: string, body?: object) {
  const response = await fetch(`${broker.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${broker.key}`, "content-type": "application/json" },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  assert.ok(response.status < 300, `${method} ${path}: ${response.status} ${text}`);
  return text === "" ? null : JSON.parse(text);
}

const group = "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/posthorn";
const topicPath = `${group}/providers/Microsoft.EventGrid/topics/orders`;
const version = "api-version=2025-02-15";

async function subscribe(broker: Program & { key: string }, name: string, endpointUrl: string) {
  const path = `${topicPath}/eventSubscriptions/${name}?${version}`;
  const properties = { endpointUrl };
  await ask(broker, "PUT", path, {
    properties: { destination: { endpointType: "WebHook", properties } },
  });
  return path;
}

async function publish(broker: Program & { key: string }, key: string, ...ids: string[]) {
  const events = ids.map((id) => ({
    ...{ id, subject: "s", eventType: "t", dataVersion: "1", data: {} },
    eventTime: "2030-01-01T00:00:00Z",
  }));
  const response = await fetch(`${broker.url}/topics/orders/api/events`, {
    method: "POST",
    headers: { "aeg-sas-key": key, "content-type": "application/json" },
    body: JSON.stringify(events),
  });
  assert.equal(response.status, 200, await response.text());
}

/** Asks until the answer is as wanted. */
async function eventually<T>(look: () => Promise<T>, isWanted: (found: T) => boolean): Promise<T> {
  for (;;) {
    const found = await look();
    if (isWanted(found)) return found;
    await new Promise((go) => setTimeout(go, 100));
  }
}

test("two brokers are one, and one goes on when the other dies", async (t) => {
  const { brokers, start } = await openBrokers(t, 2);
  const [one, other] = brokers;
  assert.ok(one && other);
  assert.equal(one.key, other.key, "the admin key is the cluster's");
  const list = (broker: Program & { key: string }) => async () =>
    (await ask(broker, "GET", "/api/v1/brokers")).value as {
      id: string;
      http: string;
      slots: number;
      isSelf: boolean;
    }[];
  const isShared = (all: Awaited<ReturnType<ReturnType<typeof list>>>) =>
    all.length === 2 && all.every(({ slots }) => slots === 128);
  // A broker is listed once it has told of itself, which may be after it has got its slots.
  const shared = await eventually(list(other), isShared);
  assert.deepEqual(shared.map(({ http }) => http).toSorted(), [one.url, other.url].toSorted());

  // Several endpoints, so that both brokers own some.
  const endpoints = await Promise.all(Array.from({ length: 6 }, () => openEndpoint(t)));
  await ask(one, "PUT", `${topicPath}?${version}`, { location: "westus" });
  const keys = await ask(other, "POST", `${topicPath}/listKeys?${version}`);
  for (const [index, { url }] of endpoints.entries()) {
    const [at, elsewhere] = index % 2 === 0 ? [one, other] : [other, one];
    const path = await subscribe(at, `sub-${index}`, url);
    const state = async () => (await ask(elsewhere, "GET", path)).properties.provisioningState;
    await eventually(state, (found) => found === "Succeeded");
    await publish(elsewhere, keys.key1, `first-${index}`);
  }
  for (const [index, { until, got, asked }] of endpoints.entries()) {
    await until(() => got.includes(`first-${index}`));
    assert.equal(asked.length, 1, "the endpoint is asked once, by one broker");
  }

  // A pause at any broker holds at the owner.
  const pauses = endpoints.map((_, index) => `/api/v1/topics/orders/subscriptions/sub-${index}`);
  for (const path of pauses) await ask(one, "POST", `${path}/pause`);
  await publish(other, keys.key2, "held");
  for (const path of pauses) await ask(other, "POST", `${path}/resume`);
  // The other broker tells of those it owns, and is left out if that takes it two seconds.
  const urls = endpoints.map(({ url }) => url).toSorted();
  const views = async () => {
    const { value } = await ask(one, "GET", "/api/v1/endpoints");
    return (value as { endpoint: string }[]).map(({ endpoint }) => endpoint).toSorted();
  };
  assert.deepEqual(await eventually(views, ({ length }) => length >= urls.length), urls);

  // One dies; the other serves everything, with what the dead one had accepted.
  await publish(one, keys.key1, "last words");
  await one.end("SIGKILL");
  for (const { until, got } of endpoints) {
    await until(() => got.includes("held") && got.includes("last words"));
  }
  await eventually(list(other), (all) => all.length === 1 && all[0]?.slots === 256);
  const third = await start();
  await eventually(list(third), isShared);

  // One leaves politely.
  assert.equal(await other.end("SIGTERM"), 0);
  await publish(third, keys.key1, "after all");
  for (const { until, got } of endpoints) await until(() => got.includes("after all"));
});

test("a test inbox shows at every broker what came to any of them", async (t) => {
  const { brokers } = await openBrokers(t, 2);
  const [one, other] = brokers;
  assert.ok(one && other);
  // Both have read what inboxes there are before there is one.
  assert.deepEqual((await ask(other, "GET", "/api/v1/inboxes")).value, []);
  await ask(one, "POST", "/api/v1/inboxes", { name: "test" });
  const list = async () => (await ask(other, "GET", "/api/v1/inboxes")).value as InboxView[];
  const [known] = await eventually(list, ({ length }) => length === 1);
  assert.ok(known);
  assert.ok(known.url.startsWith(other.url), "with an address of its own");
  const send = async (url: string, id: string) => {
    const headers = { "aeg-event-type": "Notification" };
    const body = JSON.stringify([{ id, eventType: "t", data: {} }]);
    return (await fetch(url, { method: "POST", headers, body })).status;
  };
  const at = (url: string, { url: own }: { url: string }) =>
    own + new URL(url).pathname + new URL(url).search;
  const show =
    (broker: Program & { key: string }, after = 0) =>
    async () =>
      (await ask(broker, "GET", `/api/v1/inboxes/test?after=${after}`)) as {
        inbox: InboxView;
        requests: InboxRequestView[];
      };
  assert.equal(await send(at(known.url, one), "first"), 200);
  assert.equal(await send(at(known.url, other), "second"), 200);
  for (const broker of brokers) {
    const { inbox, requests } = await eventually(show(broker), ({ inbox: { kept } }) => kept === 2);
    assert.deepEqual(
      requests.flatMap(({ eventIds }) => eventIds),
      ["second", "first"],
    );
    assert.equal(inbox.received, 2);
    // A broker that does not answer in time is left out.
    const look = show(broker, requests[1]?.number);
    const later = await eventually(look, ({ inbox: { kept } }) => kept === 2);
    assert.equal(later.requests.length, 1);
  }

  // An answer that is chosen at one is given at the other, and what is forgotten is so everywhere.
  await ask(one, "POST", "/api/v1/inboxes/test/answer", { mode: "fail" });
  await eventually(
    () => send(at(known.url, other), "third"),
    (status) => status === 500,
  );
  await ask(other, "POST", "/api/v1/inboxes/test/clear");
  await eventually(show(one), ({ inbox: { kept } }) => kept === 0);
  await ask(one, "DELETE", "/api/v1/inboxes/test");
  await eventually(list, ({ length }) => length === 0);
});
