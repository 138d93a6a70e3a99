// The delivery attributes of a destination: headers of every delivery, with a fixed value or a
// value from the event (C-1). A secret value is never shown; writing back `Hidden`, or nothing,
// keeps it. Imitates https://learn.microsoft.com/azure/event-grid/delivery-properties.

import { Refusal } from "../../core/refusal.ts";
import type { DeliveryHeader, Destination } from "../../core/subscription.ts";
import { checkMembers, refuseValue } from "../../core/text/wording.ts";

const headersMax = 10;
const valueBytesMax = 4_096;
const nameCharactersMax = 128;
const sourceFieldCharactersMax = 512;

/** RFC 9110: a token. */
const nameRule = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/**
 * The service reserves what begins with `aeg-`. *Differs:* its list of forbidden names is not
 * published; ours has those that describe the body or the connection.
 */
const reservedNames = [
  "__proto__",
  "connection",
  "content-encoding",
  "content-length",
  "content-type",
  "expect",
  "host",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
];

/** Shown instead of a secret. */
const hidden = "Hidden";

type Static = Extract<DeliveryHeader, { kind: "static" }>;

/** Refusal: InvalidSetting, naming the field. */
export function checkHeaders(
  value: unknown,
  field: string,
  stored: readonly DeliveryHeader[],
): readonly DeliveryHeader[] {
  if ((value ?? null) === null) return [];
  if (!Array.isArray(value) || value.length > headersMax) {
    throw refuseValue({ field, value, allowed: `a list of at most ${headersMax} headers` });
  }
  const names = new Set<string>();
  return value.map((each: unknown, index) => {
    const header = checkHeader(each, `${field}[${index}]`, stored);
    const name = header.name.toLowerCase();
    if (names.has(name)) {
      const target = `${field}[${index}].name`;
      const words = `${target} must be a name of its own, and ${header.name} is there already`;
      throw new Refusal("InvalidSetting", words, { target });
    }
    names.add(name);
    return header;
  });
}

function checkHeader(
  value: unknown,
  field: string,
  stored: readonly DeliveryHeader[],
): DeliveryHeader {
  const { name, type, properties } = checkMembers(value, field, ["name", "type", "properties"]);
  checkName(name, `${field}.name`);
  const kind = typeof type === "string" ? type.toLowerCase() : null;
  const inside = `${field}.properties`;
  if (kind === "static") {
    const members = checkMembers(properties, inside, ["value", "isSecret"]);
    const isSecret = members.isSecret ?? false;
    if (typeof isSecret !== "boolean") {
      throw refuseValue({ field: `${inside}.isSecret`, value: isSecret, allowed: "true or false" });
    }
    const secret = isSecret ? stored.find((one) => isSecretNamed(one, name)) : undefined;
    const isKept =
      secret !== undefined && [null, undefined, hidden].includes(members.value as null);
    return isKept ? { ...secret, name } : checkStatic(name, members.value, inside, isSecret);
  }
  if (kind === "dynamic") {
    const { sourceField } = checkMembers(properties, inside, ["sourceField"]);
    return { name, kind, sourceField: checkSource(sourceField, `${inside}.sourceField`) };
  }
  throw refuseValue({ field: `${field}.type`, value: type, allowed: "Static or Dynamic" });
}

function checkName(value: unknown, field: string): asserts value is string {
  const isName =
    typeof value === "string" && value.length <= nameCharactersMax && nameRule.test(value);
  if (isName && !isReserved(value)) return;
  const allowed = isName
    ? "a name that is not the broker's own (aeg-*, Content-Type, Host and the like)"
    : `a header's name of at most ${nameCharactersMax} characters`;
  throw refuseValue({ field, value, allowed });
}

function isReserved(name: string): boolean {
  const lower = name.toLowerCase();
  return lower.startsWith("aeg-") || reservedNames.includes(lower);
}

function isSecretNamed(header: DeliveryHeader, name: string): header is Static {
  return (
    header.kind === "static" && header.isSecret && header.name.toLowerCase() === name.toLowerCase()
  );
}

/** What a header can contain: line ends above all could inject another header. */
function checkStatic(name: string, value: unknown, inside: string, isSecret: boolean): Static {
  const isFine =
    typeof value === "string" && /^[ -~]*$/.test(value) && value.length <= valueBytesMax;
  if (isFine) return { name, kind: "static", value, isSecret };
  const allowed = `at most ${valueBytesMax} printable ASCII characters`;
  throw refuseValue({ field: `${inside}.value`, value, allowed, secret: true });
}

function checkSource(value: unknown, field: string): string {
  const most = sourceFieldCharactersMax;
  if (typeof value === "string" && value !== "" && value.length <= most) return value;
  const allowed = `a path such as data.key1, of at most ${most} characters`;
  throw refuseValue({ field, value, allowed });
}

/**
 * Names with a meaning in Service Bus (wire names in egress/azure/bus-message.ts). An id that is
 * the same for every event would make each a duplicate of the first. Refusal: InvalidSetting.
 */
export function checkBusProperties(
  kind: Destination["kind"],
  headers: readonly DeliveryHeader[],
  field: string,
): void {
  if (kind !== "serviceBusQueue" && kind !== "serviceBusTopic") return;
  const find = (name: string) =>
    headers.findIndex((header) => header.name.toLowerCase() === name.toLowerCase());
  const [id, session] = [find("MessageId"), find("SessionId")];
  const refuse = (index: number, why: string) => {
    const target = `${field}[${index}]`;
    return new Refusal("InvalidSetting", `${target} must be left out: ${why}`, { target });
  };
  if (headers[id]?.kind === "static") {
    throw refuse(id, "MessageId is an event's own, and so Dynamic");
  }
  if (id >= 0 && session >= 0) throw refuse(id, "only one of SessionId and MessageId may be set");
}

/** In the shape of Azure Resource Manager. */
export function renderHeaders(
  headers: readonly DeliveryHeader[],
  { showsSecrets }: { readonly showsSecrets: boolean },
): readonly object[] {
  return headers.map((header) => {
    const { name } = header;
    if (header.kind === "dynamic") {
      return { name, type: "Dynamic", properties: { sourceField: header.sourceField } };
    }
    const { value, isSecret } = header;
    const shown = isSecret && !showsSecrets ? hidden : value;
    return { name, type: "Static", properties: { value: shown, isSecret } };
  });
}
