// The commands of topics, domains and the topics of domains, with the nouns, verbs and options of
// `az eventgrid`.

import type { Command, Run } from "../command.ts";
import type { Options } from "../option.ts";
import {
  accessOptions,
  deploymentOptions,
  domainName,
  ids,
  location,
  named,
  odata,
  schemaOptions,
  yes,
} from "../options.ts";

type TopicModule = typeof import("./topics.ts");
const topics = (pick: (module: TopicModule) => Run) => async () =>
  pick(await import("./topics.ts"));

const autoOptions: Options = {
  "auto-create-topic-with-first-subscription": {
    takes: null,
    about: "Create a topic of the domain with its first subscription.",
  },
  "auto-delete-topic-with-last-subscription": {
    takes: null,
    about: "Delete a topic of the domain with its last subscription.",
  },
};

const arcOptions: Options = {
  kind: { takes: "KIND", choices: ["azure", "azurearc"], about: "Kept as az sends it." },
  "extended-location-name": { takes: "NAME", about: "With --kind azurearc." },
  "extended-location-type": {
    takes: "TYPE",
    choices: ["customlocation"],
    about: "With --kind azurearc.",
  },
};

interface Kind {
  readonly noun: string;
  readonly what: string;
  readonly some: string;
  readonly more: Options;
  readonly runs: Readonly<
    Record<
      "create" | "list" | "show" | "update" | "delete" | "keys" | "regenerate",
      Command["load"]
    >
  >;
}

/** Topics and domains have the same verbs. */
function topicLike({ noun, what, some, more, runs }: Kind): readonly Command[] {
  const one: Options = { name: named(what, false), ...deploymentOptions, ids };
  const value = { prints: "value" } as const;
  return [
    {
      ...value,
      words: `${noun} create`,
      about: `Create ${what}, or replace it.`,
      options: {
        name: named(what),
        ...deploymentOptions,
        location,
        ...schemaOptions,
        ...accessOptions,
        ...more,
      },
      examples: [
        `posthorn ${noun} create -n orders`,
        `posthorn ${noun} create -g rg1 -n orders -l westeurope --tags team=shop --input-schema cloudeventschemav1_0`,
      ],
      load: runs.create,
    },
    {
      ...value,
      words: `${noun} list`,
      about: `List ${some}.`,
      options: { ...deploymentOptions, "odata-query": odata },
      examples: [
        `posthorn ${noun} list -o table`,
        `posthorn ${noun} list --query "[].name" -o tsv`,
      ],
      load: runs.list,
    },
    {
      ...value,
      words: `${noun} show`,
      about: `Show ${what}.`,
      options: one,
      examples: [`posthorn ${noun} show -n orders --query endpoint -o tsv`],
      load: runs.show,
    },
    {
      ...value,
      words: `${noun} update`,
      about: `Change ${what}; options that are not given change nothing.`,
      options: { ...one, ...accessOptions, ...(noun === "domain" && autoOptions) },
      examples: [`posthorn ${noun} update -n orders --inbound-ip-rules 10.0.0.0/8 Allow`],
      load: runs.update,
    },
    {
      ...value,
      words: `${noun} delete`,
      about: `Delete ${what}, with its subscriptions and their waiting events.`,
      more: "On a terminal it asks first if events wait.",
      options: { ...one, yes: { ...yes, about: "Do not ask, even if events wait." } },
      examples: [`posthorn ${noun} delete -n orders`],
      load: runs.delete,
    },
    {
      ...value,
      words: `${noun} key list`,
      about: `Show the keys of ${what}.`,
      options: one,
      examples: [`posthorn ${noun} key list -n orders --query key1 -o tsv`],
      load: runs.keys,
    },
    {
      ...value,
      words: `${noun} key regenerate`,
      about: `Regenerate one of the keys of ${what}.`,
      options: {
        ...one,
        "key-name": {
          takes: "KEY",
          choices: ["key1", "key2"],
          isRequired: true,
          about: "Which one: key1 or key2.",
        },
      },
      examples: [`posthorn ${noun} key regenerate -n orders --key-name key2`],
      load: runs.regenerate,
    },
  ];
}

const commandsOfTopics = topicLike({
  noun: "topic",
  what: "a topic",
  some: "topics",
  more: arcOptions,
  runs: {
    create: topics(({ createTopic }) => createTopic),
    list: topics(({ listTopics }) => listTopics),
    show: topics(({ showTopic }) => showTopic),
    update: topics(({ updateTopic }) => updateTopic),
    delete: topics(({ deleteTopic }) => deleteTopic),
    keys: topics(({ listTopicKeys }) => listTopicKeys),
    regenerate: topics(({ regenerateTopicKey }) => regenerateTopicKey),
  },
});

const commandsOfDomains = topicLike({
  noun: "domain",
  what: "a domain",
  some: "domains",
  more: autoOptions,
  runs: {
    create: topics(({ createDomain }) => createDomain),
    list: topics(({ listDomains }) => listDomains),
    show: topics(({ showDomain }) => showDomain),
    update: topics(({ updateDomain }) => updateDomain),
    delete: topics(({ deleteDomain }) => deleteDomain),
    keys: topics(({ listDomainKeys }) => listDomainKeys),
    regenerate: topics(({ regenerateDomainKey }) => regenerateDomainKey),
  },
});

const inDomain: Options = {
  name: named("a topic of a domain", false),
  "domain-name": domainName,
  ...deploymentOptions,
  ids,
};

const domainTopicCommands: readonly Command[] = [
  {
    words: "domain topic create",
    about: "Create a topic of a domain.",
    options: {
      name: named("the topic"),
      "domain-name": { ...domainName, isRequired: true },
      ...deploymentOptions,
    },
    examples: ["posthorn domain topic create --domain-name shop -n europe"],
    prints: "value",
    load: topics(({ createDomainTopic }) => createDomainTopic),
  },
  {
    words: "domain topic list",
    about: "List the topics of a domain.",
    options: {
      "domain-name": { ...domainName, isRequired: true },
      ...deploymentOptions,
      "odata-query": odata,
    },
    examples: ["posthorn domain topic list --domain-name shop -o table"],
    prints: "value",
    load: topics(({ listDomainTopics }) => listDomainTopics),
  },
  {
    words: "domain topic show",
    about: "Show a topic of a domain.",
    options: inDomain,
    examples: ["posthorn domain topic show --domain-name shop -n europe"],
    prints: "value",
    load: topics(({ showDomainTopic }) => showDomainTopic),
  },
  {
    words: "domain topic delete",
    about: "Delete a topic of a domain.",
    options: { ...inDomain, yes },
    examples: ["posthorn domain topic delete --domain-name shop -n europe"],
    prints: "value",
    load: topics(({ deleteDomainTopic }) => deleteDomainTopic),
  },
];

export const typeCommands: readonly Command[] = [
  {
    words: "topic-type list",
    about: "List the types of topics.",
    options: {},
    examples: ['posthorn topic-type list --query "[].name"'],
    prints: "value",
    load: topics(({ listTopicTypes }) => listTopicTypes),
  },
  {
    words: "topic-type show",
    about: "Show a type of topic.",
    options: { name: named("the type") },
    examples: ["posthorn topic-type show -n Microsoft.EventGrid.Topics"],
    prints: "value",
    load: topics(({ showTopicType }) => showTopicType),
  },
];

export const topicCommands: readonly Command[] = [
  ...commandsOfTopics,
  ...commandsOfDomains,
  ...domainTopicCommands,
];
