// Containers that a subscription names for its dead letters, tried when they are first named. One
// that cannot be reached is no reason to refuse a subscription: it may be made, or allowed to us,
// before the first event is given up on. But nobody should learn of it from the first that is lost.

import type { StorageAccount } from "../core/azure/storage.ts";
import { containerOf } from "../core/deadletter/letter-query.ts";
import type { DeadLetterReader } from "../core/deadletter/letter-store.ts";
import type { Catalog, Log } from "../core/ports.ts";

export interface ContainerCheckDeps {
  readonly reader: DeadLetterReader;
  readonly accounts: readonly StorageAccount[];
  readonly log: Log;
}

/** To be told of every catalog in force; each container is tried once while it is named. */
export function checkContainers({
  reader,
  accounts,
  log,
}: ContainerCheckDeps): (catalog: Catalog) => void {
  let tried = new Set<string>();
  const attempt = async (subscription: Catalog["subscriptions"][number]) => {
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
  return ({ subscriptions }) => {
    const named = new Set<string>();
    for (const subscription of subscriptions) {
      if (subscription.deadLetter === null) continue;
      const { resourceId, container } = subscription.deadLetter;
      const key = `${resourceId}/${container}`.toLowerCase();
      if (!named.has(key) && !tried.has(key)) void attempt(subscription);
      named.add(key);
    }
    tried = named;
  };
}
