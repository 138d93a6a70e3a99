// The members of an object that someone wrote: the known ones, and a refusal for any other, because
// a setting that is silently ignored is a surprise kept for later.

import { refuseName, refuseValue } from "./wording.ts";

export type Members = Readonly<Record<string, unknown>>;

/** Refusal: InvalidSetting, naming `field`. */
export function checkMembers(value: unknown, field: string, known: readonly string[]): Members {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw refuseValue({ field, value, allowed: "an object" });
  }
  for (const name of Object.keys(value)) {
    if (!known.includes(name)) throw refuseName({ what: "member", name, where: field, known });
  }
  return value as Members;
}
