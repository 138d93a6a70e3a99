// Subscriptions may have an end. From then on they get no new events and are to be deleted.

import type { Instant } from "../ports.ts";
import type { Subscription } from "../subscription.ts";

export interface Sifted {
  readonly inForce: readonly Subscription[];
  readonly expired: readonly Subscription[];
  /** When the next one expires. */
  readonly nextAt: Instant | null;
}

export function siftExpired(subscriptions: readonly Subscription[], now: Instant): Sifted {
  let nextAt: Instant | null = null;
  const inForce: Subscription[] = [];
  const expired: Subscription[] = [];
  for (const subscription of subscriptions) {
    const { expiresAt } = subscription;
    if (expiresAt !== null && expiresAt <= now) {
      expired.push(subscription);
      continue;
    }
    inForce.push(subscription);
    if (expiresAt !== null) nextAt = Math.min(expiresAt, nextAt ?? expiresAt);
  }
  return { inForce, expired, nextAt };
}
