// Commands about events: publishing, watching, explaining, dead letters, endpoints.

import type { Command, Run } from "../command.ts";
import type { Option, Options } from "../option.ts";

const topicName: Option = {
  takes: "NAME",
  aliases: ["-t"],
  about: "Only of this topic or domain.",
};
const subscriptionName: Option = {
  takes: "NAME",
  aliases: ["-n"],
  about: "Only of this subscription.",
};
const instants: Options = {
  from: { takes: "INSTANT", about: "Not before this time, such as 2030-01-01T00:00:00Z." },
  to: { takes: "INSTANT", about: "Until this time." },
};
const positive = { min: 1, max: 1_000_000_000 };

const publishCommand: Command = {
  words: "publish",
  about: "Publish events: from files or standard input, one from options, or a load.",
  more:
    "A file holds an event, a list, or one event per line; what an event of its schema must " +
    "have and lacks, such as an id, is added. Without a file, one event is generated. The names of " +
    "the subscriptions that get them are shown for up to 20 events.",
  operands: { name: "FILE", isMany: true, about: "a file with events, or - for standard input" },
  options: {
    "topic-name": { ...topicName, isRequired: true, about: "The topic or domain to publish to." },
    "domain-topic-name": { takes: "NAME", about: "In a domain: the topic of the event." },
    "topic-key": {
      takes: "KEY",
      about: "The topic's key. Default: read from the broker.",
    },
    id: { takes: "TEXT", about: "The id of the event." },
    type: { takes: "TEXT", about: "Its type." },
    subject: { takes: "TEXT", about: "Its subject." },
    body: { takes: "JSON", about: "Its data." },
    count: {
      takes: "COUNT",
      range: positive,
      about: "Publish this many generated events, with ids RUN-1, RUN-2, … and the data of --body.",
    },
    rate: {
      takes: "NUMBER",
      about: "Events a second. Default: as fast as the broker takes them.",
    },
    batch: {
      takes: "COUNT",
      range: { min: 1, max: 5_000 },
      about: "Events in a request. Default: 1.",
    },
    parallel: {
      takes: "COUNT",
      range: { min: 1, max: 256 },
      about: "Requests at once. Default: 8.",
    },
    size: {
      takes: "BYTES",
      range: { min: 0, max: 900_000 },
      about: "Bytes of text in the data of each.",
    },
  },
  examples: [
    "posthorn publish -t orders events.json",
    `posthorn publish -t orders --type Order.Placed --subject /orders/1 --body '{"amount":12}'`,
    "posthorn publish -t orders --count 10000 --rate 500",
  ],
  prints: "value",
  load: async () => (await import("./publish.ts")).publish,
};

const triggerCommand: Command = {
  words: "trigger",
  about: "Publish a sample event of a type: one of Azure's own services, or your own.",
  more:
    "Without a type it lists those it knows; the end of a type is enough (BlobCreated). A file " +
    "TYPE.json in the folder of samples is a sample of your own: an event, or only its data.",
  operands: { name: "TYPE", about: "such as Microsoft.Storage.BlobCreated" },
  options: {
    "topic-name": { ...topicName, about: "The topic or domain to publish to." },
    "domain-topic-name": { takes: "NAME", about: "In a domain: the topic of the event." },
    "topic-key": { takes: "KEY", about: "The topic's key. Default: read from the broker." },
    id: { takes: "TEXT", about: "The id of the event." },
    subject: { takes: "TEXT", about: "Another subject than the sample's." },
    body: { takes: "JSON", about: "Other data than the sample's." },
    samples: { takes: "DIR", about: "The folder of your samples. Default: ./posthorn-samples." },
  },
  examples: [
    "posthorn trigger",
    "posthorn trigger BlobCreated -t orders",
    "posthorn trigger Microsoft.KeyVault.SecretNearExpiry -t orders -o json",
  ],
  prints: "value",
  load: async () => (await import("./trigger.ts")).trigger,
};

const tailCommand: Command = {
  words: "tail",
  about: "Show what happens live, one line per fact.",
  more:
    "When the broker stops, it says so and goes on when the broker is back. Exit code 1 when it " +
    "ends without its broker.",
  options: {
    "topic-name": topicName,
    name: subscriptionName,
    only: {
      takes: "KIND…",
      isMany: true,
      choices: ["published", "attempt", "ended", "endpoint", "redrive", "catalog"],
      about: "Only these kinds.",
    },
    failed: { takes: null, about: "Only failures." },
    count: { takes: "COUNT", range: positive, about: "Stop after this many." },
    for: { takes: "LENGTH", about: "Stop after this time, such as 30s." },
  },
  examples: ["posthorn tail", "posthorn tail -t orders --failed", "posthorn tail -o json | jq ."],
  prints: "stream",
  load: async () => (await import("./tail.ts")).tail,
};

