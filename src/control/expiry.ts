// Retires subscriptions whose end has come, as if someone had removed them. Whoever reads the
// catalog sifts it here; the alarm for the next expiry asks for it to be read again, so that
// nothing looks at the time on the path of an event.

import { siftExpired } from "../core/delivery/expiry.ts";
import type { Catalog, Clock, Log, Registry } from "../core/ports.ts";
import type { Subscription, SubscriptionId } from "../core/subscription.ts";
import { isoInstant } from "../core/text/time.ts";

export interface ExpiryDeps {
  readonly registry: Registry;
  readonly clock: Clock;
  readonly log: Log;
  /** Has the catalog read and sifted again. */
  readonly refresh: () => void;
  readonly tellDeleted: (subscription: Subscription) => void;
}

const retryMs = 1_000;

export class Expiry {
  readonly #deps: ExpiryDeps;
  /** Until a catalog without them was seen: one that was read earlier may come later. */
  readonly #retiring = new Set<SubscriptionId>();
  #callOff = () => {};
  #isClosed = false;

  constructor(deps: ExpiryDeps) {
    this.#deps = deps;
  }

  /** The catalog without what has expired; that is removed by and by. */
  sift(catalog: Catalog): Catalog {
    const { clock } = this.#deps;
    const now = clock.now();
    const { inForce, expired, nextAt } = siftExpired(catalog, now);
    this.#callOff();
    if (nextAt !== null) this.#lookAgainIn(nextAt - now);
    const there = new Set(expired.map(({ id }) => id));
    for (const id of this.#retiring) if (!there.has(id)) this.#retiring.delete(id);
    for (const subscription of expired) void this.#retire(subscription);
    return inForce;
  }

  close(): void {
    this.#isClosed = true;
    this.#callOff();
  }

  async #retire(subscription: Subscription): Promise<void> {
    const { registry, log, tellDeleted } = this.#deps;
    const { id, topic, name, expiresAt } = subscription;
    if (this.#retiring.has(id)) return;
    this.#retiring.add(id);
    try {
      await registry.removeSubscription(id);
      log.fact("info", "subscription.expired", {
        topic,
        subscription: name,
        expiresAt: isoInstant(expiresAt ?? 0),
      });
      tellDeleted(subscription);
    } catch (error) {
      log.fact("error", "subscription.unretired", {
        topic,
        subscription: name,
        error: String(error),
      });
      this.#retiring.delete(id);
      this.#lookAgainIn(retryMs);
    }
  }

  #lookAgainIn(ms: number): void {
    this.#callOff();
    if (!this.#isClosed) this.#callOff = this.#deps.clock.after(ms, this.#deps.refresh);
  }
}
