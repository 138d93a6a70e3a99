// Which Azure resources events can be sent to, and what the sections of the configuration file say
// about each: storage accounts (storage.ts), namespaces of three services, and function apps.
//
// A subscription stores only the resource id. How to reach the resource is looked up when it is
// used, so that a key is changed in one place. So an id may also be unknown, when it was removed
// from its section.

import type { Destination, PushDestination } from "../subscription.ts";
import type { Members } from "../text/wording.ts";
import { refuseValue } from "../text/wording.ts";
import {
  checkOneOf,
  type Declared,
  findDeclared,
  type IdPattern,
  type ManagedIdentity,
  parseEndpoint,
  parseIdentity,
  parseResourceId,
  parseSection,
  partsOf,
  refuseBeside,
} from "./resource-id.ts";
import { accountPattern, parseStorageAccounts, type StorageAccount } from "./storage.ts";

/** A namespace of Service Bus, Event Hubs or Relay that is reached with a key. */
export interface KeyedNamespace extends Declared {
  readonly kind: "key";
  /** With its port where it has one. */
  readonly host: string;
  /** The host of the namespace, whatever entity the string names. */
  readonly connectionString: string;
  readonly keyName: string;
  readonly accessKey: string;
  /** An emulator, which is used without TLS. */
  readonly isPlain: boolean;
}

/** One that is reached with the platform's identity. */
export interface GuardedNamespace extends Declared, ManagedIdentity {
  readonly kind: "identity";
  readonly host: string;
  /** Where to connect, if not to the host itself; null: to the host. */
  readonly endpoint: string | null;
}

export type Namespace = KeyedNamespace | GuardedNamespace;

/** A broker that speaks AMQP 1.0, in the place of a Service Bus namespace. */
export interface AmqpBroker extends Declared {
  readonly kind: "amqp";
  readonly host: string;
  readonly port: number;
  readonly isTls: boolean;
  /** Null: nobody in particular. */
  readonly user: string | null;
  readonly password: string | null;
  /** Where its queues and topics are, with `{name}` for their names. */
  readonly queueAddress: string;
  readonly topicAddress: string;
}

export type BusNamespace = Namespace | AmqpBroker;

export interface FunctionApp extends Declared {
  /** Without a slash at its end. */
  readonly url: string;
  /** The system key of the Event Grid extension; null: none is needed. */
  readonly accessKey: string | null;
}

/** Everything the file says about Azure resources. */
export interface AzureResources {
  readonly storageAccounts: readonly StorageAccount[];
  readonly serviceBusNamespaces: readonly BusNamespace[];
  readonly eventHubNamespaces: readonly Namespace[];
  readonly relayNamespaces: readonly KeyedNamespace[];
  readonly functionApps: readonly FunctionApp[];
}

export type AzureSection = keyof AzureResources;

export const noAzure: AzureResources = {
  storageAccounts: [],
  serviceBusNamespaces: [],
  eventHubNamespaces: [],
  relayNamespaces: [],
  functionApps: [],
};

/** The kinds of destination that are named by a resource id. */
export type ResourceKind = Exclude<PushDestination["kind"], "webhook">;

export interface ResourceForm {
  /** As Azure Resource Manager writes it. */
  readonly endpointType: string;
  readonly pattern: IdPattern;
  readonly section: AzureSection;
  /** What one member of the section is called: `storage account`. */
  readonly what: string;
}

export const resourceForms: Readonly<Record<ResourceKind, ResourceForm>> = {
  azureFunction: {
    endpointType: "AzureFunction",
    pattern: "Microsoft.Web/sites/*/functions/*",
    section: "functionApps",
    what: "function app",
  },
  storageQueue: {
    endpointType: "StorageQueue",
    pattern: accountPattern,
    section: "storageAccounts",
    what: "storage account",
  },
  serviceBusQueue: {
    endpointType: "ServiceBusQueue",
    pattern: "Microsoft.ServiceBus/namespaces/*/queues/*",
    section: "serviceBusNamespaces",
    what: "Service Bus namespace",
  },
  serviceBusTopic: {
    endpointType: "ServiceBusTopic",
    pattern: "Microsoft.ServiceBus/namespaces/*/topics/*",
    section: "serviceBusNamespaces",
    what: "Service Bus namespace",
  },
  eventHub: {
    endpointType: "EventHub",
    pattern: "Microsoft.EventHub/namespaces/*/eventhubs/*",
    section: "eventHubNamespaces",
    what: "Event Hubs namespace",
  },
  hybridConnection: {
    endpointType: "HybridConnection",
    pattern: "Microsoft.Relay/namespaces/*/hybridConnections/*",
    section: "relayNamespaces",
    what: "Relay namespace",
  },
};

