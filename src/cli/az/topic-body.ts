// The body of a topic or a domain from options, as `az` would send it. Pure.

import { Refusal } from "../../core/refusal.ts";
import { listed } from "../../core/text/setting-kinds.ts";
import type { Members } from "../../core/text/wording.ts";
import { refuseValue } from "../../core/text/wording.ts";
import { type ParsedOptions, pairsOf } from "../option.ts";
import type { TopicKind } from "./resource-names.ts";

/** What `az` sends, except for members without a value. Refusal: InvalidSetting. */
export function topicBody(given: ParsedOptions, kind: TopicKind): Members {
  const tags = given.all("tags");
  const schema = schemas[given.one("input-schema") ?? "eventgridschema"] as string;
  return {
    ...(tags.length > 0 && { tags: Object.fromEntries(pairsOf("--tags", tags)) }),
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
function locationIn(given: ParsedOptions): Members {
  const [name, type] = [given.one("extended-location-name"), given.one("extended-location-type")];
  const isArc = given.one("kind") === "azurearc";
  if (!isArc && (name ?? type) !== null) {
    const words = "--extended-location-name and -type must be left out without --kind azurearc";
    throw new Refusal("InvalidSetting", words);
  }
  return isArc && name !== null ? { extendedLocation: { name, type } } : {};
}

/** Null: not given. */
function identityIn(given: ParsedOptions): Members | null {
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

function mappingIn(given: ParsedOptions, schema: string): Members {
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
    for (const [key, value] of pairsOf(option, pairs)) {
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

function accessIn(given: ParsedOptions): Members {
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

function autoIn(given: ParsedOptions): Members {
  const create = given.isOn("auto-create-topic-with-first-subscription");
  const remove = given.isOn("auto-delete-topic-with-last-subscription");
  return {
    ...(create !== null && { autoCreateTopicWithFirstSubscription: create }),
    ...(remove !== null && { autoDeleteTopicWithLastSubscription: remove }),
  };
}

/** Posthorn's own members. */
function ownIn(given: ParsedOptions): Members {
  const [profile, port] = [given.one("profile"), given.whole("port")];
  if ((profile ?? port) === null) return {};
  return { posthorn: { ...(profile !== null && { profile }), ...(port !== null && { port }) } };
}

/** The body of an update: only what was given. Refusal: InvalidSetting. */
export function changedBody(given: ParsedOptions): Members {
  const identity = identityIn(given);
  const sku = given.one("sku");
  const local = given.isOn("disable-local-auth");
  const properties = {
    ...accessIn(given),
    ...autoIn(given),
    ...ownIn(given),
    ...(local !== null && { disableLocalAuth: local }),
  };
  // An empty text on the command line means none.
  const tags = given.all("tags").filter((tag) => tag !== "");
  return {
    ...(given.has("tags") && { tags: Object.fromEntries(pairsOf("--tags", tags)) }),
    ...(identity !== null && { identity }),
    ...(sku !== null && { sku: { name: skus[sku] } }),
    ...(Object.keys(properties).length > 0 && { properties }),
  };
}
