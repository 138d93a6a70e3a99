// Commands that stand beside a broker: the what-if, the scripted receiver, and what a shell needs.

import { batchRanges } from "../../core/delivery/batch.ts";
import { profileNames } from "../../core/delivery/profile.ts";
import { backlogRange } from "../../core/whatif/outage.ts";
import type { Command } from "../command.ts";
import type { Option } from "../option.ts";
import { deliveryOptions, filterOptions, resourceGroup, subscription } from "../options.ts";

const counted = { min: 1, max: 1_000_000_000 };
const seed: Option = {
  takes: "NUMBER",
  range: { min: 0, max: Number.MAX_SAFE_INTEGER },
  about: "Fixes what is left to chance.",
};

const simulateCommand: Command = {
  words: "simulate",
  about: "What if: draw the attempts of an event during an outage, and the load after it.",
  more:
    "DOES is a status, or timeout, refused, dns or tls. No broker is asked. Without --seed every " +
    "random addition is half its largest.",
  options: {
    profile: {
      takes: "NAME",
      choices: profileNames,
      about: "The delivery rules; azure unless it is said.",
    },
    destination: {
      takes: "KIND",
      choices: ["webhook", "resource"],
      about: "Webhook, unless it is said.",
    },
    "max-delivery-attempts": deliveryOptions["max-delivery-attempts"] as Option,
    "event-ttl": deliveryOptions["event-ttl"] as Option,
    outage: {
      takes: "FROM..UNTIL[:DOES]",
      isList: true,
      about: "What the endpoint does in that time, counted from the publish: 0s..2h, 10m..:503.",
    },
    // biome-ignore lint/suspicious/noThenProperty: an option's name; the table is never awaited.
    then: { takes: "DOES:LENGTH", isList: true, about: "What it does after that: 503:10m." },
    "retry-after": { takes: "SECONDS", about: "What it asks for with a 429 or a 503." },
    backlog: {
      takes: "COUNT",
      range: backlogRange,
      about: "So many events behind it, published evenly over the outage.",
    },
    "dead-letter": { takes: null, about: "With a destination for what is given up." },
    "max-events-per-batch": {
      ...(deliveryOptions["max-events-per-batch"] as Option),
      range: batchRanges.maxEventsPerBatch,
    },
    "preferred-batch-size-in-kilobytes": deliveryOptions[
      "preferred-batch-size-in-kilobytes"
    ] as Option,
    answer: {
      takes: "LENGTH",
      about: "How long the endpoint takes to answer; 50ms unless it is said.",
    },
    "event-size": {
      takes: "BYTES",
      range: { min: 1, max: 1_048_576 },
      about: "How large each event is.",
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
  about: "Receive deliveries as a script says, show them, and say at the end what came how often.",
  more:
    "A step is STATUS, ok, drop or hang, with *COUNT or :LENGTH behind it: 503*3, 503:10m. The last " +
    "one stays; after one that ends, all is well. Handshakes are agreed to whatever the script says.",
  options: {
    port: {
      takes: "PORT",
      aliases: ["-p"],
      range: { min: 0, max: 65_535 },
      about: "9000 unless it is said; 0 takes a free one.",
    },
    host: { takes: "HOST", about: "127.0.0.1 unless it is said." },
    fail: {
      takes: "COUNT",
      range: counted,
      about: "So many requests fail first, with a 503 or --status.",
    },
    status: { takes: "STEP", about: "What to answer: 503, 500*3, ok." },
    "retry-after": { takes: "SECONDS", about: "Told with a 429 or a 503." },
    delay: { takes: "LENGTH", about: "How long each answer is held back, such as 45s." },
    drop: { takes: "SHARE", about: "So many connections are broken off, such as 10%." },
    // biome-ignore lint/suspicious/noThenProperty: an option's name; the table is never awaited.
    then: { takes: "STEP", isList: true, about: "What to do after that." },
    seed,
    secret: {
      takes: "SECRET",
      isList: true,
      about: "whsec_…: refuse with a 401 what is not signed with it.",
    },
    "no-handshake": { takes: null, about: "Do not agree to handshakes." },
    "allowed-rate": {
      takes: "NUMBER",
      about: "Requests a minute that the handshake of CloudEvents allows.",
    },
    subscribe: {
      takes: "TOPIC",
      about: "Make a subscription to this topic that sends here: a name, or an id.",
    },
    name: { takes: "NAME", aliases: ["-n"], about: "What to call it; made up, unless it is said." },
    keep: { takes: null, about: "Leave it at the end, for who listens on this port next." },
    url: { takes: "URL", about: "How the broker reaches us, where that is another address." },
    ...filterOptions,
    ...deliveryOptions,
    "resource-group": resourceGroup,
    subscription,
    quiet: { takes: null, about: "Names of events alone, without what is in them." },
    count: {
      takes: "COUNT",
      range: counted,
      about: "End once so many different events were taken.",
    },
    for: { takes: "LENGTH", about: "End after so long; exit code 1 when --count was not reached." },
  },
  examples: [
    "posthorn listen --subscribe orders",
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

const backupCommand: Command = {
  words: "backup",
  about: "Copy the embedded store of a running broker.",
  more:
    "The copy holds everything accepted before it was begun, keys among it. Without FILE it stays " +
    "in the broker's data folder, below backups/. To go back: posthorn restore.",
  operands: { name: "FILE", about: "where to put it on this machine" },
  options: {},
  examples: ["posthorn backup store-today.db"],
  prints: "value",
  load: async () => (await import("./backup-and-portal.ts")).backUp,
};

const portalCommand: Command = {
  words: "portal",
  about: "Print a link that opens the portal in a browser; it is good once.",
  options: {},
  examples: ["posthorn portal", 'xdg-open "$(posthorn portal)"'],
  prints: "text",
  load: async () => (await import("./backup-and-portal.ts")).openPortal,
};

export const toolCommands: readonly Command[] = [
  portalCommand,
  simulateCommand,
  listenCommand,
  backupCommand,
  completionCommand,
];
