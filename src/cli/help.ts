// The help of the command line, made from the table of commands: an overview, a page for each noun,
// and one for each command with its options and examples. And the reference in docs/cli.md.

import { nearest } from "../core/text/wording.ts";
import type { Command } from "./command.ts";
import type { Option, Options } from "./option.ts";
import { manners, outputOptions, watchOptions, whereOptions } from "./options.ts";
import { shortNames } from "./short-names.ts";

const columnsMax = 90;

/** The nouns, for lists of commands. */
const nouns: Readonly<Record<string, string>> = {
  topic: "Topics, which publishers post to.",
  "topic key": "The keys of a topic.",
  "topic event-subscription": "The subscriptions of a topic.",
  domain: "Domains: many topics behind one address.",
  "domain key": "The keys of a domain.",
  "domain topic": "The topics of a domain.",
  "domain topic event-subscription": "The subscriptions of a topic of a domain.",
  "domain event-subscription": "The subscriptions of a domain.",
  namespace: "Namespaces: topics from which clients fetch.",
  "namespace topic": "The topics of a namespace.",
  "namespace topic event-subscription": "The queues and webhooks of a topic of a namespace.",
  "event-subscription": "Subscriptions of any source, by its id.",
  signing: "The secrets that deliveries are signed with.",
  "topic-type": "Types of topics.",
  event: "Events that were published.",
  deadletter: "Undeliverable events that were kept.",
  redrive: "Dead letters that are being sent again.",
  broker: "The brokers of a cluster.",
  endpoint: "Endpoints and their health.",
  context: "Brokers by name.",
  clock: "The virtual clock of a broker that has one.",
  config: "The settings of the broker.",
};

/** Null: there is neither a command nor a noun of that name. */
export function helpFor(commands: readonly Command[], words: readonly string[]): string | null {
  const name = words.join(" ");
  if (name === "") return overview(commands);
  const command = commands.find((each) => each.words === name);
  if (command !== undefined) return commandHelp(command);
  return isNoun(commands, name) ? nounHelp(commands, name) : null;
}

export function isNoun(commands: readonly Command[], name: string): boolean {
  return commands.some(({ words }) => words.startsWith(`${name} `));
}

/** What may follow these words. */
export function wordsAfter(commands: readonly Command[], name: string): readonly string[] {
  const start = name === "" ? "" : `${name} `;
  const next = commands.flatMap(({ words }) =>
    words.startsWith(start) && words !== name
      ? [words.slice(start.length).split(" ", 1)[0] ?? ""]
      : [],
  );
  return [...new Set(next)];
}

function overview(commands: readonly Command[]): string {
  const rows = wordsAfter(commands, "").map((word) => [word, aboutOf(commands, word)] as const);
  return `posthorn, a self-hosted event broker: Azure Event Grid on the wire, durable underneath

Usage:
  posthorn COMMAND [options]
  posthorn help COMMAND            show the options of a command, with examples
  posthorn --version

Commands:
${table([...rows, ["help", "Show this."]])}

Commands and options are those of \`az eventgrid\`: in a script, write \`posthorn\` instead.
Shorter words: ${shortNames.map(([short, long]) => `${short} (${long})`).join(", ")}.
On the broker's own machine its address and admin key are found in its data folder;
elsewhere give --server and --key, or POSTHORN_SERVER and POSTHORN_KEY.
`;
}

function aboutOf(commands: readonly Command[], name: string): string {
  return nounAbout(name) ?? commands.find(({ words }) => words === name)?.about ?? "";
}

/** A noun below every kind of subscription is listed once. */
function nounAbout(name: string): string | undefined {
  return nouns[name.replace(/^.*event-subscription /, "")] ?? nouns[name];
}

function nounHelp(commands: readonly Command[], name: string): string {
  const rows = wordsAfter(commands, name).map((word) => {
    const whole = `${name} ${word}`;
    return [word, aboutOf(commands, whole)] as const;
  });
  return `${nounAbout(name) ?? ""}

Usage:
  posthorn ${name} COMMAND [options]

Commands:
${table(rows)}

Example:
  ${commands.find(({ words }) => words.startsWith(`${name} `))?.examples[0]}
`;
}

function table(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([word]) => word.length)) + 2;
  return rows
    .flatMap(([word, about]) => {
      const [first = "", ...rest] = wrap(about, columnsMax - width - 2);
      return [
        `  ${word.padEnd(width)}${first}`,
        ...rest.map((line) => " ".repeat(width + 2) + line),
      ];
    })
    .join("\n");
}

