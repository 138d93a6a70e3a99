// Topics, domains and the topics of domains, as `az eventgrid` makes, shows and changes them: the
// same bodies go to the broker, and the same shapes come back.

import type { Members } from "../core/members.ts";
import { Refusal } from "../core/refusal.ts";
import { listed, oneOf } from "../core/setting.ts";
import { refuseValue } from "../core/wording.ts";
import { type Client, type Outside, openClient, pathTo } from "./client.ts";
import type { Result, Run } from "./command.ts";
import { isObject } from "./expression.ts";
import { asListed } from "./listed.ts";
import { type Given, pairsOf } from "./option.ts";
import { groupId } from "./place.ts";
import { domainTopicIds, placeIn, providerIn, type TopicKind, topicIds } from "./source.ts";

/** As many as `az` asks for in a page. */
export const pageQuery = "$top=100";

export const createTopic = creating("topics");
export const createDomain = creating("domains");

function creating(kind: TopicKind): Run {
  return async (given, outside) => {
    const place = placeIn(given, outside.env);
    const id = `${providerIn(place)}/${kind}/${given.one("name")}`;
    const body = { location: place.location, ...topicBody(given, kind) };
    return await write(openClient(given, outside), { method: "PUT", id, body });
  };
}

/** Writes, waits, and shows what has become of it. Throws Complaint. */
export async function write(
  client: Client,
  { method, id, body }: { readonly method: string; readonly id: string; readonly body: object },
): Promise<Result> {
  const written = await client.send(method, pathTo(id), body);
  const why = await client.follow(written);
  if (why !== null) fail(why);
  return { value: asListed(await client.get(pathTo(id))) };
}

/** Throws: what the broker began did not go well. */
export function fail(why: string): never {
  throw new Refusal("Conflict", why);
}

/** What `az` sends, but for members that say nothing. Refusal: InvalidSetting. */
export function topicBody(given: Given, kind: TopicKind): Members {
  const tags = given.all("tags");
  const schema = schemas[given.one("input-schema") ?? "eventgridschema"] as string;
  return {
    ...(tags.length > 0 && { tags: pairsOf("--tags", tags) }),
    sku: { name: skus[given.one("sku") ?? "basic"] },
    identity: identityIn(given) ?? { type: "None" },
    ...(kind === "topics" && { kind: kinds[given.one("kind") ?? "azure"], ...locationIn(given) }),
    properties: {
      inputSchema: schema,
      disableLocalAuth: given.isOn("disable-local-auth") ?? false,
      ...mappingIn(given, schema),
      ...accessIn(given),
      ...autoIn(given),
      ...ownIn(given),
    },
  };
}

const schemas: Readonly<Record<string, string>> = {
  eventgridschema: "EventGridSchema",
  customeventschema: "CustomEventSchema",
  cloudeventschemav1_0: "CloudEventSchemaV1_0",
};
const skus: Readonly<Record<string, string>> = { basic: "Basic", premium: "Premium" };
const kinds: Readonly<Record<string, string>> = { azure: "Azure", azurearc: "AzureArc" };
const accesses: Readonly<Record<string, string>> = { enabled: "Enabled", disabled: "Disabled" };

/** Only topics of clusters that Azure Arc knows have one. */
function locationIn(given: Given): Members {
  const [name, type] = [given.one("extended-location-name"), given.one("extended-location-type")];
  const isArc = given.one("kind") === "azurearc";
  if (!isArc && (name ?? type) !== null) {
    const words = "--extended-location-name and -type must be left out without --kind azurearc";
    throw new Refusal("InvalidSetting", words);
  }
  return isArc && name !== null ? { extendedLocation: { name, type } } : {};
}

/** Null: nothing was said of it. */
function identityIn(given: Given): Members | null {
  const plain = given.one("identity");
  const isSystem = given.isOn("mi-system-assigned") === true;
  const users = given.groups("mi-user-assigned").map(([id = ""]) => id);
  if (plain !== null && (isSystem || users.length > 0)) {
    const words = "--identity must be left out with --mi-system-assigned or --mi-user-assigned";
    throw new Refusal("InvalidSetting", words);
  }
  if (plain !== null) return { type: plain === "systemassigned" ? "SystemAssigned" : "None" };
  if (!isSystem && users.length === 0) return null;
  const names = [
    ...(isSystem ? ["SystemAssigned"] : []),
    ...(users.length > 0 ? ["UserAssigned"] : []),
  ];
  return {
    type: names.join(", "),
    ...(users.length > 0 && {
      userAssignedIdentities: Object.fromEntries(users.map((id) => [id, {}])),
    }),
  };
}

