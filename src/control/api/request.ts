// What the routes of our own API share beside the names in their paths: headers, and numbers in a
// query.

import type { Request } from "../../core/request.ts";
import { checkInteger, type Range } from "../../core/text/check.ts";

/** With every answer: what is shown is of now. */
export const apiHeaders = { "cache-control": "no-store", "x-content-type-options": "nosniff" };

/** A whole number in the query. Refusal: InvalidSetting. */
export function numberIn(
  { query }: Request,
  name: string,
  { usual, ...range }: Range & { readonly usual: number },
): number {
  const text = query[name];
  if (text === undefined) return usual;
  return checkInteger(/^\d{1,9}$/.test(text) ? Number(text) : text, name, range);
}