/** All options a command takes, its own first. */
export function optionsOf(command: Command): Options {
  const { options, prints, isLocal = false, isOfProcess = false } = command;
  return {
    ...options,
    ...(prints === "value" && outputOptions),
    ...(isWatched(command) && watchOptions),
    ...(prints === "stream" && { output: streamOutput }),
    ...(!isLocal && whereOptions),
    ...(isOfProcess ? { help: manners.help } : manners),
  };
}

/** It only shows something, and that may change. */
function isWatched({ words, prints, isLocal = false }: Command): boolean {
  return prints === "value" && !isLocal && /^explain$|(^| )(list|show|status)$/.test(words);
}

const streamOutput: Option = {
  ...outputOptions.output,
  choices: ["table", "json"],
  about: "Readable lines, or one JSON object per line. Default: lines on a terminal.",
};

function commandHelp(command: Command): string {
  const { words, about, more, operands, options, examples } = command;
  const after = operands === undefined ? "" : ` ${operandsOf(operands)}`;
  const all = Object.entries(optionsOf(command));
  const isOwn = ([name]: readonly [string, Option]) => Object.hasOwn(options, name);
  const own = all.filter(isOwn);
  const sections = [
    wrap(about, columnsMax).join("\n"),
    ...(more === undefined ? [] : [wrap(more, columnsMax).join("\n")]),
    `Usage:\n  posthorn ${words}${after} [options]`,
    ...(operands === undefined ? [] : [`  ${operands.name}  ${operands.about}`]),
    ...(own.length === 0 ? [] : [`Options:\n${own.map(entry).join("\n")}`]),
    `Common options:\n${all
      .filter((each) => !isOwn(each))
      .map(entry)
      .join("\n")}`,
    `Examples:\n${examples.map((line) => `  ${line}`).join("\n")}`,
  ];
  return `${sections.join("\n\n")}\n`;
}

function operandsOf({
  name,
  isMany = false,
  isRequired = false,
}: NonNullable<Command["operands"]>) {
  const some = isMany ? `${name}…` : name;
  return isRequired ? some : `[${some}]`;
}

function entry([name, option]: readonly [string, Option]): string {
  const { takes, aliases = [], isList, isRequired, choices, about } = option;
  const names = [`--${name}`, ...aliases].join(", ");
  const notes = [
    about,
    ...(choices === undefined || takes === null ? [] : [`One of ${choices.join(", ")}.`]),
    ...(isList === true ? ["May be given several times."] : []),
    ...(isRequired === true ? ["Required."] : []),
  ];
  const lines = wrap(notes.join(" "), columnsMax - 6).map((line) => `      ${line}`);
  return [`  ${names}${takes === null ? "" : ` ${takes}`}`, ...lines].join("\n");
}

function wrap(text: string, columns: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && line.length + 1 + word.length > columns) {
      lines.push(line);
      line = "";
    }
    line = line === "" ? word : `${line} ${word}`;
  }
  return [...lines, line];
}

/** What was probably meant, with the words before it. */
export function meantBy(commands: readonly Command[], name: string, word: string): string | null {
  const found = nearest(word, wordsAfter(commands, name));
  return found === null ? null : `${name} ${found}`.trim();
}

/** Nouns that have the verbs of another one, and only name the topic differently. */
const likewise = [
  "topic event-subscription",
  "domain event-subscription",
  "domain topic event-subscription",
];

/** The reference, as Markdown: every command with its options. */
export function reference(commands: readonly Command[]): string {
  const shown = commands.filter(
    ({ words }) => !likewise.some((noun) => words.startsWith(`${noun} `)),
  );
  const sections = shown.map((command) => {
    const { words, about, operands, options } = command;
    const after = operands === undefined ? "" : ` ${operandsOf(operands)}`;
    const own = Object.entries(options).map(([name, { takes, isRequired }]) => {
      const text = `--${name}${takes === null ? "" : ` ${takes}`}`;
      return isRequired === true ? `**\`${text}\`**` : `\`${text}\``;
    });
    const list = own.length === 0 ? [] : [`Options: ${own.join(", ")}.`];
    return [`### \`${words}${after}\``, about, ...list].join("\n\n");
  });
  const more = likewise.map((noun) => `\`${noun}\``).join(", ");
  return [
    ...sections,
    `The verbs of \`event-subscription\` also work with ${more}, which take ` +
      "`--topic-name`, `--domain-name` and `--domain-topic-name` instead of an id.",
  ].join("\n\n");
}
