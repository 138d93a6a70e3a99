// Broken parts, one for each promise. A simulation that stays green with one of these in the broker
// proves nothing; planted-faults.test.ts puts them in one after the other, and each must be found.

import type { Delivery } from "../../src/core/delivery/delivery.ts";
import type { Outcome } from "../../src/core/delivery/outcome.ts";
import type { Sink } from "../../src/core/delivery/sink.ts";
import type { Claim, Settlement } from "../../src/core/ports.ts";
import type { Subscription } from "../../src/core/subscription.ts";
import { healthMemo } from "../../src/dispatch/health-memory.ts";
import type { Environment } from "../../src/wiring.ts";
import type { Everything } from "./broker-life.ts";
import type { Weather } from "./weather.ts";
import type { Plant } from "./world.ts";

export interface PlantedFault {
  readonly name: string;
  /** How the rule begins that must be found violated. */
  readonly rule: string;
  readonly plant: Plant;
  /** The weather in which it shows. */
  readonly weather?: (drawn: Weather) => Weather;
}

type Due = Extract<Settlement, { kind: "due" }>;

export const plantedFaults: readonly PlantedFault[] = [
  {
    name: "a store that loses an append now and then",
    rule: "D-2: what is accepted",
    plant: { store: losesAppends },
  },
  {
    name: "a store that says yes when the disk has said no",
    rule: "D-1",
    plant: { deps: swallowsRefusals },
    weather: (drawn) => ({ ...drawn, disk: { ...drawn.disk, moods: ["broken"], share: 0.1 } }),
  },
  {
    name: "a store without the fence",
    rule: "a settlement counts",
    plant: { store: forgetsTheFence },
    weather: (drawn) => ({ ...drawn, disk: { ...drawn.disk, moods: ["erratic"], share: 0.2 } }),
  },
  {
    name: "a store that minds no lease",
    rule: "a lease keeps others away",
    plant: { store: forgetsLeases },
  },
  {
    name: "a store that keeps what is gone",
    rule: "L-1",
    plant: { store: keepsWhatIsGone },
  },
  {
    name: "a store that does not say when there is work",
    rule: "D-3",
    plant: { store: (store) => ({ ...bound(store), onWake: () => {} }) },
  },
  {
    name: "an append for a subscription that did not ask",
    rule: "D-2: nobody gets",
    plant: { store: sendsToEverybody },
  },
  {
    name: "a retry that comes too early",
    rule: "R-1, R-2",
    plant: { store: changesRetries((due) => ({ ...due, at: due.at - 5_000 })) },
  },
  {
    name: "a retry that comes too late",
    rule: "D-3",
    plant: { store: changesRetries((due) => ({ ...due, at: due.at + 60_000 })) },
  },
  {
    name: "attempts that are not counted",
    rule: "R-5: attempts",
    plant: { store: changesRetries((due) => ({ ...due, attempts: due.attempts - 1 })) },
  },
  {
    name: "a life that begins anew with every claim",
    rule: "R-6",
    plant: { store: changesClaims((delivery) => ({ ...delivery, since: delivery.dueAt })) },
  },
  {
    name: "a decision that is not the one of the law",
    rule: "R-1 to R-6",
    plant: { deps: changesOutcomes((status) => (status === 503 ? 500 : status)) },
  },
  {
    name: "a retry of what is never retried",
    rule: "R-3",
    plant: { deps: changesOutcomes((status) => (status === 413 ? 500 : status)) },
    weather: (drawn) => ({ ...drawn, network: { ...drawn.network, moods: ["final"], share: 0.6 } }),
  },
  {
    name: "a late success that is not heard",
    rule: "R-4",
    plant: { deps: isDeafToLateAnswers },
    weather: (drawn) => ({
      ...drawn,
      network: { ...drawn.network, moods: ["hanging"], share: 0.6 },
    }),
  },
  {
    name: "batches beyond their limit",
    rule: "B-1",
    plant: { deps: (deps) => ({ ...deps, store: growsBatches(deps.store) }) },
  },
  {
    name: "more sends at an endpoint than it is given",
    rule: "H-1",
    plant: { rules: { endpointSendsMax: 64 } },
  },
  {
    name: "a sick endpoint that is not left alone",
    rule: "H-1",
    plant: { deps: (deps) => ({ ...deps, store: forgetsHealth(deps.store) }) },
    weather: (drawn) => ({
      ...drawn,
      profile: "azure",
      network: { ...drawn.network, moods: ["refusing"], share: 0.9 },
    }),
  },
  {
    name: "a pause that nobody hears of",
    rule: "nothing is sent while",
    plant: { deps: changesRecords((one) => ({ ...one, flow: { kind: "running" } })) },
    weather: (drawn) => ({ ...drawn, acts: 20 }),
  },
  {
    name: "pauses in which events grow older",
    rule: "R-1 to R-6",
    plant: {
      deps: changesRecords(({ flow, ...one }) => ({
        ...one,
        flow: flow.kind === "paused" ? { ...flow, since: flow.since + 48 * 3_600_000 } : flow,
        pauses: [],
      })),
    },
    weather: (drawn) => ({
      ...drawn,
      acts: 40,
      safetyMs: 72 * 3_600_000,
      network: { ...drawn.network, moods: ["erring"], share: 0.9 },
    }),
  },
  {
    name: "a batch that is given up because of one event",
    rule: "R-1 to R-6",
    plant: { deps: changesRecords((one) => ({ ...one, splitOnFailure: false })) },
    weather: (drawn) => ({ ...drawn, splits: 1, poison: 0.3, profile: "azure" }),
  },
  {
    name: "a skip that keeps some",
    rule: "a skip drops",
    plant: {
      store: (store) => ({ ...bound(store), skip: async () => ({ dropped: 0, next: null }) }),
    },
    weather: (drawn) => ({ ...drawn, acts: 40 }),
  },
  {
    name: "a closed endpoint that a restart opens",
    rule: "H-1",
    plant: {
      deps: (deps) => ({ ...deps, store: { ...deps.store, notes: async () => [] } }),
    },
    weather: (drawn) => ({ ...drawn, acts: 40, stopsPerDay: 12, profile: "azure" }),
  },
  {
    name: "dead letters that a deleted subscription takes along",
    rule: "once all is well",
    plant: {
      deps: (deps) => {
        const catalog: Everything["catalog"] = async (only) => {
          const { topics, subscriptions } = await deps.store.catalog(only);
          return { topics, subscriptions };
        };
        return { ...deps, store: { ...deps.store, catalog } };
      },
    },
    weather: (drawn) => ({
      ...drawn,
      profile: "azure",
      changes: 40,
      network: { ...drawn.network, moods: ["final"], share: 0.9 },
    }),
  },
  {
    name: "an endpoint whose health a restart forgets",
    rule: "H-1, H-2",
    plant: {
      deps: (deps) => {
        const notes: Everything["notes"] = async (kind) =>
          kind === healthMemo ? [] : await deps.store.notes(kind);
        return { ...deps, store: { ...deps.store, notes } };
      },
    },
    weather: (drawn) => ({
      ...drawn,
      profile: "azure",
      stopsPerDay: 24,
      network: { ...drawn.network, moods: ["refusing"], share: 0.9 },
    }),
  },
  {
    name: "health that is not remembered",
    rule: "H-1: the health",
    plant: {
      deps: (deps) => {
        const putMemo: Everything["putMemo"] = async (kind, key, record) =>
          kind === healthMemo ? undefined : await deps.store.putMemo(kind, key, record);
        return { ...deps, store: { ...deps.store, putMemo } };
      },
    },
    weather: (drawn) => ({
      ...drawn,
      profile: "azure",
      stopsPerDay: 24,
      network: { ...drawn.network, moods: ["refusing"], share: 0.9 },
    }),
  },
  {
    name: "alarms that ring late",
    rule: "D-3",
    plant: { deps: ringsLate },
  },
  {
    name: "a change of which the store names other records",
    rule: "D-2",
    plant: { store: namesOtherRecords },
  },
  {
    name: "drops that nobody is told of",
    rule: "M-2",
    plant: { deps: keepsDropsQuiet },
  },
];

