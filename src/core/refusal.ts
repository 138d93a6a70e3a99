// A refusal is the answer to a request that we understand but do not carry out: malformed input, an
// unknown topic, a wrong key, a store that cannot take more. It is thrown, and caught once, where
// the request came in; there one table turns its code into a status and a body.

/** All refusals. Their statuses are in `runtime/http/error-reply.ts`. */
export type RefusalCode =
  /** The request does not fit its schema; `message` names the field. */
  | "InputJsonInvalid"
  /** A header of a CloudEvent in binary form is missing or invalid. */
  | "InvalidCloudEventHeader"
  /** `api-version` is not a version of any API. */
  | "InvalidApiVersion"
  /** The content type of the body is not accepted here. */
  | "InvalidContentType"
  | "InvalidContentEncoding"
  /** A setting or a declared resource is invalid; `message` names it. */
  | "InvalidSetting"
  /** The header for a key is empty. */
  | "InvalidSas"
  | "Unauthorized"
  /** The client's address is not allowed. */
  | "Forbidden"
  | "NotFound"
  | "MethodNotAllowed"
  /** Something that exists already is in the way. */
  | "Conflict"
  /** Events that have been passed on from topic to topic too often (core/routing/hops.ts). */
  | "EventLoop"
  /** The record was changed by someone else since it was read. */
  | "PreconditionFailed"
  | "PayloadTooLarge"
  /** More is waiting for the disk than we keep in memory; try again after `retryAfterMs`. */
  | "TooManyRequests"
  /** The store cannot take anything at the moment, or the broker is stopping. */
  | "Unavailable";

export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly code: RefusalCode;
  readonly retryAfterMs: number | undefined;
  /** The field with the error, as a path. */
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
