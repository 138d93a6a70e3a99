// The table of commands, in the order of the help. A command's implementation is loaded when it is
// run. A command of the process itself (serve, config) is here for help and completion, and main.ts
// runs it.

import { namespaceCommands } from "./az/namespace-commands.ts";
import { subscriptionCommands } from "./az/subscription-commands.ts";
import { topicCommands, typeCommands } from "./az/topic-commands.ts";
import type { Command, Run } from "./command.ts";
import { deliveryCommands } from "./events/event-commands.ts";
import type { Option } from "./option.ts";
import { exportOptions, importOptions } from "./options.ts";
import { toolCommands } from "./tools/tool-commands.ts";

/** Never reached: the process runs these commands itself. */
const byProcess = async (): Promise<Run> => {
  throw new Error("this command is run by the process itself");
};

const output: Option = {
  takes: "FORM",
  aliases: ["-o"],
  choices: ["table", "json"],
  about: "The output format. Default: table on a terminal, json elsewhere.",
};

const processCommands: readonly Command[] = [
  {
    words: "serve",
    about: "Run the broker.",
    options: {},
    examples: ["posthorn serve --http 127.0.0.1:5888 --data ./posthorn-data"],
    prints: "text",
    isLocal: true,
    isOfProcess: true,
    load: byProcess,
  },
  {
    words: "doctor",
    about: "Check settings, machine, store and endpoints, and say what to do.",
    more: "It takes the options of serve. The exit code is 1 when there is a problem.",
    options: {
      output,
      deep: { takes: null, about: "Read the whole store and compare its indexes." },
    },
    examples: ["posthorn doctor --data ./posthorn-data", "posthorn doctor --deep"],
    prints: "text",
    isLocal: true,
    isOfProcess: true,
    load: byProcess,
  },
  {
    words: "restore",
    about: "Restore the store of a stopped broker from a backup.",
    operands: { name: "FILE", isRequired: true, about: "the backup" },
    options: {
      data: { takes: "DIR", about: "The data folder. Default: ./posthorn-data." },
      replace: { takes: null, about: "An existing store is kept beside it." },
    },
    examples: ["posthorn restore store-today.db --data ./posthorn-data"],
    prints: "text",
    isLocal: true,
    isOfProcess: true,
    load: byProcess,
  },
  {
    words: "recover",
    about: "Save what can be read of a damaged store, with its broker stopped.",
    more: "The damaged store is kept beside the new one.",
    options: {
      data: { takes: "DIR", about: "The data folder. Default: ./posthorn-data." },
    },
    examples: ["posthorn recover --data ./posthorn-data"],
    prints: "text",
    isLocal: true,
    isOfProcess: true,
    load: byProcess,
  },
  {
    words: "migrate",
    about: "Move everything that waits from a data folder into PostgreSQL, or back.",
    more:
      "Topics and subscriptions with their keys, waiting deliveries with their attempts and due " +
      "times, closed endpoints, and notes of redriven dead letters. No broker may use either side, " +
      "and the target must be empty. The password of the database is given as for serve.",
    options: {
      from: { takes: "PLACE", about: "A data folder, or postgres://user@host/database." },
      to: { takes: "PLACE", about: "The other of the two." },
    },
    examples: [
      "posthorn migrate --from ./posthorn-data --to postgres://posthorn@db/posthorn",
      "posthorn migrate --from postgres://posthorn@db/posthorn --to ./posthorn-data",
    ],
    prints: "text",
    isLocal: true,
    isOfProcess: true,
    load: byProcess,
  },
  {
    words: "torture",
    about: "Start a broker, kill, freeze and overload it, and count what is lost.",
    more:
      "A broker in a temporary folder is killed, frozen, left without disk, given broken files, " +
      "hanging endpoints, overload and requests that make no sense. At the end every accepted " +
      "event must have arrived. With --store postgres it is three brokers on a throw-away server " +
      "of this machine's binaries, which is killed, cut off and filled, too; with the address of a " +
      "database they use a schema of their own in it, which is removed at the end. " +
      "It needs Linux, and is not in the single executable.",
    options: {
      minutes: { takes: "N", about: "How long to run. Default: 1." },
      seed: { takes: "N", about: "Repeat the acts and requests of the run with this seed." },
      mutated: { takes: "N", about: "Mutated requests a second. Default: 400." },
      memory: { takes: "MIB", about: "The most memory a broker may use. Default: 1024." },
      store: { takes: "STORE", about: "sqlite, postgres or postgres://…; default: sqlite." },
    },
    examples: [
      "posthorn torture --minutes 60",
      "posthorn torture --store postgres --minutes 10 --seed 4711",
    ],
    prints: "text",
    isLocal: true,
    isOfProcess: true,
    load: byProcess,
  },
  {
    words: "config list",
    about: "Show the settings in force, and where each comes from.",
    options: { output },
    examples: ["posthorn config list --config posthorn.json"],
    prints: "text",
    isLocal: true,
    isOfProcess: true,
    load: byProcess,
  },
  {
    words: "openapi",
    about: "Print the description of the broker's own API (OpenAPI); needs no broker.",
    options: {
      output: { ...output, about: "json: the description; table: a line per operation." },
    },
    examples: ["posthorn openapi > openapi.json", "posthorn openapi -o table"],
    prints: "text",
    isLocal: true,
    isOfProcess: true,
    load: byProcess,
  },
  {
    words: "config doc",
    about: "Write the page about settings, as Markdown.",
    options: {},
    examples: ["posthorn config doc > configuration.md"],
    prints: "text",
    isLocal: true,
    isOfProcess: true,
    load: byProcess,
  },
];

const moveCommands: readonly Command[] = [
  {
    words: "import",
    about: "Apply ARM templates, or lists that the Azure CLI printed, to a running broker.",
    more:
      "A file is an ARM template (what `az bicep build` makes of Bicep is one), or what the Azure " +
      "CLI lists. One line is printed for each resource: created, updated, unchanged, failed or " +
      "skipped.",
    operands: {
      name: "FILE",
      isMany: true,
      isRequired: true,
      about: "a file, or - for standard input",
    },
    options: importOptions,
    examples: ["posthorn import main.json --parameters environment=dev --dry-run"],
    prints: "text",
    load: async () => (await import("./import/import.ts")).importResources,
  },
  {
    words: "export",
    about: "Print the resources of a running broker, for import or for Azure.",
    options: exportOptions,
    examples: ["posthorn export > template.json"],
    prints: "text",
    load: async () => (await import("./import/export.ts")).exportResources,
  },
];

export const commands: readonly Command[] = [
  ...processCommands,
  ...topicCommands,
  ...subscriptionCommands,
  ...namespaceCommands,
  ...typeCommands,
  ...deliveryCommands,
  ...toolCommands,
  ...moveCommands,
];
