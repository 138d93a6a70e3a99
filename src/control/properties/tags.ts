// Tags of a resource, within Azure's limits.

import { type Members, refuseValue } from "../../core/text/wording.ts";

export type Tags = Readonly<Record<string, string>>;

const tagsMax = 50;
const tagNameCharactersMax = 512;
const tagValueCharactersMax = 256;

/** Refusal: InvalidSetting. */
export function checkTags(value: unknown, field = "tags"): Tags | null {
  if ((value ?? null) === null) return null;
  if (typeof value !== "object" || Array.isArray(value)) {
    throw refuseValue({ field, value, allowed: "an object" });
  }
  const tags = Object.entries(value as Members);
  if (tags.length > tagsMax) {
    throw refuseValue({ field, value, allowed: `an object of at most ${tagsMax} tags` });
  }
  for (const [name, text] of tags) {
    const isName = name !== "" && name !== "__proto__" && name.length <= tagNameCharactersMax;
    if (!isName) {
      const allowed = `1 to ${tagNameCharactersMax} characters long, and not __proto__`;
      throw refuseValue({ field: `a name in ${field}`, value: name, allowed });
    }
    if (typeof text === "string" && text.length <= tagValueCharactersMax) continue;
    const allowed = `a text of at most ${tagValueCharactersMax} characters`;
    throw refuseValue({ field: `${field}.${name}`, value: text, allowed });
  }
  return Object.fromEntries(tags) as Tags;
}