/** The store with its verbs as plain functions, so that some can be replaced. */
export function bound(store: Everything): Everything {
  return {
    ownership: store.ownership,
    peers: store.peers,
    ...(store.isShared === true && { isShared: true }),
    append: (routed, now, by) => store.append(routed, now, by),
    claim: (queue, want) => store.claim(queue, want),
    settle: (settlements) => store.settle(settlements),
    receive: (id, want) => store.receive(id, want),
    takeEnded: (id, want) => store.takeEnded(id, want),
    locked: (ids, now) => store.locked(ids, now),
    onWake: (listener) => store.onWake(listener),
    counts: () => store.counts(),
    waiting: (queue, page) => store.waiting(queue, page),
    look: (ids) => store.look(ids),
    skip: (queue, step) => store.skip(queue, step),
    hasten: (queue, which) => store.hasten(queue, which),
    find: (systemId, after) => store.find(systemId, after),
    notes: (kind) => store.notes(kind),
    putMemo: (kind, key, record) => store.putMemo(kind, key, record),
    keepMemo: (kind, key, record) => store.keepMemo(kind, key, record),
    redriven: (keys) => store.redriven(keys),
    noteRedriven: (notes) => store.noteRedriven(notes),
    catalog: (only) => store.catalog(only),
    putTopic: (draft, revision) => store.putTopic(draft, revision),
    putSubscription: (draft, revision) => store.putSubscription(draft, revision),
    removeTopic: (name) => store.removeTopic(name),
    removeSubscription: (id, revision) => store.removeSubscription(id, revision),
    onChange: (listener) => store.onChange(listener),
    onDropped: (listener) => store.onDropped(listener),
  };
}

