// Whether a resource already has the wanted state. The wanted resource leaves out defaults; the
// broker's answer has everything. Both are normalised: without read-only members, without defaults,
// and with one spelling of the service's words.

import type { Kind } from "../../core/azure/arm-id.ts";
import { profiles } from "../../core/delivery/profile.ts";
import { lockSeconds, retentionDefault } from "../../core/pull/pull-rules.ts";
import { defaultDeliverySchema } from "../../core/schema/convert.ts";
import { isObject } from "../../core/template/expression.ts";
import type { Members } from "../../core/text/wording.ts";
import { sendingIn } from "../az/destination-member.ts";
import { ownToCompare } from "./signing-secrets.ts";
import { boundaryOf, traitsOf } from "./topic-traits.ts";

/** Parts of a subscription that need separate requests. */
export interface Secrets {
  readonly endpointUrl: unknown;
  readonly deliveryAttributeMappings: unknown;
  /** The signing secrets, in clear. */
  readonly signing: readonly Members[];
}

/** Whether these are the properties of a header with a hidden value. */
export function isHidden({ isSecret, value }: Members): boolean {
  return isSecret === true && ((value ?? null) === null || value === "Hidden");
}

/** Members of a topic that a PUT without them does not change. */
const keptByTopics = [
  "inputSchema",
  "inputSchemaMapping",
  "autoCreateTopicWithFirstSubscription",
  "autoDeleteTopicWithLastSubscription",
  "port",
  "profile",
  "key1",
  "key2",
];

const noSecrets: Secrets = { endpointUrl: null, deliveryAttributeMappings: null, signing: [] };

export function isSameResource(
  wanted: { readonly kind: Kind; readonly body: Members },
  shown: Members,
  context: { readonly secrets: Secrets | null; readonly inputSchema: unknown },
): boolean {
  if (wanted.kind === "domainTopic") return true;
  const wantedProperties = members(wanted.body.properties);
  const shownProperties = members(shown.properties);
  if (wanted.kind === "subscription") {
    const secret = context.secrets ?? noSecrets;
    const [asked, there] = [apart(wantedProperties), apart(shownProperties)];
    return (
      isOwnAlike(wantedProperties, shownProperties, secret) &&
      isEqual(
        plainTerms(withKept(asked, secret), context.inputSchema),
        plainTerms(withSecrets(there, secret, asked), context.inputSchema),
      )
    );
  }
  const wantedTopic = withOwn(wantedProperties);
  const left = keptByTopics.filter((name) => (wantedTopic[name] ?? null) === null);
  const without = (properties: Members) =>
    Object.fromEntries(Object.entries(properties).filter(([name]) => !left.includes(name)));
  const { location, tags } = wanted.body;
  return (
    isEqual(plainTopic(wantedTopic), plainTopic(without(withOwn(shownProperties)))) &&
    (location === undefined || isEqual(lower(location), lower(shown.location))) &&
    isEqual(tags ?? null, shown.tags ?? null) &&
    isEqual(plainTraits(wanted.body), plainTraits(shown))
  );
}

/** Posthorn's own settings do not change when they are left out. */
function isOwnAlike(wanted: Members, shown: Members, { signing }: Secrets): boolean {
  if (wanted.posthorn === undefined) return true;
  const [own, other] = [wanted, shown].map(({ posthorn }) => ownToCompare(posthorn, signing));
  return isEqual(plain(own as Members), plain(other as Members));
}

function members(value: unknown): Members {
  return isObject(value) ? value : {};
}

/** Posthorn's own members are under `posthorn`, or beside the others. */
function withOwn(properties: Members): Members {
  return { ...properties, ...members(properties.posthorn) };
}

/** Identities next to what they are for. */
function apart(properties: Members): Members {
  const { deliveryWithResourceIdentity: sent, deadLetterWithResourceIdentity: dead } = properties;
  return {
    ...properties,
    destination: sendingIn(properties),
    identity: members(sent).identity,
    deadLetterDestination:
      properties.deadLetterDestination ?? members(dead).deadLetterDestination ?? null,
    deadLetterIdentity: members(dead).identity,
  };
}

