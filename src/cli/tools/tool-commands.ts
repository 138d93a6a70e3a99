// Other commands: the what-if, the scripted receiver, backups, the portal, and shell completion.

import { simulateRateRange } from "../../core/api/orders.ts";
import { batchRanges } from "../../core/delivery/batch.ts";
import { profileNames } from "../../core/delivery/profile.ts";
import { backlogRange } from "../../core/whatif/order.ts";
import type { Command, Run } from "../command.ts";
import type { Option } from "../option.ts";
import { deliveryOptions, filterOptions, resourceGroup, subscription } from "../options.ts";

const counted = { min: 1, max: 1_000_000_000 };
const seed: Option = {
  takes: "NUMBER",
  range: { min: 0, max: Number.MAX_SAFE_INTEGER },
  about: "Makes random choices repeatable.",
};

const simulateCommand: Command = {
  words: "simulate",
  about: "What if: draw the attempts of an event during an outage, and the load after it.",
  more:
    "DOES is a status, or timeout, refused, dns or tls; 200@45s is an answer that takes 45 s. Needs " +
    "no broker. Without --seed every random addition is half its maximum.",
  options: {
    profile: {
      takes: "NAME",
      choices: profileNames,
      about: "The profile. Default: azure.",
    },
    destination: {
      takes: "KIND",
      choices: ["webhook", "resource"],
      about: "Default: webhook.",
    },
    "max-delivery-attempts": deliveryOptions["max-delivery-attempts"] as Option,
    "event-ttl": deliveryOptions["event-ttl"] as Option,
    outage: {
      takes: "FROM..UNTIL[:DOES]",
      isList: true,
      about: "How the endpoint fails, and when, counted from the publish: 0s..2h, 10m..:503.",
    },
    // biome-ignore lint/suspicious/noThenProperty: an option's name; the table is never awaited.
    then: { takes: "DOES:LENGTH", isList: true, about: "What it does after that: 503:10m." },
    "retry-after": { takes: "SECONDS", about: "The Retry-After it sends with a 429 or a 503." },
    backlog: {
      takes: "COUNT",
      range: backlogRange,
      about: "This many more events, published evenly over the outage.",
    },
    "dead-letter": { takes: null, about: "With a dead-letter destination." },
    "dead-letter-outage": {
      takes: "FROM..UNTIL[:DOES]",
      isList: true,
      about: "What the dead-letter store does in that time, as with --outage.",
    },
    "max-events-per-batch": {
      ...(deliveryOptions["max-events-per-batch"] as Option),
      range: batchRanges.maxEventsPerBatch,
    },
    "preferred-batch-size-in-kilobytes": deliveryOptions[
      "preferred-batch-size-in-kilobytes"
    ] as Option,
    answer: {
      takes: "LENGTH",
      about: "How long the endpoint takes to answer. Default: 50ms.",
    },
    "event-size": {
      takes: "BYTES",
      range: { min: 1, max: 1_048_576 },
      about: "The size of each event. Default: 1024.",
    },
    "allowed-rate": {
      takes: "COUNT",
      range: simulateRateRange,
      about: "Requests a minute that the endpoint allows. Default: any number.",
    },
    seed,
  },
  examples: [
    "posthorn simulate --outage 0s..2h",
    "posthorn simulate --outage 0s..2h --then 503:10m --retry-after 60 --backlog 5000",
  ],
  prints: "value",
  isLocal: true,
  load: async () => (await import("./simulate.ts")).simulateOutage,
};

const listenCommand: Command = {
  words: "listen",
  about: "Receive deliveries with scripted answers, show them, and count them at the end.",
  more:
    "A step is STATUS, ok, drop or hang, followed by *COUNT or :LENGTH: 503*3, 503:10m. The last " +
    "one repeats; after a limited one come successes. Handshakes succeed whatever the script says.",
  options: {
    port: {
      takes: "PORT",
      aliases: ["-p"],
      range: { min: 0, max: 65_535 },
      about: "Default: 9000; 0 takes a free port.",
    },
    host: { takes: "HOST", about: "Default: 127.0.0.1." },
    fail: {
      takes: "COUNT",
      range: counted,
      about: "Fail this many requests first, with 503 or --status.",
    },
    status: { takes: "STEP", about: "What to answer: 503, 500*3, ok." },
    "retry-after": { takes: "SECONDS", about: "The Retry-After to send with a 429 or a 503." },
    delay: { takes: "LENGTH", about: "Delay each answer, such as 45s." },
    drop: { takes: "SHARE", about: "Drop this share of connections, such as 10%." },
    // biome-ignore lint/suspicious/noThenProperty: an option's name; the table is never awaited.
    then: { takes: "STEP", isList: true, about: "What to do after that." },
    seed,
    secret: {
      takes: "SECRET",
      isList: true,
      about: "whsec_…: answer 401 to requests that are not signed with it.",
    },
    "no-handshake": { takes: null, about: "Do not agree to handshakes." },
    "allowed-rate": {
      takes: "NUMBER",
      about: "Requests a minute to allow in the CloudEvents handshake.",
    },
    "forward-to": {
      takes: "URL",
      about:
        "Pass each delivery on to your own application, and its answer back. Handshakes are " +
        "answered here; what the script fails is not passed on.",
    },
    subscribe: {
      takes: "TOPIC",
      about: "Create a subscription to this topic (name or id) that sends here.",
    },
    name: { takes: "NAME", aliases: ["-n"], about: "Its name. Default: generated." },
    keep: {
      takes: null,
      about: "Keep the subscription at the end, for the next listener on this port.",
    },
    url: { takes: "URL", about: "The address under which the broker reaches this receiver." },
    ...filterOptions,
    ...deliveryOptions,
    "resource-group": resourceGroup,
    subscription,
    quiet: { takes: null, about: "Show events without their data." },
    count: {
      takes: "COUNT",
      range: counted,
      about: "Stop when this many different events were received.",
    },
    for: {
      takes: "LENGTH",
      about: "Stop after this time; exit code 1 if --count was not reached.",
    },
  },
  examples: [
    "posthorn listen --subscribe orders",
    "posthorn listen --subscribe orders --forward-to http://localhost:3000/hook",
    "posthorn listen --fail 3",
    "posthorn listen --status 503:2m --retry-after 20 --then ok --drop 10% --delay 2s",
  ],
  prints: "stream",
  load: async () => (await import("../listen/listen.ts")).listen,
};

