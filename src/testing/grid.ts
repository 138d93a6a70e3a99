// The test kit: a whole broker inside a test. It is the same program, on free ports, in memory or
// on disk, with a clock that the test moves; events go in and out over real HTTP, so that any
// client of Event Grid can be tested against it.
//
//   await using grid = await startPosthorn();
//   const endpoint = await grid.endpoint();
//   await grid.topic("orders");
//   await grid.subscribe("orders", "billing", endpoint);
//   const [id] = await grid.publish("orders", { data: { price: 7 } });
//   await grid.delivered(id);

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openBroker } from "../broker.ts";
import { parseConfig } from "../config/config.ts";
import type {
  EndpointView,
  HandshakeView,
  Overview,
  Story,
  SubscriptionView,
} from "../core/api/views.ts";
import { realClock } from "../runtime/clock/real.ts";
import { makeKey, realIds } from "../runtime/ids.ts";
import {
  type Call,
  callerOf,
  deploy,
  group,
  namespacesPath,
  readDeadLetters,
  readJson,
  topicPath,
} from "./calls.ts";
import { nameOf, openEndpoint, type ScriptedEndpoint } from "./endpoint.ts";
import { Facts } from "./facts.ts";
import type { Advanced, GridOptions, Posthorn, TestTopic } from "./kit.ts";
import { openQueue } from "./queue.ts";
import { Waits } from "./waits.ts";

export type { Arrival, DeliveredEvent, EventQuery, ScriptedEndpoint, Step } from "./endpoint.ts";
export type { PublishedEvent, PublishedQuery } from "./facts.ts";
export type * from "./kit.ts";
export type { QueueOptions, ReceivedEvent, TestQueue } from "./queue.ts";

const account = `${group}/providers/Microsoft.Storage/storageAccounts/letters`;
const container = "dead-letters";
const deadLetterDestination = {
  endpointType: "StorageBlob",
  properties: { resourceId: account, blobContainerName: container },
};
/** Defaults for a test's events. */
const usualEvent = {
  subject: "/test",
  eventType: "Test.Happened",
  eventTime: "2030-01-01T00:00:00Z",
  dataVersion: "1.0",
  data: {},
};
const usualCloudEvent = {
  specversion: "1.0",
  source: "/test",
  type: "Test.Happened",
  time: "2030-01-01T00:00:00Z",
  data: {},
};
const patienceMsDefault = 5_000;
const stopMs = 2_000;
/** The interval between two checks of a handshake. */
const lookMs = 2;