/** Leaving out a URL that cannot be read does not change it. */
function withSecrets(shown: Members, secret: Secrets, wanted: Members): Members {
  const destination = members(shown.destination);
  const inside = members(destination.properties);
  const asked = members(members(wanted.destination).properties);
  const url = (asked.endpointUrl ?? null) === null ? {} : { endpointUrl: secret.endpointUrl };
  const properties = {
    ...inside,
    ...url,
    deliveryAttributeMappings: secret.deliveryAttributeMappings ?? inside.deliveryAttributeMappings,
  };
  return { ...shown, destination: { ...destination, properties } };
}

/** Writing back a hidden header does not change it either. */
function withKept(wanted: Members, { deliveryAttributeMappings: stored }: Secrets): Members {
  const destination = members(wanted.destination);
  const inside = members(destination.properties);
  const { deliveryAttributeMappings: mappings } = inside;
  if (!Array.isArray(mappings) || !Array.isArray(stored)) return wanted;
  const deliveryAttributeMappings = mappings.map((each: unknown) => {
    const { name, properties } = members(each);
    const kept = isHidden(members(properties))
      ? stored.find((one) => isEqual(lower(members(one).name), lower(name)))
      : undefined;
    return kept ?? each;
  });
  const properties = { ...inside, deliveryAttributeMappings };
  return { ...wanted, destination: { ...destination, properties } };
}

function plainTraits(around: Members): unknown {
  const { identity, ...rest } = traitsOf(around);
  const { type, userAssignedIdentities } = members(identity);
  const ids = Object.keys(members(userAssignedIdentities)).map(lower);
  const { name, capacity } = members(rest.sku);
  // What a namespace has unless it says otherwise.
  const sku = { name: unless("standard", lower(name)), capacity: unless(1, capacity) };
  return plain({ ...rest, sku, type: lower(type), ids });
}

function plainTopic(properties: Members): unknown {
  const { inputSchemaMapping: mapping, inboundIpRules: rules } = properties;
  return plain({
    inputSchema: lower(properties.inputSchema),
    inputSchemaMapping: plain(members(members(mapping).properties)),
    disableLocalAuth: properties.disableLocalAuth || null,
    publicNetworkAccess: unless("enabled", lower(properties.publicNetworkAccess)),
    inboundIpRules: Array.isArray(rules) ? rules.map((rule) => members(rule).ipMask) : null,
    autoCreate: properties.autoCreateTopicWithFirstSubscription,
    autoDelete: properties.autoDeleteTopicWithLastSubscription,
    port: properties.port,
    profile: properties.profile,
    dataResidencyBoundary: lower(boundaryOf(properties)),
    minimumTlsVersionAllowed: properties.minimumTlsVersionAllowed,
    eventRetentionInDays: unless(retentionDefault, properties.eventRetentionInDays),
    topicSpacesConfiguration: properties.topicSpacesConfiguration,
    eventTypeInfo: properties.eventTypeInfo,
    key1: properties.key1,
    key2: properties.key2,
  });
}

function plainTerms(properties: Members, inputSchema: unknown): unknown {
  const destination = members(properties.destination);
  const inside = members(destination.properties);
  const filter = members(properties.filter);
  const retry = members(properties.retryPolicy);
  const { attemptsMax, ttlMs } = profiles.azure;
  const usual = defaultDeliverySchema(inputSchema as Parameters<typeof defaultDeliverySchema>[0]);
  return plain({
    destination: plain({
      ...inside,
      endpointType: lower(destination.endpointType),
      endpointUrl: plainUrl(inside.endpointUrl),
      ...plainQueue(inside),
      endpointBaseUrl: null,
      minimumTlsVersionAllowed: null,
      maxEventsPerBatch: unless(1, inside.maxEventsPerBatch),
      preferredBatchSizeInKilobytes: unless(64, inside.preferredBatchSizeInKilobytes),
      deliveryAttributeMappings: plainHeaders(inside.deliveryAttributeMappings),
    }),
    filter: plainFilter(filter),
    labels: properties.labels,
    expirationTimeUtc: plainInstant(properties.expirationTimeUtc),
    eventDeliverySchema: unless(lower(usual), lower(properties.eventDeliverySchema)),
    retryPolicy: plain({
      attempts: unless(attemptsMax.default, retry.maxDeliveryAttempts),
      minutes: unless(ttlMs.default / 60_000, retry.eventTimeToLiveInMinutes),
    }),
    deadLetterDestination: plainStore(members(properties.deadLetterDestination)),
    delivery: plainDelivery(members(properties.deliveryConfiguration)),
    filtersConfiguration: properties.filtersConfiguration,
    identity: plainIdentity(properties.identity),
    deadLetterIdentity: plainIdentity(properties.deadLetterIdentity),
  });
}

