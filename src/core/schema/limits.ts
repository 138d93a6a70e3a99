// How much one publish may contain, whatever its schema. The numbers are those of Event Grid's
// documentation.
//
// *Differs:* the real service lets somewhat more through than it says (1,536,000 bytes per request
// were measured); we use the documented limit.

import { Refusal } from "../refusal.ts";

export interface PublishLimits {
  readonly eventsMax: number;
  /** One event, as the publisher wrote it in UTF-8. */
  readonly eventBytesMax: number;
  readonly requestBytesMax: number;
  /** Nesting of objects and arrays, the event itself being the first level. */
  readonly depthMax: number;
}

export const publishLimits: PublishLimits = {
  eventsMax: 5000,
  eventBytesMax: 1_048_576,
  requestBytesMax: 1_048_576,
  // The service documents no limit. Four times the default of .NET's reader, so no subscriber
  // misses anything, and small enough for recursive functions.
  depthMax: 256,
};

/** Of a topic in a namespace (N-14). */
export const namespaceLimits: PublishLimits = { ...publishLimits, eventsMax: 1000 };

/** `what` begins the sentence: "The request". */
export function refuseSize(what: string, bytesMax: number): Refusal {
  return new Refusal(
    "PayloadTooLarge",
    `${what} is too large: at most ${bytesMax} bytes are allowed.`,
  );
}