/** Starts a broker and resolves when it is ready. End it with `close`, or `await using`. */
export async function startPosthorn(options: GridOptions = {}): Promise<Posthorn> {
  const folder = mkdtempSync(join(tmpdir(), "posthorn-test-"));
  const adminKey = makeKey();
  const ids = realIds();
  const real = realClock();
  const patienceMs = options.patienceMs ?? patienceMsDefault;
  const waits = new Waits(real.after, patienceMs);
  const facts = new Facts(waits);
  const endpoints: ScriptedEndpoint[] = [];
  const keys = new Map<string, TestTopic & { readonly schema: string }>();
  const given = resourcesOf(options);
  const remove = () => rmSync(folder, { recursive: true, force: true });
  const open = async (startAt = options.startAt) => {
    const chosen = { ...options, ...(startAt !== undefined && { startAt }) };
    const config = configOf(chosen, { folder, adminKey, sections: given.sections });
    return await openBroker(config, outsideOf(facts));
  };
  let broker = await open().catch((error) => {
    remove();
    throw error;
  });

  const call = callerOf(() => urlOf(broker), adminKey);
  const stop = async () => {
    const abort = new AbortController();
    const callOff = real.after(stopMs, () => abort.abort());
    await broker.close(abort.signal);
    callOff();
  };
  const wait = (id: string, fate: Parameters<Facts["wait"]>[0]["fate"], to?: string) =>
    facts.wait({ id, fate, to });
  const turn = () => new Promise<void>((resolve) => void real.after(lookMs, resolve));
  const find = async (name: string) => {
    const known = keys.get(name);
    if (known !== undefined) return known;
    const { properties } = (await call("GET", topicPath(name))) as {
      properties: { inputSchema: string };
    };
    const { key1 } = (await call("POST", topicPath(name, "/listKeys"))) as { key1: string };
    const topic = {
      ...{ name, key: key1, schema: properties.inputSchema },
      get endpoint() {
        return `${urlOf(broker)}${publishPath(name)}`;
      },
    };
    keys.set(name, topic);
    return topic;
  };

  const grid: Posthorn = {
    get url() {
      return urlOf(broker);
    },
    get httpsUrl() {
      return broker.https;
    },
    adminKey,
    async endpoint() {
      const endpoint = await openEndpoint(waits);
      endpoints.push(endpoint);
      return endpoint;
    },
    async topic(name, properties = {}) {
      await call("PUT", topicPath(name), { location: "local", properties });
      keys.delete(name);
      return await find(name);
    },
    async subscribe(topic, name, { url }, { properties, destination, deadLetter } = {}) {
      const path = topicPath(topic, `/eventSubscriptions/${name}`);
      const webhook = { endpointType: "WebHook", properties: { ...destination, endpointUrl: url } };
      const whole = { ...properties, destination: webhook };
      await call("PUT", path, {
        properties: { ...whole, ...(deadLetter && { deadLetterDestination }) },
      });
      const until = real.now() + patienceMs;
      const state = await untilDecided(() => call("GET", path), {
        isOver: () => real.now() >= until,
        turn,
      });
      if (state !== "Succeeded") {
        const own = `/api/v1/topics/${topic}/subscriptions/${name}/handshake`;
        throw new Error(describeUndecided(name, state, (await call("GET", own)) as HandshakeView));
      }
    },
    queue: (topic, name, queueOptions) =>
      openQueue(call, () => urlOf(broker), { topic, name, options: queueOptions }),
    async publish(topic, ...events) {
      const { endpoint, key, schema } = await find(topic);
      const isCloud = schema === "CloudEventSchemaV1_0";
      const usual = isCloud ? usualCloudEvent : schema === "EventGridSchema" ? usualEvent : {};
      const whole = events.map((event) => ({ id: ids.next(), ...usual, ...event }));
      const type = isCloud ? "application/cloudevents-batch+json" : "application/json";
      const headers = { "aeg-sas-key": key, "content-type": type };
      const body = JSON.stringify(whole);
      const response = await fetch(endpoint, { method: "POST", headers, body });
      if (!response.ok) {
        throw new Error(`the publish was refused: ${response.status} ${await response.text()}`);
      }
      return whole.map(({ id }) => id);
    },
    deploy: (template, parameters = {}) => deploy(call, template, parameters, turn),
    published: (query = {}) => facts.published(query),
    async settled() {
      await facts.tried();
      // A virtual clock knows when nothing goes on any more.
      if (options.clock !== "real") await call("GET", "/clock");
    },
    async nothingElse() {
      await grid.settled();
      const extra = endpoints.flatMap((endpoint) => endpoint.unexpected());
      if (extra.length > 0)
        throw new Error(`unexpected events came: ${extra.map(nameOf).join(", ")}`);
    },
    async reset() {
      await removeAll(call);
      for (const endpoint of endpoints) endpoint.reset();
      rmSync(join(folder, "letters"), { recursive: true, force: true });
      facts.forget();
      keys.clear();
    },
    async advance(by) {
      const order = by === "next" ? { to: "next" } : { advance: by };
      return (await call("POST", "/clock", order)) as Advanced;
    },
    async now() {
      return ((await call("GET", "/api/v1/overview")) as Overview).now;
    },
    accepted: (id) => wait(id, "accepted"),
    delivered: (id, { to } = {}) => wait(id, "delivered", to),
    deadLettered: (id, { to } = {}) => wait(id, "deadLettered", to),
    dropped: (id, { to } = {}) => wait(id, "dropped", to),
    attempted: (id, attempts, { to } = {}) => wait(id, { attempts }, to),
    async story(id) {
      return (await call("GET", `/api/v1/events/${encodeURIComponent(id)}`)) as Story;
    },
    deadLetters: () => readDeadLetters(call, container),
    async overview() {
      return (await call("GET", "/api/v1/overview")) as Overview;
    },
    async subscriptions() {
      const page = (await call("GET", "/api/v1/subscriptions")) as { value: SubscriptionView[] };
      return page.value;
    },
    async endpoints() {
      return ((await call("GET", "/api/v1/endpoints")) as { value: EndpointView[] }).value;
    },
    call,
    async restart() {
      const startAt = options.clock === "real" ? undefined : await grid.now();
      await stop();
      broker = await open(startAt);
    },
    async close() {
      await stop();
      await Promise.all(endpoints.map((endpoint) => endpoint.close()));
      remove();
    },
    [Symbol.asyncDispose]: () => grid.close(),
  };
  if (given.template !== null) {
    await grid.deploy(given.template, options.parameters).catch(async (error) => {
      await grid.close();
      throw error;
    });
  }
  return grid;
}

