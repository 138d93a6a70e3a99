// Event subscriptions, as `az eventgrid` creates, shows and changes them, for all groups of
// commands.

import { Refusal } from "../../core/refusal.ts";
import { groupId } from "../../core/template/deployment-target.ts";
import { isObject } from "../../core/template/expression.ts";
import type { Members } from "../../core/text/wording.ts";
import { type Client, type Outside, openClient, pathTo } from "../client.ts";
import type { Result, Run } from "../command.ts";
import { quoted } from "../events/matched.ts";
import { toResource } from "../import/az-shape.ts";
import type { ParsedOptions } from "../option.ts";
import { amended, amends } from "./amend.ts";
import { asListed } from "./as-listed.ts";
import { followHandshake, howToGoOn } from "./follow-handshake.ts";
import { placeIn, type Source, sourceIn, subscriptionId } from "./resource-names.ts";
import {
  changedTerms,
  changesDestination,
  checkTogether,
  destinationIn,
  identityIn,
  newTerms,
} from "./subscription-body.ts";
import { shown } from "./table-rows.ts";
import { fail, listAt, remove } from "./topics.ts";

function idIn(given: ParsedOptions, env: Readonly<Record<string, string | undefined>>): string {
  return subscriptionId(sourceIn(given, env), given.one("name") ?? "");
}

export const createSubscription: Run = async (given, outside) => {
  const id = idIn(given, outside.env);
  const body = newTerms(given);
  const client = openClient(given, outside);
  return await writeAsked({ client, given, outside }, { method: "PUT", id, body });
};

interface Asking {
  readonly client: Client;
  readonly given: ParsedOptions;
  readonly outside: Outside;
}

/** Writes, shows how the endpoint is asked, and the result. Throws Complaint. */
async function writeAsked(
  { client, given, outside }: Asking,
  { method, id, body }: { readonly method: string; readonly id: string; readonly body: object },
): Promise<Result> {
  const written = await client.send(method, pathTo(id), body);
  const source = sourceIn(given, outside.env);
  const asked = { source, name: given.one("name") ?? "", words: namingOf(given) };
  if (given.isOn("no-wait") === true) {
    outside.tell(`posthorn: not waiting; ${howToGoOn(asked)}\n`);
    return {};
  }
  const end = await followHandshake(client, outside, { written, ...asked });
  if (end.kind === "left") return { exitCode: 130 };
  if (end.kind === "failed") fail(end.why);
  return shown(asListed(await client.get(pathTo(id))));
}

/** The options that name it, for a command to type. */
function namingOf(given: ParsedOptions): string {
  const naming = ["name", "source-resource-id", "topic-name", "domain-name", "domain-topic-name"];
  const words = [...naming, "resource-group", "subscription"].flatMap((option) => {
    const value = given.one(option);
    return value === null ? [] : [option === "name" ? "-n" : `--${option}`, quoted(value)];
  });
  return words.join(" ");
}

export const deleteSubscription: Run = async (given, outside) => {
  const id = idIn(given, outside.env);
  await remove(openClient(given, outside), id);
  return {};
};

export const showSubscription: Run = async (given, outside) => {
  const id = idIn(given, outside.env);
  const client = openClient(given, outside);
  const listed = asListed(await client.get(pathTo(id)));
  const destination = isObject(listed.destination) ? listed.destination : {};
  const isWebhook = destination.endpointType === "WebHook";
  const more: Record<string, unknown> = {};
  if (given.isOn("include-full-endpoint-url") === true && isWebhook) {
    more.endpointUrl = (await client.send("POST", `${pathTo(id)}/getFullUrl`)).body.endpointUrl;
  }
  if (given.isOn("include-static-delivery-attribute-secret") === true) {
    const { body } = await client.send("POST", `${pathTo(id)}/getDeliveryAttributes`);
    more.deliveryAttributeMappings = { value: raised(body.value) };
  }
  return shown({ ...listed, destination: { ...destination, ...more } });
};

function raised(mappings: unknown): unknown {
  if (!Array.isArray(mappings)) return mappings;
  return mappings.filter(isObject).map(({ properties, ...around }) => ({
    ...around,
    ...(isObject(properties) && properties),
  }));
}

export const listSubscriptions: Run = async (given, outside) => {
  const client = openClient(given, outside);
  return await listAt(client, listPath(given, outside.env), given);
};

