// The data plane of namespaces: publish to a topic, receive from a subscription of it, and
// acknowledge, release, reject and renew what was received (N-1 to N-32).
//
// The namespace is found by the path before these, a port of its own, the first label of the host
// name, or, when none of these names one, as the only namespace that has such a topic.

import type { Clock, Log } from "../core/ports.ts";
import { needPullQueue } from "../core/pull/pull-queue.ts";
import { receiveLimits, releaseDelays } from "../core/pull/pull-rules.ts";
import type { LockOrder, PullQueue, TokenReceivers } from "../core/pull/receivers.ts";
import { Refusal } from "../core/refusal.ts";
import {
  judgedBy,
  type Reply,
  type RequestHead,
  type Route,
  type Verdict,
} from "../core/request.ts";
import type { LiveCatalog } from "../core/routing/live-catalog.ts";
import { namespaceLimits } from "../core/schema/limits.ts";
import { listed } from "../core/text/setting-kinds.ts";
import { shownAs } from "../core/text/wording.ts";
import { namespaceTopicName, type Topic, topicArmId } from "../core/topic.ts";
import { checkNetwork } from "../ingress/network.ts";
import { checkPage, judgePublish, type PublishDeps, refuseStopping } from "../ingress/publish.ts";
import { authorizeAccess } from "./access.ts";
import {
  answering,
  checkDataVersion,
  queried,
  queriedInteger,
  replyToPullRefusal,
  replyWith,
  type Target,
  targetIn,
} from "./protocol.ts";

export interface PullDeps extends PublishDeps {
  readonly catalog: () => LiveCatalog;
  readonly tokenReceivers: TokenReceivers;
  readonly clock: Clock;
  readonly log: Log;
}

const published: Reply = replyWith("{}");

/** N-29: not a token of this subscription; and one that was. */
const badToken = { code: "BadToken", message: "The token is not one of this event subscription." };
const tokenLost = { code: "TokenLost", message: "Token has expired." };

export function pullRoutes(deps: PullDeps): readonly Route[] {
  const found = (head: RequestHead, { topic }: Target) => findNamespace(deps, head, topic);
  return [
    ...routesAt(deps, "", found),
    ...routesAt(deps, "/namespaces/:namespace", ({ params }) => {
      return needNamespace(deps, params.namespace ?? "");
    }),
  ];
}

/** For a namespace's own port: whatever host name the client uses, it means this namespace. */
export function namespaceRoutes(deps: PullDeps, name: string): readonly Route[] {
  return routesAt(deps, "", () => needNamespace(deps, name));
}

type FindNamespace = (head: RequestHead, target: Target) => Topic;

function routesAt(deps: PullDeps, before: string, find: FindNamespace): readonly Route[] {
  const judge = (head: RequestHead) => answering(() => judgeRequest(deps, head, find));
  const topic = `${before}/topics/:topic`;
  return [topic, `${topic}/eventsubscriptions/:subscription`].map((path) => ({
    ...{ method: "POST", path, refuse: replyToPullRefusal },
    ...judgedBy(judge),
  }));
}

/** Refusal: NotFound. */
function needNamespace({ catalog }: PullDeps, name: string): Topic {
  const namespace = catalog().topic(name);
  if (namespace?.kind === "namespace") return namespace;
  throw new Refusal("NotFound", `There is no namespace ${shownAs(name)}.`);
}

/** Refusal: NotFound. */
function findNamespace({ catalog }: PullDeps, { headers }: RequestHead, topic: string): Topic {
  const label = (headers.host ?? "").toString().split(/[.:]/, 1)[0] ?? "";
  const named = catalog().topic(label);
  if (named?.kind === "namespace") return named;
  const [first, second] = catalog().topics.filter(
    ({ kind, name }) =>
      kind === "namespace" && catalog().topic(namespaceTopicName(name, topic)) !== undefined,
  );
  if (first !== undefined && second === undefined) return first;
  const words =
    first === undefined
      ? `No namespace has a topic ${shownAs(topic)}.`
      : `Several namespaces have a topic ${shownAs(topic)}: name one in the path, as in ` +
        `/namespaces/${first.name}/topics/${topic}.`;
  throw new Refusal("NotFound", words);
}

