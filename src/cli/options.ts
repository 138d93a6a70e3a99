// Options that several commands share, each with what it takes and a sentence, from which help,
// completion and the reference are made. Deliberately absent: settings of the broker itself, which
// have a table of their own.

import { batchRanges } from "../core/delivery/batch.ts";
import { edgeRetryRanges, profileNames } from "../core/delivery/profile.ts";
import { Refusal } from "../core/refusal.ts";
import { forms } from "./command.ts";
import type { Option, Options } from "./option.ts";

/** Of every command that speaks to a broker. */
export const whereOptions = {
  server: {
    takes: "URL",
    about:
      "Where the broker is. POSTHORN_SERVER, else what address in the data folder says, " +
      "else http://127.0.0.1:5888.",
  },
  key: {
    takes: "KEY",
    about: "The admin key. POSTHORN_KEY, else what admin.key in the data folder holds.",
  },
  data: {
    takes: "FOLDER",
    about: "The data folder of a broker on this machine. POSTHORN_DATA, else ./posthorn-data.",
  },
  ca: {
    takes: "FILE",
    about: "The authority to trust over https, as PEM; else ca.pem in the data folder.",
  },
} as const satisfies Options;

/** Of every command that prints a value. */
export const outputOptions = {
  output: {
    takes: "FORM",
    aliases: ["-o"],
    choices: forms,
    about: "How to print it: table on a terminal and json elsewhere, unless it is said.",
  },
  query: { takes: "JMESPATH", about: "What of it to print, such as [].name." },
} as const satisfies Options;

/** As az has them. */
export const manners = {
  "only-show-errors": { takes: null, about: "No warnings and no progress." },
  verbose: { takes: null, about: "Tell of each request to the broker." },
  debug: { takes: null, about: "The same as --verbose." },
  help: { takes: null, aliases: ["-h"], about: "Show this." },
} as const satisfies Options;

export const subscription: Option = {
  takes: "ID",
  about: "Azure's subscription; there is one unless someone made others.",
};
export const resourceGroup: Option = {
  takes: "NAME",
  aliases: ["-g"],
  about: "The group. AZURE_DEFAULTS_GROUP, else posthorn.",
};
/** Where a resource would be in Azure. */
export const deploymentOptions: Options = { "resource-group": resourceGroup, subscription };
export const location: Option = {
  takes: "NAME",
  aliases: ["-l"],
  about: "The location. AZURE_DEFAULTS_LOCATION, else local.",
};
export const domainName: Option = { takes: "NAME", about: "The name of the domain." };
export const ids: Option = {
  takes: "ID…",
  isMany: true,
  about: "The whole ids, in the place of names and group.",
};
export const odata: Option = {
  takes: "FILTER",
  about: "Of those alone whose name fits, such as \"contains(name, 'a')\".",
};
export const yes: Option = {
  takes: null,
  aliases: ["-y"],
  about: "Taken because az asks before it deletes; here nothing is asked.",
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
  "mi-system-assigned": { takes: null, about: "With an identity of the system's." },
  "mi-user-assigned": {
    takes: "ID…",
    isMany: true,
    isList: true,
    about: "With an identity that a user made.",
  },
};

/** What can be said of a topic or a domain when it is made, and changed later. */
export const accessOptions: Options = {
  tags: { takes: "KEY=VALUE…", isMany: true, about: "Tags." },
  "public-network-access": {
    takes: "STATE",
    choices: ["enabled", "disabled"],
    about: "Whether anyone may publish who has a key, or nobody over the network.",
  },
  "inbound-ip-rules": {
    takes: "MASK Allow",
    isMany: true,
    isList: true,
    about: "An address or a mask from which publishes are taken.",
  },
  "disable-local-auth": { takes: null, about: "Only bearer tokens may publish." },
  profile: {
    takes: "NAME",
    choices: profileNames,
    about: "Ours: the delivery rules of this topic, in the place of the broker's.",
  },
  port: {
    takes: "PORT",
    range: { min: 1, max: 65_535 },
    about: "Ours: a port of its own, for clients that keep only host and port.",
  },
  ...identities,
};

export const schemaOptions: Options = {
  "input-schema": {
    takes: "SCHEMA",
    choices: ["eventgridschema", "customeventschema", "cloudeventschemav1_0"],
    about: "What publishers send; eventgridschema unless it is said.",
  },
  "input-mapping-fields": {
    takes: "FIELD=NAME…",
    isMany: true,
    about:
      "With customeventschema: where id, topic, eventtime, subject, eventtype, dataversion are.",
  },
  "input-mapping-default-values": {
    takes: "FIELD=VALUE…",
    isMany: true,
    about: "With customeventschema: subject, eventtype and dataversion where an event has none.",
  },
};

export const filterOptions: Options = {
  "included-event-types": {
    takes: "TYPE…",
    isMany: true,
    about: "Only events of these types; all, unless it is said.",
  },
  "subject-begins-with": { takes: "TEXT", about: "Only events whose subject begins so." },
  "subject-ends-with": { takes: "TEXT", about: "Only events whose subject ends so." },
  "subject-case-sensitive": { takes: null, about: "With regard to letter case." },
  "advanced-filter": {
    takes: "KEY OPERATOR VALUE…",
    isMany: true,
    isList: true,
    about:
      "Only events of which this holds, such as data.amount NumberGreaterThan 10; ranges are " +
      "written 5,10. All of several must hold.",
  },
  "enable-advanced-filtering-on-arrays": {
    takes: null,
    aliases: ["--enable-af-arr"],
    about: "An array fits when one of its values does.",
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
    about: "A header for each delivery: a text, secret or not, or what the event has there.",
  },
};

