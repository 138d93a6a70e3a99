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
import { openEndpoint, type ScriptedEndpoint } from "./endpoint.ts";
import { Facts } from "./facts.ts";

export type { Arrival, ScriptedEndpoint, Step } from "./endpoint.ts";

export interface GridOptions {
  /** `memory`, which is fastest, or `disk`: the embedded store in a folder of its own. */
  readonly store?: "memory" | "disk";
  /** `virtual`: time stands still until it is advanced. */
  readonly clock?: "virtual" | "real";
  /** The start of the virtual clock, ISO 8601. Default: now. */
  readonly startAt?: string;
  /** Makes the random additions to waits repeatable, so that times can be compared. */
  readonly seed?: number;
  /** Which version of the service to behave like. */
  readonly profile?: string;
  /** Also listens with TLS, which clients require for bearer tokens. */
  readonly https?: boolean;
  /** Any other setting of `posthorn serve`, by its name. */
  readonly settings?: Readonly<Record<string, string>>;
  /** How long a wait may take, in real time. Default: 5,000. */
  readonly patienceMs?: number;
}

/** An event for `publish`; what is left out is filled in. */
export interface TestEvent {
  readonly id?: string;
  readonly subject?: string;
  readonly eventType?: string;
  readonly eventTime?: string;
  readonly dataVersion?: string;
  readonly data?: unknown;
}

export interface TestTopic {
  readonly name: string;
  /** The URL to publish to. */
  readonly endpoint: string;
  readonly key: string;
}

/** What ARM calls `properties` of an event subscription, without its destination. */
export type SubscriptionTerms = Readonly<Record<string, unknown>>;

export interface SubscribeOptions {
  /** `filter`, `retryPolicy`, `eventDeliverySchema`, … as in ARM. */
  readonly properties?: SubscriptionTerms;
  /** `maxEventsPerBatch`, `deliveryAttributeMappings`, … as in ARM. */
  readonly destination?: Readonly<Record<string, unknown>>;
  /** Whether undeliverable events are kept, to be read with `deadLetters`. */
  readonly deadLetter?: boolean;
}

/** A record as in a blob. */
export type DeadLetter = Readonly<Record<string, unknown>>;

export interface WaitOptions {
  /** One subscription. Default: every one that matched the event. */
  readonly to?: string;
}

/** What happened while time moved. */
export interface Advanced {
  readonly now: string;
  readonly attempts: number;
  readonly delivered: number;
  readonly deadLettered: number;
  readonly dropped: number;
}

export interface Posthorn extends AsyncDisposable {
  readonly url: string;
  /** Null unless it was asked for. */
  readonly httpsUrl: string | null;
  readonly adminKey: string;
  /** A real endpoint on this machine, with scripted answers. Closed with the grid. */
  endpoint(): Promise<ScriptedEndpoint>;
  /** Creates a topic; `properties` as in ARM, such as `inputSchema`. */
  topic(name: string, properties?: Readonly<Record<string, unknown>>): Promise<TestTopic>;
  /** Creates an event subscription, and resolves when it is active. */
  subscribe(
    topic: string,
    name: string,
    endpoint: ScriptedEndpoint | { readonly url: string },
    options?: SubscribeOptions,
  ): Promise<void>;
  /** Publishes in the Event Grid schema and returns the ids, in order. */
  publish(topic: string, ...events: readonly TestEvent[]): Promise<string[]>;
  /**
   * Moves the virtual clock: an ISO 8601 duration, or `next` for the next moment at which something
   * is due.
   */
  advance(by: string): Promise<Advanced>;
  /** The broker's time, as in events. */
  now(): Promise<string>;
  accepted(id: string): Promise<void>;
  delivered(id: string, options?: WaitOptions): Promise<void>;
  deadLettered(id: string, options?: WaitOptions): Promise<void>;
  dropped(id: string, options?: WaitOptions): Promise<void>;
  /** Resolves when this many sends have been made and decided on. */
  attempted(id: string, attempts: number, options?: WaitOptions): Promise<void>;
  /** Everything known about one event. */
  story(id: string): Promise<Story>;
  /** All dead letters, as records. */
  deadLetters(): Promise<DeadLetter[]>;
  overview(): Promise<Overview>;
  subscriptions(): Promise<readonly SubscriptionView[]>;
  endpoints(): Promise<readonly EndpointView[]>;
  /** A request to the broker with the admin key: ARM's routes, or those of `/api/v1`. */
  call(method: string, path: string, body?: unknown): Promise<unknown>;
  /** Stops the broker and starts it again on the same folder; only `disk` keeps its events. */
  restart(): Promise<void>;
  close(): Promise<void>;
}