/** Of a subscription in a namespace; where it sends to is compared by itself. */
function plainDelivery({ deliveryMode, queue, push }: Members): unknown {
  const { destination, deliveryWithResourceIdentity: sent, ...terms } = members(push ?? queue);
  return plain({
    ...terms,
    deliveryMode: lower(deliveryMode),
    maxDeliveryCount: unless(profiles.namespace.attemptsMax.default, terms.maxDeliveryCount),
    receiveLockDurationInSeconds: unless(lockSeconds.default, terms.receiveLockDurationInSeconds),
    identity: plainIdentity(members(sent).identity),
  });
}

function plainIdentity(value: unknown): unknown {
  const { type, userAssignedIdentity } = members(value);
  return plain({ type: lower(type), userAssignedIdentity: lower(userAssignedIdentity) });
}

/** The queue may be in the id, as in the Azure CLI, or in a member of its own. */
function plainQueue({ resourceId, queueName }: Members): Members {
  if (typeof resourceId !== "string") return {};
  const [account, queue] = resourceId.toLowerCase().split("/queueservices/default/queues/");
  return { resourceId: account, queueName: queueName ?? queue };
}

/** The container may be in the id, as in the Azure CLI, or in a member of its own. */
function plainStore({ endpointType, properties }: Members): unknown {
  const { resourceId, blobContainerName } = members(properties);
  const [account, container] = String(lower(resourceId) ?? "").split(
    /\/blobservices\/default\/containers\//,
  );
  return plain({
    endpointType: lower(endpointType),
    account: account || null,
    container: container ?? lower(blobContainerName),
  });
}

function plainFilter(filter: Members): unknown {
  const { advancedFilters: advanced } = filter;
  return plain({
    ...filter,
    isSubjectCaseSensitive: filter.isSubjectCaseSensitive || null,
    enableAdvancedFilteringOnArrays: filter.enableAdvancedFilteringOnArrays || null,
    subjectBeginsWith: unless("", filter.subjectBeginsWith),
    subjectEndsWith: unless("", filter.subjectEndsWith),
    advancedFilters: Array.isArray(advanced)
      ? advanced.map((each) => {
          const one = members(each);
          return plain({ ...one, operatorType: lower(one.operatorType) });
        })
      : null,
  });
}

function plainHeaders(mappings: unknown): unknown {
  if (!Array.isArray(mappings)) return null;
  return mappings.map((each) => {
    const { name, type, properties } = members(each);
    const { isSecret, ...rest } = members(properties);
    return plain({ name, type: lower(type), isSecret: isSecret || null, ...rest });
  });
}

function plainUrl(value: unknown): unknown {
  return typeof value === "string" ? (URL.parse(value)?.href ?? value) : null;
}

/** Without a zone it is in UTC. */
function plainInstant(value: unknown): unknown {
  if (typeof value !== "string") return null;
  const at = Date.parse(/T[^Z+-]*$/i.test(value) ? `${value}Z` : value);
  return Number.isNaN(at) ? value : at;
}

function lower(value: unknown): unknown {
  return typeof value === "string" ? value.toLowerCase().replaceAll(" ", "") : value;
}

function unless(usual: unknown, value: unknown): unknown {
  return value === usual ? null : value;
}

/** Null if nothing is left: an empty value means the same as a missing one. */
function plain(given: Members): unknown {
  const left = Object.entries(given)
    .map(([name, value]) => [name, isObject(value) ? plain(value) : value] as const)
    .filter(
      ([, value]) => (value ?? null) !== null && !(Array.isArray(value) && value.length === 0),
    );
  return left.length === 0
    ? null
    : Object.fromEntries(left.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

function isEqual(one: unknown, other: unknown): boolean {
  return JSON.stringify(ordered(one)) === JSON.stringify(ordered(other));
}

function ordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(ordered);
  if (!isObject(value)) return value ?? null;
  const names = Object.keys(value).toSorted();
  return names.map((name) => [name, ordered(value[name])]);
}
