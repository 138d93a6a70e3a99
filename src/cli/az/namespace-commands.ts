// The commands of namespaces, their topics and event subscriptions, with the nouns, verbs and
// options of `az eventgrid namespace`; and Posthorn's own verbs `receive`, `acknowledge`, `release`
// and `reject`, which fetch by hand.

import type { Command, Run } from "../command.ts";
import type { Option, Options } from "../option.ts";
import { accessOptions, deploymentOptions, location, named, odata, yes } from "../options.ts";

type NamespaceModule = typeof import("./namespaces.ts");
const runs = (pick: (module: NamespaceModule) => Run) => async () =>
  pick(await import("./namespaces.ts"));

const namespaceName: Option = {
  takes: "NAME",
  isRequired: true,
  about: "The name of the namespace.",
};
const topicName: Option = { takes: "NAME", isRequired: true, about: "The name of the topic." };
const keyName: Option = {
  takes: "KEY",
  choices: ["key1", "key2"],
  isRequired: true,
  about: "Which one: key1 or key2.",
};

const { tags, port } = accessOptions as { readonly tags: Option; readonly port: Option };

const namespaceOptions: Options = {
  tags,
  port,
  "public-network-access": accessOptions["public-network-access"] as Option,
  "inbound-ip-rules": accessOptions["inbound-ip-rules"] as Option,
  sku: { takes: "SKU", about: "Kept as az sends it: {name:standard,capacity:1}." },
  "topic-spaces-configuration": { takes: "JSON", about: "Kept as az sends it; no effect." },
};

const topicOptions: Options = {
  "event-retention-in-days": {
    takes: "DAYS",
    range: { min: 1, max: 7 },
    about: "How long events are kept. Default: 1.",
  },
  "input-schema": {
    takes: "SCHEMA",
    choices: ["cloudeventschemav1_0"],
    about: "This is the only value.",
  },
  "publisher-type": { takes: "TYPE", choices: ["custom"], about: "This is the only value." },
};

const subscriptionOptions: Options = {
  "delivery-configuration": {
    takes: "JSON",
    about: "As in ARM, as JSON or in the short form of az: {deliveryMode:Queue,queue:{…}}.",
  },
  "filters-configuration": {
    takes: "JSON",
    about: "As in ARM: {includedEventTypes:[a,b],filters:[…]}.",
  },
  "event-delivery-schema": {
    takes: "SCHEMA",
    choices: ["cloudeventschemav1_0"],
    about: "This is the only value.",
  },
  "expiration-time-utc": { takes: "TIME", about: "When it expires, such as 2030-01-01T00:00:00Z." },
  "receive-lock-duration": {
    takes: "SECONDS",
    range: { min: 60, max: 300 },
    about: "Posthorn only: how long what was received is locked. Default: 60.",
  },
  "max-delivery-count": {
    takes: "COUNT",
    range: { min: 1, max: 10 },
    about: "Posthorn only: how often an event is handed out or sent. Default: 10.",
  },
  "event-time-to-live": {
    takes: "DURATION",
    about: "Posthorn only: how long an event is kept, such as PT1H. Default: the topic's days.",
  },
  endpoint: { takes: "URL", about: "Posthorn only: push to this webhook, instead of a queue." },
  "included-event-types": {
    takes: "TYPE…",
    isMany: true,
    about: "Posthorn only: only events of these types.",
  },
};

interface Noun {
  readonly noun: string;
  readonly what: string;
  readonly some: string;
  /** What names its parents. */
  readonly parents: Options;
  readonly example: string;
  readonly options: Options;
  readonly extra?: Options;
}

const nouns: readonly Noun[] = [
  {
    ...{ noun: "namespace", what: "a namespace", some: "namespaces", parents: {} },
    ...{ example: "-n shop", options: namespaceOptions, extra: { location } },
  },
  {
    ...{
      noun: "namespace topic",
      what: "a topic of a namespace",
      some: "the topics of a namespace",
    },
    parents: { "namespace-name": namespaceName },
    ...{ example: "--namespace-name shop -n orders", options: topicOptions },
  },
  {
    ...{
      noun: "namespace topic event-subscription",
      what: "an event subscription of a namespace topic",
    },
    some: "event subscriptions of a topic",
    parents: { "namespace-name": namespaceName, "topic-name": topicName },
    example: "--namespace-name shop --topic-name orders -n billing",
    options: subscriptionOptions,
  },
];