const mappedFields: Readonly<Record<string, string>> = {
  id: "id",
  topic: "topic",
  eventtime: "eventTime",
  subject: "subject",
  eventtype: "eventType",
  dataversion: "dataVersion",
};
const defaultedFields = ["subject", "eventtype", "dataversion"];

function mappingIn(given: Given, schema: string): Members {
  const [fields, defaults] = [
    given.all("input-mapping-fields"),
    given.all("input-mapping-default-values"),
  ];
  const isGiven = fields.length + defaults.length > 0;
  const isCustom = schema === "CustomEventSchema";
  if (isCustom !== isGiven && !(schema === "CloudEventSchemaV1_0" && defaults.length === 0)) {
    const verb = isCustom ? "must be given" : "must be left out";
    const when = isCustom ? "with" : "without";
    const words = `${when} --input-schema customeventschema`;
    throw new Refusal(
      "InvalidSetting",
      `--input-mapping-fields or -default-values ${verb} ${words}`,
    );
  }
  if (!isGiven) return {};
  const properties: Record<string, Record<string, string>> = {};
  const put = (option: string, pairs: readonly string[], names: readonly string[], as: string) => {
    for (const [key, value] of Object.entries(pairsOf(option, pairs))) {
      const name = mappedFields[key.toLowerCase()];
      if (name === undefined || !names.includes(key.toLowerCase())) {
        throw refuseValue({ field: option, value: key, allowed: listed(names) });
      }
      properties[name] = { ...properties[name], [as]: value };
    }
  };
  put("--input-mapping-fields", fields, Object.keys(mappedFields), "sourceField");
  put("--input-mapping-default-values", defaults, defaultedFields, "defaultValue");
  return { inputSchemaMapping: { inputSchemaMappingType: "Json", properties } };
}

function accessIn(given: Given): Members {
  const access = given.one("public-network-access");
  const rules = given.groups("inbound-ip-rules");
  return {
    ...(access !== null && { publicNetworkAccess: accesses[access] }),
    ...(rules.length > 0 && {
      inboundIpRules: rules.map(([ipMask = "", action = ""]) => ({
        ipMask,
        action: actionOf(action),
      })),
    }),
  };
}

function actionOf(text: string): string {
  if (text.toLowerCase() === "allow") return "Allow";
  throw refuseValue({
    field: "--inbound-ip-rules",
    value: text,
    allowed: "a mask and Allow, such as 10.0.0.0/8 Allow",
  });
}

function autoIn(given: Given): Members {
  const create = given.isOn("auto-create-topic-with-first-subscription");
  const remove = given.isOn("auto-delete-topic-with-last-subscription");
  return {
    ...(create !== null && { autoCreateTopicWithFirstSubscription: create }),
    ...(remove !== null && { autoDeleteTopicWithLastSubscription: remove }),
  };
}

/** What is ours alone. */
function ownIn(given: Given): Members {
  const [profile, port] = [given.one("profile"), given.whole("port")];
  if ((profile ?? port) === null) return {};
  return { posthorn: { ...(profile !== null && { profile }), ...(port !== null && { port }) } };
}

export const updateTopic = updating("topics");
export const updateDomain = updating("domains");

function updating(kind: TopicKind): Run {
  return async (given, outside) => {
    const client = openClient(given, outside);
    const tags = given.all("tags");
    const identity = identityIn(given);
    const sku = given.one("sku");
    const local = given.isOn("disable-local-auth");
    const properties = {
      ...accessIn(given),
      ...autoIn(given),
      ...ownIn(given),
      ...(local !== null && { disableLocalAuth: local }),
    };
    const body = {
      ...(given.has("tags") && {
        tags: pairsOf(
          "--tags",
          tags.filter((tag) => tag !== ""),
        ),
      }),
      ...(identity !== null && { identity }),
      ...(sku !== null && { sku: { name: skus[sku] } }),
      ...(Object.keys(properties).length > 0 && { properties }),
    };
    return await forEach(topicIds(given, outside.env, kind), (id) =>
      write(client, { method: "PATCH", id, body }),
    );
  };
}

/** One answer as it is, several as a list. */
async function forEach(
  ids: readonly string[],
  run: (id: string) => Promise<Result>,
): Promise<Result> {
  const values: unknown[] = [];
  for (const id of ids) values.push((await run(id)).value);
  return { value: values.length === 1 ? values[0] : values };
}

