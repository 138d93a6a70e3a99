// How much one publish may carry, whatever its schema. The numbers are those Event Grid documents.
//
// *Differs:* the real service lets somewhat more through than it says (1,536,000 bytes per request
// were measured); we hold to what is written.

import { Refusal } from "../refusal.ts";

export interface PublishLimits {
  readonly eventsMax: number;
  /** One event, as the publisher wrote it in UTF-8. */
  readonly eventBytesMax: number;
  readonly requestBytesMax: number;
  /** Objects and arrays within each other, the event itself being the first. */
  readonly depthMax: number;
}

export const publishLimits: PublishLimits = {
  eventsMax: 5000,
  eventBytesMax: 1_048_576,
  requestBytesMax: 1_048_576,
  // The service says nothing. Four times what .NET reads before it gives up, so no subscriber
  // misses anything, and little enough for whoever walks through an event by calling itself.
  depthMax: 256,
};

/** `what` begins the sentence: "The request". */
export function refuseSize(what: string, bytesMax: number): Refusal {
  return new Refusal(
    "PayloadTooLarge",
    `${what} is too large: at most ${bytesMax} bytes are allowed.`,
  );
}
