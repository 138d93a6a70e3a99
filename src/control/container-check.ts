// Checks the containers for dead letters when a subscription first names them. One that cannot be
// reached is no reason to refuse a subscription: it may be created, or access granted, before it is
// needed. But the operator should know before the first dead letter is lost.

import type { StorageAccount } from "../core/azure/storage.ts";
import { containerOf } from "../core/deadletter/letter-query.ts";
import type { DeadLetterReader } from "../core/deadletter/letter-store.ts";
import type { Log } from "../core/ports.ts";
import type { CatalogChange } from "../core/routing/live-catalog.ts";
import type { Subscription, SubscriptionId } from "../core/subscription.ts";

export interface ContainerCheckDeps {
  readonly reader: DeadLetterReader;
  readonly accounts: readonly StorageAccount[];
  readonly log: Log;
}

/** Called with every change; each container is checked once while a subscription names it. */
export function checkContainers({ reader, accounts, log }: ContainerCheckDeps) {
  const named = new Map<SubscriptionId, string>();
  const users = new Map<string, number>();
  const count = (key: string, by: number) => {
    const left = (users.get(key) ?? 0) + by;
    if (left === 0) users.delete(key);
    else users.set(key, left);
  };
  const forget = ({ id }: Subscription) => {
    const key = named.get(id);
    if (named.delete(id)) count(key as string, -1);
  };
  const attempt = async (subscription: Subscription) => {
    const { deadLetter, topic, name } = subscription;
    const place = containerOf(subscription, accounts);
    const why =
      place === null
        ? "The account is not in storageAccounts."
        : await reader.whyUnreachable(place);
    if (why === null) return;
    const where = { account: deadLetter?.resourceId, container: deadLetter?.container };
    log.fact("warn", "deadLetter.unreachable", { topic, subscription: name, ...where, why });
  };
  return ({ subscriptions, gone }: Pick<CatalogChange, "subscriptions" | "gone">): void => {
    for (const subscription of gone.subscriptions) forget(subscription);
    for (const subscription of subscriptions) {
      const { id, deadLetter } = subscription;
      const key = deadLetter && `${deadLetter.resourceId}/${deadLetter.container}`.toLowerCase();
      if (key !== null && !users.has(key)) void attempt(subscription);
      if (key !== null) count(key, 1);
      forget(subscription);
      if (key !== null) named.set(id, key);
    }
  };
}
