// The body of a subscription from options, as `az` would send it; and the body of an update, which
// has only what the options change. Pure.

import { Refusal } from "../../core/refusal.ts";
import { isObject } from "../../core/template/expression.ts";
import { isoInstant } from "../../core/text/time.ts";
import type { Members } from "../../core/text/wording.ts";
import { refuseValue } from "../../core/text/wording.ts";
import type { ParsedOptions } from "../option.ts";
import { advancedFilter, deliveryAttribute } from "./filter-options.ts";

const endpointTypes: Readonly<Record<string, string>> = {
  webhook: "WebHook",
  eventhub: "EventHub",
  storagequeue: "StorageQueue",
  hybridconnection: "HybridConnection",
  servicebusqueue: "ServiceBusQueue",
  servicebustopic: "ServiceBusTopic",
  azurefunction: "AzureFunction",
};
const deliverySchemas: Readonly<Record<string, string>> = {
  eventgridschema: "EventGridSchema",
  custominputschema: "CustomInputSchema",
  cloudeventschemav1_0: "CloudEventSchemaV1_0",
};

/** What `az` sends by default. */
const attemptsDefault = 30;
const ttlDefault = 1440;

/** Refusal: InvalidSetting. */
export function newTerms(given: ParsedOptions): Members {
  checkTogether(given);
  if (!given.has("endpoint") && !given.has("delivery-identity-endpoint")) {
    const words = "--endpoint must be given: --endpoint URL, or the id of a resource";
    throw new Refusal("InvalidSetting", words);
  }
  const schema = given.one("event-delivery-schema");
  return {
    properties: {
      ...sendingIn(given),
      filter: { isSubjectCaseSensitive: false, ...filterIn(given) },
      ...labelsIn(given),
      ...(schema !== null && { eventDeliverySchema: deliverySchemas[schema] }),
      retryPolicy: {
        maxDeliveryAttempts: given.whole("max-delivery-attempts") ?? attemptsDefault,
        eventTimeToLiveInMinutes: given.whole("event-ttl") ?? ttlDefault,
      },
      ...expirationIn(given),
      ...deadLetterIn(given),
      ...ownIn(given),
    },
  };
}

/** Options that `az` refuses to take together, or alone. */
export function checkTogether(given: ParsedOptions): void {
  const refuse = (words: string) => new Refusal("InvalidSetting", words);
  const both = (one: string, other: string) => {
    if (given.has(one) === given.has(other)) return;
    const [there, missing] = given.has(one) ? [one, other] : [other, one];
    throw refuse(`--${missing} must be given, too: --${there} alone says nothing`);
  };
  const notWith = (one: string, other: string) => {
    if (given.has(one) && given.has(other))
      throw refuse(`--${other} must be left out with --${one}`);
  };
  notWith("endpoint", "delivery-identity-endpoint");
  notWith("endpoint", "delivery-identity");
  notWith("deadletter-endpoint", "deadletter-identity-endpoint");
  both("deadletter-identity", "deadletter-identity-endpoint");
  both("delivery-identity", "delivery-identity-endpoint");
  both("azure-active-directory-tenant-id", "azure-active-directory-application-id-or-uri");
}

function sendingIn(given: ParsedOptions): Members {
  const endpoint = given.one("delivery-identity-endpoint");
  if (endpoint === null) return { destination: destinationIn(given, given.one("endpoint") ?? "") };
  return identityIn(given, endpoint);
}

/** Sent with the system's identity. */
export function identityIn(given: ParsedOptions, endpoint: string): Members {
  return {
    deliveryWithResourceIdentity: {
      identity: { type: "SystemAssigned" },
      destination: destinationIn(given, endpoint),
    },
  };
}

function kindIn(given: ParsedOptions): string {
  return given.one("delivery-identity-endpoint-type") ?? given.one("endpoint-type") ?? "webhook";
}

