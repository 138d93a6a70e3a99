// Options that several commands share, each with what it takes and a sentence, from which help,
// completion and the reference are made. Deliberately absent: settings of the broker itself, which
// have a table of their own.

import { batchRanges } from "../core/delivery/batch.ts";
import { edgeRetryRanges, profileNames } from "../core/delivery/profile.ts";
import { forms } from "./command.ts";
import type { Option, Options } from "./option.ts";

/** For every command that talks to a broker. */
export const whereOptions = {
  server: {
    takes: "URL",
    about:
      "The broker's URL. Default: POSTHORN_SERVER, else the address in the data folder, " +
      "else http://127.0.0.1:5888.",
  },
  key: {
    takes: "KEY",
    about: "The admin key. Default: POSTHORN_KEY, else admin.key in the data folder.",
  },
  data: {
    takes: "FOLDER",
    about: "The data folder of a local broker. Default: POSTHORN_DATA, else ./posthorn-data.",
  },
  context: {
    takes: "NAME",
    about: "A broker by the name of its context. Default: POSTHORN_CONTEXT, else the one in use.",
  },
  ca: {
    takes: "FILE",
    about: "The CA to trust over https, a PEM file. Default: ca.pem in the data folder.",
  },
} as const satisfies Options;

/** For every command that prints a value. */
export const outputOptions = {
  output: {
    takes: "FORM",
    aliases: ["-o"],
    choices: forms,
    about:
      "The output format. Default: table on a terminal, json elsewhere. A table fits the terminal; " +
      "wide has every column.",
  },
  query: { takes: "JMESPATH", about: "A JMESPath query, such as [].name." },
} as const satisfies Options;

/** For commands that show how things are. */
export const watchOptions = {
  watch: { takes: null, aliases: ["-w"], about: "Repeat it every two seconds, until Ctrl-C." },
} as const satisfies Options;

/** As in az. */
export const manners = {
  "only-show-errors": { takes: null, about: "No warnings and no progress." },
  verbose: { takes: null, aliases: ["-v"], about: "Show each request to the broker." },
  debug: { takes: null, about: "The same as --verbose." },
  help: { takes: null, aliases: ["-h"], about: "Show this." },
} as const satisfies Options;

export const subscription: Option = {
  takes: "ID",
  about: "The Azure subscription. Default: the broker's own.",
};
export const resourceGroup: Option = {
  takes: "NAME",
  aliases: ["-g"],
  about: "The resource group. Default: AZURE_DEFAULTS_GROUP, else posthorn.",
};
/** The resource's location in Azure's terms. */
export const deploymentOptions: Options = { "resource-group": resourceGroup, subscription };
export const location: Option = {
  takes: "NAME",
  aliases: ["-l"],
  about: "The location. Default: AZURE_DEFAULTS_LOCATION, else local.",
};
export const domainName: Option = { takes: "NAME", about: "The name of the domain." };
export const ids: Option = {
  takes: "ID…",
  isMany: true,
  about: "Full resource ids, instead of names and group.",
};
export const odata: Option = {
  takes: "FILTER",
  about: "Only names that match, such as \"contains(name, 'a')\".",
};
export const yes: Option = {
  takes: null,
  aliases: ["-y"],
  about: "Accepted for scripts written for az; there is no question here.",
};

export function named(what: string, isRequired = true): Option {
  return { takes: "NAME", aliases: ["-n"], isRequired, about: `The name of ${what}.` };
}

const identities: Options = {
  sku: { takes: "NAME", choices: ["basic", "premium"], about: "Kept as az sends it; no effect." },
  identity: {
    takes: "KIND",
    choices: ["noidentity", "systemassigned"],
    about: "The identity of the resource.",
  },
  "mi-system-assigned": { takes: null, about: "With a system-assigned identity." },
  "mi-user-assigned": {
    takes: "ID…",
    isMany: true,
    isList: true,
    about: "With a user-assigned identity.",
  },
};

