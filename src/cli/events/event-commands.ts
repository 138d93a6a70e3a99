// Commands about events on their way: publishing, watching, explaining, dead letters, endpoints.

import type { Command, Run } from "../command.ts";
import type { Option, Options } from "../option.ts";

const topicName: Option = {
  takes: "NAME",
  aliases: ["-t"],
  about: "Of this topic or domain alone.",
};
const subscriptionName: Option = {
  takes: "NAME",
  aliases: ["-n"],
  about: "Of this subscription alone.",
};
const instants: Options = {
  from: { takes: "INSTANT", about: "From then on, such as 2030-01-01T00:00:00Z." },
  to: { takes: "INSTANT", about: "Until then." },
};
const positive = { min: 1, max: 1_000_000_000 };

const publishCommand: Command = {
  words: "publish",
  about: "Publish events from files or the input, one made from options, or a load.",
  more:
    "A file holds an event, a list, or one event on each line; what an event of its schema must " +
    "have and lacks, such as an id, is added. Without a file, one event is made.",
  operands: { name: "FILE", isMany: true, about: "a file with events, or - for the input" },
  options: {
    "topic-name": { ...topicName, isRequired: true, about: "The topic or domain to publish to." },
    "domain-topic-name": { takes: "NAME", about: "In a domain: the topic of a made event." },
    "topic-key": {
      takes: "KEY",
      about: "The topic's key; asked of the broker, unless it is said.",
    },
    id: { takes: "TEXT", about: "The id of the event that is made." },
    type: { takes: "TEXT", about: "Its type." },
    subject: { takes: "TEXT", about: "Its subject." },
    body: { takes: "JSON", about: "Its data." },
    count: {
      takes: "COUNT",
      range: positive,
      about: "Make so many events, with ids RUN-1, RUN-2, …",
    },
    rate: {
      takes: "NUMBER",
      about: "Events a second; as fast as they are taken, unless it is said.",
    },
    batch: {
      takes: "COUNT",
      range: { min: 1, max: 5_000 },
      about: "Events in a request; 1 unless it is said.",
    },
    parallel: {
      takes: "COUNT",
      range: { min: 1, max: 256 },
      about: "Requests at once; 8 unless it is said.",
    },
    size: {
      takes: "BYTES",
      range: { min: 0, max: 900_000 },
      about: "So much text in the data of each.",
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

const tailCommand: Command = {
  words: "tail",
  about: "Show what happens while it happens, a line for each fact.",
  options: {
    "topic-name": topicName,
    name: subscriptionName,
    only: {
      takes: "KIND…",
      isMany: true,
      choices: ["published", "attempt", "ended", "endpoint", "redrive", "catalog"],
      about: "Facts of these kinds alone.",
    },
    failed: { takes: null, about: "Only failures." },
    count: { takes: "COUNT", range: positive, about: "End after so many." },
    for: { takes: "LENGTH", about: "End after so long, such as 30s." },
  },
  examples: ["posthorn tail", "posthorn tail -t orders --failed", "posthorn tail -o json | jq ."],
  prints: "stream",
  load: async () => (await import("./tail.ts")).tail,
};

const storyCommands: readonly Command[] = [
  {
    words: "explain",
    about: "Tell the story of an event: where it went, what was tried, and why.",
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
      id: { takes: "TEXT", about: "With this id of the publisher's." },
      subject: {
        takes: "TEXT",
        about: "With this subject, or one that begins so with a * behind it.",
      },
      type: { takes: "TEXT", about: "Of this type." },
      "topic-name": topicName,
      name: subscriptionName,
      state: {
        takes: "STATE",
        about: "waiting, delivered, deadLettering, deadLettered or dropped.",
      },
      ...instants,
      after: { takes: "TEXT", about: "The next page: what next was in the answer before." },
      limit: { takes: "COUNT", range: { min: 1, max: 1_000 }, about: "At most so many." },
    },
    examples: ["posthorn event list -t orders --state waiting -o table"],
    prints: "value",
    load: async () => (await import("./explain.ts")).listEvents,
  },
];

const letterFilter: Options = {
  account: { takes: "NAME", about: "In this storage account." },
  container: { takes: "NAME", about: "In this container." },
  "topic-name": topicName,
  name: subscriptionName,
  reason: { takes: "TEXT", about: "Given up for this reason, such as TimeToLiveExceeded." },
  outcome: { takes: "TEXT", about: "Whose last attempt came to this, such as Busy." },
  type: { takes: "TEXT", about: "Of this type." },
  redriven: { takes: null, about: "Sent again already, or with false: not yet." },
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
        about: "At most so many; 100 unless it is said.",
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
    about: "Send dead letters again, to where they were meant to go or elsewhere.",
    more: "Waits for the end; an interrupt stops it. Exit code 1 when some could not be sent.",
    operands: { name: "ID", isMany: true, about: "their ids; or filters" },
    options: {
      ...letterFilter,
      all: { takes: null, about: "All there are." },
      "to-topic-name": { takes: "NAME", about: "To a subscription of this topic or domain." },
      "to-domain-topic-name": { takes: "NAME", about: "And of this topic in the domain." },
      "to-name": { takes: "NAME", about: "The name of that subscription." },
      "to-url": { takes: "URL", about: "To this webhook." },
      rate: { takes: "NUMBER", about: "Events a second; 10 unless it is said." },
      "dry-run": { takes: null, about: "Say what would be sent, and send nothing." },
      force: { takes: null, about: "Also what was sent again as often as is sensible." },
      "no-wait": { takes: null, about: "Begin it, and do not wait for its end." },
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
    about: "List what is being sent again, and was.",
    options: {},
    examples: ["posthorn redrive list -o table"],
    prints: "value",
    load: letters(({ listRedrives }) => listRedrives),
  },
  {
    words: "redrive stop",
    about: "Stop one.",
    operands: { name: "ID", isRequired: true, about: "its id in the list" },
    options: {},
    examples: ["posthorn redrive stop ID"],
    prints: "value",
    load: letters(({ stopRedrive }) => stopRedrive),
  },
];

type EndpointModule = typeof import("./endpoints.ts");
const endpoints = (pick: (module: EndpointModule) => Run) => async () =>
  pick(await import("./endpoints.ts"));
const because: Options = { because: { takes: "TEXT", about: "Why, for those who look later." } };
const endpoint = {
  operands: { name: "ENDPOINT", isRequired: true, about: "as the list has it" },
  prints: "value",
} as const;

const endpointCommands: readonly Command[] = [
  {
    words: "endpoint list",
    about: "List endpoints: how they are, and what waits for them.",
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
    examples: ['posthorn endpoint close http://127.0.0.1:9000/ --because "moving house"'],
    load: endpoints(({ closeEndpoint }) => closeEndpoint),
  },
  {
    ...endpoint,
    words: "endpoint open",
    about: "Send to an endpoint again that was closed.",
    options: because,
    examples: ["posthorn endpoint open http://127.0.0.1:9000/"],
    load: endpoints(({ openEndpoint }) => openEndpoint),
  },
  {
    ...endpoint,
    words: "endpoint reset",
    about: "Forget what an endpoint has failed at: it counts as healthy.",
    options: because,
    examples: ["posthorn endpoint reset http://127.0.0.1:9000/"],
    load: endpoints(({ resetEndpoint }) => resetEndpoint),
  },
  {
    words: "status",
    about: "Show how the broker is. Exit code 1 when it takes no publishes.",
    options: {},
    examples: ["posthorn status", "posthorn status --query waiting"],
    prints: "value",
    load: endpoints(({ showStatus }) => showStatus),
  },
];

export const deliveryCommands: readonly Command[] = [
  publishCommand,
  tailCommand,
  ...storyCommands,
  ...letterCommands,
  ...endpointCommands,
];