function listPath(given: ParsedOptions, env: Readonly<Record<string, string | undefined>>): string {
  const hasSource = ["source-resource-id", "topic-name", "domain-name"].some((option) =>
    given.has(option),
  );
  if (hasSource) {
    const source = sourceIn(given, env);
    return pathTo(`${source.id}${below(source)}/eventSubscriptions`);
  }
  const place = placeIn(given, env);
  const isGrouped = given.has("resource-group");
  const base = isGrouped ? groupId(place) : `/subscriptions/${place.subscriptionId}`;
  const isGlobal = (given.one("location") ?? "global").toLowerCase() === "global";
  const type = given.one("topic-type-name");
  return pathTo(
    [
      `${base}/providers/Microsoft.EventGrid`,
      ...(isGlobal ? [] : ["locations", place.location]),
      ...(type === null ? [] : ["topicTypes", type]),
      "eventSubscriptions",
    ].join("/"),
  );
}

function below({ isNested }: Source): string {
  return isNested ? "" : "/providers/Microsoft.EventGrid";
}

export const updateSubscription: Run = async (given, outside) => {
  const id = idIn(given, outside.env);
  checkTogether(given);
  const client = openClient(given, outside);
  const shown = await client.get(pathTo(id));
  const body = {
    ...changedTerms(given, shown),
    ...(changesDestination(given) && (await changedSending(client, { id, given, shown }))),
    ...(amends(given) && amendedTerms(shown, given)),
  };
  if (Object.keys(body).length === 0) {
    const words = "what to change must be given, such as --subject-begins-with TEXT";
    throw new Refusal("InvalidSetting", words);
  }
  return await writeAsked({ client, given, outside }, { method: "PATCH", id, body });
};

/** What was read is written back; a URL is read without its query, so the full URL is fetched. */
async function changedSending(
  client: Client,
  {
    id,
    given,
    shown,
  }: { readonly id: string; readonly given: ParsedOptions; readonly shown: Members },
): Promise<Members> {
  const withIdentityAt = given.one("delivery-identity-endpoint");
  if (withIdentityAt !== null) return identityIn(given, withIdentityAt);
  const properties = isObject(shown.properties) ? shown.properties : {};
  const { deliveryWithResourceIdentity: withIdentity } = properties;
  const holder = isObject(withIdentity) ? withIdentity : properties;
  const before = isObject(holder.destination) ? holder.destination : {};
  const known = isObject(before.properties) ? before.properties : {};
  const kindBefore = String(before.endpointType ?? "WebHook").toLowerCase();
  const kind = given.one("endpoint-type") ?? kindBefore;
  if (kind !== kindBefore && !given.has("endpoint")) {
    const words = "--endpoint must be given, too, with another --endpoint-type";
    throw new Refusal("InvalidSetting", words);
  }
  const endpoint = given.one("endpoint") ?? (await endpointOf(client, id, known));
  const wanted = destinationIn(given, endpoint, kind);
  const { endpointBaseUrl: _, deliveryAttributeMappings: __, ...kept } = known;
  const destination = {
    ...wanted,
    properties: {
      ...(kind === kindBefore && kept),
      ...(isObject(wanted.properties) && wanted.properties),
    },
  };
  // An endpoint without an identity option is meant without an identity.
  const keepsIdentity = isObject(withIdentity) && !given.has("endpoint");
  return keepsIdentity
    ? { deliveryWithResourceIdentity: { ...withIdentity, destination } }
    : { destination };
}

async function endpointOf(client: Client, id: string, known: Members): Promise<string> {
  const { resourceId, queueName } = known;
  if (typeof queueName === "string") {
    return `${resourceId}/queueServices/default/queues/${queueName}`;
  }
  if (typeof resourceId === "string") return resourceId;
  const { body } = await client.send("POST", `${pathTo(id)}/getFullUrl`);
  return String(body.endpointUrl);
}

/** In ARM's shape, which the broker takes. */
function amendedTerms(shown: Members, given: ParsedOptions): Members {
  const changed = amended(asListed(shown), given);
  const { properties } = toResource({ ...changed, id: shown.id });
  const taken = isObject(properties) ? properties : {};
  const cleared = Object.entries(changed).filter(([, value]) => value === null);
  return { ...taken, ...Object.fromEntries(cleared) };
}