/** Options of a topic or a domain, for create and update. */
export const accessOptions: Options = {
  tags: { takes: "KEY=VALUE…", isMany: true, about: "Tags." },
  "public-network-access": {
    takes: "STATE",
    choices: ["enabled", "disabled"],
    about: "Whether publishing over the network is allowed.",
  },
  "inbound-ip-rules": {
    takes: "MASK Allow",
    isMany: true,
    isList: true,
    about: "An address or a mask that may publish.",
  },
  "disable-local-auth": { takes: null, about: "Only bearer tokens may publish." },
  profile: {
    takes: "NAME",
    choices: profileNames,
    about: "Posthorn only: the profile of this topic, instead of the broker's.",
  },
  port: {
    takes: "PORT",
    range: { min: 1, max: 65_535 },
    about: "Posthorn only: a port of its own, for clients that keep only host and port.",
  },
  ...identities,
};

export const schemaOptions: Options = {
  "input-schema": {
    takes: "SCHEMA",
    choices: ["eventgridschema", "customeventschema", "cloudeventschemav1_0"],
    about: "The schema of published events. Default: eventgridschema.",
  },
  "input-mapping-fields": {
    takes: "FIELD=NAME…",
    isMany: true,
    about:
      "With customeventschema: fields for id, topic, eventtime, subject, eventtype, dataversion.",
  },
  "input-mapping-default-values": {
    takes: "FIELD=VALUE…",
    isMany: true,
    about: "With customeventschema: defaults for subject, eventtype and dataversion.",
  },
};

export const filterOptions: Options = {
  "included-event-types": {
    takes: "TYPE…",
    isMany: true,
    about: "Only events of these types. Default: all.",
  },
  "subject-begins-with": { takes: "TEXT", about: "Only events whose subject begins with this." },
  "subject-ends-with": { takes: "TEXT", about: "Only events whose subject ends with this." },
  "subject-case-sensitive": { takes: null, about: "Subject filters are case-sensitive." },
  "advanced-filter": {
    takes: "KEY OPERATOR VALUE…",
    isMany: true,
    isList: true,
    about:
      "Only events for which this is true, such as data.amount NumberGreaterThan 10; ranges are " +
      "written 5,10. Several are combined with and.",
  },
  "enable-advanced-filtering-on-arrays": {
    takes: null,
    aliases: ["--enable-af-arr"],
    about: "An array matches when one of its values does.",
  },
};

const endpointTypes = [
  "webhook",
  "eventhub",
  "storagequeue",
  "hybridconnection",
  "servicebusqueue",
  "servicebustopic",
  "azurefunction",
];

const headers: Options = {
  "delivery-attribute-mapping": {
    takes: "NAME static VALUE [true|false] or NAME dynamic PATH",
    aliases: ["-d"],
    isMany: true,
    isList: true,
    about: "A header for each delivery: a fixed value, secret or not, or a value of the event.",
  },
};

/** Retry and delivery options. */
export const deliveryOptions: Options = {
  "max-delivery-attempts": {
    takes: "COUNT",
    range: edgeRetryRanges.maxDeliveryAttempts,
    about: "How often an event is tried. Default: 30.",
  },
  "event-ttl": {
    takes: "MINUTES",
    range: edgeRetryRanges.eventTimeToLiveInMinutes,
    about: "Time to live of an event. Default: 1440.",
  },
  "max-events-per-batch": {
    takes: "COUNT",
    range: batchRanges.maxEventsPerBatch,
    about: "The most events in one request.",
  },
  "preferred-batch-size-in-kilobytes": {
    takes: "SIZE",
    aliases: ["--pref-batch-size-kb"],
    range: batchRanges.preferredBatchSizeInKilobytes,
    about: "The preferred size of a request.",
  },
  "event-delivery-schema": {
    takes: "SCHEMA",
    choices: ["eventgridschema", "custominputschema", "cloudeventschemav1_0"],
    about: "The schema of deliveries. Default: as published.",
  },
  "split-on-failure": {
    takes: null,
    about: "Posthorn only: halve an undeliverable batch until the bad event is found.",
  },
  signing: {
    takes: null,
    about: "Posthorn only: sign deliveries as in Standard Webhooks, with a new secret.",
  },
  "signing-secret": {
    takes: "SECRET",
    isList: true,
    about: "Posthorn only: sign with this secret, whsec_ and base64.",
  },
};

