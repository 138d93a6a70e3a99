// Deletes subscriptions that have expired. Every read of the catalog is filtered here; the alarm
// for the next expiry has all of it filtered again, so that nothing checks the time on the path of
// an event. Among several brokers each deletes its own, and nobody serves the others.

import { type Sifted, siftExpired } from "../core/delivery/expiry.ts";
import type { Clock, Instant, Log } from "../core/ports.ts";
import { Refusal } from "../core/refusal.ts";
import type { Registry } from "../core/registry.ts";
import type { Subscription, SubscriptionId } from "../core/subscription.ts";
import { isoInstant } from "../core/text/time.ts";

export interface ExpiryDeps {
  readonly registry: Registry;
  readonly clock: Clock;
  readonly log: Log;
  /** Has all subscriptions filtered again. */
  readonly siftAll: () => void;
  readonly notifyDeleted: (subscription: Subscription) => void;
  /** Whether this broker owns it. */
  readonly isMine: (subscription: Subscription) => boolean;
}

const retryMs = 1_000;

export class Expiry {
  readonly #deps: ExpiryDeps;
  /** Until they are seen to be gone: an earlier read of one may come later. */
  readonly #retiring = new Set<SubscriptionId>();
  /** When the alarm rings; ringing for a deleted subscription does no harm. */
  #alarmAt: Instant | null = null;
  #callOff = () => {};
  #isClosed = false;

  constructor(deps: ExpiryDeps) {
    this.#deps = deps;
  }

  /** Which of these are active, and which have expired: those are deleted by and by. */
  sift(subscriptions: readonly Subscription[]): Pick<Sifted, "inForce" | "expired"> {
    const { nextAt, ...sifted } = siftExpired(subscriptions, this.#deps.clock.now());
    if (nextAt !== null) this.#lookAgainAt(nextAt);
    for (const subscription of sifted.expired) {
      if (this.#deps.isMine(subscription)) void this.#retire(subscription);
    }
    return sifted;
  }

  forget({ id }: Subscription): void {
    this.#retiring.delete(id);
  }

  close(): void {
    this.#isClosed = true;
    this.#callOff();
  }

  async #retire(subscription: Subscription): Promise<void> {
    const { registry, log, notifyDeleted } = this.#deps;
    const { id, revision, topic, name, expiresAt } = subscription;
    if (this.#retiring.has(id)) return;
    this.#retiring.add(id);
    try {
      // Another broker may have been first: then it is its to tell.
      if (!(await registry.removeSubscription(id, revision))) return;
      log.fact("info", "subscription.expired", {
        topic,
        subscription: name,
        expiresAt: isoInstant(expiresAt ?? 0),
      });
      notifyDeleted(subscription);
    } catch (error) {
      // A record that was changed meanwhile is looked at again.
      if (!(error instanceof Refusal) || error.code !== "PreconditionFailed") {
        const names = { topic, subscription: name };
        log.fact("error", "subscription.unretired", { ...names, error: String(error) });
      }
      this.#retiring.delete(id);
      this.#lookAgainAt(this.#deps.clock.now() + retryMs);
    }
  }

  #lookAgainAt(at: Instant): void {
    const { clock, siftAll } = this.#deps;
    if (this.#isClosed || (this.#alarmAt !== null && this.#alarmAt <= at)) return;
    this.#callOff();
    this.#alarmAt = at;
    this.#callOff = clock.after(at - clock.now(), () => {
      this.#alarmAt = null;
      siftAll();
    });
  }
}
