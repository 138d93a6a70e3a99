// Sends to every kind of destination: the file says how to reach a resource id
// (core/azure/resources.ts), and this selects the sender. Destinations that take posts use the
// webhook sink; for the rest Azure's own clients do the work (client-send.ts), and are opened on
// first use.

import type { Declared } from "../core/azure/resource-id.ts";
import {
  type AzureResources,
  type ResourceKind,
  resolveResource,
  resourceForms,
} from "../core/azure/resources.ts";
import type { Outcome } from "../core/delivery/outcome.ts";
import type { Sink } from "../core/delivery/sink.ts";
import type { Activity, Clock } from "../core/ports.ts";
import type { PushDestination } from "../core/subscription.ts";
import { openAmqpBroker } from "./amqp-broker.ts";
import { openEventHubs } from "./azure/event-hub.ts";
import { openServiceBus } from "./azure/servicebus.ts";
import { openQueues } from "./azure/storage-queue.ts";
import { ClientSends } from "./client-send.ts";
import { silent } from "./http/exchange.ts";
import { openAddresses } from "./http/post-address.ts";
import type { Webhook } from "./http/webhook.ts";
import type { EgressPolicy } from "./policy.ts";

/** How long closing a bus may take; an unreachable one would take a minute. */
const goodbyeMs = 1_000;

/** Sends that may continue after their timeout, over all destinations. */
const lateMax = 256;

export interface DestinationOptions {
  /** Without it every address may be connected to. */
  readonly policy?: EgressPolicy | undefined;
  readonly clock: Clock;
  readonly activity: Activity;
  /** For destinations that take posts. It is closed by its owner. */
  readonly webhook: Webhook;
  readonly azure: AzureResources;
}

export interface Destinations extends Sink<PushDestination> {
  /**
   * Aborts everything in flight. Closing connections may take a moment, or until the signal aborts.
   */
  close(signal?: AbortSignal): Promise<void>;
}

export function openDestinations(options: DestinationOptions): Destinations {
  const { clock, webhook, azure } = options;
  const clientSends = new ClientSends({ ...options, lateMax });
  const addressOf = openAddresses(azure, clock);
  const queues = keep(openQueues);
  const buses = keep(openServiceBus);
  const hubs = keep(openEventHubs);
  const brokers = keep(openAmqpBroker);
  const find = <K extends keyof AzureResources>(section: K, { kind, resourceId }: Named) =>
    resolveResource(azure, section, { resourceId, pattern: resourceForms[kind].pattern });
  return {
    send(parcel, destination, limits) {
      switch (destination.kind) {
        case "webhook":
          return webhook.send(parcel, destination, limits);
        case "azureFunction":
        case "hybridConnection": {
          const address = addressOf(destination);
          if (address === null) return unknown(destination);
          return webhook.send(parcel, address, limits);
        }
        case "storageQueue": {
          const found = find("storageAccounts", destination);
          if (found === null) return unknown(destination);
          const account = queues.of(found.declared);
          return clientSends.run(limits, (signal) => account.send(parcel, destination, signal));
        }
        case "serviceBusQueue":
        case "serviceBusTopic":
        case "eventHub": {
          const isHub = destination.kind === "eventHub";
          const found = find(isHub ? "eventHubNamespaces" : "serviceBusNamespaces", destination);
          if (found === null) return unknown(destination);
          const { declared, entity } = found;
          if (declared.kind === "amqp") {
            const isTopic = destination.kind === "serviceBusTopic";
            const form = isTopic ? declared.topicAddress : declared.queueAddress;
            const address = form.replaceAll("{name}", () => entity);
            const broker = brokers.of(declared);
            return clientSends.run(limits, (signal) => broker.send(parcel, address, signal));
          }
          const bus = (isHub ? hubs : buses).of(declared);
          return clientSends.run(limits, (signal) => bus.send(parcel, entity, signal));
        }
        default:
          return destination satisfies never;
      }
    },
    async close(signal = new AbortController().signal) {
      clientSends.close();
      const open = [...buses.all(), ...hubs.all(), ...brokers.all()];
      const said = Promise.all(open.map((bus) => bus.close()));
      const enough = Promise.withResolvers<void>();
      const callOff = clock.after(goodbyeMs, enough.resolve);
      signal.addEventListener("abort", () => enough.resolve(), { once: true });
      if (!signal.aborted) await Promise.race([said, enough.promise]);
      callOff();
    },
  };
}

interface Named {
  readonly kind: ResourceKind;
  readonly resourceId: string;
}

/** An id that is no longer in the file is an outcome, like an unknown host name. */
function unknown({ kind, resourceId }: Named): Promise<Outcome> {
  const words = `${resourceId} is not in ${resourceForms[kind].section}.`;
  return Promise.resolve(silent("dns", words));
}

/** One for each resource, opened on first use. */
function keep<D extends Declared, T>(open: (declared: D) => T) {
  const opened = new Map<D, T>();
  return {
    of(declared: D): T {
      const known = opened.get(declared) ?? open(declared);
      opened.set(declared, known);
      return known;
    },
    all: () => opened.values(),
  };
}
