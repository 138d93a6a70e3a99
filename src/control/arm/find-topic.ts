// What the control plane needs, and what its topics and subscriptions share: finding a record by
// its address, writing it unless someone else was faster, and logging it.

import type { AzureResources } from "../../core/azure/resources.ts";
import type { BatchPolicy } from "../../core/delivery/batch.ts";
import type { ProfileName } from "../../core/delivery/profile.ts";
import type { CallerUrl } from "../../core/handshake/question.ts";
import type { Clock, Ids, Log } from "../../core/ports.ts";
import { Refusal } from "../../core/refusal.ts";
import type { Registry } from "../../core/registry.ts";
import type { Reply, Request } from "../../core/request.ts";
import type { LiveCatalog } from "../../core/routing/live-catalog.ts";
import type { Memos } from "../../core/steering.ts";
import { isSameName } from "../../core/text/compare.ts";
import { type Topic, topicArmId } from "../../core/topic.ts";
import type { HandshakePort } from "../handshake/port.ts";
import { retryStale } from "../stale-write.ts";
import { etagOf, hasConditions } from "./etag.ts";
import type { Operations } from "./operations.ts";
import type { Group, Source, TopicSource } from "./path.ts";
import { reply } from "./reply.ts";

export interface ArmDeps {
  readonly registry: Registry;
  /** The catalog in effect; our own writes are in it after `refresh`. */
  readonly catalog: () => LiveCatalog;
  readonly refresh: () => Promise<void>;
  /** What is stored of resource groups and deployments. */
  readonly memos: Memos;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly makeKey: () => string;
  readonly profile: ProfileName;
  /** Which resource ids destinations may have. */
  readonly azure: AzureResources;
  /** The default of the batching setting that is not given (B-4). */
  readonly batch: BatchPolicy;
  /** `scheme://host[:port]` as the client used it. */
  readonly baseUrl: (request: Request) => string;
  readonly handshakes: HandshakePort;
}

export interface ArmContext extends ArmDeps {
  readonly operations: Operations;
}

/** One request to the control plane. */
export interface Call extends CallerUrl {
  readonly request: Request;
  /** As the client wrote it, percent-decoded, with single slashes. */
  readonly path: string;
  /** The whole address without its query, as the client can use it. */
  readonly url: string;
  readonly apiVersion: string;
}

export function isInGroup({ place }: Topic, group: Group): boolean {
  return (
    isSameName(place.subscriptionId, group.subscriptionId) &&
    isSameName(place.resourceGroup, group.resourceGroup)
  );
}

/** The topic or domain at that address, and of that kind. */
export function findTopic(catalog: LiveCatalog, source: TopicSource): Topic | undefined {
  const topic = catalog.topic(source.name);
  const isIt = topic?.kind === source.kind && isInGroup(topic, source.group);
  return isIt ? topic : undefined;
}

/**
 * Refusal: NotFound. A name belongs to one topic of the broker, and the group, which clients often
 * leave to a default, is easily wrong: then the message gives the right one.
 */
export function needTopic(catalog: LiveCatalog, source: TopicSource): Topic {
  const topic = findTopic(catalog, source);
  if (topic !== undefined) return topic;
  const { message } = refuseMissing(source);
  const other = catalog.topic(source.name);
  const hint = other?.kind === source.kind ? ` There is ${topicArmId(other)}.` : "";
  throw new Refusal("NotFound", `${message}${hint}`);
}

/** In Azure Resource Manager's wording. */
export function refuseMissing(source: Source, name?: string): Refusal {
  const [what, where] =
    source.kind === "foreign"
      ? [source.id, ""]
      : [
          `Microsoft.EventGrid/${typeAndName(source)}`,
          ` under resource group '${source.group.resourceGroup}'`,
        ];
  const which = name === undefined ? what : `${what}/eventSubscriptions/${name}`;
  return new Refusal("NotFound", `The Resource '${which}'${where} was not found.`);
}

function typeAndName(source: Exclude<Source, { kind: "foreign" }>): string {
  if (source.kind === "namespaceTopic") return `namespaces/${source.name.replace("/", "/topics/")}`;
  return source.kind === "domainTopic"
    ? `domains/${source.domain}/topics/${source.name}`
    : `${source.kind}s/${source.name}`;
}

/**
 * Carries out a change that begins with reading, and repeats it when someone else's write came in
 * between, unless the client asked to be refused then. Refusal: Conflict, after many such writes.
 */
export function changing<T>(
  { refresh }: Pick<ArmContext, "refresh">,
  request: Request,
  change: () => Promise<T>,
): Promise<T> {
  return hasConditions(request) ? change() : retryStale(change, refresh);
}

/** A finished write, and where to poll for its progress. */
export function replyToWrite(
  { apiVersion, baseUrl, request }: Call,
  written: {
    readonly topic: Topic;
    readonly revision: number;
    readonly resourceId: string;
    readonly operationId: string;
    readonly body: object;
    readonly status?: number;
  },
): Reply {
  const { subscriptionId, location } = written.topic.place;
  const place = `${baseUrl}/subscriptions/${subscriptionId}/providers/Microsoft.EventGrid`;
  const query = `api-version=${apiVersion}&resource=${encodeURIComponent(written.resourceId)}`;
  const address = `${place}/locations/${location}/operationsStatus/${written.operationId}?${query}`;
  // Clients take no 201 for a PATCH of these (N-72).
  const isOfNamespace = /^namespace/.test(written.topic.kind);
  const usual = isOfNamespace && request.method === "PATCH" ? 202 : 201;
  return reply(written.status ?? usual, written.body, {
    "azure-asyncoperation": address,
    etag: etagOf(written),
  });
}

export function logTopic(
  context: Pick<ArmContext, "log">,
  topic: Topic,
  change: "created" | "updated" | "removed",
) {
  const names = { topic: topic.name, id: topicArmId(topic) };
  context.log.fact("info", "topic.changed", { ...names, change, origin: "api" });
}
