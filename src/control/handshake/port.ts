// The seam between writing a subscription and asking its endpoint whether it wants our events.
// Whoever writes a subscription of a webhook writes what `prepare` gives with it, and then calls
// `begin`; the desk alone moves it on from there, and takes up what a restart interrupted.

import type { CallerUrl } from "../../core/handshake/question.ts";
import type {
  Handshake,
  Subscription,
  SubscriptionId,
  SubscriptionTerms,
} from "../../core/subscription.ts";
import type { Topic } from "../../core/topic.ts";

/** How asking an endpoint ended, or that it now waits for a person. */
export type Verdict =
  | { readonly state: "Succeeded" }
  | { readonly state: "AwaitingManualAction" }
  /** `why` is a sentence without secrets: `Http POST request failed with response code 404.` */
  | { readonly state: "Failed"; readonly why: string };

/**
 * What becomes of a subscription:
 *
 * - not in force (`isActive` false, state `Creating` or `Updating`, `pending` null): `Succeeded`
 *   makes it active; `AwaitingManualAction` and `Failed` are states and leave it inactive.
 * - in force (`isActive` true, state `Updating`, the new terms in `pending`): it goes on by its old
 *   terms. `Succeeded` puts the pending ones in their place, in one write. `Failed` drops them, and
 *   it is `Succeeded` again under the old terms, as Azure restores what a failed update touched.
 *   `AwaitingManualAction` keeps both until it is decided.
 *
 * In all cases the handshake stays with the subscription, to be looked at.
 */
export interface HandshakePort {
  /**
   * A handshake about to begin, with a new code, for terms that are to come into force with it.
   * Null when endpoints are not asked at all: the terms are then in force at once. The rate that
   * was allowed in the handshake `before` holds until this one is decided.
   */
  prepare(pending: SubscriptionTerms | null, before?: Handshake | null): Handshake | null;
  /**
   * Asks the endpoint of a subscription as it was just written. Resolves when that is decided, or
   * waits for a person; never rejects for something the world did. A newer write of the same
   * subscription ends the older asking, as `Failed`.
   */
  begin(subscription: Subscription, called: CallerUrl): Promise<Verdict>;
  /** Begins again with a new code, also after success. Refusal: NotFound. */
  rerun(id: SubscriptionId, called: CallerUrl): Promise<Verdict>;
  /**
   * Stops asking and tells the endpoint that its subscription is gone, perhaps together with its
   * topic. Returns at once.
   */
  tellDeleted(subscription: Subscription, topic?: Topic): void;
}
