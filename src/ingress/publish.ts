// A publish request becomes one durable append: find the topic, check the key, read the events,
// route each, append them all in one call. The 200 is sent only after that has resolved (D-1). One
// bad event refuses the whole request.
//
// Deliberately absent: waiting and retrying. If the store cannot take the events now, the publish
// is refused and the publisher has to retry.

import { isFromPage, whyAstray } from "../core/access/foreign-page.ts";
import type { Published } from "../core/event.ts";
import type { Ids, Instant, Log, Meter, Routed, Store } from "../core/ports.ts";
import { Refusal } from "../core/refusal.ts";
import {
  judgedBy,
  type Reply,
  type Request,
  type RequestHead,
  type Route,
  type TakeBody,
} from "../core/request.ts";
import { hopsHeader, hopsIn } from "../core/routing/hops.ts";
import type { Directory, DirectoryEntry } from "../core/routing/route.ts";
import { type Content, readCloudEventRequest } from "../core/schema/binding.ts";
import { readCustomEvents } from "../core/schema/custom.ts";
import { readEventGridEvents } from "../core/schema/eventgrid.ts";
import { type PublishLimits, publishLimits } from "../core/schema/limits.ts";
import { type Reading, schemaNames } from "../core/schema/reading.ts";
import type { Chronicle } from "../core/story/chronicle.ts";
import { shownAs } from "../core/text/wording.ts";
import { type Topic, topicArmId } from "../core/topic.ts";
import type { Tracer } from "../core/tracing/span.ts";
import { type AuthDeps, authorize, type Credential } from "./auth.ts";
import { openContent } from "./content.ts";
import { measureAccepted, measureRefused } from "./measure.ts";
import { checkNetwork } from "./network.ts";
import { PublishTracing, traceIn } from "./tracing.ts";

export interface PublishDeps extends AuthDeps {
  readonly directory: Pick<Directory, "entry">;
  readonly store: Store;
  /** Resolves when what the store has reported as changed is in the directory. */
  readonly refresh?: () => Promise<void>;
  readonly ids: Ids;
  readonly log: Log;
  readonly meter: Meter;
  readonly chronicle?: Pick<Chronicle, "note">;
  readonly tracer?: Tracer;
  /** Whether keys, signatures and tokens are required. */
  readonly auth: boolean;
  /** False once the broker is stopping. */
  readonly isOpen: () => boolean;
}

/**
 * How long a publisher should wait when the broker is stopping: about as long as a restart takes.
 */
const restartMs = 5_000;

/** How often the events of one publish are routed before it is refused. */
const routesMax = 5;

/** The official clients treat any other status, also 202 and 204, as an error. */
const accepted: Reply = { status: 200 };

/** The rules for reading a publish: the service's, or those of its IoT Edge module. */
export interface Manner {
  /** What events of the Event Grid schema carry as their topic. */
  readonly stampOf: (topic: Topic) => string;
  readonly asModule: boolean;
  /** Whether the request may publish to every topic that accepts keys. */
  readonly isOpenTo?: (request: RequestHead) => boolean;
  /** Refuses events that were read and are not acceptable. */
  readonly check?: (published: readonly Published[]) => void;
  /** Of a topic in a namespace, which is published to in its own way only (pull/). */
  readonly namespace?: NamespaceManner;
}

export interface NamespaceManner {
  /** Has the firewall. */
  readonly record: Topic;
  readonly authorize: (topic: Topic, head: RequestHead) => Credential | Promise<Credential>;
  readonly limits: PublishLimits;
  /** The answer to what was accepted. */
  readonly reply: Reply;
}

const serviceManner: Manner = { stampOf: armIdOf, asModule: false };

const routeHeaders = { "api-supported-versions": "2018-01-01" };