const completionCommand: Command = {
  words: "completion",
  about: "Print a script that completes commands and options in a shell.",
  operands: { name: "SHELL", isRequired: true, about: "bash, zsh or fish" },
  options: {},
  examples: [
    "posthorn completion bash > /etc/bash_completion.d/posthorn",
    "source <(posthorn completion zsh)",
    "posthorn completion fish > ~/.config/fish/completions/posthorn.fish",
  ],
  prints: "text",
  isLocal: true,
  load: async () => (await import("./completion.ts")).printCompletion,
};

const namesCommand: Command = {
  words: "names",
  about: "Print names, one on each line, as completion uses them.",
  operands: { name: "KIND", isRequired: true, about: "topic, subscription or context" },
  options: {},
  examples: ["posthorn names topic"],
  prints: "text",
  load: async () => (await import("./completion.ts")).printNames,
};

type ContextModule = typeof import("../contexts.ts");
const contexts = (pick: (module: ContextModule) => Run) => async () =>
  pick(await import("../contexts.ts"));
const contextName = { name: "NAME", isRequired: true, about: "the name of the context" } as const;

const contextCommands: readonly Command[] = [
  {
    words: "context set",
    about: "Keep the address, key and CA of a broker under a name.",
    more: "The first one is in use at once. They are kept in ~/.config/posthorn/contexts.json.",
    operands: contextName,
    options: {
      server: { takes: "URL", about: "The broker's URL." },
      key: { takes: "KEY", about: "Its admin key." },
      data: {
        takes: "FOLDER",
        about: "The data folder of a local broker, instead of --server and --key.",
      },
      ca: { takes: "FILE", about: "The CA to trust over https, a PEM file." },
    },
    examples: ["posthorn context set staging --server https://broker.test:4438 --key KEY"],
    prints: "text",
    isLocal: true,
    load: contexts(({ setContext }) => setContext),
  },
  {
    words: "context use",
    about: "Use this context unless another broker is named.",
    operands: contextName,
    options: {},
    examples: ["posthorn context use staging"],
    prints: "text",
    isLocal: true,
    load: contexts(({ useContext }) => useContext),
  },
  {
    words: "context list",
    about: "List contexts, without their keys.",
    options: {},
    examples: ["posthorn context list"],
    prints: "value",
    isLocal: true,
    load: contexts(({ listContexts }) => listContexts),
  },
  {
    words: "context delete",
    about: "Forget a context.",
    operands: contextName,
    options: {},
    examples: ["posthorn context delete staging"],
    prints: "text",
    isLocal: true,
    load: contexts(({ deleteContext }) => deleteContext),
  },
];

const backupCommand: Command = {
  words: "backup",
  about: "Copy the embedded store of a running broker.",
  more:
    "The copy holds everything accepted before it was started, keys included. Without FILE it stays " +
    "in the broker's data folder, below backups/. To go back: posthorn restore.",
  operands: { name: "FILE", about: "where to put it on this machine" },
  options: {
    overwrite: { takes: null, aliases: ["--force"], about: "Replace FILE if it exists." },
  },
  examples: ["posthorn backup store-today.db"],
  prints: "value",
  load: async () => (await import("./backup-and-portal.ts")).backUp,
};

const portalCommand: Command = {
  words: "portal",
  about: "Print a link that opens the portal in a browser; it works once.",
  options: {},
  examples: ["posthorn portal", 'xdg-open "$(posthorn portal)"'],
  prints: "text",
  load: async () => (await import("./backup-and-portal.ts")).openPortal,
};

type ClockModule = typeof import("./clock.ts");
const clock = (pick: (module: ClockModule) => Run) => async () => pick(await import("./clock.ts"));

const clockCommands: readonly Command[] = [
  {
    words: "clock show",
    about: "Show the time of a broker with a virtual clock, and when something is due.",
    options: {},
    examples: ["posthorn clock show"],
    prints: "value",
    load: clock(({ showClock }) => showClock),
  },
  {
    words: "clock advance",
    about: "Move a virtual clock forward, with everything that is due on the way.",
    operands: {
      name: "HOW-FAR",
      isRequired: true,
      about: "a duration such as 12h, a time such as 2030-01-01T00:00:00Z, or next",
    },
    options: {},
    examples: ["posthorn clock advance 12h", "posthorn clock advance next"],
    prints: "value",
    load: clock(({ advanceClock }) => advanceClock),
  },
];

export const toolCommands: readonly Command[] = [
  portalCommand,
  simulateCommand,
  listenCommand,
  ...clockCommands,
  backupCommand,
  ...contextCommands,
  completionCommand,
  namesCommand,
];
