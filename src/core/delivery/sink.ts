// What sends events to a destination.

import type { PushDestination, Subscription } from "../subscription.ts";
import type { Trace } from "../tracing/trace.ts";
import type { Delivery } from "./delivery.ts";
import type { Outcome } from "./outcome.ts";

export interface Parcel {
  readonly subscription: Subscription;
  readonly deliveries: readonly Delivery[];
  /** The trace context to send along, where there is one. */
  readonly trace?: Trace | null;
}

export interface Sink<D = PushDestination> {
  /**
   * Sends the events of one parcel in one request. Never rejects because of the endpoint, and
   * resolves within `waitMs`: a request still open then may continue until `lateMs`, and its result
   * comes by `late`.
   */
  send(
    parcel: Parcel,
    destination: D,
    limits: { readonly waitMs: number; readonly lateMs: number; readonly signal: AbortSignal },
  ): Promise<Outcome>;
}
