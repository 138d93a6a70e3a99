// The commands of event subscriptions, in each of the groups in which `az eventgrid` has them, and
// Posthorn's own verbs of the same noun.

import type { Command, Run } from "../command.ts";
import type { Option, Options } from "../option.ts";
import {
  amendOptions,
  deploymentOptions,
  domainName,
  filterOptions,
  location,
  named,
  odata,
  termsOptions,
  yes,
} from "../options.ts";

type SubscriptionModule = typeof import("./subscriptions.ts");
const subscriptions = (pick: (module: SubscriptionModule) => Run) => async () =>
  pick(await import("./subscriptions.ts"));
type FlowModule = typeof import("../events/flow.ts");
const flow = (pick: (module: FlowModule) => Run) => async () =>
  pick(await import("../events/flow.ts"));

interface Scope {
  readonly noun: string;
  /** The options that name the topic. */
  readonly source: Options;
  /** The same as an example. */
  readonly example: string;
  /** For lists, where it may be left out. */
  readonly listSource?: Options;
}

const topicName: Option = { takes: "NAME", aliases: ["-t"], about: "The name of the topic." };

const scopes: readonly Scope[] = [
  {
    noun: "event-subscription",
    source: {
      "source-resource-id": {
        takes: "ID",
        about: "The source: the id of a topic, a domain or its topic; or a topic's name.",
      },
      "topic-name": { ...topicName, about: "The same by the name of a topic." },
      "domain-name": { ...domainName, about: "The same by the name of a domain." },
      "domain-topic-name": { takes: "NAME", about: "The topic in that domain." },
    },
    example: "--source-resource-id orders",
    listSource: {
      location,
      "topic-type-name": { takes: "NAME", about: "Only of this type of source." },
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

const noWait: Option = { takes: null, about: "Do not wait for the endpoint to agree." };
const waits =
  "Waits until the endpoint has agreed, and shows each question and answer that leads to another " +
  "try. Ctrl-C ends the wait and not the handshake.";

function commandsIn({ noun, source, example, listSource = {} }: Scope): Command[] {
  const one: Options = { name: named("the subscription"), ...source, ...deploymentOptions };
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
      about: "Create a subscription, or replace it.",
      more: waits,
      options: { ...one, ...termsOptions, "no-wait": noWait },
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
      options: { ...source, ...deploymentOptions, ...listSource, "odata-query": odata },
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
          about: "Show the full URL, which may contain a secret.",
        },
        "include-static-delivery-attribute-secret": {
          takes: null,
          aliases: ["--include-attrib-secret"],
          about: "Show the values of secret headers.",
        },
      },
      examples: [`posthorn ${noun} show -n billing ${example}`],
      load: subscriptions(({ showSubscription }) => showSubscription),
    },
    {
      ...value,
      words: `${noun} update`,
      about: "Change a subscription; options that are not given change nothing.",
      more: waits,
      options: { ...one, ...termsOptions, ...amendOptions, "no-wait": noWait },
      examples: [
        `posthorn ${noun} update -n billing ${example} --subject-ends-with .jpg`,
        `posthorn ${noun} update -n billing ${example} --set retryPolicy.maxDeliveryAttempts=5`,
      ],
      load: subscriptions(({ updateSubscription }) => updateSubscription),
    },
    {
      ...value,
      words: `${noun} delete`,
      about: "Delete a subscription, with its waiting events.",
      options: { ...one, yes },
      examples: [`posthorn ${noun} delete -n billing ${example}`],
      load: subscriptions(({ deleteSubscription }) => deleteSubscription),
    },
    own(
      "status",
      "Show the state of a subscription: waiting events, its endpoint's health, the next due time.",
      flow(({ statusOfSubscription }) => statusOfSubscription),
    ),
    own(
      "pause",
      "Send nothing until it is resumed. Events are still accepted, and do not expire.",
      flow(({ pauseSubscription }) => pauseSubscription),
    ),
    own(
      "resume",
      "Resume sending after a pause.",
      flow(({ resumeSubscription }) => resumeSubscription),
    ),
    own(
      "drain",
      "Send waiting events at a limited rate, then as usual.",
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
      "Drop the waiting events of a subscription.",
      flow(({ skipSubscription }) => skipSubscription),
    ),
    own(
      "hasten",
      "Send waiting events now, without waiting for their next attempt.",
      flow(({ hastenSubscription }) => hastenSubscription),
      { options: { event: { takes: "EVENT", about: "Only this event." } } },
    ),
    own(
      "validate",
      "Repeat the handshake with its webhook.",
      flow(({ validateSubscription }) => validateSubscription),
    ),
    own(
      "signing show",
      "Show the secrets that deliveries are signed with.",
      flow(({ showSigning }) => showSigning),
    ),
    own(
      "signing rotate",
      "Sign with a new secret; the old one stays active for a while.",
      flow(({ rotateSigning }) => rotateSigning),
      {
        options: {
          "signing-secret": {
            takes: "SECRET",
            about: "whsec_ and base64. Default: generated.",
          },
          overlap: {
            takes: "LENGTH",
            about: "How long the old secrets stay active, such as 1h or 0.",
          },
          off: { takes: null, about: "Stop signing, and delete all secrets." },
        },
        tail: " --overlap 1h",
      },
    ),
    {
      ...value,
      words: `${noun} explain`,
      about: "Say whether an event would match, clause by clause. Nothing is stored or sent.",
      more: "With filter options it tries these instead of a subscription's filter.",
      operands: { name: "FILE", about: "a file with the event, or - for standard input" },
      options: {
        name: named("one subscription. Default: all", false),
        ...source,
        ...deploymentOptions,
        ...filterOptions,
      },
      examples: [
        `posthorn ${noun} explain ${example} event.json`,
        `posthorn ${noun} explain ${example} event.json --subject-begins-with /orders/`,
      ],
      load: async () => (await import("../events/endpoints.ts")).explainFilters,
    },
  ];
}

export const subscriptionCommands: readonly Command[] = scopes.flatMap(commandsIn);
