// A pull queue in a test: an event subscription of a namespace topic, from which the test receives
// as a client of namespaces does. For the clients themselves it has endpoint, key and names.

import type { Call } from "./calls.ts";
import { topicPath } from "./calls.ts";

export interface QueueOptions {
  /** `receiveLockDurationInSeconds`, `maxDeliveryCount`, `eventTimeToLive`, as in ARM. */
  readonly queue?: Readonly<Record<string, unknown>>;
  /** Further properties as in ARM, such as `filtersConfiguration`. */
  readonly properties?: Readonly<Record<string, unknown>>;
}

export interface ReceivedEvent {
  readonly event: Readonly<Record<string, unknown>> & { readonly id: string };
  readonly lockToken: string;
  readonly deliveryCount: number;
}

export interface TestQueue {
  /** For clients of namespaces. */
  readonly endpoint: string;
  readonly key: string;
  readonly topic: string;
  readonly subscription: string;
  /** At least one event, or none after ten seconds. */
  receive(max?: number): Promise<readonly ReceivedEvent[]>;
  /** Each returns the tokens that counted. */
  acknowledge(...received: readonly ReceivedEvent[]): Promise<readonly string[]>;
  release(...received: readonly ReceivedEvent[]): Promise<readonly string[]>;
  reject(...received: readonly ReceivedEvent[]): Promise<readonly string[]>;
  renewLock(...received: readonly ReceivedEvent[]): Promise<readonly string[]>;
}

/** `topic`: `namespace/topic`. Creates what is missing of namespace, topic and queue. */
export async function openQueue(
  call: Call,
  url: () => string,
  {
    topic,
    name,
    options = {},
  }: { readonly topic: string; readonly name: string; readonly options?: QueueOptions | undefined },
): Promise<TestQueue> {
  const [namespace = "", own = ""] = topic.split("/");
  await createTopic(call, topic);
  const delivery = { deliveryMode: "Queue", queue: options.queue ?? {} };
  await call("PUT", topicPath(topic, `/eventSubscriptions/${name}`), {
    properties: { ...options.properties, deliveryConfiguration: delivery },
  });
  const { key1: key } = (await call("POST", topicPath(topic, "/listKeys"))) as { key1: string };
  const post = async (verb: string, query: string, body?: object) => {
    const path = `/namespaces/${namespace}/topics/${own}/eventsubscriptions/${name}:${verb}`;
    const answer = await fetch(`${url()}${path}?api-version=2024-06-01${query}`, {
      method: "POST",
      headers: { authorization: `SharedAccessKey ${key}` },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${verb} was refused: ${answer.status} ${text}`);
    return JSON.parse(text);
  };
  const settling =
    (verb: string) =>
    async (...received: readonly ReceivedEvent[]): Promise<readonly string[]> => {
      const lockTokens = received.map(({ lockToken }) => lockToken);
      return (await post(verb, "", { lockTokens })).succeededLockTokens;
    };
  return {
    get endpoint() {
      return `${url()}/namespaces/${namespace}`;
    },
    key,
    topic: own,
    subscription: name,
    async receive(max = 100) {
      const { value } = (await post("receive", `&maxEvents=${max}&maxWaitTime=10`)) as {
        value: { event: ReceivedEvent["event"]; brokerProperties: Omit<ReceivedEvent, "event"> }[];
      };
      return value.map(({ event, brokerProperties }) => ({ event, ...brokerProperties }));
    },
    acknowledge: settling("acknowledge"),
    release: settling("release"),
    reject: settling("reject"),
    renewLock: settling("renewLock"),
  };
}

/** A topic of a namespace, and the namespace. */
async function createTopic(call: Call, topic: string): Promise<void> {
  const [namespace = ""] = topic.split("/");
  await call("PUT", topicPath(`${namespace}/`), { location: "local" });
  await call("PUT", topicPath(topic), { properties: {} });
}
