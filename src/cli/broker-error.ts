// A broker's refusal, with its own message. Not a Refusal of ours: the arguments were valid, and
// the exit code says whether the resource does not exist (3) or something else failed (1).

import { isObject } from "../core/template/expression.ts";
import type { Members } from "../core/text/wording.ts";

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

/** The error in an answer, in one line. */
export function wordsOf({ error }: Members, otherwise: string): string {
  const words = isObject(error) && typeof error.message === "string" ? error.message : otherwise;
  return words.replace(/\s+/g, " ");
}
