// Events in a queue of a storage account, by Azure's own client: one event is one message of the
// queue, as a single object in the delivery schema. There are neither headers nor a content type.
//
// The service writes Base64, and the libraries that read queues expect it; `queueEncoding` of the
// account can change that. A missing queue is not created: its name is more likely misspelt.

import type { QueueServiceClient } from "@azure/storage-queue";
import type { StorageAccount } from "../../core/azure/storage.ts";
import type { Outcome } from "../../core/delivery/outcome.ts";
import type { Parcel } from "../../core/delivery/sink.ts";
import { renderEvent } from "../../core/schema/convert.ts";
import type { StorageQueueDestination } from "../../core/subscription.ts";
import { taken } from "./bus-message.ts";
import { inTurn, once, storageClientOptions, storageOutcome } from "./client.ts";
import { managedIdentity } from "./managed-identity.ts";

export interface Queues {
  /** Never rejects because of the service. */
  send(parcel: Parcel, to: StorageQueueDestination, signal: AbortSignal): Promise<Outcome>;
}

export function openQueues({ store, queueEncoding }: StorageAccount): Queues {
  const connected = once(async (): Promise<QueueServiceClient> => {
    const { QueueServiceClient: Client } = await inTurn(() => import("@azure/storage-queue"));
    if (store.kind === "blob") {
      return Client.fromConnectionString(store.connectionString, storageClientOptions);
    }
    if (store.kind === "folder") throw new Error("A folder has no queues.");
    const { clientId, queueEndpoint } = store;
    return new Client(queueEndpoint, await managedIdentity(clientId), storageClientOptions);
  });
  return {
    async send({ subscription, deliveries }, { queueName, ttlSeconds }, abortSignal) {
      try {
        const queue = (await connected()).getQueueClient(queueName);
        for (const { event } of deliveries) {
          const { text } = renderEvent(event, subscription.deliverySchema);
          const encoded = queueEncoding === "text" ? text : Buffer.from(text).toString("base64");
          await queue.sendMessage(encoded, {
            abortSignal,
            ...(ttlSeconds !== null && { messageTimeToLive: ttlSeconds }),
          });
        }
        return taken;
      } catch (error) {
        return storageOutcome(error as Error);
      }
    },
  };
}
