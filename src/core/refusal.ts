// A refusal is our answer to a request that we understand and will not carry out: malformed input,
// an unknown topic, a wrong key, a store that cannot take more. It is thrown, and caught once, at
// the edge it came in by, where one table turns its code into a status and a body.

/** Every way in which we say no. Statuses are in `runtime/http/error-reply.ts`. */
export type RefusalCode =
  /** The request is not what its schema asks for; `message` names the field. */
  | "InputJsonInvalid"
  /** A header of a CloudEvent in binary form is missing or will not do. */
  | "InvalidCloudEventHeader"
  /** `api-version` is no version of any API. */
  | "InvalidApiVersion"
  /** The body is of a kind that is not taken here. */
  | "InvalidContentType"
  | "InvalidContentEncoding"
  /** A setting or a declared resource is not acceptable; `message` names it. */
  | "InvalidSetting"
  /** The header meant to hold a key holds nothing. */
  | "InvalidSas"
  | "Unauthorized"
  /** Whoever it is, not from there. */
  | "Forbidden"
  | "NotFound"
  | "MethodNotAllowed"
  /** What is there already stands in the way. */
  | "Conflict"
  /** The record was changed by someone else since it was read. */
  | "PreconditionFailed"
  | "PayloadTooLarge"
  /** More is waiting for the disk than we are willing to hold; try again after `retryAfterMs`. */
  | "TooManyRequests"
  /** The store cannot take anything at the moment, or the broker is stopping. */
  | "Unavailable";

export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly code: RefusalCode;
  readonly retryAfterMs: number | undefined;
  /** The field that is at fault, as a path. */
  readonly target: string | undefined;

  constructor(
    code: RefusalCode,
    message: string,
    options: {
      readonly retryAfterMs?: number;
      readonly target?: string;
      readonly cause?: unknown;
    } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.retryAfterMs = options.retryAfterMs;
    this.target = options.target;
  }
}
