// `posthorn import`: reads files, plans the resources, and writes them to the broker through its
// API. A resource that already has the wanted state is not written again, which would repeat its
// handshake. If one fails, the others are still written.

import { isObject } from "../../core/template/expression.ts";
import { declaredParameters, type Found } from "../../core/template/template.ts";
import { isSameName } from "../../core/text/compare.ts";
import type { Members } from "../../core/text/wording.ts";
import { refuseName } from "../../core/text/wording.ts";
import { localGroup } from "../../core/topic.ts";
import { wordsOf } from "../broker-error.ts";
import {
  type BrokerReply,
  type Client,
  type Outside,
  openClient,
  pathTo,
  secretsOf,
} from "../client.ts";
import type { Run } from "../command.ts";
import { readNamed } from "../find-broker.ts";
import { type ParsedOptions, pairsOf } from "../option.ts";
import { isTemplate, parseDocument, readDocument, readParameters } from "./document.ts";
import { type Need, type Plan, planFor, type Wanted } from "./plan.ts";
import { isHidden, isSameResource } from "./same-as.ts";
import { ownPath } from "./signing-secrets.ts";

/** How many handshakes to wait for at once. */
const followedMax = 16;

/** Exit code 1 when a resource failed. Refusals: InvalidSetting, Unavailable, …. */
export const importResources: Run = async (options, outside) => {
  const plan = await planIn(options, outside);
  const client = openClient(options, outside);
  const isDryRun = options.has("dry-run");
  let hasFailed = false;
  const print = (line: Line) => {
    hasFailed ||= line.word === "failed";
    outside.print(`${lineOf(line)}\n`);
  };
  // Also when there is nothing to do, to report a broker that does not answer.
  await client.list("/subscriptions");
  for (let at = 0; at < plan.wanted.length; at += followedMax) {
    const begun: Promise<Line>[] = [];
    // Writes one after the other, because topics of one domain share a record; waits in parallel.
    for (const wanted of plan.wanted.slice(at, at + followedMax)) {
      begun.push((await begin(client, wanted, isDryRun))());
    }
    for (const line of await Promise.all(begun)) print(line);
  }
  plan.passedOver.forEach(print);
  return { exitCode: hasFailed ? 1 : 0 };
};

interface Line {
  readonly word: string;
  readonly what: string;
  readonly why?: string;
}

function lineOf({ word, what, why }: Line): string {
  return `${word.padEnd(9)}  ${what}${why === undefined ? "" : `: ${why}`}`;
}

async function planIn(options: ParsedOptions, outside: Outside): Promise<Plan> {
  const readFile = (file: string) => readNamed(file, outside.readFile);
  const additions = {
    endpoints: pairsOf("--endpoint", options.all("endpoint"), "SUBSCRIPTION=URL"),
    attributes: pairsOf("--attribute", options.all("attribute"), "SUBSCRIPTION:HEADER=VALUE"),
    omitted: options.all("omit"),
    usesBaseUrls: options.has("use-base-urls"),
  };
  const place = {
    subscriptionId: options.one("subscription") ?? localGroup.subscriptionId,
    resourceGroup: options.one("resource-group") ?? localGroup.resourceGroup,
    location: options.one("location") ?? localGroup.location,
  };
  const parameters = readParameters(options.all("parameters"), readFile);
  const documents: [string, unknown][] = [];
  for (const name of options.operands) {
    const file = name === "-" ? "the input" : name;
    const text = name === "-" ? await outside.readInput() : readFile(name);
    documents.push([file, parseDocument(text, file)]);
  }
  const templates = documents.map(([, document]) => document).filter(isTemplate);
  const known = templates.flatMap(declaredParameters);
  for (const name of parameters.keys()) {
    if (!known.some((each) => each.toLowerCase() === name.toLowerCase())) {
      throw refuseName({ what: "parameter", name, known });
    }
  }
  const found: Found[] = documents.flatMap(([file, document]) =>
    readDocument(document, { file, place, parameters }),
  );
  return planFor(found, additions);
}

/** Starts the write; the result waits for the rest. */
async function begin(
  client: Client,
  wanted: Wanted,
  isDryRun: boolean,
): Promise<() => Promise<Line>> {
  const { kind, label, id, body } = wanted;
  const what = `${kind.replace("Topic", " topic")} ${label}`;
  const say = (word: string, why?: string) => async () => ({
    word,
    what,
    ...(why !== undefined && { why }),
  });
  const shown = await client.ask("GET", pathTo(id));
  const isThere = shown.status === 200;
  if (isThere && (await isAsWanted(client, wanted, shown.body))) {
    const state = stateOf(shown.body);
    if (!isFlowAlike(wanted, shown.body)) {
      if (isDryRun) return say("to update");
      const why = await setFlow(client, wanted);
      return why === null ? say("updated") : say("failed", why);
    }
    return say("unchanged", state === "Succeeded" ? undefined : `it is ${state}`);
  }
  const needs = wanted.needs.filter((need) => !isThere || !isKept(need, wanted, shown.body));
  if (needs.length > 0) {
    const add = needs.map(({ option }) => option).join(" ");
    return say("failed", `the file lacks secrets; add ${add}`);
  }
  if (isDryRun) return say(isThere ? "to update" : "to create");
  const written = await client.ask("PUT", pathTo(id), body);
  if (written.status >= 300)
    return say("failed", wordsOf(written.body, `answer ${written.status}`));
  return async () => await finish(client, { wanted, written, what, isThere });
}