/** How hard we try, and how events travel. */
export const deliveryOptions: Options = {
  "max-delivery-attempts": {
    takes: "COUNT",
    range: edgeRetryRanges.maxDeliveryAttempts,
    about: "How often an event is tried; 30 unless it is said.",
  },
  "event-ttl": {
    takes: "MINUTES",
    range: edgeRetryRanges.eventTimeToLiveInMinutes,
    about: "How long an event is tried; 1440 unless it is said.",
  },
  "max-events-per-batch": {
    takes: "COUNT",
    range: batchRanges.maxEventsPerBatch,
    about: "At most so many events in a request.",
  },
  "preferred-batch-size-in-kilobytes": {
    takes: "SIZE",
    aliases: ["--pref-batch-size-kb"],
    range: batchRanges.preferredBatchSizeInKilobytes,
    about: "Requests of about this size.",
  },
  "event-delivery-schema": {
    takes: "SCHEMA",
    choices: ["eventgridschema", "custominputschema", "cloudeventschemav1_0"],
    about: "What the endpoint gets; as it was published, unless it is said.",
  },
  "split-on-failure": {
    takes: null,
    about: "Ours: of a batch that is given up, find the event that spoils it.",
  },
  signing: {
    takes: null,
    about: "Ours: sign deliveries as Standard Webhooks has it, with a secret that is made.",
  },
  "signing-secret": {
    takes: "SECRET",
    isList: true,
    about: "Ours: sign with this secret, whsec_ and base64.",
  },
};

/** Of a subscription when it is made. */
export const termsOptions: Options = {
  endpoint: { takes: "URL or ID", about: "Where events go: a URL, or the id of a resource." },
  "endpoint-type": {
    takes: "TYPE",
    choices: endpointTypes,
    about: "What the endpoint is; webhook unless it is said.",
  },
  ...filterOptions,
  ...deliveryOptions,
  "deadletter-endpoint": {
    takes: "ID",
    about: "Where what is given up goes: …/blobServices/default/containers/NAME.",
  },
  labels: { takes: "LABEL…", isMany: true, about: "Labels." },
  "expiration-date": { takes: "DATE", about: "When the subscription ends, such as 2030-01-01." },
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
    about: "Deliver with the topic's identity.",
  },
  "delivery-identity-endpoint": { takes: "ID", about: "Where to, with that identity." },
  "delivery-identity-endpoint-type": {
    takes: "TYPE",
    choices: endpointTypes,
    about: "What that is.",
  },
  "deadletter-identity": {
    takes: "KIND",
    choices: ["systemassigned"],
    about: "Write dead letters with the topic's identity.",
  },
  "deadletter-identity-endpoint": { takes: "ID", about: "Where to, with that identity." },
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
    about: "Set what has no option of its own: retryPolicy.maxDeliveryAttempts=5.",
  },
  add: { takes: "PATH VALUE…", isMany: true, isList: true, about: "Add to a list." },
  remove: { takes: "PATH [PLACE]", isMany: true, isList: true, about: "Clear, or take out." },
};

export const importOptions = {
  parameters: {
    takes: "NAME=VALUE or FILE",
    isList: true,
    about: "A parameter of the template, or a file of them.",
  },
  endpoint: {
    takes: "SUBSCRIPTION=URL",
    isList: true,
    about: "Where a subscription's events go, whatever the file says: exports hide URLs.",
  },
  attribute: {
    takes: "SUBSCRIPTION:HEADER=VALUE",
    isList: true,
    about: "The value of a secret delivery attribute, which exports hide, too.",
  },
  "use-base-urls": {
    takes: null,
    about: "Take URLs that exports show without their query for the whole.",
  },
  omit: {
    takes: "PROPERTY",
    isList: true,
    about: "Leave a property out of every resource, such as deadLetterDestination.",
  },
  "dry-run": { takes: null, about: "Say what would be done, and do nothing." },
  subscription: { takes: "ID", about: "Azure's subscription that a template is deployed to." },
  "resource-group": { takes: "NAME", about: "The group that a template is deployed to." },
  location: { takes: "NAME", about: "The location of that group." },
} as const satisfies Options;

export const exportOptions = {
  format: {
    takes: "arm or az",
    about: "A template (the default), or lists as the CLI prints them.",
  },
  "with-secrets": {
    takes: null,
    about: "With keys, whole URLs and secret headers, so that nothing is left to add.",
  },
  "resource-group": { takes: "NAME", about: "Of this group alone." },
} as const satisfies Options;

/** `name=value` pairs. Refusal: InvalidSetting. */
export function pairsIn(given: readonly string[], form: string): ReadonlyMap<string, string> {
  return new Map(
    given.map((one) => {
      const [, name, value] = /^([^=]+)=([\s\S]+)$/.exec(one) ?? [];
      if (name === undefined || value === undefined) {
        throw new Refusal(
          "InvalidSetting",
          `${form} is how it is written, and there is no such pair`,
        );
      }
      return [name, value];
    }),
  );
}