/** `kind`: of the existing destination, for an update. Refusal: InvalidSetting. */
export function destinationIn(
  given: ParsedOptions,
  endpoint: string,
  kind = kindIn(given),
): Members {
  const isBatching = kind === "webhook" || kind === "azurefunction";
  const only = (option: string, isFine: boolean, where: string) => {
    if (!given.has(option) || isFine) return;
    throw new Refusal("InvalidSetting", `--${option} must be left out: it is for ${where} alone`);
  };
  only("max-events-per-batch", isBatching, "webhook and azurefunction");
  only("preferred-batch-size-in-kilobytes", isBatching, "webhook and azurefunction");
  only("azure-active-directory-tenant-id", kind === "webhook", "webhook");
  only("storage-queue-msg-ttl", kind === "storagequeue", "storagequeue");
  only("delivery-attribute-mapping", kind !== "storagequeue", "what is no storagequeue");
  const ttl = given.whole("storage-queue-msg-ttl");
  return {
    endpointType: endpointTypes[kind],
    properties: {
      ...(kind === "webhook"
        ? { endpointUrl: endpoint }
        : kind === "storagequeue"
          ? queueOf(endpoint)
          : { resourceId: endpoint }),
      ...(ttl !== null && { queueMessageTimeToLiveInSeconds: ttl }),
      ...batchIn(given),
      ...entraIn(given),
      ...attributesIn(given),
    },
  };
}

function batchIn(given: ParsedOptions): Members {
  const [events, kilobytes] = [
    given.whole("max-events-per-batch"),
    given.whole("preferred-batch-size-in-kilobytes"),
  ];
  return {
    ...(events !== null && { maxEventsPerBatch: events }),
    ...(kilobytes !== null && { preferredBatchSizeInKilobytes: kilobytes }),
  };
}

function entraIn(given: ParsedOptions): Members {
  const tenant = given.one("azure-active-directory-tenant-id");
  const application = given.one("azure-active-directory-application-id-or-uri");
  return {
    ...(tenant !== null && { azureActiveDirectoryTenantId: tenant }),
    ...(application !== null && { azureActiveDirectoryApplicationIdOrUri: application }),
  };
}

function attributesIn(given: ParsedOptions): Members {
  if (!given.has("delivery-attribute-mapping")) return {};
  const mappings = given.groups("delivery-attribute-mapping").map(deliveryAttribute);
  return { deliveryAttributeMappings: mappings };
}