function commandsOf({ noun, what, some, parents, example, options, extra = {} }: Noun): Command[] {
  const one: Options = { name: named(what), ...parents, ...deploymentOptions };
  const value = { prints: "value" } as const;
  const withoutName = example.replace(/ ?-n \S+$/, "");
  const verb = (
    word: string,
    about: string,
    load: Command["load"],
    { more = {}, tail = "" }: { readonly more?: Options; readonly tail?: string } = {},
  ): Command => ({
    ...{ ...value, words: `${noun} ${word}`, about, options: { ...one, ...more }, load },
    examples: [`posthorn ${noun} ${word} ${example}${tail}`],
  });
  return [
    verb(
      "create",
      `Create ${what}, or replace it.`,
      runs(({ create }) => create),
      {
        more: { ...extra, ...options },
      },
    ),
    {
      ...{ ...value, words: `${noun} list`, about: `List ${some}.` },
      options: { ...parents, ...deploymentOptions, "odata-query": odata },
      examples: [`posthorn ${noun} list ${withoutName}`.trim()],
      load: runs(({ list }) => list),
    },
    verb(
      "show",
      `Show ${what}.`,
      runs(({ show }) => show),
    ),
    verb(
      "update",
      `Change ${what}; options that are not given change nothing.`,
      runs(({ update }) => update),
      {
        more: options,
      },
    ),
    verb(
      "delete",
      `Delete ${what}, with its waiting events.`,
      runs(({ erase }) => erase),
      {
        more: { yes },
      },
    ),
  ];
}

function keyCommandsOf({ noun, what, parents, example }: Noun): Command[] {
  const one: Options = { name: named(what), ...parents, ...deploymentOptions };
  const value = { prints: "value" } as const;
  return [
    {
      ...{ ...value, words: `${noun} list-key`, about: `Show the keys of ${what}.`, options: one },
      examples: [`posthorn ${noun} list-key ${example} --query key1 -o tsv`],
      load: runs(({ listKeys }) => listKeys),
    },
    {
      ...{ ...value, words: `${noun} regenerate-key`, about: `Regenerate a key of ${what}.` },
      options: { ...one, "key-name": keyName },
      examples: [`posthorn ${noun} regenerate-key ${example} --key-name key2`],
      load: runs(({ regenerateKey }) => regenerateKey),
    },
  ];
}

const tokens: Option = { takes: "TOKEN…", isMany: true, isRequired: true, about: "Lock tokens." };

/** Fetching by hand. */
function handCommands({ noun, parents, example }: Noun): Command[] {
  const one: Options = { name: named("the event subscription"), ...parents, ...deploymentOptions };
  const value = { prints: "value" } as const;
  const order = (word: string, about: string, pick: (module: NamespaceModule) => Run): Command => ({
    ...{ ...value, words: `${noun} ${word}`, about, options: { ...one, "lock-tokens": tokens } },
    examples: [`posthorn ${noun} ${word} ${example} --lock-tokens TOKEN`],
    load: runs(pick),
  });
  return [
    {
      ...{ ...value, words: `${noun} receive`, about: "Receive events by hand." },
      more: "What is received is locked: acknowledge it, or it comes again.",
      options: {
        ...one,
        "max-events": { takes: "COUNT", range: { min: 1, max: 100 }, about: "Default: 1." },
        "max-wait-time": {
          takes: "SECONDS",
          range: { min: 10, max: 120 },
          about: "How long to wait for the first one. Default: 10.",
        },
        acknowledge: { takes: null, about: "Acknowledge them at once." },
      },
      examples: [`posthorn ${noun} receive ${example} --max-events 10 --acknowledge`],
      load: runs(({ receive }) => receive),
    },
    order("acknowledge", "Acknowledge what was received.", (m) => m.acknowledge),
    order("release", "Release what was received, for others.", (m) => m.release),
    order("reject", "Reject what was received: it becomes a dead letter.", (m) => m.reject),
  ];
}

const [whole, part, queue] = nouns as readonly [Noun, Noun, Noun];

export const namespaceCommands: readonly Command[] = [
  ...commandsOf(whole),
  ...keyCommandsOf(whole),
  ...commandsOf(part),
  ...keyCommandsOf(part),
  ...commandsOf(queue),
  ...handCommands(queue),
];
