// Broken parts for the promises of pull queues, like those of planted-faults.ts.

import type { Settlement } from "../../src/core/ports.ts";
import { takeBack } from "../../src/core/pull/pull-rules.ts";
import type { Everything } from "./broker-life.ts";
import { bound, changesRecords, type PlantedFault } from "./planted-faults.ts";
import type { Weather } from "./weather.ts";

const withReceivers = (drawn: Weather) => ({ ...drawn, visits: 60 });

export const plantedPullFaults: readonly PlantedFault[] = [
  {
    name: "a lock that keeps nobody away",
    rule: "N-34: one receiver",
    plant: { store: locksForAMoment },
    weather: withReceivers,
  },
  {
    name: "an acknowledgement that the store forgets",
    rule: "N-38",
    plant: { store: forgetsAcknowledgements },
    weather: withReceivers,
  },
  {
    name: "deliveries to receivers that are not counted",
    rule: "N-35, N-36",
    plant: { store: countsNothing },
    weather: withReceivers,
  },
  {
    name: "a queue that takes a receive for an acknowledgement",
    rule: "D-2: nothing unacknowledged",
    plant: { store: losesWhatIsReceived },
    weather: withReceivers,
  },
  {
    name: "orders that come too late, and are said to count",
    rule: "N-29",
    plant: {
      deps: (deps) => {
        const settle: Everything["settle"] = async (settlements) =>
          (await deps.store.settle(settlements)).map(() => true);
        return { ...deps, store: { ...deps.store, settle } };
      },
    },
    weather: withReceivers,
  },
  {
    name: "a queue that takes back what a receiver has",
    rule: "N-44",
    plant: { deps: (deps) => ({ ...deps, store: takesBackWhatIsReceived(deps.store) }) },
    weather: withReceivers,
  },
  {
    name: "a queue that ends events before their time",
    rule: "N-36, N-39, N-42",
    plant: {
      deps: changesRecords(({ retryPolicy, ...one }) => ({
        ...one,
        retryPolicy: { ...retryPolicy, eventTimeToLiveMs: 60_000 },
      })),
    },
    weather: withReceivers,
  },
  {
    name: "a receiver who waits and is not told of what comes",
    rule: "N-22, N-34: who waits",
    plant: { store: (store) => ({ ...bound(store), onWake: () => {} }) },
    weather: withReceivers,
  },
];

function locksForAMoment(store: Everything): Everything {
  return {
    ...bound(store),
    receive: async (id, want) => {
      const received = await store.receive(id, { ...want, lockMs: 1_000 });
      const leasedUntil = want.now + want.lockMs;
      return {
        ...received,
        deliveries: received.deliveries.map((one) => ({ ...one, leasedUntil })),
      };
    },
  };
}

/** Some of them, or nothing would ever end. */
function forgetsAcknowledgements(store: Everything): Everything {
  let ends = 0;
  const isForgotten = ({ kind, lockedAt }: Settlement) => {
    if (kind !== "gone" || lockedAt === undefined) return false;
    ends += 1;
    return ends % 2 === 0;
  };
  return {
    ...bound(store),
    settle: async (settlements) => {
      const forgotten = settlements.map(isForgotten);
      const counted = await store.settle(settlements.filter((_, place) => !forgotten[place]));
      const told = counted.values();
      return forgotten.map((isGone) => isGone || told.next().value === true);
    },
  };
}

function countsNothing(store: Everything): Everything {
  return {
    ...bound(store),
    receive: async (id, want) => {
      const received = await store.receive(id, want);
      return {
        ...received,
        deliveries: received.deliveries.map((one) => ({ ...one, attempts: 1 })),
      };
    },
  };
}

function losesWhatIsReceived(store: Everything): Everything {
  return {
    ...bound(store),
    receive: async (id, want) => {
      const received = await store.receive(id, want);
      const ends = received.deliveries.map(
        ({ id: delivery, lease }): Settlement => ({ kind: "gone", delivery, lease }),
      );
      await store.settle(ends);
      return received;
    },
  };
}

/** Of every other answer, or nothing would ever end. */
function takesBackWhatIsReceived(store: Everything): Everything {
  let answers = 0;
  return {
    ...bound(store),
    receive: async (id, want) => {
      const received = await store.receive(id, want);
      answers += received.deliveries.length > 0 ? 1 : 0;
      if (answers % 2 === 1) await store.settle(received.deliveries.map(takeBack));
      return received;
    },
  };
}