const storyCommands: readonly Command[] = [
  {
    words: "explain",
    about: "Show the story of an event: where it went, each attempt, and why.",
    operands: { name: "EVENT", isRequired: true, about: "its id, the publisher's or the broker's" },
    options: {},
    examples: ["posthorn explain 42", "posthorn explain order-4711 -o json"],
    prints: "value",
    load: async () => (await import("./explain.ts")).explainEvent,
  },
  {
    words: "event list",
    about: "Find events.",
    options: {
      id: { takes: "TEXT", about: "With this publisher's id." },
      subject: {
        takes: "TEXT",
        about: "With this in the subject; with * as a wildcard, the whole subject.",
      },
      type: { takes: "TEXT", about: "Only of this event type." },
      "topic-name": topicName,
      name: subscriptionName,
      state: {
        takes: "STATE",
        about: "waiting, delivered, deadLettering, deadLettered or dropped.",
      },
      ...instants,
      after: { takes: "TEXT", about: "The next page: the value of next in the previous one." },
      limit: { takes: "COUNT", range: { min: 1, max: 1_000 }, about: "The most to show." },
    },
    examples: ["posthorn event list -t orders --state waiting -o table"],
    prints: "value",
    load: async () => (await import("./explain.ts")).listEvents,
  },
  {
    words: "event resend",
    about: "Send a kept event again, also one that was delivered.",
    more:
      "It goes to the subscriptions whose filters match it now, with the id, time and data it was " +
      "published with.",
    operands: { name: "EVENT", isRequired: true, about: "its id, the publisher's or the broker's" },
    options: {
      name: {
        takes: "NAME…",
        aliases: ["-n"],
        isMany: true,
        about: "Only to these subscriptions, without applying their filters.",
      },
    },
    examples: ["posthorn event resend order-4711", "posthorn event resend order-4711 -n billing"],
    prints: "value",
    load: async () => (await import("./resend.ts")).resendEvent,
  },
];

const letterFilter: Options = {
  account: { takes: "NAME", about: "Only in this storage account." },
  container: { takes: "NAME", about: "Only in this container." },
  "topic-name": topicName,
  name: subscriptionName,
  reason: { takes: "TEXT", about: "Dead-lettered for this reason, such as TimeToLiveExceeded." },
  outcome: { takes: "TEXT", about: "Only with this outcome of the last attempt, such as Busy." },
  type: { takes: "TEXT", about: "Only of this event type." },
  redriven: { takes: null, about: "Only those redriven before; with false, only the others." },
  ...instants,
};

type LetterModule = typeof import("./dead-letters.ts");
const letters = (pick: (module: LetterModule) => Run) => async () =>
  pick(await import("./dead-letters.ts"));

const letterCommands: readonly Command[] = [
  {
    words: "deadletter list",
    about: "Find dead letters.",
    options: {
      ...letterFilter,
      groups: { takes: null, about: "Count them by reason, outcome and subscription." },
      limit: {
        takes: "COUNT",
        range: { min: 1, max: 100_000 },
        about: "The most to show. Default: 100.",
      },
    },
    examples: ["posthorn deadletter list -n billing -o table", "posthorn deadletter list --groups"],
    prints: "value",
    load: letters(({ listDeadLetters }) => listDeadLetters),
  },
  {
    words: "deadletter show",
    about: "Show a dead letter with its record.",
    operands: { name: "ID", isRequired: true, about: "its id in the list" },
    options: {},
    examples: ["posthorn deadletter show ID --query record"],
    prints: "value",
    load: letters(({ showDeadLetter }) => showDeadLetter),
  },
  {
    words: "deadletter redrive",
    about: "Send dead letters again, to their subscription or elsewhere.",
    more: "Waits for the end; Ctrl-C stops it. Exit code 1 when some could not be sent.",
    operands: { name: "ID", isMany: true, about: "the ids of dead letters; or give filters" },
    options: {
      ...letterFilter,
      all: { takes: null, about: "All of them." },
      "to-topic-name": { takes: "NAME", about: "To a subscription of this topic or domain." },
      "to-domain-topic-name": { takes: "NAME", about: "The topic in that domain." },
      "to-name": { takes: "NAME", about: "The name of that subscription." },
      "to-url": { takes: "URL", about: "To this webhook." },
      rate: { takes: "NUMBER", about: "Events a second. Default: 10." },
      "dry-run": { takes: null, about: "Show what would be sent, and send nothing." },
      force: { takes: null, about: "Also those that were redriven three times already." },
      "no-wait": { takes: null, about: "Start it, and do not wait for its end." },
    },
    examples: [
      "posthorn deadletter redrive -n billing --dry-run",
      "posthorn deadletter redrive -n billing --reason TimeToLiveExceeded --rate 50",
    ],
    prints: "value",
    load: letters(({ redriveDeadLetters }) => redriveDeadLetters),
  },
  {
    words: "redrive list",
    about: "List redrives, running and ended.",
    options: {},
    examples: ["posthorn redrive list -o table"],
    prints: "value",
    load: letters(({ listRedrives }) => listRedrives),
  },
  {
    words: "redrive stop",
    about: "Stop a redrive.",
    operands: { name: "ID", isRequired: true, about: "its id in the list" },
    options: {},
    examples: ["posthorn redrive stop ID"],
    prints: "value",
    load: letters(({ stopRedrive }) => stopRedrive),
  },
  {
    words: "redrive resume",
    about: "Resume a stopped redrive: what it has not sent is sent.",
    operands: { name: "ID", isRequired: true, about: "its id in the list" },
    options: { "no-wait": { takes: null, about: "Start it, and do not wait for its end." } },
    examples: ["posthorn redrive resume ID"],
    prints: "value",
    load: letters(({ resumeRedrive }) => resumeRedrive),
  },
];