function losesAppends(store: Everything): Everything {
  let appends = 0;
  return {
    ...bound(store),
    append: async (routed, now, by) => {
      appends += 1;
      return appends % 5 === 0 ? routed.map(() => 0) : await store.append(routed, now, by);
    },
  };
}

function swallowsRefusals(deps: Environment): Environment {
  const append: Everything["append"] = (routed, now, by) =>
    deps.store.append(routed, now, by).catch(() => routed.map(() => 0));
  return { ...deps, store: { ...deps.store, append } };
}

function forgetsTheFence(store: Everything): Everything {
  const latest = new Map<string, number>();
  const keyOf = ({ event, subscription }: Settlement["delivery"]) => `${event}/${subscription}`;
  return {
    ...bound(store),
    claim: async (queue, want) => {
      const claim = await store.claim(queue, want);
      for (const { id, lease } of claim.deliveries) latest.set(keyOf(id), lease);
      return claim;
    },
    settle: (settlements) =>
      store.settle(
        settlements.map((one) => ({ ...one, lease: latest.get(keyOf(one.delivery)) ?? one.lease })),
      ),
  };
}

/** Some of them, or nothing would ever end. */
function keepsWhatIsGone(store: Everything): Everything {
  let ends = 0;
  return {
    ...bound(store),
    settle: (settlements) =>
      store.settle(
        settlements.map((one) => {
          ends += one.kind === "gone" ? 1 : 0;
          if (one.kind !== "gone" || ends % 3 !== 0) return one;
          return { kind: "back", delivery: one.delivery, lease: one.lease };
        }),
      ),
  };
}