const group = "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/posthorn";
const version = "api-version=2025-02-15";
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
  const facts = new Facts(real.after);
  const endpoints: ScriptedEndpoint[] = [];
  const keys = new Map<string, TestTopic>();
  const remove = () => rmSync(folder, { recursive: true, force: true });
  const open = async (given = options) =>
    await openBroker(configOf(given, { folder, adminKey }), outsideOf(facts));
  let broker = await open().catch((error) => {
    remove();
    throw error;
  });
  const patienceMs = options.patienceMs ?? patienceMsDefault;

  const call = callerOf(() => urlOf(broker), adminKey);
  const stop = async () => {
    const abort = new AbortController();
    const callOff = real.after(stopMs, () => abort.abort());
    await broker.close(abort.signal);
    callOff();
  };
  const wait = (id: string, fate: Parameters<Facts["wait"]>[0]["fate"], to?: string) =>
    facts.wait({ id, fate, to }, patienceMs);
  const find = (name: string): TestTopic => {
    const topic = keys.get(name);
    if (topic === undefined) throw new Error(`there is no topic ${name}; make it with topic()`);
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
      const endpoint = await openEndpoint();
      endpoints.push(endpoint);
      return endpoint;
    },
    async topic(name, properties = {}) {
      const path = `${group}/providers/Microsoft.EventGrid/topics/${name}`;
      await call("PUT", `${path}?${version}`, { location: "local", properties });
      const { key1 } = (await call("POST", `${path}/listKeys?${version}`)) as { key1: string };
      const topic = {
        name,
        get endpoint() {
          return `${urlOf(broker)}/topics/${name}/api/events`;
        },
        key: key1,
      };
      keys.set(name, topic);
      return topic;
    },
    async subscribe(topic, name, { url }, { properties, destination, deadLetter } = {}) {
      const path = `${group}/providers/Microsoft.EventGrid/topics/${topic}/eventSubscriptions/${name}`;
      const webhook = { endpointType: "WebHook", properties: { ...destination, endpointUrl: url } };
      const whole = { ...properties, destination: webhook };
      await call("PUT", `${path}?${version}`, {
        properties: { ...whole, ...(deadLetter && { deadLetterDestination }) },
      });
      const until = real.now() + patienceMs;
      const state = await untilDecided(() => call("GET", `${path}?${version}`), {
        isOver: () => real.now() >= until,
        turn: () => new Promise((resolve) => void real.after(lookMs, resolve)),
      });
      if (state !== "Succeeded") {
        const own = `/api/v1/topics/${topic}/subscriptions/${name}/handshake`;
        throw new Error(describeUndecided(name, state, (await call("GET", own)) as HandshakeView));
      }
    },
    async publish(topic, ...events) {
      const { endpoint, key } = find(topic);
      const whole = events.map((event) => ({ id: ids.next(), ...usualEvent, ...event }));
      const headers = { "aeg-sas-key": key, "content-type": "application/json" };
      const body = JSON.stringify(whole);
      const response = await fetch(endpoint, { method: "POST", headers, body });
      if (!response.ok) {
        throw new Error(`the publish was refused: ${response.status} ${await response.text()}`);
      }
      return whole.map(({ id }) => id);
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
    deadLetters: () => readDeadLetters(call),
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
      broker = await open({ ...options, ...(startAt !== undefined && { startAt }) });
    },
    async close() {
      await stop();
      await Promise.all(endpoints.map((endpoint) => endpoint.close()));
      remove();
    },
    [Symbol.asyncDispose]: () => grid.close(),
  };
  return grid;
}

function callerOf(url: () => string, key: string): Posthorn["call"] {
  return async (method, path, body) => {
    const response = await fetch(`${url()}${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text === "" ? null : JSON.parse(text);
  };
}

async function readDeadLetters(call: Posthorn["call"]): Promise<DeadLetter[]> {
  const records: DeadLetter[] = [];
  let after: string | null = null;
  do {
    const query: string = after === null ? "" : `&after=${encodeURIComponent(after)}`;
    const page = (await call(
      "GET",
      `/api/v1/dead-letters?account=letters&container=${container}${query}`,
    )) as { value: { id: string }[]; next: string | null };
    for (const { id } of page.value) {
      const letter = (await call("GET", `/api/v1/dead-letters/${id}`)) as { record: string };
      records.push(JSON.parse(letter.record) as DeadLetter);
    }
    after = page.next;
  } while (after !== null);
  return records;
}

function urlOf({ http }: { readonly http: string | null }): string {
  if (http === null) throw new Error("the broker does not listen on plain HTTP");
  return http;
}

function configOf(
  options: GridOptions,
  { folder, adminKey }: { readonly folder: string; readonly adminKey: string },
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