/** A template is deployed; anything else is a part of the configuration file. */
function resourcesOf({ resources = {} }: GridOptions) {
  const value = typeof resources === "string" ? readJson(resources) : resources;
  const isTemplate = Array.isArray(value.resources) || "$schema" in value;
  return isTemplate ? { template: value, sections: {} } : { template: null, sections: value };
}

function publishPath(topic: string): string {
  const [namespace, own] = topic.split("/");
  return own === undefined
    ? `/topics/${topic}/api/events`
    : `/namespaces/${namespace}/topics/${own}:publish?api-version=2024-06-01`;
}

/** Topics, domains and namespaces, with their subscriptions. */
async function removeAll(call: Call): Promise<void> {
  const { value: namespaces } = (await call("GET", namespacesPath())) as {
    value: { name: string }[];
  };
  for (const { name } of namespaces) await call("DELETE", topicPath(`${name}/`));
  const { value } = (await call("GET", "/api/v1/topics")) as {
    value: { armId: string; kind: string }[];
  };
  for (const { armId, kind } of value) {
    if (kind !== "storage") await call("DELETE", `${armId}?api-version=2025-02-15`);
  }
}

function urlOf({ http }: { readonly http: string | null }): string {
  if (http === null) throw new Error("the broker does not listen on plain HTTP");
  return http;
}

function configOf(
  options: GridOptions,
  {
    folder,
    adminKey,
    sections,
  }: { readonly folder: string; readonly adminKey: string; readonly sections: object },
) {
  const { clock = "virtual", seed, profile, startAt } = options;
  const chosen: Readonly<Record<string, string | undefined>> = {
    http: "127.0.0.1:0",
    https: options.https ? "127.0.0.1:0" : "off",
    data: folder,
    store: options.store === "disk" ? "sqlite" : "memory",
    clock,
    "clock-start": clock === "virtual" ? startAt : undefined,
    seed: seed?.toString(),
    profile,
    "admin-key": adminKey,
    "log-level": "warn",
    ...options.settings,
  };
  const args = Object.entries(chosen).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name}`, value],
  );
  const file = JSON.stringify({
    storageAccounts: { letters: { folder: join(folder, "letters") } },
    ...sections,
  });
  return parseConfig({ args: [...args, "--config", "test.json"], env: {}, readFile: () => file });
}

function outsideOf(facts: Facts) {
  return {
    // A test has its own output, and gets the facts as they are noted.
    stdout: { write: () => true },
    startedAt: Date.now(),
    onCrash(error: Error) {
      throw error;
    },
    onNote: (note: Parameters<Facts["note"]>[0]) => facts.note(note),
  };
}

/** Its state when the time is up, if it is not decided before. */
async function untilDecided(
  look: () => Promise<unknown>,
  wait: { readonly isOver: () => boolean; readonly turn: () => Promise<void> },
): Promise<string> {
  for (;;) {
    const { properties } = (await look()) as { properties: { provisioningState: string } };
    const state = properties.provisioningState;
    if ((state !== "Creating" && state !== "Updating") || wait.isOver()) return state;
    await wait.turn();
  }
}

/** A failing endpoint is asked again later, when the clock moves. */
function describeUndecided(name: string, state: string, { exchanges }: HandshakeView): string {
  const { answer, verdict } = exchanges.at(-1) ?? { answer: "none yet", verdict: "nothing" };
  return `the subscription ${name} is ${state}: its endpoint answered ${answer} (${verdict})`;
}
