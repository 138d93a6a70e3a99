// From files to the list of writes, in an order in which nothing depends on what comes later.
// Secrets that exports leave out are filled in from the command line.

import { type Address, addressOf, type Kind } from "../../core/azure/arm-id.ts";
import { Refusal } from "../../core/refusal.ts";
import { isObject } from "../../core/template/expression.ts";
import type { Found, Resolve } from "../../core/template/template.ts";
import { isSameName } from "../../core/text/compare.ts";
import type { Members } from "../../core/text/wording.ts";
import { refuseName, refuseValue } from "../../core/text/wording.ts";
import { isWebHook, sendingIn, withSending } from "../az/destination-member.ts";
import { isHidden } from "./same-as.ts";
import { traitNames } from "./topic-traits.ts";

/** A resource in its wanted state. */
export interface Wanted extends Address {
  readonly id: string;
  /** The body of a PUT. */
  readonly body: Members;
  /** Options that are needed unless the broker has the value already. */
  readonly needs: readonly Need[];
}

export interface Need {
  /** The secret header; null: the URL. */
  readonly header: string | null;
  /** The option to give. */
  readonly option: string;
}

export interface Plan {
  readonly wanted: readonly Wanted[];
  /** What is skipped, and why. */
  readonly passedOver: readonly PassedOver[];
}

export interface PassedOver {
  /** Of Event Grid but not supported, or not of Event Grid. */
  readonly word: "failed" | "skipped";
  readonly what: string;
  readonly why: string;
}

export interface Additions {
  /** URLs by subscription: `billing` or `orders/billing`. */
  readonly endpoints: ReadonlyMap<string, string>;
  /** Values by subscription and header: `orders/billing:x-token`. */
  readonly attributes: ReadonlyMap<string, string>;
  /** Names of properties to leave out. */
  readonly omitted: readonly string[];
  /** Whether a URL without its query is the whole URL. */
  readonly usesBaseUrls: boolean;
}

const order: readonly Kind[] = [
  ...(["topic", "domain", "domainTopic"] as const),
  ...(["namespace", "namespaceTopic", "subscription"] as const),
];

/** Refusal: InvalidSetting. */
export function planFor(found: readonly Found[], additions: Additions): Plan {
  const passedOver: PassedOver[] = [];
  const addressed: Addressed[] = [];
  for (const one of found) {
    if (one.kind === "foreign") {
      const why = "not a resource of Event Grid";
      passedOver.push({ word: "skipped", what: `${one.type} ${one.name}`, why });
      continue;
    }
    const address = addressOf(one.id);
    const why = "Posthorn has nothing of this kind";
    if (address !== null) addressed.push({ ...one, address });
    else passedOver.push({ word: "failed", what: one.id, why });
  }
  const named = addressed.filter(({ address }) => address.kind === "subscription");
  checkNames([...additions.endpoints.keys()], named);
  checkNames(
    [...additions.attributes.keys()].map((key) => key.split(":")[0] ?? ""),
    named,
  );
  const wanted = addressed.map((one) => wantedOf(one, additions));
  return {
    wanted: order.flatMap((kind) => wanted.filter((one) => one.kind === kind)),
    passedOver,
  };
}

type Addressed = Extract<Found, { kind: "resource" }> & { readonly address: Address };

/** Whether a name from the command line means this subscription. */
function isMeant(name: string, { label }: Address): boolean {
  return isSameName(name, label) || isSameName(name, label.slice(label.lastIndexOf("/") + 1));
}

/** A name that matches none, or several, is a mistake. */
function checkNames(names: readonly string[], subscriptions: readonly Addressed[]): void {
  const labels = [...new Set(subscriptions.map(({ address }) => address.label))];
  for (const name of names) {
    const meant = subscriptions.filter(({ address }) => isMeant(name, address));
    const isThere = meant.some(({ address }) => isSameName(name, address.label));
    const ids = new Set(meant.map(({ id }) => id.toLowerCase()));
    if (meant.length === 0) throw refuseName({ what: "event subscription", name, known: labels });
    if (ids.size === 1 || isThere) continue;
    const several = [...new Set(meant.map(({ address }) => address.label))].join(", ");
    const words = `${name} must name one event subscription, and there are ${several}`;
    throw new Refusal("InvalidSetting", words);
  }
}