/** What the file says about the resource, and the name of the entity in it. */
export function resolveResource<K extends AzureSection>(
  azure: AzureResources,
  section: K,
  { resourceId, pattern }: { readonly resourceId: string; readonly pattern: IdPattern },
): { readonly declared: AzureResources[K][number]; readonly entity: string } | null {
  const id = parseResourceId(resourceId, pattern);
  if (id === null) return null;
  const declared = findDeclared<AzureResources[K][number]>(azure[section], id);
  return declared === undefined ? null : { declared, entity: id.names.at(-1) ?? "" };
}

/**
 * Where to post to, with its secrets; null if the destination does not take posts or is unknown.
 */
export function urlOf(destination: Destination, azure: AzureResources): string | null {
  if (destination.kind === "webhook") return destination.url;
  if (destination.kind !== "azureFunction") return null;
  const { section, pattern } = resourceForms.azureFunction;
  const { resourceId } = destination;
  const found = resolveResource(azure, section as "functionApps", { resourceId, pattern });
  if (found === null) return null;
  const { url, accessKey } = found.declared;
  const query = `functionName=${encodeURIComponent(found.entity)}`;
  const code = accessKey === null ? "" : `&code=${encodeURIComponent(accessKey)}`;
  return `${url}/runtime/webhooks/EventGrid?${query}${code}`;
}

/** The sections as written in the file; null or missing: not there. */
export type AzureSections = { readonly [K in AzureSection]?: unknown };

/** Refusal: InvalidSetting, naming the section and the resource. */
export function parseAzure(sections: AzureSections): AzureResources {
  const formOf = (field: AzureSection, what: string, provider: string) => ({
    ...{ field, what, nameRule },
    pattern: `Microsoft.${provider}/namespaces/*` as const,
  });
  const buses = (field: AzureSection, what: string, provider: string) =>
    parseSection<Terms<Namespace>>(sections[field] ?? {}, {
      ...formOf(field, what, provider),
      members: busMembers,
      parse: parseBus,
    });
  return {
    storageAccounts: parseStorageAccounts(sections.storageAccounts ?? {}),
    serviceBusNamespaces: parseSection<Terms<BusNamespace>>(sections.serviceBusNamespaces ?? {}, {
      ...formOf("serviceBusNamespaces", "Service Bus namespace", "ServiceBus"),
      members: [...busMembers, ...amqpMembers],
      parse: (members, field, declared) =>
        "amqp" in members ? parseAmqp(members, field) : parseOwnBus(members, field, declared),
    }),
    eventHubNamespaces: buses("eventHubNamespaces", "Event Hubs namespace", "EventHub"),
    relayNamespaces: parseSection(sections.relayNamespaces ?? {}, {
      ...formOf("relayNamespaces", "Relay namespace", "Relay"),
      members: ["connectionString"],
      parse: parseKeyed,
    }),
    functionApps: parseSection(sections.functionApps ?? {}, {
      field: "functionApps",
      what: "function app",
      pattern: "Microsoft.Web/sites/*",
      nameRule,
      members: ["url", "key"],
      parse: parseApp,
    }),
  };
}

const busMembers = ["connectionString", "managedIdentity", "host", "endpoint"];
const amqpMembers = ["amqp", "queueAddress", "topicAddress"];

/** One of Azure's, for which the members of another broker mean nothing. */
function parseOwnBus(members: Members, field: string, declared: Declared): Terms<Namespace> {
  refuseBeside(members, field, ["queueAddress", "topicAddress"]);
  return parseBus(members, field, declared);
}

