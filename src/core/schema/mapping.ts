// The input schema mapping of a topic or domain: where in a publisher's own JSON the members of an
// Event Grid event are. Imitates https://learn.microsoft.com/azure/event-grid/input-mappings.
//
// A source field is the name of a member, or a path with dots; a member whose own name contains the
// dots goes first. Values are found in the text and not in the parsed event, so that 1.0 stays 1.0
// and no name can reach into a prototype.

import { findMembers, type Member, type ObjectSpan } from "../text/json.ts";
import { type EventText, quoteName, refuseField, refuseShape } from "./reading.ts";

export interface SourceField {
  readonly sourceField: string | null;
}

/** The default is used when there is no source field, or the event lacks it. */
export interface SourceFieldOrDefault extends SourceField {
  readonly defaultValue: string | null;
}

export interface InputMapping {
  readonly id: SourceField;
  readonly topic: SourceField;
  readonly eventTime: SourceField;
  readonly eventType: SourceFieldOrDefault;
  readonly subject: SourceFieldOrDefault;
  readonly dataVersion: SourceFieldOrDefault;
}

/** What a topic without a mapping has. */
export const noMapping: InputMapping = {
  id: { sourceField: null },
  topic: { sourceField: null },
  eventTime: { sourceField: null },
  eventType: { sourceField: null, defaultValue: null },
  subject: { sourceField: null, defaultValue: null },
  dataVersion: { sourceField: null, defaultValue: null },
};

/** A text, and its JSON form: the publisher's, where it is theirs. */
export interface MappedText {
  readonly text: string;
  readonly json: string;
}

export function mappedText(text: string): MappedText {
  return { text, json: JSON.stringify(text) };
}

/**
 * The event's value at that field; undefined when it is missing or null. Numbers and booleans are
 * used as text: an order number can be an id. Refusal: InputJsonInvalid, for an object or an array.
 */
export function findMapped(place: EventText, { sourceField }: SourceField): MappedText | undefined {
  if (sourceField === null) return undefined;
  const member = findField(place.text, place.span, sourceField);
  if (member === undefined) return undefined;
  const raw = place.text.slice(member.start, member.end);
  if (raw === "null") return undefined;
  if (raw.startsWith('"')) return { text: JSON.parse(raw) as string, json: raw };
  if (!/^[[{]/.test(raw)) return mappedText(raw);
  throw refuseShape(place, quoteName(sourceField), "a string", JSON.parse(raw));
}

/** Refusal: InputJsonInvalid, naming the member of the mapping and the field it looks at. */
export function needMapped(
  place: EventText,
  name: "eventType" | "subject" | "dataVersion",
  field: SourceFieldOrDefault,
): MappedText {
  const found = findMapped(place, field);
  if (found !== undefined) return found;
  if (field.defaultValue !== null) return mappedText(field.defaultValue);
  throw refuseUnmapped(place, name, field);
}

export function refuseUnmapped(place: EventText, name: string, { sourceField }: SourceField) {
  return refuseField(
    place,
    sourceField === null
      ? `'${name}' has no source field in the input schema mapping of this resource`
      : `${quoteName(sourceField)}, the source field of '${name}', is not set`,
  );
}

/** Where in the text of an object a field's value is; undefined when it is missing. */
export function findField(text: string, span: ObjectSpan, path: string): Member | undefined {
  const whole = lastNamed(span, path);
  if (whole !== undefined || !path.includes(".")) return whole;
  const names = path.split(".");
  let inside: ObjectSpan | null = span;
  let member: Member | undefined;
  for (const name of names) {
    if (inside === null) return undefined;
    member = lastNamed(inside, name);
    if (member === undefined) return undefined;
    inside = text[member.start] === "{" ? findMembers(text, member.start) : null;
  }
  return member;
}

/** Of equal names the last one counts, as in every parser that accepts them. */
function lastNamed({ members }: ObjectSpan, name: string): Member | undefined {
  return members.findLast((member) => member.name === name);
}
