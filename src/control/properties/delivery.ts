// The destination of a subscription, with its batches and headers. Destinations with a resource id
// are in azure-destination.ts.

import {
  type AzureResources,
  type ResourceKind,
  resourceForms,
} from "../../core/azure/resources.ts";
import { type BatchPolicy, batchPolicyOf } from "../../core/delivery/batch.ts";
import { Refusal } from "../../core/refusal.ts";
import {
  endpointOf,
  type PushDestination,
  type SubscriptionTerms,
} from "../../core/subscription.ts";
import { readWebUrl, urlWords } from "../../core/text/web-url.ts";
import { checkMembers, type Members, refuseValue } from "../../core/text/wording.ts";
import {
  allowedFor,
  checkEndpointType,
  checkResource,
  checkResourceMembers,
  renderResource,
} from "./azure-destination.ts";
import { shownKilobytes } from "./extension.ts";
import { checkBusProperties, checkHeaders, renderHeaders } from "./headers.ts";
import { deliveryForms, renderEither, type Written, withIdentity } from "./identity.ts";

export interface SendingContext {
  readonly azure: AzureResources;
  readonly batchDefaults: BatchPolicy;
  readonly stored: SubscriptionTerms | null;
  readonly keepsRest: boolean;
}

export type Sending = Pick<SubscriptionTerms, "batch" | "headers"> & {
  readonly destination: PushDestination;
};

/** Webhooks protected by Entra ID. */
const notAvailable = ["azureActiveDirectoryTenantId", "azureActiveDirectoryApplicationIdOrUri"];

/** Refusal: InvalidSetting, naming the field. */
export function checkSending({ value, field, identity }: Written, context: SendingContext) {
  const sending = checkDestination(value, field, context);
  if (identity === null) return sending;
  return { ...sending, destination: withIdentity(sending.destination, identity, field) };
}

function checkDestination(value: unknown, field: string, context: SendingContext): Sending {
  const { endpointType, properties } = checkMembers(value, field, ["endpointType", "properties"]);
  const kind = checkEndpointType(endpointType, `${field}.endpointType`);
  const inside = `${field}.properties`;
  return kind === "webhook"
    ? checkWebHook(properties, inside, context)
    : checkToResource(kind, properties, inside, context);
}

function checkToResource(
  kind: ResourceKind,
  properties: unknown,
  inside: string,
  context: SendingContext,
): Sending {
  const members = checkResourceMembers(kind, properties, inside);
  const { batches, headers } = allowedFor(kind);
  return {
    destination: checkResource(kind, members, inside, context.azure),
    batch: batches ? checkBatch(members, inside, context) : null,
    headers: headers ? checkAttributes(kind, members, inside, context) : [],
  };
}

function checkWebHook(properties: unknown, inside: string, context: SendingContext): Sending {
  const members = checkMembers(properties, inside, [
    "endpointUrl",
    "endpointBaseUrl",
    "maxEventsPerBatch",
    "preferredBatchSizeInKilobytes",
    "deliveryAttributeMappings",
    "minimumTlsVersionAllowed",
    ...notAvailable,
  ]);
  for (const name of notAvailable) {
    if ((members[name] ?? null) === null) continue;
    const target = `${inside}.${name}`;
    const advice = "leave it out, or send a secret in a delivery attribute";
    throw new Refusal("InvalidSetting", `${target} is not available yet: ${advice}`, { target });
  }
  checkTlsVersion(members.minimumTlsVersionAllowed, `${inside}.minimumTlsVersionAllowed`);
  return {
    destination: checkUrl(members, inside, context),
    batch: checkBatch(members, inside, context),
    headers: checkAttributes("webhook", members, inside, context),
  };
}

/** Ours is always 1.2 or later, and so at least what is asked for. */
function checkTlsVersion(value: unknown, field: string): void {
  if ((value ?? null) === null || ["1.0", "1.1", "1.2"].includes(value as string)) return;
  throw refuseValue({ field, value, allowed: "1.0, 1.1 or 1.2" });
}

/** The URL is described only by its type: its query is often a secret. */
function checkUrl(
  { endpointUrl, endpointBaseUrl }: Members,
  field: string,
  { stored }: SendingContext,
): PushDestination {
  if ((endpointUrl ?? null) === null && stored?.destination.kind === "webhook") {
    const base = endpointBaseUrl ?? null;
    if (base === null || base === endpointOf(stored.destination)) return stored.destination;
    const allowed = "what it is: to change it, write endpointUrl";
    throw refuseValue({ field: `${field}.endpointBaseUrl`, value: base, allowed, secret: true });
  }
  if (readWebUrl(endpointUrl) !== null) return { kind: "webhook", url: endpointUrl as string };
  const allowed = urlWords("http or https");
  throw refuseValue({ field: `${field}.endpointUrl`, value: endpointUrl, allowed, secret: true });
}

/** How the service shows a destination without batches. */
const noBatchShown: BatchPolicy = { maxEvents: 1, preferredBytes: 64 * 1024 };

function checkBatch(
  members: Members,
  field: string,
  { batchDefaults }: SendingContext,
): BatchPolicy | null {
  const batch = batchPolicyOf(members, field, batchDefaults);
  const isShown = batch?.maxEvents === 1 && batch.preferredBytes === noBatchShown.preferredBytes;
  return isShown ? null : batch;
}

/** Azure's command line changes a destination without sending its headers. */
function checkAttributes(
  kind: PushDestination["kind"],
  members: Members,
  inside: string,
  { stored, keepsRest }: SendingContext,
) {
  const isKept = keepsRest && stored !== null && !("deliveryAttributeMappings" in members);
  const field = `${inside}.deliveryAttributeMappings`;
  const headers = isKept
    ? stored.headers
    : checkHeaders(members.deliveryAttributeMappings, field, stored?.headers ?? []);
  checkBusProperties(kind, headers, field);
  return headers;
}

/** Its members in `properties`. */
export function renderSending({ destination, batch, headers }: Sending): object {
  const { kind } = destination;
  const { maxEvents } = batch ?? noBatchShown;
  const allowed = allowedFor(kind);
  const mappings = renderHeaders(headers, { showsSecrets: false });
  const shown = {
    endpointType: kind === "webhook" ? "WebHook" : resourceForms[kind].endpointType,
    properties: {
      ...(kind === "webhook"
        ? { endpointUrl: null, endpointBaseUrl: endpointOf(destination) }
        : renderResource(destination)),
      ...(allowed.batches && {
        maxEventsPerBatch: maxEvents,
        preferredBatchSizeInKilobytes: shownKilobytes(batch ?? noBatchShown),
      }),
      ...(mappings.length > 0 && { deliveryAttributeMappings: mappings }),
    },
  };
  const identity = kind === "webhook" ? undefined : destination.identity;
  return renderEither(deliveryForms, shown, identity);
}