/** Options of a new subscription. */
export const termsOptions: Options = {
  endpoint: { takes: "URL or ID", about: "Where events go: a URL, or the id of a resource." },
  "endpoint-type": {
    takes: "TYPE",
    choices: endpointTypes,
    about: "The type of endpoint. Default: webhook.",
  },
  ...filterOptions,
  ...deliveryOptions,
  "deadletter-endpoint": {
    takes: "ID",
    about: "The container for dead letters: …/blobServices/default/containers/NAME.",
  },
  labels: { takes: "LABEL…", isMany: true, about: "Labels." },
  "expiration-date": { takes: "DATE", about: "When the subscription expires, such as 2030-01-01." },
  "azure-active-directory-tenant-id": {
    takes: "ID",
    aliases: ["--aad-tenant-id"],
    about: "The tenant of the token that a webhook gets.",
  },
  "azure-active-directory-application-id-or-uri": {
    takes: "ID",
    aliases: ["--aad-app-id"],
    about: "The application that token is for.",
  },
  "delivery-identity": {
    takes: "KIND",
    choices: ["systemassigned"],
    about: "The identity for deliveries; accepted without effect.",
  },
  "delivery-identity-endpoint": { takes: "ID", about: "The endpoint for that identity." },
  "delivery-identity-endpoint-type": {
    takes: "TYPE",
    choices: endpointTypes,
    about: "The type of that endpoint.",
  },
  "deadletter-identity": {
    takes: "KIND",
    choices: ["systemassigned"],
    about: "The identity for dead letters; accepted without effect.",
  },
  "deadletter-identity-endpoint": { takes: "ID", about: "The endpoint for that identity." },
  "storage-queue-msg-ttl": {
    takes: "SECONDS",
    aliases: ["--qttl"],
    range: { min: 1, max: 2_147_483_647 },
    about: "How long a queue keeps an event.",
  },
  ...headers,
};

export const amendOptions: Options = {
  set: {
    takes: "PATH=VALUE…",
    isMany: true,
    isList: true,
    about: "Set a property that has no option: retryPolicy.maxDeliveryAttempts=5.",
  },
  add: { takes: "PATH VALUE…", isMany: true, isList: true, about: "Add to a list." },
  remove: {
    takes: "PATH [PLACE]",
    isMany: true,
    isList: true,
    about: "Clear a property, or remove an element.",
  },
};

export const importOptions = {
  parameters: {
    takes: "NAME=VALUE or FILE",
    isList: true,
    about: "A parameter of the template, or a parameter file.",
  },
  endpoint: {
    takes: "SUBSCRIPTION=URL",
    isList: true,
    about: "The endpoint of a subscription, because exports hide URLs.",
  },
  attribute: {
    takes: "SUBSCRIPTION:HEADER=VALUE",
    isList: true,
    about: "The value of a secret delivery attribute, which exports hide.",
  },
  "use-base-urls": {
    takes: null,
    about: "Use the exported URLs as they are, although they lack their query.",
  },
  omit: {
    takes: "PROPERTY",
    isList: true,
    about: "Leave a property out of every resource, such as deadLetterDestination.",
  },
  "dry-run": { takes: null, about: "Show what would be done, and do nothing." },
  subscription: { takes: "ID", about: "The Azure subscription that a template is deployed to." },
  "resource-group": { takes: "NAME", about: "The resource group that a template is deployed to." },
  location: { takes: "NAME", about: "The location of that group." },
} as const satisfies Options;

export const exportOptions = {
  format: {
    takes: "arm or az",
    about: "A template (the default), or lists as the CLI prints them.",
  },
  "with-secrets": {
    takes: null,
    about: "With keys, full URLs and secret headers: everything an import needs.",
  },
  "resource-group": { takes: "NAME", about: "Only of this resource group." },
} as const satisfies Options;
