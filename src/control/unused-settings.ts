// Settings of stored subscriptions that have no effect under the current profile. They are refused
// when written; but the broker's profile can change at every start, and a file may change a
// topic's. Then they are kept, and logged.

import { unusedUnder, whyUnused } from "../core/delivery/allowance.ts";
import type { ProfileName } from "../core/delivery/profile.ts";
import type { Log } from "../core/ports.ts";
import type { LiveCatalog } from "../core/routing/live-catalog.ts";

/** `usual`: the profile of topics that have none of their own. */
export function logUnusedSettings(catalog: LiveCatalog, usual: ProfileName, log: Log): void {
  for (const subscription of catalog.subscriptions) {
    const { topic: name, name: own } = subscription;
    const profile = catalog.topic(name)?.profile ?? usual;
    const idle = unusedUnder(profile, subscription);
    if (idle.length === 0) continue;
    const words = idle.map((each) => whyUnused(profile, each)).join("; ");
    const members = idle.map((each) => each.members[0]);
    log.fact("warn", "subscription.idle", { topic: name, subscription: own, members, words });
  }
}