async function judgeRequest(
  deps: PullDeps,
  head: RequestHead,
  find: FindNamespace,
): Promise<Verdict> {
  const target = targetIn(head);
  const namespace = find(head, target);
  checkDataVersion(head);
  const name = namespaceTopicName(namespace.name, target.topic);
  const access = { namespace, subscription: target.subscription };
  if (target.subscription === null) {
    return await judgePublish(deps, {
      ...{ name, head },
      manner: {
        ...{ stampOf: topicArmId, asModule: false },
        namespace: {
          record: namespace,
          authorize: (topic) => authorizeAccess({ ...access, topic }, head, deps),
          limits: namespaceLimits,
          reply: published,
        },
      },
    });
  }
  if (!deps.isOpen()) throw refuseStopping();
  const topic = deps.catalog().topic(name);
  if (topic?.kind !== "namespaceTopic") {
    throw new Refusal("NotFound", `There is no topic ${shownAs(name)}.`);
  }
  checkNetwork(namespace, head);
  if (deps.auth) await authorizeAccess({ ...access, topic }, head, deps);
  else checkPage(head);
  return judgeReceiver(deps, head, { topic, target });
}

interface Receiver {
  readonly topic: Topic;
  readonly target: Target;
}

/** Everything but a publish. Refusals: NotFound, InvalidSetting. */
function judgeReceiver(deps: PullDeps, head: RequestHead, receiver: Receiver): Verdict {
  const { topic, target } = receiver;
  const queueNow = () => needPullQueue(deps, topic, target.subscription ?? "");
  queueNow();
  const { operation } = target;
  if (operation === "receive") {
    const max = queriedInteger(head, "maxEvents", receiveLimits.events);
    const waitMs = queriedInteger(head, "maxWaitTime", receiveLimits.waitSeconds) * 1_000;
    // Some examples send a body, which means nothing (N-24).
    return () => receive(deps, head, { queue: queueNow(), max, waitMs });
  }
  const order = orderOf(operation, head);
  return (body) => settle(deps, head, { queue: queueNow(), order, body });
}

function orderOf(operation: Target["operation"], head: RequestHead): LockOrder {
  if (operation === "release") return { kind: "release", delayMs: releaseDelayIn(head) };
  return { kind: operation as "acknowledge" | "reject" | "renewLock" };
}

/** N-32. Refusal: InvalidSetting. */
function releaseDelayIn(head: RequestHead): number {
  const text = queried(head, "releaseDelayInSeconds") ?? "0";
  const seconds = releaseDelays.find((each) => String(each) === text);
  if (seconds !== undefined) return seconds * 1_000;
  const words = `releaseDelayInSeconds must be ${listed(releaseDelays.map(String))}`;
  throw new Refusal("InvalidSetting", `${words}, and is ${shownAs(text)}.`, {
    target: "releaseDelayInSeconds",
  });
}

async function receive(
  { tokenReceivers }: PullDeps,
  { remote, onGone }: RequestHead,
  asked: { readonly queue: PullQueue; readonly max: number; readonly waitMs: number },
): Promise<Reply> {
  const { queue, max, waitMs } = asked;
  const received = await tokenReceivers.receive(queue, { max, waitMs, by: remote, onGone });
  const value = received.map(({ delivery, lockToken }) => {
    const brokerProperties = JSON.stringify({ lockToken, deliveryCount: delivery.attempts });
    return `{"brokerProperties":${brokerProperties},"event":${delivery.event.text}}`;
  });
  return replyWith(`{"value":[${value.join(",")}]}`);
}

async function settle(
  { tokenReceivers }: PullDeps,
  { remote }: RequestHead,
  asked: { readonly queue: PullQueue; readonly order: LockOrder; readonly body: Uint8Array },
): Promise<Reply> {
  const { queue, order, body } = asked;
  const given = readTokens(body);
  const results = await tokenReceivers.settle(queue, given, { ...order, by: remote });
  return replyWith(
    JSON.stringify({
      succeededLockTokens: given.filter((_, place) => results[place] === "succeeded"),
      failedLockTokens: given.flatMap((lockToken, place) =>
        results[place] === "succeeded"
          ? []
          : { lockToken, error: results[place] === "bad" ? badToken : tokenLost },
      ),
    }),
  );
}

/** N-31. Refusal: InputJsonInvalid. */
function readTokens(body: Uint8Array): readonly string[] {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
  } catch {
    value = undefined;
  }
  const tokens = (value as { lockTokens?: unknown } | null | undefined)?.lockTokens;
  if (Array.isArray(tokens) && tokens.every((token) => typeof token === "string")) return tokens;
  throw new Refusal("InputJsonInvalid", 'The body must be {"lockTokens":["…"]}.');
}
