// Topics, domains and the topics of domains, as `az eventgrid` creates, shows and changes them:
// with the same requests and the same output.

import type { TopicView } from "../../core/api/views.ts";
import { Refusal } from "../../core/refusal.ts";
import { groupId } from "../../core/template/deployment-target.ts";
import { isObject } from "../../core/template/expression.ts";
import { isSameName } from "../../core/text/compare.ts";
import { oneOf } from "../../core/text/setting-kinds.ts";
import type { Members } from "../../core/text/wording.ts";
import { type Client, type Outside, openClient, pathTo } from "../client.ts";
import type { Result, Run } from "../command.ts";
import type { ParsedOptions } from "../option.ts";
import { asListed } from "./as-listed.ts";
import { domainTopicIds, placeIn, providerIn, type TopicKind, topicIds } from "./resource-names.ts";
import { shown } from "./table-rows.ts";
import { changedBody, topicBody } from "./topic-body.ts";

/** As many as `az` requests in a page. */
const pageQuery = "$top=100";

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

/** Writes, waits, and shows the result. Throws Complaint. */
export async function write(
  client: Client,
  { method, id, body }: { readonly method: string; readonly id: string; readonly body: object },
): Promise<Result> {
  const written = await client.send(method, pathTo(id), body);
  const why = await client.follow(written);
  if (why !== null) fail(why);
  return shown(asListed(await client.get(pathTo(id))));
}

/** Throws if the operation failed. */
export function fail(why: string): never {
  throw new Refusal("Conflict", why);
}

export const updateTopic = updating("topics");
export const updateDomain = updating("domains");

function updating(kind: TopicKind): Run {
  return async (given, outside) => {
    const client = openClient(given, outside);
    const body = changedBody(given);
    return await forEach(topicIds(given, outside.env, kind), (id) =>
      write(client, { method: "PATCH", id, body }),
    );
  };
}

/** One result as it is, several as a list. */
async function forEach(
  ids: readonly string[],
  run: (id: string) => Promise<Result>,
): Promise<Result> {
  const values: Members[] = [];
  for (const id of ids) values.push((await run(id)).value as Members);
  const [only] = values;
  return shown(only !== undefined && values.length === 1 ? only : values);
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
export async function listAt(client: Client, path: string, given: ParsedOptions): Promise<Result> {
  const filter = given.one("odata-query");
  const query = filter === null ? "" : `&$filter=${encodeURIComponent(filter)}`;
  // The first page is requested separately: a refusal has its own message.
  const first = await client.get(`${path}?${pageQuery}${query}`);
  const all =
    typeof first.nextLink === "string"
      ? await client.list(`${path}?${pageQuery}${query}`)
      : Array.isArray(first.value)
        ? first.value.filter(isObject)
        : [];
  return shown(all.map(asListed));
}

export const showTopic = showing((given, { env }) => topicIds(given, env, "topics"));
export const showDomain = showing((given, { env }) => topicIds(given, env, "domains"));
export const showDomainTopic = showing((given, { env }) => domainTopicIds(given, env));

type IdsOf = (given: ParsedOptions, outside: Outside) => readonly string[];

function showing(idsOf: IdsOf): Run {
  return async (given, outside) => {
    const client = openClient(given, outside);
    return await forEach(idsOf(given, outside), async (id) => ({
      value: asListed(await client.get(pathTo(id))),
    }));
  };
}

export const deleteTopic = deletingAll("topics");
export const deleteDomain = deletingAll("domains");
export const deleteDomainTopic = deleting((given, { env }) => domainTopicIds(given, env));

function deleting(idsOf: IdsOf): Run {
  return async (given, outside) => {
    const client = openClient(given, outside);
    for (const id of idsOf(given, outside)) await remove(client, id);
    return {};
  };
}

/** With its waiting events: a person is asked first. */
function deletingAll(kind: TopicKind): Run {
  const remove = deleting((given, { env }) => topicIds(given, env, kind));
  return async (given, outside) => {
    if (given.isOn("yes") !== true) {
      await confirm(openClient(given, outside), topicIds(given, outside.env, kind), outside);
    }
    return await remove(given, outside);
  };
}

/** Refusal: Conflict, when the person does not agree. */
async function confirm(client: Client, ids: readonly string[], { question }: Outside) {
  if (question === null) return;
  const { value } = await client.get("/api/v1/topics");
  const topics = (Array.isArray(value) ? value : []) as TopicView[];
  for (const { name, armId, waiting } of topics) {
    if (waiting === 0 || !ids.some((id) => isSameName(id, armId))) continue;
    const what = waiting === 1 ? "1 event waits" : `${waiting} events wait`;
    const answer = await question(`${what} in ${name} and will be lost. Delete it? [y/N] `);
    if (!/^\s*y(es)?\s*$/i.test(answer)) throw new Refusal("Conflict", "nothing was deleted");
  }
}

/** Also if it does not exist, as in Azure. Throws Complaint. */
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
