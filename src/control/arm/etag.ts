// Whether a write may proceed, by the etag its client has read. A record's etag is its revision.

import { Refusal } from "../../core/refusal.ts";
import type { Request } from "../../core/request.ts";

interface Revised {
  readonly revision: number;
}

export function etagOf({ revision }: Revised): string {
  return `"${revision}"`;
}

export function hasConditions({ headers }: Request): boolean {
  return headers["if-match"] !== undefined || headers["if-none-match"] !== undefined;
}

/** Refusal: PreconditionFailed. */
export function checkConditions({ headers }: Request, stored: Revised | undefined): void {
  const wanted = tagsIn(headers["if-match"]);
  const unwanted = tagsIn(headers["if-none-match"]);
  if (wanted !== null && !isAmong(wanted, stored)) {
    const found = stored === undefined ? "there is none" : `it is at ${etagOf(stored)}`;
    throw new Refusal(
      "PreconditionFailed",
      `The resource is not at the etag of If-Match: ${found}.`,
    );
  }
  if (unwanted !== null && isAmong(unwanted, stored)) {
    throw new Refusal("PreconditionFailed", "The resource is there, against If-None-Match.");
  }
}

function tagsIn(header: string | string[] | undefined): readonly string[] | null {
  if (header === undefined) return null;
  return String(header)
    .split(",")
    .map((tag) => tag.trim().replace(/^W\//, ""));
}

function isAmong(tags: readonly string[], stored: Revised | undefined): boolean {
  return stored !== undefined && (tags.includes("*") || tags.includes(etagOf(stored)));
}
