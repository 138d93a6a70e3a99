// Namespaces, their topics and event subscriptions, as `az eventgrid namespace` creates, shows and
// changes them; and fetching by hand, with a key that the control plane gives.

import { Refusal } from "../../core/refusal.ts";
import { groupId } from "../../core/template/deployment-target.ts";
import { isObject } from "../../core/template/expression.ts";
import type { Members } from "../../core/text/wording.ts";
import { type Outside, openClient, pathTo } from "../client.ts";
import type { Run } from "../command.ts";
import { type ParsedOptions, pairsOf } from "../option.ts";
import { asListed } from "./as-listed.ts";
import { placeIn, providerIn } from "./resource-names.ts";
import { readShortForm } from "./short-form.ts";
import { shown } from "./table-rows.ts";
import { fail, listAt, remove, write } from "./topics.ts";

type Env = Outside["env"];

/** The id of what lies above: the provider, a namespace or a topic. */
function parentIn(given: ParsedOptions, env: Env): string {
  const namespace = given.one("namespace-name");
  const topic = given.one("topic-name");
  return [
    providerIn(placeIn(given, env)),
    ...(namespace === null ? [] : ["namespaces", namespace]),
    ...(topic === null ? [] : ["topics", topic]),
  ].join("/");
}

function kindIn(given: ParsedOptions): "namespaces" | "topics" | "eventSubscriptions" {
  if (given.one("topic-name") !== null) return "eventSubscriptions";
  return given.one("namespace-name") === null ? "namespaces" : "topics";
}

function idIn(given: ParsedOptions, env: Env): string {
  return `${parentIn(given, env)}/${kindIn(given)}/${given.one("name")}`;
}

/** What the options say, in ARM's shape. */
function bodyIn(given: ParsedOptions): Members {
  switch (kindIn(given)) {
    case "namespaces":
      return namespaceBody(given);
    case "topics": {
      const eventRetentionInDays = given.whole("event-retention-in-days");
      return { properties: { ...(eventRetentionInDays !== null && { eventRetentionInDays }) } };
    }
    default:
      return { properties: subscriptionProperties(given) };
  }
}

const accesses: Readonly<Record<string, string>> = { enabled: "Enabled", disabled: "Disabled" };

function namespaceBody(given: ParsedOptions): Members {
  const tags = given.all("tags");
  const access = given.one("public-network-access");
  const rules = given.groups("inbound-ip-rules");
  const port = given.whole("port");
  const sku = objectIn(given, "sku");
  const topicSpacesConfiguration = objectIn(given, "topic-spaces-configuration");
  return {
    ...(tags.length > 0 && { tags: Object.fromEntries(pairsOf("--tags", tags)) }),
    ...(sku !== null && { sku }),
    properties: {
      ...(access !== null && { publicNetworkAccess: accesses[access] }),
      ...(rules.length > 0 && {
        inboundIpRules: rules.map(([ipMask, action = "Allow"]) => ({ ipMask, action })),
      }),
      ...(topicSpacesConfiguration !== null && { topicSpacesConfiguration }),
      ...(port !== null && { posthorn: { port } }),
    },
  };
}

function objectIn(given: ParsedOptions, option: string): object | null {
  const text = given.one(option);
  return text === null ? null : readShortForm(text, `--${option}`);
}

function subscriptionProperties(given: ParsedOptions): Members {
  const deliveryConfiguration = deliveryIn(given);
  const filters = objectIn(given, "filters-configuration");
  const types = given.all("included-event-types");
  const expirationTimeUtc = given.one("expiration-time-utc");
  const filtersConfiguration = {
    ...filters,
    ...(types.length > 0 && { includedEventTypes: types }),
  };
  return {
    ...(deliveryConfiguration !== null && { deliveryConfiguration }),
    ...(Object.keys(filtersConfiguration).length > 0 && { filtersConfiguration }),
    ...(expirationTimeUtc !== null && { expirationTimeUtc }),
  };
}

const ownOptions = [
  "receive-lock-duration",
  "max-delivery-count",
  "event-time-to-live",
  "endpoint",
];

/** Refusal: InvalidSetting. */
function deliveryIn(given: ParsedOptions): object | null {
  const whole = objectIn(given, "delivery-configuration");
  const own = ownOptions.filter((option) => given.has(option));
  if (own.length === 0) return whole;
  if (whole !== null) {
    const words = `--${own[0]} must be left out with --delivery-configuration`;
    throw new Refusal("InvalidSetting", words);
  }
  const maxDeliveryCount = given.whole("max-delivery-count");
  const eventTimeToLive = given.one("event-time-to-live");
  const seconds = given.whole("receive-lock-duration");
  const endpointUrl = given.one("endpoint");
  const limits = {
    ...(maxDeliveryCount !== null && { maxDeliveryCount }),
    ...(eventTimeToLive !== null && { eventTimeToLive }),
  };
  if (endpointUrl === null) {
    const lock = seconds === null ? {} : { receiveLockDurationInSeconds: seconds };
    return { deliveryMode: "Queue", queue: { ...lock, ...limits } };
  }
  const destination = { endpointType: "WebHook", properties: { endpointUrl } };
  return { deliveryMode: "Push", push: { ...limits, destination } };
}

