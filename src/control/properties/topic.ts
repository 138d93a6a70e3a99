// A topic or domain in Event Grid's own property names, checked member by member. A request's
// `properties` and the configuration file have the same members.
//
// Read-only members that clients send back (the endpoint, private connections) are accepted without
// effect. Settings without effect here are kept by azure-traits.ts.

import { type ProfileName, profileNames } from "../../core/delivery/profile.ts";
import type { InputSchema } from "../../core/event.ts";
import { Refusal } from "../../core/refusal.ts";
import { deliverySchemasOf } from "../../core/schema/convert.ts";
import { checkInteger, type Range, shapeOf } from "../../core/text/check.ts";
import { listed, oneOf } from "../../core/text/setting-kinds.ts";
import { checkMembers, type Members, refuseValue } from "../../core/text/wording.ts";
import { type DomainTerms, plainTopic, type TopicDraft } from "../../core/topic.ts";
import { checkInputMapping } from "./input-mapping.ts";

/** The settings of a topic. */
export type TopicTerms = Pick<
  TopicDraft,
  | "inputSchema"
  | "mapping"
  | "disableLocalAuth"
  | "publicNetworkAccess"
  | "inboundIpRules"
  | "port"
  | "profile"
  | "domain"
>;

const newDomain: DomainTerms = {
  autoCreateTopics: true,
  autoDeleteTopics: true,
  topics: [],
};

/** The defaults of a topic or domain. */
export function newTerms(kind: TopicDraft["kind"]): TopicTerms {
  return { ...plainTopic, domain: kind === "domain" ? newDomain : null };
}

/** Those that a later PATCH cannot change. */
const fixedMembers = ["inputSchema", "inputSchemaMapping"];

const freeMembers = [
  "disableLocalAuth",
  "publicNetworkAccess",
  "inboundIpRules",
  /** Posthorn's own: in the file directly, and under `posthorn` in Azure's shape. */
  "port",
  "profile",
];

/** Those of them that Azure's clients do not know. */
const ownMembers = ["port", "profile"];

const domainMembers = [
  "autoCreateTopicWithFirstSubscription",
  "autoDeleteTopicWithLastSubscription",
];

/** In the order of their checks. */
export function topicMembers(kind: TopicDraft["kind"]): readonly string[] {
  return [...fixedMembers, ...freeMembers, ...(kind === "domain" ? domainMembers : [])];
}

/** Accepted without effect. */
export const unusedMembers = [
  "provisioningState",
  "endpoint",
  "metricResourceId",
  "privateEndpointConnections",
  "encryption",
  "platformCapabilities",
];

/**
 * The members with those of `posthorn` merged in. Without it they do not change; null resets all of
 * them. Refusal: InvalidSetting.
 */
export function withOwnMembers({ posthorn, ...members }: Members, field: string): Members {
  if (posthorn === undefined) return members;
  const inside = `${field}.posthorn`;
  const own = checkMembers(posthorn ?? {}, inside, ownMembers);
  if ((own.profile ?? null) !== null) checkProfile(own.profile, `${inside}.profile`);
  if ((own.port ?? null) !== null) checkPort(own.port, `${inside}.port`);
  for (const name of Object.keys(own)) {
    if (!(name in members)) continue;
    const words = `${field}.${name} must be left out where ${inside}.${name} is given`;
    throw new Refusal("InvalidSetting", words, { target: `${field}.${name}` });
  }
  const cleared =
    posthorn === null ? Object.fromEntries(ownMembers.map((name) => [name, null])) : {};
  return { ...cleared, ...members, ...own };
}

const inboundIpRulesMax = 128;
const portRange: Range = { min: 1, max: 65_535 };

/**
 * The settings with the given members replaced. A member that is null takes the default. Refusal:
 * InvalidSetting, naming the field.
 */