export const listTopics = listing("topics");
export const listDomains = listing("domains");

function listing(kind: TopicKind): Run {
  return async (given, outside) => {
    const place = placeIn(given, outside.env);
    const isGrouped =
      given.has("resource-group") || (outside.env.AZURE_DEFAULTS_GROUP ?? "") !== "";
    const base = isGrouped ? groupId(place) : `/subscriptions/${place.subscriptionId}`;
    const path = `${pathTo(base)}/providers/Microsoft.EventGrid/${kind}`;
    return await listAt(openClient(given, outside), path, given);
  };
}

/** Throws Complaint. */
export async function listAt(client: Client, path: string, given: Given): Promise<Result> {
  const filter = given.one("odata-query");
  const query = filter === null ? "" : `&$filter=${encodeURIComponent(filter)}`;
  // Asked once for the first page's sake: a refusal has its own words.
  const first = await client.get(`${path}?${pageQuery}${query}`);
  const all =
    typeof first.nextLink === "string"
      ? await client.list(`${path}?${pageQuery}${query}`)
      : Array.isArray(first.value)
        ? first.value.filter(isObject)
        : [];
  return { value: all.map(asListed) };
}

export const showTopic = showing((given, { env }) => topicIds(given, env, "topics"));
export const showDomain = showing((given, { env }) => topicIds(given, env, "domains"));
export const showDomainTopic = showing((given, { env }) => domainTopicIds(given, env));

type IdsOf = (given: Given, outside: Outside) => readonly string[];

function showing(idsOf: IdsOf): Run {
  return async (given, outside) => {
    const client = openClient(given, outside);
    return await forEach(idsOf(given, outside), async (id) => ({
      value: asListed(await client.get(pathTo(id))),
    }));
  };
}

export const deleteTopic = deleting((given, { env }) => topicIds(given, env, "topics"));
export const deleteDomain = deleting((given, { env }) => topicIds(given, env, "domains"));
export const deleteDomainTopic = deleting((given, { env }) => domainTopicIds(given, env));

function deleting(idsOf: IdsOf): Run {
  return async (given, outside) => {
    const client = openClient(given, outside);
    for (const id of idsOf(given, outside)) await remove(client, id);
    return {};
  };
}

/** Also what is not there, as in Azure. Throws Complaint. */
export async function remove(client: Client, id: string): Promise<void> {
  const why = await client.follow(await client.send("DELETE", pathTo(id)));
  if (why !== null) fail(why);
}

export const listTopicKeys = keysOf("topics");
export const listDomainKeys = keysOf("domains");

function keysOf(kind: TopicKind): Run {
  return async (given, outside) => {
    const [id = ""] = topicIds(given, outside.env, kind);
    const client = openClient(given, outside);
    return { value: (await client.send("POST", `${pathTo(id)}/listKeys`)).body };
  };
}

export const regenerateTopicKey = regenerating("topics");
export const regenerateDomainKey = regenerating("domains");

function regenerating(kind: TopicKind): Run {
  return async (given, outside) => {
    const [id = ""] = topicIds(given, outside.env, kind);
    const keyName = oneOf(["key1", "key2"]).parse(given.one("key-name") ?? "", "--key-name");
    const client = openClient(given, outside);
    const answer = await client.send("POST", `${pathTo(id)}/regenerateKey`, { keyName });
    const why = await client.follow(answer);
    if (why !== null) fail(why);
    return { value: (await client.send("POST", `${pathTo(id)}/listKeys`)).body };
  };
}

export const createDomainTopic: Run = async (given, outside) => {
  const [id = ""] = domainTopicIds(given, outside.env);
  return await write(openClient(given, outside), { method: "PUT", id, body: {} });
};

export const listDomainTopics: Run = async (given, outside) => {
  const domain = `${providerIn(placeIn(given, outside.env))}/domains/${given.one("domain-name")}`;
  return await listAt(openClient(given, outside), `${pathTo(domain)}/topics`, given);
};

export const listTopicTypes: Run = async (given, outside) => {
  const { value } = await openClient(given, outside).get(
    "/providers/Microsoft.EventGrid/topicTypes",
  );
  return { value: Array.isArray(value) ? value.filter(isObject).map(asListed) : [] };
};

export const showTopicType: Run = async (given, outside) => {
  const path = `/providers/Microsoft.EventGrid/topicTypes/${encodeURIComponent(given.one("name") ?? "")}`;
  return { value: asListed(await openClient(given, outside).get(path)) };
};
