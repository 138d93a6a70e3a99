// What a broker has refused, in its own words. Not a Refusal of ours: the arguments were fine, and
// the exit code tells scripts whether the thing was not there (3) or something else was wrong (1).

import type { Members } from "../core/text/wording.ts";
import { isObject } from "./import/expression.ts";

export class BrokerError extends Error {
  override readonly name = "Complaint";
  readonly status: number;
  /** `ResourceNotFound` */
  readonly code: string | null;

  constructor(status: number, body: Members) {
    const code =
      isObject(body.error) && typeof body.error.code === "string" ? body.error.code : null;
    const words = wordsOf(body, `the broker answered ${status}`);
    super(code === null ? words : `(${code}) ${words}`);
    this.status = status;
    this.code = code;
  }

  get exitCode(): number {
    return this.status === 404 ? 3 : 1;
  }
}

/** What an answer says is wrong, in one line. */
export function wordsOf({ error }: Members, otherwise: string): string {
  const words = isObject(error) && typeof error.message === "string" ? error.message : otherwise;
  return words.replace(/\s+/g, " ");
}
