// The environment keys of the retired IoT Edge module: what they mean here, and which of them have
// no effect. They are neither options nor keys of the file.
//
// The module's configuration accepted `:` for `__` and any letter case; so does ours.

import { type Setting, setting } from "../config/setting.ts";
import { edgeRetryRanges } from "../core/delivery/profile.ts";
import {
  type Kind,
  oneOfAnyCase,
  seconds,
  text,
  trueOrFalse,
  wholeNumber,
} from "../core/text/setting-kinds.ts";
import { nearest } from "../core/text/wording.ts";

function moduleKey<T, D extends string | null>(given: {
  readonly name: string;
  readonly kind: Kind<T>;
  readonly default: D;
  readonly example: string;
  readonly about: string;
  readonly isSecret?: boolean;
}): Setting<D extends null ? T | null : T> {
  return setting({ ...given, env: given.name, isOption: false, isKey: false });
}

const sasKey = text("1 to 256 visible ASCII characters without blanks", /^[\x21-\x7e]{1,256}$/);

/** By the broker's own name of each. */
export const moduleKeys = {
  defaultMaxDeliveryAttempts: moduleKey({
    name: "broker__defaultMaxDeliveryAttempts",
    kind: wholeNumber(edgeRetryRanges.maxDeliveryAttempts),
    default: null,
    example: "10",
    about: "With the profile iot-edge: attempts for subscriptions that do not set them.",
  }),
  defaultEventTimeToLiveMs: moduleKey({
    name: "broker__defaultEventTimeToLiveInSeconds",
    kind: seconds({ min: 1, max: edgeRetryRanges.eventTimeToLiveInMinutes.max * 60 }),
    default: null,
    example: "3600",
    about: "With the profile iot-edge: time to live for subscriptions that do not set it.",
  }),
  moduleBatchEvents: moduleKey({
    name: "broker__defaultMaxEventsPerBatch",
    kind: wholeNumber({ min: 1, max: 5_000 }),
    default: null,
    example: "25",
    about: "In the module's API: overrides `default-max-events-per-batch`.",
  }),
  moduleBatchBytes: moduleKey({
    name: "broker__defaultMaxBatchSizeInBytes",
    kind: wholeNumber({ min: 1_024, max: 1_058_576 }),
    default: null,
    example: "65536",
    about: "In the module's API: overrides `default-preferred-batch-size`.",
  }),
  moduleBatchEventsMax: moduleKey({
    name: "api__deliveryPolicyLimits__maxEventsPerBatch",
    kind: wholeNumber({ min: 1, max: 5_000 }),
    default: "50",
    example: "500",
    about: "In the module's API: the most events per batch that a subscription may ask for.",
  }),
  moduleBatchKilobytesMax: moduleKey({
    name: "api__deliveryPolicyLimits__maxpreferredBatchSizeInKilobytes",
    kind: wholeNumber({ min: 1, max: 1_033 }),
    default: "1033",
    example: "256",
    about: "In the module's API: the largest preferred size that a subscription may ask for.",
  }),
  moduleBatchBytesMax: moduleKey({
    name: "api__deliveryPolicyLimits__maxBatchSizeInBytes",
    kind: wholeNumber({ min: 1_024, max: 1_058_576 }),
    default: null,
    example: "262144",
    about: "The same in bytes, from the first preview of the module. The smaller one counts.",
  }),
  moduleTlsPolicy: moduleKey({
    name: "inbound__serverAuth__tlsPolicy",
    kind: oneOfAnyCase(["strict", "enabled", "disabled"]),
    default: null,
    example: "strict",
    about:
      "`strict` switches `http` off and `disabled` switches `https` off, unless the setting of " +
      "that listener is given.",
  }),
  moduleKeysEnabled: moduleKey({
    name: "inbound__clientAuth__sasKeys__enabled",
    kind: trueOrFalse(),
    default: "false",
    example: "true",
    about: "Whether the two keys below are accepted in the module's API, as `aeg-sas-key`.",
  }),
  moduleKey1: moduleKey({
    name: "inbound__clientAuth__sasKeys__key1",
    kind: sasKey,
    default: null,
    example: "c29tZXRoaW5nIHJhbmRvbQ==",
    about: "May publish to every topic and change all of them, through the module's routes.",
    isSecret: true,
  }),
  moduleKey2: moduleKey({
    name: "inbound__clientAuth__sasKeys__key2",
    kind: sasKey,
    default: null,
    example: "c29tZXRoaW5nIGVsc2U=",
    about: "The same, so that one key can be changed while the other is in use.",
    isSecret: true,
  }),
  webhookHttpsOnly: moduleKey({
    name: "outbound__webhook__httpsOnly",
    kind: trueOrFalse(),
    default: "false",
    example: "true",
    about: "In the module's API: whether a webhook must have an https URL.",
  }),
  eventGridHttpsOnly: moduleKey({
    name: "outbound__eventgrid__httpsOnly",
    kind: trueOrFalse(),
    default: "false",
    example: "true",
    about: "The same for topics that events are forwarded to.",
  }),
  webhookTrustsAll: moduleKey({
    name: "outbound__webhook__skipServerCertValidation",
    kind: trueOrFalse(),
    default: "false",
    example: "true",
    about: "Whether https endpoints may have any certificate. For tests.",
  }),
  webhookTrustsAnyAuthority: moduleKey({
    name: "outbound__webhook__allowUnknownCA",
    kind: trueOrFalse(),
    default: "false",
    example: "true",
    about:
      "Whether the certificate of an https endpoint may come from an unknown authority; " +
      "its name and its dates are still checked.",
  }),
  logsSuccesses: moduleKey({
    name: "broker__logDeliverySuccess",
    kind: trueOrFalse(),
    default: "false",
    example: "true",
    about: "Whether successful deliveries are logged at `info`, like failures.",
  }),
} as const;