export const create: Run = async (given, outside) => {
  const { location } = placeIn(given, outside.env);
  const isPlaced = kindIn(given) === "namespaces";
  const body = { ...(isPlaced && { location }), ...bodyIn(given) };
  return await write(openClient(given, outside), {
    method: "PUT",
    id: idIn(given, outside.env),
    body,
  });
};

export const update: Run = async (given, outside) => {
  const id = idIn(given, outside.env);
  return await write(openClient(given, outside), { method: "PATCH", id, body: bodyIn(given) });
};

export const show: Run = async (given, outside) => {
  const id = idIn(given, outside.env);
  return shown(asListed(await openClient(given, outside).get(pathTo(id))));
};

export const list: Run = async (given, outside) => {
  const { env } = outside;
  const kind = kindIn(given);
  const place = placeIn(given, env);
  const isGrouped = given.has("resource-group") || (env.AZURE_DEFAULTS_GROUP ?? "") !== "";
  const base = isGrouped ? groupId(place) : `/subscriptions/${place.subscriptionId}`;
  const above =
    kind === "namespaces" ? `${base}/providers/Microsoft.EventGrid` : parentIn(given, env);
  return await listAt(openClient(given, outside), `${pathTo(above)}/${kind}`, given);
};

export const erase: Run = async (given, outside) => {
  await remove(openClient(given, outside), idIn(given, outside.env));
  return {};
};

export const listKeys: Run = async (given, outside) => {
  const path = `${pathTo(idIn(given, outside.env))}/listKeys`;
  return { value: (await openClient(given, outside).send("POST", path)).body };
};

export const regenerateKey: Run = async (given, outside) => {
  const path = `${pathTo(idIn(given, outside.env))}/regenerateKey`;
  const keyName = given.one("key-name");
  return { value: (await openClient(given, outside).send("POST", path, { keyName })).body };
};

// By hand.

const dataVersion = "api-version=2024-06-01";

/** The data plane, with the topic's key. Throws Complaint. */
async function order(
  given: ParsedOptions,
  outside: Outside,
  {
    verb,
    query = "",
    body,
  }: { readonly verb: string; readonly query?: string; readonly body?: object },
): Promise<Members> {
  const client = openClient(given, outside);
  const topicId = parentIn(given, outside.env);
  const { key1 } = (await client.send("POST", `${pathTo(topicId)}/listKeys`)).body;
  const [namespace, topic, name] = ["namespace-name", "topic-name", "name"].map((option) =>
    encodeURIComponent(given.one(option) ?? ""),
  );
  const path = `/namespaces/${namespace}/topics/${topic}/eventsubscriptions/${name}:${verb}`;
  const headers = { "aeg-sas-key": String(key1), "content-type": "application/json" };
  const text = body === undefined ? "" : JSON.stringify(body);
  const answer = await client.post(`${path}?${dataVersion}${query}`, headers, text);
  const { status } = answer;
  if (status === 200) return answer.body;
  const error = isObject(answer.body.error) ? answer.body.error : {};
  return fail(String(error.message ?? `the broker answered ${status}`));
}

export const receive: Run = async (given, outside) => {
  const max = given.whole("max-events") ?? 1;
  const wait = given.whole("max-wait-time") ?? 10;
  const query = `&maxEvents=${max}&maxWaitTime=${wait}`;
  const { value } = await order(given, outside, { verb: "receive", query });
  const received = Array.isArray(value) ? value.filter(isObject) : [];
  const lockTokens = received.map(({ brokerProperties }) =>
    isObject(brokerProperties) ? String(brokerProperties.lockToken) : "",
  );
  if (given.isOn("acknowledge") === true && lockTokens.length > 0) {
    await order(given, outside, { verb: "acknowledge", body: { lockTokens } });
  }
  return { value: received };
};

export const acknowledge = settling("acknowledge");
export const release = settling("release");
export const reject = settling("reject");

function settling(verb: string): Run {
  return async (given, outside) => {
    const lockTokens = given.all("lock-tokens");
    return { value: await order(given, outside, { verb, body: { lockTokens } }) };
  };
}
