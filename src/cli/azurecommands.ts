// The commands of `az eventgrid`, with its nouns, verbs and options, and those verbs of ours that
// belong to the same nouns.

import type { Command, Run } from "./command.ts";
import type { Option, Options } from "./option.ts";
import {
  accessOptions,
  amendOptions,
  filterOptions,
  ids,
  location,
  named,
  odata,
  resourceGroup,
  schemaOptions,
  subscription,
  termsOptions,
  yes,
} from "./options.ts";

const place: Options = { "resource-group": resourceGroup, subscription };

type TopicModule = typeof import("./topics.ts");
const topics = (pick: (module: TopicModule) => Run) => async () =>
  pick(await import("./topics.ts"));

const autoOptions: Options = {
  "auto-create-topic-with-first-subscription": {
    takes: null,
    about: "Make a topic of the domain when it is first subscribed to.",
  },
  "auto-delete-topic-with-last-subscription": {
    takes: null,
    about: "Remove a topic of the domain with its last subscription.",
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
  const one: Options = { name: named(what, false), ...place, ids };
  const value = { prints: "value" } as const;
  return [
    {
      ...value,
      words: `${noun} create`,
      about: `Make ${what}, or write it anew.`,
      options: {
        name: named(what),
        ...place,
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
      options: { ...place, "odata-query": odata },
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
      about: `Change ${what}; what is not said stays.`,
      options: { ...one, ...accessOptions, ...(noun === "domain" && autoOptions) },
      examples: [`posthorn ${noun} update -n orders --inbound-ip-rules 10.0.0.0/8 Allow`],
      load: runs.update,
    },
    {
      ...value,
      words: `${noun} delete`,
      about: `Remove ${what}, with its subscriptions and what waits for them.`,
      options: { ...one, yes },
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
      about: `Make one of the keys of ${what} anew.`,
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

const topicCommands = topicLike({
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

const domainCommands = topicLike({
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

const domainName: Option = { takes: "NAME", about: "The name of the domain." };
const inDomain: Options = {
  name: named("a topic of a domain", false),
  "domain-name": domainName,
  ...place,
  ids,
};

const domainTopicCommands: readonly Command[] = [
  {
    words: "domain topic create",
    about: "Make a topic of a domain.",
    options: {
      name: named("the topic"),
      "domain-name": { ...domainName, isRequired: true },
      ...place,
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
      ...place,
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
    about: "Remove a topic of a domain.",
    options: { ...inDomain, yes },
    examples: ["posthorn domain topic delete --domain-name shop -n europe"],
    prints: "value",
    load: topics(({ deleteDomainTopic }) => deleteDomainTopic),
  },
];

const typeCommands: readonly Command[] = [
  {
    words: "topic-type list",
    about: "List what can be subscribed to.",
    options: {},
    examples: ['posthorn topic-type list --query "[].name"'],
    prints: "value",
    load: topics(({ listTopicTypes }) => listTopicTypes),
  },
  {
    words: "topic-type show",
    about: "Show one of them.",
    options: { name: named("the type") },
    examples: ["posthorn topic-type show -n Microsoft.EventGrid.Topics"],
    prints: "value",
    load: topics(({ showTopicType }) => showTopicType),
  },
];

type SubscriptionModule = typeof import("./subscriptions.ts");
const subscriptions = (pick: (module: SubscriptionModule) => Run) => async () =>
  pick(await import("./subscriptions.ts"));
type FlowModule = typeof import("./flow.ts");
const flow = (pick: (module: FlowModule) => Run) => async () => pick(await import("./flow.ts"));

interface Scope {
  readonly noun: string;
  /** What says which topic is meant. */
  readonly source: Options;
  /** The same as an example. */
  readonly example: string;
  /** For lists, where it may be left out. */
  readonly listSource?: Options;
}

const topicName: Option = { takes: "NAME", about: "The name of the topic." };

const scopes: readonly Scope[] = [
  {
    noun: "event-subscription",
    source: {
      "source-resource-id": {
        takes: "ID",
        about: "What it listens to: the id of a topic, a domain or its topic; or a topic's name.",
      },
      "topic-name": { ...topicName, about: "The same by the name of a topic." },
      "domain-name": { ...domainName, about: "The same by the name of a domain." },
      "domain-topic-name": { takes: "NAME", about: "And of a topic in that domain." },
    },
    example: "--source-resource-id orders",
    listSource: {
      location,
      "topic-type-name": { takes: "NAME", about: "Of such a source alone." },
    },
  },
  {
    noun: "topic event-subscription",
    source: { "topic-name": { ...topicName, isRequired: true } },
    example: "--topic-name orders",
  },
  {
    noun: "domain event-subscription",
    source: { "domain-name": { ...domainName, isRequired: true } },
    example: "--domain-name shop",
  },
  {
    noun: "domain topic event-subscription",
    source: {
      "domain-name": { ...domainName, isRequired: true },
      "domain-topic-name": {
        takes: "NAME",
        isRequired: true,
        about: "The name of the topic in the domain.",
      },
    },
    example: "--domain-name shop --domain-topic-name europe",
  },
];

function subscriptionCommands({ noun, source, example, listSource = {} }: Scope): Command[] {
  const one: Options = { name: named("the subscription"), ...source, ...place };
  const value = { prints: "value" } as const;
  const own = (
    verb: string,
    about: string,
    load: Command["load"],
    { options = {}, tail = "" }: { readonly options?: Options; readonly tail?: string } = {},
  ): Command => ({
    ...value,
    words: `${noun} ${verb}`,
    about,
    options: { ...one, ...options },
    examples: [`posthorn ${noun} ${verb} -n billing ${example}${tail}`],
    load,
  });
  return [
    {
      ...value,
      words: `${noun} create`,
      about: "Make a subscription, or write it anew.",
      options: { ...one, ...termsOptions },
      examples: [
        `posthorn ${noun} create -n billing ${example} --endpoint http://127.0.0.1:9000/`,
        `posthorn ${noun} create -n large ${example} --endpoint http://127.0.0.1:9000/ ` +
          "--event-ttl 60 --advanced-filter data.amount NumberGreaterThan 100",
      ],
      load: subscriptions(({ createSubscription }) => createSubscription),
    },
    {
      ...value,
      words: `${noun} list`,
      about: "List subscriptions.",
      options: { ...source, ...place, ...listSource, "odata-query": odata },
      examples: [`posthorn ${noun} list ${example} -o table`],
      load: subscriptions(({ listSubscriptions }) => listSubscriptions),
    },
    {
      ...value,
      words: `${noun} show`,
      about: "Show a subscription.",
      options: {
        ...one,
        "include-full-endpoint-url": {
          takes: null,
          aliases: ["--full-ed-url"],
          about: "With the whole URL, which may hold a secret.",
        },
        "include-static-delivery-attribute-secret": {
          takes: null,
          aliases: ["--include-attrib-secret"],
          about: "With the values of secret headers.",
        },
      },
      examples: [`posthorn ${noun} show -n billing ${example}`],
      load: subscriptions(({ showSubscription }) => showSubscription),
    },
    {
      ...value,
      words: `${noun} update`,
      about: "Change a subscription; what is not said stays.",
      options: { ...one, ...termsOptions, ...amendOptions },
      examples: [
        `posthorn ${noun} update -n billing ${example} --subject-ends-with .jpg`,
        `posthorn ${noun} update -n billing ${example} --set retryPolicy.maxDeliveryAttempts=5`,
      ],
      load: subscriptions(({ updateSubscription }) => updateSubscription),
    },
    {
      ...value,
      words: `${noun} delete`,
      about: "Remove a subscription, with what waits for it.",
      options: { ...one, yes },
      examples: [`posthorn ${noun} delete -n billing ${example}`],
      load: subscriptions(({ deleteSubscription }) => deleteSubscription),
    },
    own(
      "status",
      "Show how it runs: its backlog, its endpoint's health, when it is next due.",
      flow(({ statusOfSubscription }) => statusOfSubscription),
    ),
    own(
      "pause",
      "Send nothing until it is resumed. Events go on coming in, and do not age.",
      flow(({ pauseSubscription }) => pauseSubscription),
    ),
    own(
      "resume",
      "Send again what is due.",
      flow(({ resumeSubscription }) => resumeSubscription),
    ),
    own(
      "drain",
      "Send what waits at a rate, and then as usual.",
      flow(({ drainSubscription }) => drainSubscription),
      {
        options: {
          rate: { takes: "NUMBER", isRequired: true, about: "Events a second, such as 10." },
        },
        tail: " --rate 10",
      },
    ),
    own(
      "skip",
      "Forget what waits for it.",
      flow(({ skipSubscription }) => skipSubscription),
    ),
    own(
      "hasten",
      "Try at once what waits for its next attempt.",
      flow(({ hastenSubscription }) => hastenSubscription),
      { options: { event: { takes: "EVENT", about: "This event alone." } } },
    ),
    own(
      "validate",
      "Ask a webhook again whether it agrees.",
      flow(({ validateSubscription }) => validateSubscription),
    ),
    own(
      "signing show",
      "Show the secrets that deliveries are signed with.",
      flow(({ showSigning }) => showSigning),
    ),
    own(
      "signing rotate",
      "Sign with another secret; the one before stays in force for a while.",
      flow(({ rotateSigning }) => rotateSigning),
      {
        options: {
          "signing-secret": {
            takes: "SECRET",
            about: "whsec_ and base64; made, unless it is said.",
          },
          overlap: { takes: "LENGTH", about: "How long the one before stays, such as 1h or 0." },
          off: { takes: null, about: "Sign no more, and forget all secrets." },
        },
        tail: " --overlap 1h",
      },
    ),
    {
      ...value,
      words: `${noun} explain`,
      about: "Say whether an event would match, clause by clause. Nothing is stored or sent.",
      more: "With filter options: whether it would match such a filter.",
      operands: { name: "FILE", about: "a file with the event, or - for the input" },
      options: {
        name: named("one subscription; all, unless it is said", false),
        ...source,
        ...place,
        ...filterOptions,
      },
      examples: [
        `posthorn ${noun} explain ${example} event.json`,
        `posthorn ${noun} explain ${example} event.json --subject-begins-with /orders/`,
      ],
      load: async () => (await import("./endpoints.ts")).explainFilters,
    },
  ];
}

export const azureCommands: readonly Command[] = [
  ...topicCommands,
  ...domainCommands,
  ...domainTopicCommands,
  ...scopes.flatMap(subscriptionCommands),
  ...typeCommands,
];
