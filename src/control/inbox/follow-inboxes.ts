// Subscriptions to test inboxes follow them: the address of an inbox is that of the broker's own
// listener, which may have another port, or another scheme, after a restart. Done once the listener
// is open. Those of the configuration file are left alone: they are as the file says.

import type { Peers } from "../../core/cluster/peers.ts";
import type { Log } from "../../core/ports.ts";
import type { Registry } from "../../core/registry.ts";
import type { LiveCatalog } from "../../core/routing/live-catalog.ts";
import type { Subscription } from "../../core/subscription.ts";
import type { AboutBroker } from "../cluster/brokers.ts";
import { retryStale } from "../stale-write.ts";
import { type Inboxes, inboxPath } from "./inboxes.ts";

export interface FollowDeps {
  readonly catalog: () => LiveCatalog;
  readonly registry: Registry;
  readonly refresh: () => Promise<void>;
  readonly peers: Pick<Peers, "list">;
  readonly log: Log;
}

/** A store that fails meanwhile keeps nobody from starting. */
export async function followInboxes(deps: FollowDeps, inboxes: Inboxes): Promise<void> {
  try {
    await follow(deps, inboxes);
  } catch (error) {
    deps.log.fact("warn", "inbox.notFollowed", { error: String(error) });
  }
}

async function follow(deps: FollowDeps, inboxes: Inboxes): Promise<void> {
  const known = new Map((await inboxes.list()).map((inbox) => [inbox.name.toLowerCase(), inbox]));
  if (known.size === 0) return;
  const others = await originsOfOthers(deps.peers);
  const urlFor = ({ destination, origin }: Subscription): string | null => {
    const url = destination.kind === "webhook" ? URL.parse(destination.url) : null;
    if (url === null || origin === "file" || others.has(url.origin)) return null;
    const [, name = ""] = pathRule.exec(url.pathname) ?? [];
    const inbox = known.get(name.toLowerCase());
    if (inbox === undefined || url.searchParams.get("key") !== inbox.key) return null;
    const now = inboxes.urlOf(inbox);
    return now === url.href ? null : now;
  };
  for (const { id } of deps.catalog().subscriptions) {
    await retryStale(() => move(deps, id, urlFor), deps.refresh);
  }
}

const pathRule = new RegExp(`^${inboxPath}/([^/]+)$`);

/** Brokers of a cluster share inboxes, and each has its own address: one that lives is right. */
async function originsOfOthers(peers: FollowDeps["peers"]): Promise<ReadonlySet<string>> {
  const abouts = (await peers.list()).map(({ about }) => about as Partial<AboutBroker>);
  return new Set(abouts.flatMap(({ http, https }) => [http, https].filter((at) => at != null)));
}

async function move(
  { catalog, registry, refresh, log }: FollowDeps,
  id: number,
  urlFor: (subscription: Subscription) => string | null,
): Promise<void> {
  const subscription = catalog().subscription(id);
  const url = subscription === undefined ? null : urlFor(subscription);
  if (subscription === undefined || url === null) return;
  const { id: _, revision, ...draft } = subscription;
  const { destination, topic, name } = draft;
  if (destination.kind !== "webhook") return;
  await registry.putSubscription({ ...draft, destination: { ...destination, url } }, revision);
  await refresh();
  log.fact("info", "inbox.followed", { topic, subscription: name, to: new URL(url).origin });
}
