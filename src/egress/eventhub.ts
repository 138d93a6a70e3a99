// Event hubs, by Azure's own client: one producer for each hub. `PartitionKey` among the
// subscription's own headers decides which partition an event goes to; without it the hub does.

import type { EventHubProducerClient } from "@azure/event-hubs";
import type { Namespace } from "../core/azure.ts";
import { inTurn, once } from "./azure.ts";
import { busOutcome, loadsOf, taken } from "./bus.ts";
import { silent } from "./exchange.ts";
import { type Bus, busClientOptions } from "./servicebus.ts";
import { wordsOf } from "./wire.ts";

const partitionKeyName = "partitionkey";

export function openEventHubs({ connectionString }: Namespace): Bus {
  const load = once(() => inTurn(() => import("@azure/event-hubs")));
  const producers = new Map<string, EventHubProducerClient>();
  return {
    async send(parcel, hub, abortSignal) {
      let producer = producers.get(hub);
      try {
        const { EventHubProducerClient: Client } = await load();
        producer ??= producers.get(hub) ?? new Client(connectionString, hub, busClientOptions);
        producers.set(hub, producer);
      } catch (error) {
        return silent("connection", wordsOf(error as Error));
      }
      const loads = loadsOf(parcel, [partitionKeyName]);
      const partitionKey = loads[0]?.known.get(partitionKeyName);
      const events = loads.map(({ body, contentType, id, properties }) => ({
        ...{ body, contentType, properties },
        messageId: id,
      }));
      try {
        await producer.sendBatch(events, {
          abortSignal,
          ...(partitionKey !== undefined && { partitionKey }),
        });
        return taken;
      } catch (error) {
        return busOutcome(error as Error);
      }
    },
    async close() {
      await Promise.all([...producers.values()].map((each) => each.close().catch(() => {})));
    },
  };
}