function forgetsLeases(store: Everything): Everything {
  let claims = 0;
  return {
    ...bound(store),
    claim: async (queue, want) => {
      const claim = await store.claim(queue, want);
      claims += claim.deliveries.length;
      const backs = claim.deliveries.map(
        ({ id, lease }): Settlement => ({ kind: "back", delivery: id, lease }),
      );
      if (claims % 3 === 0) await store.settle(backs);
      return claim;
    },
  };
}

function namesOtherRecords(store: Everything): Everything {
  return {
    ...bound(store),
    onChange: (listener) =>
      store.onChange((changed) => {
        const subscriptions = changed?.subscriptions.map((id) => id + 1) ?? [];
        listener({ topics: [], subscriptions });
      }),
  };
}

function sendsToEverybody(store: Everything): Everything {
  return {
    ...bound(store),
    append: async (routed, now) => {
      const { subscriptions } = await store.catalog();
      const to = subscriptions.map(({ id }) => id);
      return await store.append(
        routed.map(({ event }) => ({ event, to })),
        now,
      );
    },
  };
}

function changesClaims(change: (delivery: Delivery) => Delivery) {
  return (store: Everything): Everything => ({
    ...bound(store),
    claim: async (queue, want): Promise<Claim> => {
      const claim = await store.claim(queue, want);
      return { ...claim, deliveries: claim.deliveries.map(change) };
    },
  });
}

function changesRetries(change: (due: Due) => Due) {
  return (store: Everything): Everything => ({
    ...bound(store),
    settle: (settlements) =>
      store.settle(
        settlements.map((one) =>
          one.kind === "due" && one.stage === "deliver" ? change(one) : one,
        ),
      ),
  });
}

function changesOutcomes(change: (status: number) => number) {
  return (deps: Environment): Environment => {
    const sink = mapOutcomes(deps.sink, (outcome) =>
      outcome.kind === "answered" ? { ...outcome, status: change(outcome.status) } : outcome,
    );
    return { ...deps, sink };
  };
}

function isDeafToLateAnswers(deps: Environment): Environment {
  const sink = mapOutcomes(deps.sink, (outcome) =>
    outcome.kind === "noReply" ? { kind: "noReply", why: outcome.why } : outcome,
  );
  return { ...deps, sink };
}

function mapOutcomes<D>(sink: Sink<D>, change: (outcome: Outcome) => Outcome): Sink<D> {
  return {
    send: async (parcel, destination, limits) =>
      change(await sink.send(parcel, destination, limits)),
  };
}

function growsBatches(store: Everything): Everything {
  return {
    ...store,
    catalog: async (only) => {
      const catalog = await store.catalog(only);
      const subscriptions = catalog.subscriptions.map((one) => ({
        ...one,
        batch: one.batch && { ...one.batch, maxEvents: one.batch.maxEvents + 2 },
      }));
      return { ...catalog, subscriptions };
    },
  };
}

/** As the broker reads them. */
export function changesRecords(change: (subscription: Subscription) => Subscription) {
  return (deps: Environment): Environment => {
    const catalog: Everything["catalog"] = async (only) => {
      const { topics, subscriptions } = await deps.store.catalog(only);
      return { topics, subscriptions: subscriptions.map(change) };
    };
    return { ...deps, store: { ...deps.store, catalog } };
  };
}

/** `ga-2018` knows no delayed delivery. */
function forgetsHealth(store: Everything): Everything {
  return {
    ...store,
    catalog: async (only) => {
      const catalog = await store.catalog(only);
      const topics = catalog.topics.map((topic) => ({ ...topic, profile: "ga-2018" as const }));
      return { ...catalog, topics };
    },
  };
}

function ringsLate(deps: Environment): Environment {
  const { clock } = deps;
  return {
    ...deps,
    clock: { now: () => clock.now(), after: (ms, ring) => clock.after(ms + 60_000, ring) },
  };
}

function keepsDropsQuiet(deps: Environment): Environment {
  return {
    ...deps,
    log: {
      fact: (level, name, fields) => {
        if (name !== "delivery.dropped") deps.log.fact(level, name, fields);
      },
    },
  };
}