async function finish(
  client: Client,
  done: {
    readonly wanted: Wanted;
    readonly written: BrokerReply;
    readonly what: string;
    readonly isThere: boolean;
  },
): Promise<Line> {
  const { what } = done;
  const why = await client.follow(done.written);
  if (why !== null) return { word: "failed", what, why };
  const word = done.isThere ? "updated" : "created";
  if (done.wanted.kind !== "subscription") return { word, what };
  const { body } = await client.ask("GET", pathTo(done.wanted.id));
  const whyNot = isFlowAlike(done.wanted, body) ? null : await setFlow(client, done.wanted);
  if (whyNot !== null) return { word: "failed", what, why: whyNot };
  const state = stateOf(body);
  return state === "Succeeded" ? { word, what } : { word, what, why: `it is ${state}` };
}

/** Whether it is paused or drained as wanted; where it is left out, it stays as it is. */
function isFlowAlike({ body }: Wanted, shown: Members): boolean {
  const [wanted, there] = [body, shown].map(({ properties }) => {
    const { posthorn } = isObject(properties) ? properties : {};
    return isObject(posthorn) && isObject(posthorn.flow) ? posthorn.flow : null;
  });
  if (!wanted) return true;
  return wanted.kind === (there?.kind ?? "running") && wanted.perSecond === there?.perSecond;
}

/** Null, or why it could not be done. */
async function setFlow(client: Client, { id, body }: Wanted): Promise<string | null> {
  const { posthorn } = body.properties as { posthorn: { flow: Members } };
  const { kind, perSecond } = posthorn.flow;
  const order = kind === "paused" ? "pause" : kind === "draining" ? "drain" : "resume";
  const rate = perSecond === undefined ? {} : { perSecond };
  const { status, body: told } = await client.ask("POST", ownPath(id, order), rate);
  return status < 300 ? null : wordsOf(told, `answer ${status}`);
}

function stateOf({ properties }: Members): string {
  return isObject(properties) ? String(properties.provisioningState) : "Succeeded";
}

/** A URL or a secret that is missing in the file stays as in the broker. */
function isKept({ header }: Need, wanted: Wanted, shown: Members): boolean {
  if (header === null) return isEndpointKept(wanted, shown);
  const { deliveryAttributeMappings: mappings } = destinationIn(shown);
  return (
    Array.isArray(mappings) &&
    mappings.some(
      (each: unknown) =>
        isObject(each) &&
        isSameName(String(each.name), header) &&
        isObject(each.properties) &&
        isHidden(each.properties),
    )
  );
}

function isEndpointKept({ body }: Wanted, shown: Members): boolean {
  const base = destinationIn(body).endpointBaseUrl ?? null;
  return base === null || base === destinationIn(shown).endpointBaseUrl;
}

function destinationIn({ properties }: Members): Members {
  const destination = isObject(properties) ? properties.destination : null;
  const inside = isObject(destination) ? destination.properties : null;
  return isObject(inside) ? inside : {};
}

/** A failed one is written again. */
async function isAsWanted(client: Client, wanted: Wanted, shown: Members): Promise<boolean> {
  if (wanted.kind !== "subscription") {
    const known = wanted.kind === "domainTopic" ? shown : await withKeys(client, wanted.id, shown);
    return isSameResource(wanted, known, { secrets: null, inputSchema: null });
  }
  if (stateOf(shown) === "Failed" || !isEndpointKept(wanted, shown)) return false;
  const source = await client.ask("GET", pathTo(topicIdOf(wanted.sourceId)));
  const properties = isObject(source.body.properties) ? source.body.properties : {};
  return isSameResource(wanted, shown, {
    secrets: await secretsOf(client, wanted.id),
    inputSchema: properties.inputSchema ?? "EventGridSchema",
  });
}

async function withKeys(client: Client, id: string, shown: Members): Promise<Members> {
  const { body } = await client.ask("POST", `${pathTo(id)}/listKeys`);
  const properties = isObject(shown.properties) ? shown.properties : {};
  return { ...shown, properties: { ...properties, key1: body.key1, key2: body.key2 } };
}

/** For a topic of a domain: the domain. */
function topicIdOf(sourceId: string): string {
  return sourceId.replace(/(\/domains\/[^/]+)\/topics\/[^/]+$/i, "$1");
}