/** `amqp://user:password@host:port`, or `amqps:`. Refusal: InvalidSetting. */
function parseAmqp(members: Members, field: string): Terms<AmqpBroker> {
  refuseBeside(members, field, busMembers);
  const { amqp, queueAddress = "{name}", topicAddress = "{name}" } = members;
  const url = typeof amqp === "string" ? URL.parse(amqp) : null;
  const isTls = url?.protocol === "amqps:";
  const isBroker = url !== null && (isTls || url.protocol === "amqp:") && url.hostname !== "";
  if (!isBroker || !/^\/?$/.test(url.pathname) || url.search !== "") {
    const allowed = "amqp://user:password@host:port, or amqps:// for TLS";
    throw refuseValue({ field: `${field}.amqp`, value: amqp, allowed, secret: true });
  }
  const text = (part: string) => (part === "" ? null : decodeURIComponent(part));
  const address = (value: unknown, name: string) => {
    if (typeof value === "string" && value.includes("{name}")) return value;
    throw refuseValue({
      field: `${field}.${name}`,
      value,
      allowed: "an address with {name} in it",
    });
  };
  return {
    kind: "amqp",
    host: url.hostname.replace(/^\[|\]$/g, ""),
    port: url.port === "" ? (isTls ? 5671 : 5672) : Number(url.port),
    isTls,
    user: text(url.username),
    password: text(url.password),
    queueAddress: address(queueAddress, "queueAddress"),
    topicAddress: address(topicAddress, "topicAddress"),
  };
}

/** Of namespaces and function apps. */
const nameRule = /^[A-Za-z0-9-]{2,60}$/;

/** Applied to each member of a union: the type without the resource it names. */
type Terms<T extends Declared> = T extends Declared ? Omit<T, keyof Declared> : never;

function parseBus(members: Members, field: string, { name }: Declared): Terms<Namespace> {
  const given = checkOneOf(members, field, ["connectionString", "managedIdentity"]);
  if (given === "connectionString") {
    refuseBeside(members, field, ["host", "endpoint"]);
    return parseKeyed(members, field);
  }
  const { managedIdentity, host = `${name}.servicebus.windows.net`, endpoint = null } = members;
  if (typeof host !== "string" || !/^[A-Za-z0-9.-]+$/.test(host)) {
    throw refuseValue({ field: `${field}.host`, value: host, allowed: "the name of a host" });
  }
  return {
    kind: "identity",
    ...parseIdentity(managedIdentity, `${field}.managedIdentity`),
    host,
    endpoint: endpoint === null ? null : parseEndpoint(endpoint, `${field}.endpoint`),
  };
}

function parseKeyed({ connectionString }: Members, field: string): Terms<KeyedNamespace> {
  const parts = partsOf(connectionString);
  const url = URL.parse(parts?.get("Endpoint")?.replace(/^sb:/i, "https:") ?? "");
  const [keyName, accessKey] = [parts?.get("SharedAccessKeyName"), parts?.get("SharedAccessKey")];
  if (typeof connectionString === "string" && url !== null && keyName && accessKey) {
    const isEntity = (part: string) => /^\s*EntityPath=/.test(part);
    return {
      kind: "key",
      connectionString: connectionString
        .split(";")
        .filter((part) => !isEntity(part))
        .join(";"),
      host: url.host,
      keyName,
      accessKey,
      isPlain: parts?.get("UseDevelopmentEmulator")?.toLowerCase() === "true",
    };
  }
  throw refuseValue({
    field: `${field}.connectionString`,
    value: connectionString,
    allowed: "a connection string: Endpoint=sb://…, SharedAccessKeyName and SharedAccessKey",
    secret: true,
  });
}

function parseApp(
  { url: given, key = null }: Members,
  field: string,
  { name }: Declared,
): Terms<FunctionApp> {
  const base = given ?? `https://${name}.azurewebsites.net`;
  const url = typeof base === "string" ? URL.parse(base) : null;
  const isBase = url !== null && /^https?:$/.test(url.protocol) && url.pathname === "/";
  if (!isBase || url.href !== `${url.origin}/`) {
    const allowed = "an http or https URL without a path";
    throw refuseValue({ field: `${field}.url`, value: base, allowed });
  }
  if (key !== null && (typeof key !== "string" || !/^[\x21-\x7e]{1,512}$/.test(key))) {
    const allowed = "the app's system key for Event Grid";
    throw refuseValue({ field: `${field}.key`, value: key, allowed, secret: true });
  }
  return { url: url.origin, accessKey: key };
}
