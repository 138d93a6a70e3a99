// Queues and topics of Service Bus, by Azure's own client: one connection for a namespace, one link
// for each queue or topic. An event is one message of the bus, whose id is the event's own in every
// attempt, so that the bus can detect duplicates.

import type {
  ServiceBusClient,
  ServiceBusReceivedMessage,
  ServiceBusSender,
} from "@azure/service-bus";
import type { GuardedNamespace, Namespace } from "../../core/azure/resources.ts";
import type { Outcome } from "../../core/delivery/outcome.ts";
import type { Parcel } from "../../core/delivery/sink.ts";
import { silent } from "../http/exchange.ts";
import { wordsOf } from "../http/message.ts";
import { busOutcome, type Load, loadsOf, taken } from "./bus-message.ts";
import { inTurn, once } from "./client.ts";
import { managedIdentity } from "./managed-identity.ts";

/** A bus with its queues, topics or hubs, called entities. */
export interface Bus {
  /** Never rejects because of the bus. */
  send(parcel: Parcel, entity: string, signal: AbortSignal): Promise<Outcome>;
  /** Closes the connection, and waits for the answer. Never rejects. */
  close(): Promise<void>;
}

/** One attempt, and a timeout that is longer than any of ours. */
export const busClientOptions = {
  retryOptions: { maxRetries: 0, timeoutInMs: 300_000 },
  userAgentOptions: { userAgentPrefix: "posthorn" },
} as const;

/** Through a gateway or a private endpoint, if the file says so. */
export function guardedOptions({ endpoint }: GuardedNamespace) {
  return endpoint === null
    ? busClientOptions
    : { ...busClientOptions, customEndpointAddress: endpoint };
}

/** As in AMQP: the client's own shape has no `ViaPartitionKey`. */
type Annotated = ServiceBusReceivedMessage["_rawAmqpMessage"];

/** The properties of a message that subscriptions may set, by the service's names. */
const slots = {
  messageid: "messageId",
  sessionid: "groupId",
  correlationid: "correlationId",
  label: "subject",
  replyto: "replyTo",
  replytosessionid: "replyToGroupId",
  to: "to",
} as const;

/** The same for annotations: any broker of AMQP has these names. */
export const busAnnotations = {
  partitionkey: "x-opt-partition-key",
  viapartitionkey: "x-opt-via-partition-key",
} as const;

/** Names of a subscription's own headers that have a meaning for the bus, in lower case. */
export const meantByBus = [...Object.keys(slots), ...Object.keys(busAnnotations)];

export function openServiceBus(namespace: Namespace): Bus {
  let opened: ServiceBusClient | null = null;
  const connected = once(async () => {
    const { ServiceBusClient: Client } = await inTurn(() => import("@azure/service-bus"));
    if (namespace.kind === "key") {
      opened = new Client(namespace.connectionString, busClientOptions);
    } else {
      const credential = await managedIdentity(namespace.clientId);
      opened = new Client(namespace.host, credential, guardedOptions(namespace));
    }
    return opened;
  });
  const senders = new Map<string, ServiceBusSender>();
  return {
    async send(parcel, entity, abortSignal) {
      let sender: ServiceBusSender;
      try {
        const client = await connected();
        sender = senders.get(entity) ?? client.createSender(entity);
        senders.set(entity, sender);
      } catch (error) {
        return silent("connection", wordsOf(error as Error));
      }
      try {
        // As a list, also of one: only then does the client check whether it is too large for the
        // bus, which would close the link without an error that reaches us.
        await sender.sendMessages(loadsOf(parcel, meantByBus).map(asMessage), { abortSignal });
        return taken;
      } catch (error) {
        return busOutcome(error as Error);
      }
    },
    async close() {
      await opened?.close().catch(() => {});
    },
  };
}

function asMessage({ body, contentType, id, properties, known }: Load): Annotated {
  const valuesIn = (names: Readonly<Record<string, string>>) =>
    Object.fromEntries(
      Object.entries(names).flatMap(([name, slot]) => {
        const value = known.get(name);
        return value === undefined ? [] : [[slot, value]];
      }),
    );
  return {
    body,
    bodyType: "data",
    properties: { messageId: id, contentType, ...valuesIn(slots) },
    messageAnnotations: valuesIn(busAnnotations),
    applicationProperties: properties,
  };
}
