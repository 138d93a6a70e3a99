// What the control plane stands on, and what its topics and subscriptions share: finding a record
// by its address, writing it unless someone else was faster, and telling of it.

import type { AzureResources } from "../../core/azure/resources.ts";
import type { BatchPolicy } from "../../core/delivery/batch.ts";
import type { ProfileName } from "../../core/delivery/profile.ts";
import type { CallerUrl } from "../../core/handshake/question.ts";
import type { Clock, Ids, Log, Registry } from "../../core/ports.ts";
import { Refusal } from "../../core/refusal.ts";
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
  /** As this broker routes by it now; what was written through us is in it after `refresh`. */
  readonly catalog: () => LiveCatalog;
  readonly refresh: () => Promise<void>;
  /** What is kept of resource groups and deployments. */
  readonly memos: Memos;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly makeKey: () => string;
  readonly profile: ProfileName;
  /** What destinations may be named by their resource ids. */
  readonly azure: AzureResources;
  /** What the batching setting takes that a subscription does not give (B-4). */
  readonly batch: BatchPolicy;
  /** `scheme://host[:port]` as the client called us. */
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
  /** The whole address without its query, as a client can use it. */
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
 * Refusal: NotFound. A name belongs to one topic of the broker, so that the group, which clients
 * may leave to a default, is soon mistaken: then the right one is told.
 */
export function needTopic(catalog: LiveCatalog, source: TopicSource): Topic {
  const topic = findTopic(catalog, source);
  if (topic !== undefined) return topic;
  const { message } = refuseMissing(source);
  const other = catalog.topic(source.name);
  const hint = other?.kind === source.kind ? ` There is ${topicArmId(other)}.` : "";
  throw new Refusal("NotFound", `${message}${hint}`);
}

/** In the words of Azure Resource Manager. */
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
  return source.kind === "domainTopic"
    ? `domains/${source.domain}/topics/${source.name}`
    : `${source.kind}s/${source.name}`;
}

/**
 * Carries out a change that begins with reading, and does so anew when someone else's write came
 * between; unless the client wants to hear of that. Refusal: Conflict, after many such writes.
 */
export function changing<T>(
  { refresh }: Pick<ArmContext, "refresh">,
  request: Request,
  change: () => Promise<T>,
): Promise<T> {
  return hasConditions(request) ? change() : retryStale(change, refresh);
}

/** A write that has happened, and where to ask how it went on. */
export function replyToWrite(
  { apiVersion, baseUrl }: Call,
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
  return reply(written.status ?? 201, written.body, {
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
