// The way out to every kind of destination: which of them stands behind a resource id, the file
// says (core/azure.ts), and who speaks to it is told here. What takes posts goes by the webhook's
// way; for the rest Azure's own clients do the work, as errands, and are opened when they are used.

import {
  type AzureResources,
  type Namespace,
  type ResourceKind,
  resolveResource,
  resourceForms,
  urlOf,
} from "../core/azure.ts";
import type { Activity, Clock, Sink } from "../core/ports.ts";
import type { Declared } from "../core/resource.ts";
import type { Destination, ResourceDestination } from "../core/subscription.ts";
import { Errands } from "./errand.ts";
import { openEventHubs } from "./eventhub.ts";
import { silent } from "./exchange.ts";
import { openQueues, type Queues } from "./queue.ts";
import { relayAddress } from "./relay.ts";
import { type Bus, openServiceBus } from "./servicebus.ts";
import type { Address, Webhook } from "./webhook.ts";

/** How long a bus may take to say goodbye; one that is away would take a minute. */
const goodbyeMs = 1_000;

/** Errands that may go on after their wait, over all destinations. */
const lateMax = 256;

export interface DestinationOptions {
  readonly clock: Clock;
  readonly activity: Activity;
  /** For what takes posts. It is closed by whoever opened it. */
  readonly webhook: Webhook;
  readonly azure: AzureResources;
}

export interface Destinations extends Sink<Destination> {
  /** Breaks off what is under way. */
  close(): Promise<void>;
}

export function openDestinations(options: DestinationOptions): Destinations {
  const { clock, webhook, azure } = options;
  const errands = new Errands({ ...options, lateMax });
  const queues = keep<AzureResources["storageAccounts"][number], Queues>(openQueues);
  const buses = keep<Namespace, Bus>(openServiceBus);
  const hubs = keep<Namespace, Bus>(openEventHubs);
  const functions = new WeakMap<Destination, Address>();

  /** An id that has lost its section is an outcome like a name that nobody knows. */
  const unknown = ({ kind, resourceId }: { kind: ResourceKind; resourceId: string }) =>
    silent("dns", `${resourceId} is not in ${resourceForms[kind].section}.`);

  const find = <K extends keyof AzureResources>(
    section: K,
    { kind, resourceId }: { readonly kind: ResourceKind; readonly resourceId: string },
  ) => resolveResource(azure, section, { resourceId, pattern: resourceForms[kind].pattern });

  const addressOf = (destination: ResourceDestination): Address | null => {
    if (destination.kind === "hybridConnection") {
      const found = find("relayNamespaces", destination);
      return found && relayAddress(found.declared, found.entity, clock.now());
    }
    const known = functions.get(destination);
    const url = known?.url ?? urlOf(destination, azure);
    if (url === null) return null;
    const address = known ?? { kind: "webhook", url };
    functions.set(destination, address);
    return address;
  };

  const post: Sink<ResourceDestination>["send"] = (parcel, destination, limits) => {
    const address = addressOf(destination);
    if (address === null) return Promise.resolve(unknown(destination));
    return webhook.send(parcel, address, limits);
  };

  return {
    send(parcel, destination, limits) {
      switch (destination.kind) {
        case "webhook":
          return webhook.send(parcel, destination, limits);
        case "azureFunction":
        case "hybridConnection":
          return post(parcel, destination, limits);
        case "storageQueue":
          return errands.run(limits, async (signal) => {
            const found = find("storageAccounts", destination);
            if (found === null) return unknown(destination);
            return queues.of(found.declared).send(parcel, destination, signal);
          });
        case "serviceBusQueue":
        case "serviceBusTopic":
        case "eventHub":
          return errands.run(limits, async (signal) => {
            const isHub = destination.kind === "eventHub";
            const section = isHub ? "eventHubNamespaces" : "serviceBusNamespaces";
            const found = find(section, destination);
            if (found === null) return unknown(destination);
            const bus = (isHub ? hubs : buses).of(found.declared);
            return bus.send(parcel, found.entity, signal);
          });
        default:
          return destination satisfies never;
      }
    },
    async close() {
      errands.close();
      const closed = Promise.all([...buses.all(), ...hubs.all()].map((bus) => bus.close()));
      const enough = Promise.withResolvers<void>();
      const callOff = clock.after(goodbyeMs, enough.resolve);
      await Promise.race([closed, enough.promise]);
      callOff();
    },
  };
}

/** One for each resource, opened when it is first asked for. */
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