function queueOf(endpoint: string): Members {
  const [resourceId, queueName, ...more] = endpoint.split(/\/queueServices\/default\/queues\//i);
  if (queueName !== undefined && queueName !== "" && more.length === 0) {
    return { resourceId, queueName };
  }
  const allowed = "…/storageAccounts/ACCOUNT/queueServices/default/queues/QUEUE";
  throw refuseValue({ field: "--endpoint", value: endpoint, allowed });
}

/** Only what was given. */
export function filterIn(given: ParsedOptions): Members {
  const types = given.all("included-event-types");
  // Event Grid's former name for all types; the same as leaving it out.
  const isAll = types.length === 1 && types[0]?.toLowerCase() === "all";
  const [begins, ends] = [given.one("subject-begins-with"), given.one("subject-ends-with")];
  const isSensitive = given.isOn("subject-case-sensitive");
  const isArrays = given.isOn("enable-advanced-filtering-on-arrays");
  return {
    ...(begins !== null && { subjectBeginsWith: begins }),
    ...(ends !== null && { subjectEndsWith: ends }),
    ...(types.length > 0 && { includedEventTypes: isAll ? null : types }),
    ...(isSensitive !== null && { isSubjectCaseSensitive: isSensitive }),
    ...(isArrays !== null && { enableAdvancedFilteringOnArrays: isArrays }),
    ...(given.has("advanced-filter") && {
      advancedFilters: given.groups("advanced-filter").map(advancedFilter),
    }),
  };
}

function labelsIn(given: ParsedOptions): Members {
  return given.has("labels") ? { labels: given.all("labels") } : {};
}

/** A date without a time means its first moment, in UTC. */
function expirationIn(given: ParsedOptions): Members {
  const text = given.one("expiration-date");
  if (text === null) return {};
  const isDay = /^\d{4}-\d\d-\d\d$/.test(text);
  const zoned = isDay ? `${text}T00:00:00Z` : /(Z|[+-]\d\d:?\d\d)$/i.test(text) ? text : `${text}Z`;
  const at = Date.parse(zoned);
  if (!Number.isNaN(at)) return { expirationTimeUtc: isoInstant(at) };
  const allowed = "a date or an instant such as 2030-01-01 or 2030-01-01T12:00:00Z";
  throw refuseValue({ field: "--expiration-date", value: text, allowed });
}

function deadLetterIn(given: ParsedOptions): Members {
  const plain = given.one("deadletter-endpoint");
  const identity = given.one("deadletter-identity-endpoint");
  if (plain !== null) {
    return { deadLetterDestination: containerOf(plain, "--deadletter-endpoint") };
  }
  if (identity === null) return {};
  return {
    deadLetterWithResourceIdentity: {
      identity: { type: "SystemAssigned" },
      deadLetterDestination: containerOf(identity, "--deadletter-identity-endpoint"),
    },
  };
}

function containerOf(endpoint: string, field: string): Members {
  const [resourceId, container, ...more] = endpoint.split(/\/blobServices\/default\/containers\//i);
  if (container !== undefined && container !== "" && more.length === 0) {
    const properties = { resourceId, blobContainerName: container };
    return { endpointType: "StorageBlob", properties };
  }
  const allowed = "…/storageAccounts/ACCOUNT/blobServices/default/containers/CONTAINER";
  throw refuseValue({ field, value: endpoint, allowed });
}

/** Posthorn's own members. */
function ownIn(given: ParsedOptions): Members {
  const split = given.isOn("split-on-failure");
  const isSigned = given.isOn("signing");
  const secrets = given.all("signing-secret");
  if (secrets.length > 0 && isSigned === false) {
    throw new Refusal("InvalidSetting", "--signing-secret must be left out with --signing false");
  }
  const signing =
    secrets.length > 0
      ? { secrets: secrets.map((secret) => ({ secret })) }
      : isSigned === true
        ? {}
        : null;
  if (split === null && isSigned === null && secrets.length === 0) return {};
  return {
    posthorn: {
      ...(split !== null && { splitOnFailure: split }),
      ...((isSigned !== null || secrets.length > 0) && { signing }),
    },
  };
}

/** Whether an update changes the destination or how events are sent. */
export function changesDestination(given: ParsedOptions): boolean {
  return [
    "endpoint",
    "endpoint-type",
    "delivery-identity-endpoint",
    "max-events-per-batch",
    "preferred-batch-size-in-kilobytes",
    "storage-queue-msg-ttl",
    "delivery-attribute-mapping",
    "azure-active-directory-tenant-id",
    "azure-active-directory-application-id-or-uri",
  ].some((option) => given.has(option));
}

/**
 * The body of an update without the destination: only what it changes. A filter is sent complete,
 * because the broker replaces it as a whole.
 */
export function changedTerms(given: ParsedOptions, shown: Members): Members {
  const properties = isObject(shown.properties) ? shown.properties : {};
  const filter = filterIn(given);
  const schema = given.one("event-delivery-schema");
  const [attempts, ttl] = [given.whole("max-delivery-attempts"), given.whole("event-ttl")];
  return {
    ...(Object.keys(filter).length > 0 && {
      filter: { ...(isObject(properties.filter) && properties.filter), ...filter },
    }),
    ...labelsIn(given),
    ...(schema !== null && { eventDeliverySchema: deliverySchemas[schema] }),
    ...((attempts ?? ttl) !== null && {
      retryPolicy: {
        ...(isObject(properties.retryPolicy) && properties.retryPolicy),
        ...(attempts !== null && { maxDeliveryAttempts: attempts }),
        ...(ttl !== null && { eventTimeToLiveInMinutes: ttl }),
      },
    }),
    ...expirationIn(given),
    ...deadLetterIn(given),
    ...ownIn(given),
  };
}
