// The brokers of a cluster, for people: each tells of itself with its heartbeat, and any of them
// shows all. A broker alone shows itself.

import type { BrokerView, Counts } from "../../core/api/views.ts";
import type { Peer, Peers } from "../../core/cluster/peers.ts";
import { everySlot, type Slot, servingSlot } from "../../core/cluster/slot.ts";
import type { Ledger, QueueCount } from "../../core/ledger.ts";
import type { Clock, Instant } from "../../core/ports.ts";
import type { LiveCatalog } from "../../core/routing/live-catalog.ts";
import type { EndpointUse, Switchboard } from "../../core/steering.ts";
import { endpointOf, type Subscription } from "../../core/subscription.ts";
import { isoInstant } from "../../core/text/time.ts";
import type { Handlers } from "../api/serve.ts";

export type Rates = Pick<Counts, "published" | "delivered" | "failed">;

/** What a broker tells of itself. */
export interface AboutBroker {
  readonly host: string;
  readonly version: string;
  readonly http: string | null;
  readonly https: string | null;
  /** What stands for the topics its file declares; null: it declares none. */
  readonly declares: string | null;
  readonly rates: Rates;
  readonly counts: Counts;
}

export interface BrokersDeps {
  /** This broker's name. */
  readonly broker: string;
  readonly peers: Peers;
  /** This broker, as it is now. */
  readonly about: () => AboutBroker;
  readonly startedAt: Instant;
  readonly catalog: () => LiveCatalog;
  readonly ledger: Ledger;
  readonly switchboard: Switchboard;
  readonly clock: Clock;
}

export function brokerHandlers(deps: BrokersDeps): Pick<Handlers, "listBrokers"> {
  return {
    async listBrokers() {
      const queues = await deps.ledger.counts();
      const subscriptions = new Map(deps.catalog().subscriptions.map((one) => [one.id, one]));
      const held = heldBack(await deps.switchboard.endpoints());
      const seen = { queues, subscriptions, held, now: deps.clock.now() };
      const brokers = await brokersIn(deps);
      return { value: brokers.map((each) => viewOf(deps.broker, each, seen)), next: null };
    },
  };
}

/** The brokers that are alive and whose files declare something else. */
export async function otherDeclarers(
  peers: Peers,
  { declares }: Pick<AboutBroker, "declares">,
): Promise<readonly string[]> {
  return (await peers.list()).flatMap(({ id, about }) => {
    const theirs = (about as Partial<AboutBroker>).declares ?? null;
    return theirs === null || theirs === declares ? [] : [id];
  });
}

type Known = Peer & { readonly about: AboutBroker };

/** This one is known best. */
async function brokersIn(deps: BrokersDeps): Promise<readonly Known[]> {
  const { broker, startedAt, clock } = deps;
  const listed = (await deps.peers.list()) as readonly Known[];
  const self = { id: broker, startedAt, seenAt: clock.now(), slots: everySlot };
  const own = { ...(listed.find(({ id }) => id === broker) ?? self), about: deps.about() };
  const others = listed.filter(({ id, about }) => id !== broker && "version" in about);
  return [own, ...others].toSorted((a, b) => a.startedAt - b.startedAt || (a.id < b.id ? -1 : 1));
}

function viewOf(
  self: string,
  { id, startedAt, seenAt, slots, about: { declares: _, ...about } }: Known,
  seen: {
    readonly queues: readonly QueueCount[];
    readonly subscriptions: ReadonlyMap<number, Subscription>;
    /** Endpoints that get nothing at the moment. */
    readonly held: ReadonlySet<string>;
    readonly now: Instant;
  },
): BrokerView {
  const owned = new Set<Slot>(slots);
  const isOwned = (one: Subscription | undefined) =>
    one !== undefined && owned.has(servingSlot(one));
  const own = [...seen.subscriptions.values()].filter((one) => one.isActive && isOwned(one));
  const queues = seen.queues.filter(({ subscription }) =>
    isOwned(seen.subscriptions.get(subscription)),
  );
  const isHeld = ({ flow, destination }: Subscription) =>
    flow.kind !== "running" ||
    destination.kind === "pull" ||
    seen.held.has(endpointOf(destination));
  const sent = queues.filter(({ subscription }) => {
    const one = seen.subscriptions.get(subscription);
    return one !== undefined && !isHeld(one);
  });
  const nextDueAt = Math.min(...sent.map((queue) => queue.nextDueAt));
  return {
    id,
    ...about,
    startedAt: isoInstant(startedAt),
    seenAt: isoInstant(seenAt),
    isSelf: id === self,
    slots: slots.length,
    subscriptions: own.length,
    endpoints: new Set(own.map(({ destination }) => endpointOf(destination))).size,
    waiting: queues.reduce((sum, { waiting }) => sum + waiting, 0),
    overdueMs: Math.max(0, Number.isFinite(nextDueAt) ? seen.now - nextDueAt : 0),
  };
}

/** Closed, or left alone because they fail: what waits for them is not late. */
function heldBack(endpoints: readonly EndpointUse[]): ReadonlySet<string> {
  const held = endpoints.filter(
    ({ closure, isDelayed, health }) =>
      closure !== null || (isDelayed && health.kind !== "healthy"),
  );
  return new Set(held.map(({ name }) => name));
}

/** Counts and rates of all brokers together. */
export async function clusterSums(
  deps: BrokersDeps,
): Promise<{ readonly brokers: number; readonly counts: Counts; readonly rates: Rates }> {
  const all = await brokersIn(deps);
  const sum = <T extends Readonly<Record<string, number>>>(pick: (about: AboutBroker) => T): T => {
    const [first, ...rest] = all.map(({ about }) => pick(about));
    const sums: Record<string, number> = { ...first };
    for (const one of rest) {
      for (const [name, count] of Object.entries(one)) {
        sums[name] = Math.round(((sums[name] ?? 0) + count) * 10) / 10;
      }
    }
    return sums as T;
  };
  return {
    brokers: all.length,
    counts: sum(({ counts }) => counts),
    rates: sum(({ rates }) => rates),
  };
}