export function publishRoutes(deps: PublishDeps): readonly Route[] {
  return [
    ...routesAt(deps, "/topics/:topic/api/events", ({ params }) => params.topic ?? ""),
    ...routesAt(deps, "/api/events", ({ headers }) => firstLabel(headers.host)),
  ];
}

/** For a topic's own port: whatever host name the client uses, it means this topic. */
export function topicRoutes(deps: PublishDeps, topic: string): readonly Route[] {
  return routesAt(deps, "/api/events", () => topic);
}

function routesAt(
  deps: PublishDeps,
  path: string,
  topicName: (head: RequestHead) => string,
): readonly Route[] {
  const headers = routeHeaders;
  const judge = (head: RequestHead) =>
    judgePublish(deps, { name: topicName(head), head, manner: serviceManner });
  return [
    { method: "POST", path, headers, ...judgedBy(judge) },
    { method: "OPTIONS", path, headers, handle: (asked) => describe(deps, topicName(asked)) },
  ];
}

/** Old clients find a topic by its host name: `orders.example.com` is the topic `orders`. */
function firstLabel(host: string | string[] | undefined): string {
  return typeof host === "string" ? (host.split(/[.:]/, 1)[0] ?? "") : "";
}

/**
 * Judges a publish by its head; what it gives takes the body, and resolves when the events are
 * kept. Refusals of both: those of every step on the way.
 */
export function judgePublish(deps: PublishDeps, asked: Asked): TakeBody | Promise<TakeBody> {
  return new Publishing(deps, asked).judged();
}

interface Asked {
  readonly name: string;
  readonly head: RequestHead;
  readonly manner: Manner;
}

/** One publish on its way. An object, because closures for each step would cost more than it. */
class Publishing {
  readonly #deps: PublishDeps;
  readonly #name: string;
  readonly #head: RequestHead;
  readonly #manner: Manner;
  readonly #topic: Topic | undefined;
  readonly #tracing: PublishTracing | undefined;

  constructor(deps: PublishDeps, { name, head, manner }: Asked) {
    const { tracer, clock } = deps;
    this.#deps = deps;
    this.#name = name;
    this.#head = head;
    this.#manner = manner;
    this.#topic = findEntry(deps, name, manner)?.topic;
    this.#tracing = tracer && new PublishTracing(tracer, head, clock.now());
  }