export function checkTopic(
  members: Members,
  field: string,
  { kind, base }: { readonly kind: TopicDraft["kind"]; readonly base: TopicTerms },
): TopicTerms {
  const at = (name: string) => [members[name] ?? null, `${field}.${name}`] as const;
  const plain = newTerms(kind);
  /** What is given, what is left out, and what is given as its default. */
  const take = <T>(name: string, old: T, usual: T, check: (value: unknown, field: string) => T) => {
    if (!(name in members)) return old;
    const [value, target] = at(name);
    return value === null ? usual : check(value, target);
  };
  const inputSchema = take("inputSchema", base.inputSchema, plain.inputSchema, checkInputSchema);
  const isMapped = "inputSchemaMapping" in members || inputSchema !== base.inputSchema;
  return {
    inputSchema,
    mapping: isMapped ? checkInputMapping(...at("inputSchemaMapping"), inputSchema) : base.mapping,
    disableLocalAuth: take("disableLocalAuth", base.disableLocalAuth, false, checkSwitch),
    publicNetworkAccess: take("publicNetworkAccess", base.publicNetworkAccess, true, checkAccess),
    inboundIpRules: take("inboundIpRules", base.inboundIpRules, [], checkIpRules),
    port: take("port", base.port, null, checkPort),
    profile: take("profile", base.profile, null, checkProfile),
    domain: base.domain && {
      ...base.domain,
      autoCreateTopics: take(
        "autoCreateTopicWithFirstSubscription",
        base.domain.autoCreateTopics,
        newDomain.autoCreateTopics,
        checkSwitch,
      ),
      autoDeleteTopics: take(
        "autoDeleteTopicWithLastSubscription",
        base.domain.autoDeleteTopics,
        newDomain.autoDeleteTopics,
        checkSwitch,
      ),
    },
  };
}

/** Refusal: InvalidSetting, for what only a PUT can change. */
export function refuseFixed(members: Members, field: string): void {
  for (const name of fixedMembers) {
    if ((members[name] ?? null) === null) continue;
    const target = `${field}.${name}`;
    const words = `${target} cannot be changed by PATCH: write the whole resource with PUT`;
    throw new Refusal("InvalidSetting", words, { target });
  }
}

/** Case-insensitive. */
export function checkInputSchema(value: unknown, field: string): InputSchema {
  const schemas = Object.keys(deliverySchemasOf) as InputSchema[];
  const lower = typeof value === "string" ? value.toLowerCase() : null;
  const schema = schemas.find((each) => each.toLowerCase() === lower);
  if (schema !== undefined) return schema;
  throw refuseValue({ field, value, allowed: listed(schemas) });
}

function checkSwitch(value: unknown, field: string): boolean {
  if (typeof value === "boolean") return value;
  throw refuseValue({ field, value, allowed: "true or false" });
}

function checkAccess(value: unknown, field: string): boolean {
  const lower = typeof value === "string" ? value.toLowerCase() : null;
  if (lower === "enabled" || lower === "disabled") return lower === "enabled";
  throw refuseValue({ field, value, allowed: "Enabled or Disabled" });
}

function checkPort(value: unknown, field: string): number {
  return checkInteger(value, field, portRange);
}

function checkProfile(value: unknown, field: string): ProfileName {
  const { allowed, parse } = oneOf(profileNames);
  if (typeof value === "string") return parse(value, field);
  throw refuseValue({ field, value, allowed });
}

function checkIpRules(value: unknown, field: string): readonly string[] {
  if (!Array.isArray(value) || value.length > inboundIpRulesMax) {
    throw refuseValue({ field, value, allowed: `a list of at most ${inboundIpRulesMax} rules` });
  }
  return value.map((each: unknown, index) => {
    const inside = `${field}[${index}]`;
    const { ipMask, action } = checkMembers(each, inside, ["ipMask", "action"]);
    const isAllow = typeof action === "string" && action.toLowerCase() === "allow";
    if ((action ?? null) !== null && !isAllow) {
      throw refuseValue({ field: `${inside}.action`, value: action, allowed: "Allow" });
    }
    if (typeof ipMask === "string" && isIpMask(ipMask)) return ipMask;
    const allowed = "an IP address, or a range such as 10.0.0.0/8";
    throw refuseValue({ field: `${inside}.ipMask`, value: ipMask, allowed });
  });
}

function isIpMask(text: string): boolean {
  const [, address = "", bits = "0"] = /^([0-9A-Fa-f.:]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const isV6 = address.includes(":");
  const isAddress = isV6
    ? URL.canParse(`http://[${address}]`)
    : /^((25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(\.(?=\d)|$)){4}$/.test(address);
  return isAddress && Number(bits) <= (isV6 ? 128 : 32);
}

/** What a request header can carry unchanged. */
const keyRule = /^[\x21-\x7e]{1,256}$/;

/** Null: none was given. Refusal: InvalidSetting, which does not repeat the key. */
export function checkKey(
  value: unknown,
  { field, isRequired }: { readonly field: string; readonly isRequired: boolean },
): string | null {
  if (typeof value === "string" && keyRule.test(value)) return value;
  if ((value === undefined || value === null) && !isRequired) return null;
  const allowed = "1 to 256 visible ASCII characters without blanks";
  const hint = isRequired && value === undefined ? ", because auth is on" : "";
  const words = `${field} must be ${allowed}${hint}, and is ${shapeOf(value)}`;
  throw new Refusal("InvalidSetting", words, { target: field });
}