type EndpointModule = typeof import("./endpoints.ts");
const endpoints = (pick: (module: EndpointModule) => Run) => async () =>
  pick(await import("./endpoints.ts"));
const because: Options = {
  because: { takes: "TEXT", about: "The reason, for the log and the history." },
};
const endpoint = {
  operands: { name: "ENDPOINT", isRequired: true, about: "its name in the list" },
  prints: "value",
} as const;

const endpointCommands: readonly Command[] = [
  {
    words: "broker list",
    about: "List the brokers of the cluster: where they are, what they own, and how busy they are.",
    options: {},
    examples: ["posthorn broker list -o table"],
    prints: "value",
    load: endpoints(({ listBrokers }) => listBrokers),
  },
  {
    words: "endpoint list",
    about: "List endpoints: their health, and how many events wait for them.",
    options: {},
    examples: ["posthorn endpoint list -o table"],
    prints: "value",
    load: endpoints(({ listEndpoints }) => listEndpoints),
  },
  {
    ...endpoint,
    words: "endpoint close",
    about: "Send nothing to an endpoint until it is opened.",
    options: because,
    examples: ['posthorn endpoint close http://127.0.0.1:9000/ --because "maintenance"'],
    load: endpoints(({ closeEndpoint }) => closeEndpoint),
  },
  {
    ...endpoint,
    words: "endpoint open",
    about: "Send to a closed endpoint again.",
    options: because,
    examples: ["posthorn endpoint open http://127.0.0.1:9000/"],
    load: endpoints(({ openEndpoint }) => openEndpoint),
  },
  {
    ...endpoint,
    words: "endpoint reset",
    about: "Clear an endpoint's health: it counts as healthy.",
    options: because,
    examples: ["posthorn endpoint reset http://127.0.0.1:9000/"],
    load: endpoints(({ resetEndpoint }) => resetEndpoint),
  },
  {
    words: "stats",
    about: "Show what was published, delivered and failed over time, with latencies.",
    more: "JSON has the columns of a chart: one value for each step.",
    options: {
      of: {
        takes: "KIND",
        choices: ["broker", "member", "topic", "subscription", "endpoint"],
        about:
          "A line for the broker, or for each of these; member: of a cluster. Default: broker.",
      },
      last: { takes: "TIME", about: "How far back: 30m, 6h, 7d. Default: 1h." },
      name: { takes: "NAME", aliases: ["-n"], about: "Only the one with this name." },
      "topic-name": { ...topicName, about: "Of subscriptions: only of this topic." },
      "domain-topic-name": { takes: "NAME", about: "Of subscriptions: only of this domain topic." },
    },
    examples: [
      "posthorn stats --of subscription --last 24h",
      "posthorn stats --of endpoint -o table",
    ],
    prints: "value",
    load: async () => (await import("./stats.ts")).showStats,
  },
  {
    words: "status",
    about: "Show the state of the broker. Exit code 1 when it accepts no publishes.",
    options: {},
    examples: ["posthorn status", "posthorn status --query waiting"],
    prints: "value",
    load: endpoints(({ showStatus }) => showStatus),
  },
];

export const deliveryCommands: readonly Command[] = [
  publishCommand,
  triggerCommand,
  tailCommand,
  ...storyCommands,
  ...letterCommands,
  ...endpointCommands,
];