/** A key that has no effect, and why. */
export interface UnusedKey {
  readonly name: string;
  readonly why: string;
}

const security = "There is no IoT Edge security daemon to ask";

export const unusedKeys: readonly UnusedKey[] = [
  {
    name: "inbound__serverAuth__serverCert__source",
    why: `${security}: the certificate is that of \`tls-cert\`, or a local one.`,
  },
  {
    name: "inbound__clientAuth__clientCert__enabled",
    why: `${security}, so client certificates are not accepted: keys are required while \`auth\` is on.`,
  },
  { name: "inbound__clientAuth__clientCert__source", why: "Client certificates are not checked." },
  {
    name: "inbound__clientAuth__clientCert__allowUnknownCA",
    why: "Client certificates are not checked.",
  },
  {
    name: "outbound__clientAuth__clientCert__enabled",
    why: `${security} for a client certificate; deliveries can be signed instead.`,
  },
  { name: "outbound__clientAuth__clientCert__source", why: "No client certificate is sent." },
  {
    name: "outbound__eventgrid__allowInvalidHostnames",
    why: "Names in certificates are always checked.",
  },
  {
    name: "metrics__reporterType",
    why: "`GET /metrics` is always there, and nothing is reported to the console.",
  },
];

/** In one spelling. The module's own documentation also writes `brokers__` for `broker__`. */
function spelled(variable: string): string {
  return variable
    .replaceAll(":", "__")
    .toLowerCase()
    .replace(/^brokers__/, "broker__");
}

/** Whether a variable of the environment is this key, in one of its spellings. */
function isKey(variable: string, name: string): boolean {
  return spelled(variable) === name.toLowerCase();
}

/** The variable that sets the key; an empty one sets nothing. */
export function moduleKeyIn(
  env: Readonly<Record<string, string | undefined>>,
  name: string,
): string | undefined {
  return Object.keys(env).find((variable) => isKey(variable, name) && env[variable] !== "");
}

export function unusedKeysIn(
  env: Readonly<Record<string, string | undefined>>,
): readonly UnusedKey[] {
  const unused = unusedKeys.filter(({ name }) => moduleKeyIn(env, name) !== undefined);
  return [...unused, ...unknownKeysIn(env)];
}

/** Prefixes of the module's keys. */
const groups = /^(broker|api|inbound|outbound|metrics)__/;

/** What looks like a key of the module and is not: a misspelling, or another program's. */
function unknownKeysIn(env: Readonly<Record<string, string | undefined>>): readonly UnusedKey[] {
  const known = [...Object.values(moduleKeys), ...unusedKeys].map(({ name }) => name);
  return Object.keys(env)
    .filter((variable) => groups.test(spelled(variable)) && env[variable] !== "")
    .filter((variable) => !known.some((name) => isKey(variable, name)))
    .map((variable) => {
      const meant = nearest(spelled(variable), known);
      const hint = meant === null ? "" : `; did you mean ${meant}?`;
      return { name: variable, why: `The module has no such key${hint}` };
    });
}

/** The listeners that the module's policy switches off, if they are not set. */
export function tlsDefaults(policy: unknown): Readonly<Record<string, string>> {
  const word = String(policy).toLowerCase();
  if (word === "strict") return { http: "off" };
  return word === "disabled" ? { https: "off" } : {};
}