function wantedOf({ id, where, raw, resolve, address }: Addressed, additions: Additions): Wanted {
  const value = (name: string) => resolve(raw[name], `${pathIn(where)}${name}`);
  const given = isObject(raw.properties) ? raw.properties : value("properties");
  if (address.kind === "domainTopic") return { ...address, id, body: {}, needs: [] };
  if (!isObject(given)) {
    throw refuseValue({ field: `${where}.properties`, value: given ?? null, allowed: "an object" });
  }
  const kept = Object.fromEntries(
    Object.entries(given).filter(([name]) => !additions.omitted.includes(name)),
  );
  const asked =
    address.kind === "subscription" ? withEndpoint(kept, address, additions.endpoints) : kept;
  const properties = resolveWith(address, resolve, asked, `${pathIn(where)}properties`);
  if (address.kind !== "subscription") {
    const around = ["location", "tags", ...traitNames].flatMap((name) => {
      const member = raw[name] === undefined ? null : (value(name) ?? null);
      return member === null ? [] : [[name, member]];
    });
    return { ...address, id, body: { ...Object.fromEntries(around), properties }, needs: [] };
  }
  return { ...address, id, ...completed(properties, address, additions) };
}

/** For a URL that only Azure can resolve there is `--endpoint`. */
function resolveWith(
  { kind, label }: Address,
  resolve: Resolve,
  value: Members,
  where: string,
): Members {
  try {
    return resolve(value, where) as Members;
  } catch (error) {
    const target = error instanceof Refusal ? error.target : undefined;
    const isHelped = kind === "subscription" && target?.startsWith(`${where}.destination`);
    if (!(error instanceof Refusal) || !isHelped) throw error;
    const words = `${error.message}; --endpoint ${label}=URL would take its place`;
    throw new Refusal(error.code, words, { cause: error });
  }
}

/** The position in the file, for refusals. */
function pathIn(where: string): string {
  const path = where.slice(where.lastIndexOf(": ") + 2);
  return where.includes(": ") ? `${path}.` : "";
}

/** A webhook may have what any destination may have about batches and headers. */
const keptOfDestination = [
  "maxEventsPerBatch",
  "preferredBatchSizeInKilobytes",
  "deliveryAttributeMappings",
];

/** Before anything is resolved: the replaced URL may be one that only Azure can resolve. */
function withEndpoint(
  properties: Members,
  address: Address,
  endpoints: Additions["endpoints"],
): Members {
  const endpointUrl = [...endpoints].find(([name]) => isMeant(name, address))?.[1];
  if (endpointUrl === undefined) return properties;
  const { deliveryWithResourceIdentity: identified, ...rest } = properties;
  const old = properties.destination ?? (isObject(identified) ? identified.destination : null);
  const inside = isObject(old) && isObject(old.properties) ? old.properties : {};
  const kept = Object.fromEntries(
    Object.entries(inside).filter(([name]) => keptOfDestination.includes(name)),
  );
  return {
    ...rest,
    destination: { endpointType: "WebHook", properties: { endpointUrl, ...kept } },
  };
}

function completed(
  properties: Members,
  address: Address,
  { attributes, usesBaseUrls }: Additions,
): Pick<Wanted, "body" | "needs"> {
  const inside = sendingIn(properties);
  if (inside === null || !isObject(inside.properties)) return { body: { properties }, needs: [] };
  const { endpointUrl, endpointBaseUrl, ...rest } = inside.properties;
  const url = endpointUrl ?? (usesBaseUrls ? endpointBaseUrl : null) ?? null;
  const headers = withSecrets(rest.deliveryAttributeMappings, address, attributes);
  const needs: Need[] =
    isWebHook(inside) && url === null
      ? [{ header: null, option: `--endpoint ${address.label}=URL` }]
      : [];
  const filled = {
    ...(url !== null && { endpointUrl: url }),
    ...(url === null && (endpointBaseUrl ?? null) !== null && { endpointBaseUrl }),
    ...rest,
    ...(headers !== null && { deliveryAttributeMappings: headers.mappings }),
  };
  return {
    body: { properties: withSending(properties, { ...inside, properties: filled }) },
    needs: [...needs, ...(headers?.needs ?? [])],
  };
}

function withSecrets(mappings: unknown, address: Address, attributes: Additions["attributes"]) {
  if (!Array.isArray(mappings)) return null;
  const needs: Need[] = [];
  const all = mappings.map((each: unknown) => {
    const within = isObject(each) && isObject(each.properties) ? each.properties : null;
    if (!isObject(each) || within === null || typeof each.name !== "string") return each;
    const { name } = each;
    const value = [...attributes].find(([key]) => {
      const [subscription = "", header = ""] = key.split(":");
      return isMeant(subscription, address) && isSameName(header, name);
    })?.[1];
    if (value !== undefined) return { ...each, properties: { ...within, value } };
    if (isHidden(within)) {
      needs.push({ header: name, option: `--attribute ${address.label}:${name}=VALUE` });
    }
    return each;
  });
  return { mappings: all, needs };
}
