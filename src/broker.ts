// The floor plan: the only file that knows every room. `assemble` joins the rooms on whatever ground it is
// given, real or simulated; `openBroker` (further down) lays the real ground.

import { publishRoutes } from "./ingress/publish.ts";
import type { PolicyDefaults } from "./core/policy.ts";
import type {
  Chance,
  Clock,
  Ids,
  Ledger,
  Log,
  Meter,
  Registry,
  Route,
  Sink,
  Store,
} from "./core/ports.ts";
import type { ProfileName } from "./core/profile.ts";
import { type Directory, openDirectory } from "./core/route.ts";
import type { DeadLetterDestination } from "./core/subscription.ts";
import { Roster } from "./dispatch/roster.ts";

/** Everything a broker stands on. */
export interface Ground {
  readonly store: Store & Ledger & Registry;
  readonly sink: Sink;
  readonly deadLetterSink: Sink<DeadLetterDestination> | null;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly ids: Ids;
  readonly log: Log;
  readonly meter: Meter;
}

/** The few settings the rooms need. */
export interface HouseRules {
  readonly profile: ProfileName;
  readonly auth: boolean;
  readonly defaults: PolicyDefaults;
  readonly endpointSendsMax: number;
}

export interface House {
  readonly routes: readonly Route[];
  /** Resolves when every change of topics and subscriptions made before the call is in effect. */
  refresh(): Promise<void>;
  /** Null, or why publishes are not accepted. */
  whyNotReady(): string | null;
  /** Refuses new publishes and lets sends under way end until the signal aborts. */
  close(signal: AbortSignal): Promise<void>;
}

export async function assemble(ground: Ground, rules: HouseRules): Promise<House> {
  const { store, log, meter } = ground;
  let directory: Directory = openDirectory({ topics: [], subscriptions: [] });
  let isClosing = false;
  const roster = new Roster({
    ground,
    sink: ground.sink,
    deadLetterSink: ground.deadLetterSink,
    profile: rules.profile,
    defaults: rules.defaults,
    sendsMax: rules.endpointSendsMax,
  });
  const reload = async () => {
    const catalog = await store.catalog();
    if (isClosing) return;
    directory = openDirectory(catalog);
    roster.sync(catalog);
  };
  // One reload at a time, so that an older catalog never replaces a newer one.
  let reloading = Promise.resolve();
  const refresh = () => {
    const next = reloading.then(reload);
    reloading = next.catch(() => {});
    return next;
  };
  store.onChange(() => {
    refresh().catch((error) => log.fact("error", "catalog.failed", { error: String(error) }));
  });
  store.onDropped((subscription, count) => {
    const reason = "SubscriptionDeleted";
    meter.count("posthorn_dropped_events_total", { reason }, count);
    log.fact(count > 0 ? "warn" : "info", "deliveries.dropped", { subscription, count, reason });
  });
  await refresh();
  return {
    routes: publishRoutes({
      ...ground,
      directory: () => directory,
      auth: rules.auth,
      isOpen: () => !isClosing,
    }),
    refresh,
    whyNotReady() {
      if (isClosing) return "The broker is stopping.";
      return roster.broken > 0 ? "A dispatcher has stopped; see dispatcher.broken in the log." : null;
    },
    async close(signal) {
      isClosing = true;
      await reloading;
      await roster.close(signal);
    },
  };
}
