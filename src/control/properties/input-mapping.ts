// The input schema mapping of a topic or domain, from and to the shape of Azure Resource Manager.
// Clients send all six members, also empty ones; so an empty one counts as left out.

import type { InputSchema } from "../../core/event.ts";
import { Refusal } from "../../core/refusal.ts";
import { type InputMapping, noMapping } from "../../core/schema/mapping.ts";
import { checkMembers, refuseValue } from "../../core/text/wording.ts";

type Member = keyof InputMapping;

const members = Object.keys(noMapping) as readonly Member[];
const withDefault = ["eventType", "subject", "dataVersion"] as const satisfies Member[];

const textCharactersMax = 512;

/** Null: none. Refusal: InvalidSetting, naming the field. */
export function checkInputMapping(
  value: unknown,
  field: string,
  inputSchema: InputSchema,
): InputMapping | null {
  const mapping = (value ?? null) === null ? noMapping : parseMapping(value, field);
  const fields = Object.entries(mapping) as [Member, { defaultValue?: string | null }][];
  const used = fields.filter(([, one]) => Object.values(one).some((text) => text !== null));
  const refuse = (target: string, words: string) =>
    new Refusal("InvalidSetting", `${target} ${words}`, { target });
  if (inputSchema === "EventGridSchema") {
    if (used.length === 0) return null;
    throw refuse(field, "must be left out: events of EventGridSchema need no mapping");
  }
  const inside = `${field}.properties`;
  if (inputSchema === "CloudEventSchemaV1_0") {
    const wrong = fields.find(([, { defaultValue }]) => (defaultValue ?? null) !== null);
    if (wrong === undefined) return used.length === 0 ? null : mapping;
    throw refuse(`${inside}.${wrong[0]}.defaultValue`, "must be left out for CloudEventSchemaV1_0");
  }
  const missing = withDefault.find((name) => !used.some(([own]) => own === name));
  if (missing === undefined) return mapping;
  const words = "must have a sourceField or a defaultValue, because inputSchema is";
  throw refuse(`${inside}.${missing}`, `${words} CustomEventSchema`);
}

function parseMapping(value: unknown, field: string): InputMapping {
  const known = ["inputSchemaMappingType", "properties"];
  const { inputSchemaMappingType: type, properties } = checkMembers(value, field, known);
  if (typeof type !== "string" || type.toLowerCase() !== "json") {
    const target = `${field}.inputSchemaMappingType`;
    throw refuseValue({ field: target, value: type, allowed: "Json" });
  }
  const inside = `${field}.properties`;
  const given = checkMembers(properties ?? {}, inside, members);
  const parts = members.map((name) => [name, parseField(given[name], `${inside}.${name}`, name)]);
  return Object.fromEntries(parts) as InputMapping;
}

function parseField(value: unknown, field: string, name: Member): object {
  const known = Object.keys(noMapping[name]);
  const given = checkMembers(value ?? {}, field, known);
  return Object.fromEntries(
    known.map((part) => [part, checkText(given[part], `${field}.${part}`)]),
  );
}

function checkText(value: unknown, field: string): string | null {
  if ((value ?? null) === null) return null;
  const most = textCharactersMax;
  if (typeof value === "string" && value !== "" && value.length <= most) return value;
  throw refuseValue({ field, value, allowed: `a text of 1 to ${most} characters` });
}

export function renderInputMapping(mapping: InputMapping): object {
  return { inputSchemaMappingType: "Json", properties: mapping };
}
