// The interface between writing a subscription and its handshake. A writer stores what `prepare`
// returns with the subscription, and then calls `begin`; from there only handshakes.ts changes it,
// also after a restart.

import type { CallerUrl } from "../../core/handshake/question.ts";
import type { Instant } from "../../core/ports.ts";
import type {
  Handshake,
  Subscription,
  SubscriptionId,
  SubscriptionTerms,
} from "../../core/subscription.ts";
import type { Topic } from "../../core/topic.ts";

/** A subscription with a handshake, decided or not. */
export type Asked = Subscription & { readonly handshake: Handshake };

export function isAsked(subscription: Subscription): subscription is Asked {
  return subscription.handshake !== null;
}

/** How a handshake ended, or that it now waits for a person. */
export type Verdict =
  | { readonly state: "Succeeded" }
  | { readonly state: "AwaitingManualAction" }
  /** `why` is a sentence without secrets: `Http POST request failed with response code 404.` */
  | { readonly state: "Failed"; readonly why: string };

/**
 * The states of a subscription:
 *
 * - not active (`isActive` false, state `Creating` or `Updating`, `pending` null): `Succeeded`
 *   makes it active; `AwaitingManualAction` and `Failed` are states and leave it inactive.
 * - active (`isActive` true, state `Updating`, the new settings in `pending`): it keeps its old
 *   settings. `Succeeded` replaces them with the pending ones, in one write. `Failed` drops them,
 *   and it is `Succeeded` again with the old settings, as in Azure. `AwaitingManualAction` keeps
 *   both until it is decided.
 *
 * In all cases the handshake stays with the subscription, to be shown.
 */
export interface HandshakePort {
  /**
   * A new handshake with a new code, for settings that become active with it. Null if there are no
   * handshakes: the settings are then active at once. The rate allowed in the handshake `before`
   * applies until this one is decided.
   */
  prepare(
    pending: SubscriptionTerms | null,
    before?: Handshake | null,
    called?: CallerUrl,
  ): Handshake | null;
  /**
   * Has the endpoint of a subscription asked that was just written: here, or by the broker that
   * owns it. Resolves when that is decided, or waits for a person; never rejects because of the
   * endpoint. A newer write of the same subscription ends the older handshake, as `Failed`.
   */
  begin(subscription: Subscription): Promise<Verdict>;
  /** When the endpoint is asked again; null: it is not, or is just being asked. */
  nextAskAt(subscription: Subscription): Instant | null;
  /** Starts again with a new code, also after success. Refusal: NotFound. */
  rerun(id: SubscriptionId, called: CallerUrl): Promise<Verdict>;
  /**
   * Stops the handshake and notifies the endpoint that its subscription was deleted, perhaps
   * together with its topic. Returns at once.
   */
  notifyDeleted(subscription: Subscription, topic?: Topic): void;
}
