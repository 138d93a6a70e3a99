// Event hubs, by Azure's own client: one producer for each hub. `PartitionKey` among the
// subscription's own headers selects the partition of an event; without it the hub does.

import type { EventHubProducerClient } from "@azure/event-hubs";
import type { Namespace } from "../../core/azure/resources.ts";
import type { Outcome } from "../../core/delivery/outcome.ts";
import { silent } from "../http/exchange.ts";
import { wordsOf } from "../http/message.ts";
import { busOutcome, loadsOf, taken } from "./bus-message.ts";
import { inTurn, once } from "./client.ts";
import { managedIdentity } from "./managed-identity.ts";
import { type Bus, busClientOptions, guardedOptions } from "./servicebus.ts";

const partitionKeyName = "partitionkey";
const tooLarge: Outcome = { kind: "answered", status: 413, detail: "MessageTooLargeError" };

export function openEventHubs(namespace: Namespace): Bus {
  const ready = once(async () => {
    const { EventHubProducerClient: Client } = await inTurn(() => import("@azure/event-hubs"));
    if (namespace.kind === "key") {
      return (hub: string) => new Client(namespace.connectionString, hub, busClientOptions);
    }
    const credential = await managedIdentity(namespace.clientId);
    const options = guardedOptions(namespace);
    return (hub: string) => new Client(namespace.host, hub, credential, options);
  });
  const producers = new Map<string, EventHubProducerClient>();
  return {
    async send(parcel, hub, abortSignal) {
      let producer: EventHubProducerClient;
      try {
        const connect = await ready();
        producer = producers.get(hub) ?? connect(hub);
        producers.set(hub, producer);
      } catch (error) {
        return silent("connection", wordsOf(error as Error));
      }
      const loads = loadsOf(parcel, [partitionKeyName]);
      const partitionKey = loads[0]?.known.get(partitionKeyName);
      try {
        const batch = await producer.createBatch({
          abortSignal,
          ...(partitionKey !== undefined && { partitionKey }),
        });
        for (const { body, contentType, id, properties } of loads) {
          // The hub would close the link without an error that reaches us.
          if (!batch.tryAdd({ body, contentType, properties, messageId: id })) return tooLarge;
        }
        await producer.sendBatch(batch, { abortSignal });
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