  judged(): TakeBody | Promise<TakeBody> {
    try {
      const credential = this.judge(findOpen(this.#deps, this.#name, this.#manner).topic);
      if (typeof credential === "string") return this.#takeWith(credential);
      return credential.then(
        (given) => this.#takeWith(given),
        (error) => this.#fail(error),
      );
    } catch (error) {
      return this.#fail(error);
    }
  }

  /** Refuses what the topic does not take from this publisher. */
  judge(topic: Topic): Credential | "none" | Promise<Credential> {
    const deps = this.#deps;
    const head = this.#head;
    const { namespace, isOpenTo } = this.#manner;
    checkNetwork(namespace?.record ?? topic, head);
    if (!deps.auth) checkPage(head);
    const isOpen = !deps.auth || (!topic.disableLocalAuth && isOpenTo?.(head) === true);
    if (isOpen) return "none";
    return namespace?.authorize(topic, head) ?? authorize(topic, head, deps);
  }

  #takeWith(credential: string): TakeBody {
    return (body) => this.#take(body, credential);
  }

  async #take(body: Uint8Array, acceptedWith: string): Promise<Reply> {
    try {
      // The topic may have gone while the body came.
      const entry = findOpen(this.#deps, this.#name, this.#manner);
      checkVersion(this.#head);
      checkChannel(this.#head);
      await this.#accept(entry, body, acceptedWith);
      this.#tracing?.end(this.#deps.clock.now(), null, entry.topic.name);
      return this.#manner.namespace?.reply ?? accepted;
    } catch (error) {
      return this.#fail(error);
    }
  }

  /** Refusals: of what cannot be read thrown at once, and those of `admit`. */
  #accept(entry: DirectoryEntry, body: Uint8Array, acceptedWith: string): Promise<void> {
    const deps = this.#deps;
    const manner = this.#manner;
    const { headers } = this.#head;
    const { topic } = entry;
    const now = deps.clock.now();
    const limits = manner.namespace?.limits ?? publishLimits;
    const content = openContent(headers["content-encoding"], body, limits.requestBytesMax);
    const reading = readingOf(deps, topic, now, {
      topicArmId: manner.stampOf(topic),
      asModule: manner.asModule,
      trace: traceIn(this.#head),
      hops: hopsIn(headers[hopsHeader]),
      limits,
    });
    const given = read(topic, headers, content, reading);
    manner.check?.(given);
    const published = this.#tracing?.adopt(topic.name, given) ?? given;
    const bytes = content.byteCount;
    return admit(deps, { entry, published, bytes, now, acceptedWith, publisher: this });
  }

  #fail(error: unknown): never {
    const { clock, meter } = this.#deps;
    const topic = this.#topic;
    const code = error instanceof Refusal ? error.code : "Internal";
    if (error instanceof Refusal) logRefused(this.#deps, topic, error);
    else measureRefused(meter, topic, code);
    this.#tracing?.end(clock.now(), code, topic?.name ?? null);
    throw error;
  }
}

/**
 * Where nobody is asked for a key, a page in a browser on this machine could publish. Refusal:
 * Forbidden.
 */
export function checkPage(head: RequestHead): void {
  const why = whyAstray(head, { isLocal: isFromPage(head) });
  if (why !== null) throw new Refusal("Forbidden", why);
}

/** Refusals: Unavailable, NotFound. */
function findOpen(deps: PublishDeps, name: string, manner: Manner): DirectoryEntry {
  if (!deps.isOpen()) throw refuseStopping();
  const entry = findEntry(deps, name, manner);
  if (entry === undefined) throw refuseTopic(name);
  return entry;
}

interface Admission {
  readonly entry: DirectoryEntry;
  readonly published: readonly Published[];
  readonly bytes: number;
  readonly now: Instant;
  /** As named in stories. */
  readonly acceptedWith: string;
  /** Refuses what the topic, as it was changed meanwhile, does not take from this publisher. */
  readonly publisher?: { judge(topic: Topic): unknown };
}

type AdmitDeps = Pick<
  PublishDeps,
  "directory" | "store" | "refresh" | "clock" | "log" | "meter" | "chronicle"
>;

/** An event that the broker itself has made, of the Event Grid schema; our own id of it. */
export async function publishOwn(deps: PublishDeps, name: string, event: object): Promise<string> {
  const entry = findOpen(deps, name, serviceManner);
  const now = deps.clock.now();
  const text = JSON.stringify([event]);
  const how = { topicArmId: armIdOf(entry.topic), asModule: false, trace: null, hops: 0 };
  const reading = readingOf(deps, entry.topic, now, { ...how, limits: publishLimits });
  const published = readEventGridEvents(text, reading);
  await admit(deps, { entry, published, bytes: text.length, now, acceptedWith: "own" });
  return published[0]?.event.systemId ?? "";
}

function readingOf(
  { ids }: PublishDeps,
  { name, kind, mapping }: Topic,
  publishedAt: Instant,
  how: Required<Pick<Reading, "topicArmId" | "asModule" | "trace" | "hops" | "limits">>,
): Reading {
  return {
    topic: name,
    topicArmId: how.topicArmId,
    asModule: how.asModule,
    isDomain: kind === "domain",
    mapping,
    publishedAt,
    trace: how.trace,
    hops: how.hops,
    systemId: () => ids.next(),
    limits: how.limits,
  };
}

/**
 * Routes the events, and resolves when they are stored. Where other brokers write the catalog, too,
 * the store refuses what was routed by old terms; then they are read again, and the events routed
 * again. Refusals: those of the store's append; NotFound, when the topic is gone meanwhile, and
 * Unavailable, when the terms change all the time.
 */
export async function admit(deps: AdmitDeps, admission: Admission): Promise<void> {
  const { store } = deps;
  const { published, bytes, now } = admission;
  let { entry } = admission;
  let routed: readonly Routed[] = [];
  let numbers: readonly number[] | null = null;
  for (let tried = 1; numbers === null; tried += 1) {
    routed = routeAll(entry, published);
    const by = store.isShared === true ? entry.by : undefined;
    try {
      const hasNews = routed.length > 0 || by !== undefined;
      numbers = hasNews ? await store.append(routed, now, by) : [];
    } catch (error) {
      entry = await rereadTerms(deps, admission, { entry, tried, error });
    }
  }
  const tookMs = deps.clock.now() - now;
  measureAccepted(deps.meter, { entry, published, routed, tookMs });
  logPublished(deps, entry.topic, { published, routed, bytes });
  if (deps.chronicle !== undefined) noteAll(deps.chronicle, admission, { entry, routed, numbers });
}

/** The terms after a refusal because of old ones; throws any other error. */
async function rereadTerms(
  { directory, refresh }: AdmitDeps,
  { publisher }: Admission,
  refused: { readonly entry: DirectoryEntry; readonly tried: number; readonly error: unknown },
): Promise<DirectoryEntry> {
  const { tried, error } = refused;
  if (!(error instanceof Refusal) || error.code !== "PreconditionFailed") throw error;
  if (tried === routesMax) {
    const words = "The topic's subscriptions are being changed all the time; try again.";
    throw new Refusal("Unavailable", words, { retryAfterMs: 1_000, cause: error });
  }
  await refresh?.();
  const { topic } = refused.entry;
  const again = directory.entry(topic.name);
  if (again === undefined) throw refuseTopic(topic.name);
  if (again.topic.revision !== topic.revision) await publisher?.judge(again.topic);
  return again;
}

interface Kept {
  /** By which the events were routed in the end. */
  readonly entry: DirectoryEntry;
  readonly routed: readonly Routed[];
  /** The store's, one for each routed event. */
  readonly numbers: readonly number[];
}

/** One note for each event, in the order in which they were published. */
function noteAll(
  chronicle: Pick<Chronicle, "note">,
  { published, now, acceptedWith }: Admission,
  { entry, routed, numbers }: Kept,
): void {
  let place = 0;
  for (const { event, fields, domainTopic } of published) {
    const wanted = routed[place]?.event === event ? routed[place] : undefined;
    const { id, subject, eventType: type } = fields;
    chronicle.note({
      kind: "accepted",
      at: now,
      event,
      id,
      subject,
      type,
      domainTopic,
      acceptedWith,
      number: wanted === undefined ? null : (numbers[place] ?? null),
      to: wanted?.to ?? [],
      roll: entry.roll(domainTopic),
    });
    if (wanted !== undefined) place += 1;
  }
}

/**
 * Only CloudEvents come in more than one form, told apart by their content type. For the others any
 * content type is accepted: the service's own examples post with curl's default.
 */
function read(
  { inputSchema }: Topic,
  headers: Request["headers"],
  content: Content,
  reading: Reading,
): readonly Published[] {
  switch (inputSchema) {
    case "EventGridSchema":
      return readEventGridEvents(content.text(), reading);
    case "CloudEventSchemaV1_0":
      return readCloudEventRequest({ headers, content }, reading);
    case "CustomEventSchema":
      return readCustomEvents(content.text(), reading);
    default:
      return inputSchema satisfies never;
  }
}

/** Events that match no subscription are accepted, and end here. */
function routeAll(entry: DirectoryEntry, published: readonly Published[]): readonly Routed[] {
  const routed = published.map(({ event, fields, domainTopic }) => {
    return { event, to: entry.route(fields, domainTopic) };
  });
  return routed.every(isWanted) ? routed : routed.filter(isWanted);
}

function isWanted({ to }: Routed): boolean {
  return to.length > 0;
}

/**
 * Official clients send a version and curl does not. There has only ever been one, so another one
 * is taken for that of a newer client; only what cannot be a version is refused.
 */
function checkVersion({ query }: RequestHead): void {
  for (const name in query) {
    if (name.toLowerCase() !== "api-version") continue;
    const version = query[name] ?? "";
    if (/^\d{4}-\d{2}-\d{2}(?:-\w+)?$/.test(version)) continue;
    throw new Refusal(
      "InvalidApiVersion",
      `'api-version' must be left out or be a date such as 2018-01-01, and is ${shownAs(version)}.`,
    );
  }
}

/** A partner's channel would take events from here on; without it they would go to the topic. */
function checkChannel({ headers }: RequestHead): void {
  if (headers["aeg-channel-name"] === undefined) return;
  const words = "'aeg-channel-name' must be left out: Posthorn has no channels of partners.";
  throw new Refusal("InvalidSetting", words, { target: "aeg-channel-name" });
}

/** Only the broker itself publishes events of a storage account. */
function findEntry(
  { directory }: PublishDeps,
  name: string,
  { namespace }: Manner = serviceManner,
): DirectoryEntry | undefined {
  const entry = directory.entry(name);
  const kind = entry?.topic.kind;
  const isMeant =
    namespace === undefined ? kind === "topic" || kind === "domain" : kind === "namespaceTopic";
  return isMeant ? entry : undefined;
}

/**
 * What the service answers to OPTIONS. It needs no key, and shows nothing about the topic's own.
 */
function describe(deps: PublishDeps, name: string): Reply {
  const topic = findEntry(deps, name)?.topic;
  if (topic === undefined) throw refuseTopic(name);
  const schema = schemaNames[topic.inputSchema];
  return { status: 200, headers: { allow: "POST, OPTIONS", "aeg-input-event-schema": schema } };
}

export function refuseStopping(): Refusal {
  return new Refusal("Unavailable", "The broker is stopping.", { retryAfterMs: restartMs });
}

function refuseTopic(name: string): Refusal {
  return new Refusal("NotFound", `There is no topic ${shownAs(name)}.`);
}

/** A topic's record is a new value after each change, so a cache keyed by it cannot be stale. */
const armIds = new WeakMap<Topic, string>();

/** Every publish to a topic needs it. */
function armIdOf(topic: Topic): string {
  const known = armIds.get(topic);
  if (known !== undefined) return known;
  const made = topicArmId(topic);
  armIds.set(topic, made);
  return made;
}

interface Acceptance {
  readonly published: readonly Published[];
  readonly routed: readonly Routed[];
  readonly bytes: number;
}

function logPublished(
  { log }: Pick<PublishDeps, "log">,
  topic: Topic,
  { published, routed, bytes }: Acceptance,
): void {
  if (log.tells?.("debug") === false) return;
  const deliveries = routed.reduce((sum, { to }) => sum + to.length, 0);
  const count = published.length;
  log.fact("debug", "event.published", { topic: topic.name, count, bytes, deliveries });
}

/** What was refused earlier, in the listener: too large, the wrong method, an unknown path. */
export function logTurnedAway(deps: PublishDeps, path: string, refusal: Refusal): void {
  const found = /^\/+(?:topics\/+([^/]+)\/+)?api\/+events\/*$/i.exec(path);
  if (found === null) return;
  logRefused(deps, findEntry(deps, found[1] ?? "")?.topic, refusal);
}

function logRefused(
  { log, meter }: PublishDeps,
  topic: Topic | undefined,
  { code, message }: Refusal,
): void {
  const label = topic?.name ?? "unknown";
  log.fact("info", "publish.refused", { topic: label, code, reason: message });
  measureRefused(meter, topic, code);
}
