// Runs a command: finds it by its words, reads its options, and prints its result. Exit codes are
// those of `az`: 0, 1 for a failure, 2 for an invalid command line, 3 for a resource that does not
// exist. An error is one line; only a bug of ours prints its stack.

import { Refusal } from "../core/refusal.ts";
import { listed } from "../core/text/setting-kinds.ts";
import { BrokerError } from "./broker-error.ts";
import type { Outside } from "./client.ts";
import { type Command, type Form, forms } from "./command.ts";
import { commands } from "./commands.ts";
import { helpFor, isNoun, meantBy, optionsOf, reference, wordsAfter } from "./help.ts";
import { withOptionsLast } from "./leading-options.ts";
import { type ParsedOptions, readOptions } from "./option.ts";
import { checkQuery, isColoured, textOf } from "./print/output.ts";
import { watch } from "./print/watch.ts";
import { longWord, whyNotHere } from "./short-names.ts";

/** Resolves with the exit code. Never rejects. */
export async function runCommand(args: readonly string[], outside: Outside): Promise<number> {
  try {
    return await obey(args, outside);
  } catch (error) {
    outside.complain(`posthorn: ${wordsOf(error)}\n`);
    if (error instanceof BrokerError) return error.exitCode;
    if (!(error instanceof Refusal)) return 1;
    return { InvalidSetting: 2, NotFound: 3 }[error.code as string] ?? 1;
  }
}

async function obey(args: readonly string[], outside: Outside): Promise<number> {
  const isHelp = args[0] === "help";
  const words = isHelp ? args.slice(1) : args;
  if (isHelp && words[0] === "--reference") {
    outside.print(`${reference(commands)}\n`);
    return 0;
  }
  const ordered = withOptionsLast(words);
  const { command, name, rest } = find(ordered[0] === "eventgrid" ? ordered.slice(1) : ordered);
  const wantsHelp = isHelp || rest.some((word) => word === "--help" || word === "-h");
  if (command === null && !wantsHelp && rest[0] !== undefined) {
    const right = `posthorn ${name === "" ? "" : `${name} `}COMMAND ${rest[0]}`;
    throw new Refusal("InvalidSetting", `a command must come before its options: ${right}`);
  }
  if (command === null || wantsHelp) {
    outside.print(helpFor(commands, name === "" ? [] : name.split(" ")) ?? "");
    return 0;
  }
  const given = readOptions(rest, optionsOf(command), command.operands ?? null);
  const query = given.one("query");
  if (query !== null) await checkQuery(query);
  const form = formIn(given, command, outside);
  const run = await command.load();
  const about = { ...withManners(given, outside), form: formOfCommand(form), commands };
  const columns = outside.isTerminal ? outside.columns : null;
  const choice = { form, query, isColoured: isColoured(outside), columns };
  const show = async () => {
    const pages: string[] = [];
    const own = { ...about, print: (text: string) => void pages.push(text) };
    const isPaged = given.isOn("watch") === true;
    const result = await run(given, isPaged ? own : about);
    return { ...result, text: `${pages.join("")}${await textOf(result, choice)}` };
  };
  if (given.isOn("watch") === true) return await watch(show, outside);
  const { text, exitCode = 0 } = await show();
  outside.print(text);
  return exitCode;
}

/** A command that draws for itself draws the same in both. */
function formOfCommand(form: Form): Form {
  return form === "wide" ? "table" : form;
}

/** The command that the words begin with; null: they name a noun, or nothing at all. */
function find(args: readonly string[]): {
  readonly command: Command | null;
  readonly name: string;
  readonly rest: readonly string[];
} {
  const firstOption = args.findIndex((word) => word.startsWith("-"));
  const words = firstOption < 0 ? args : args.slice(0, firstOption);
  for (let count = words.length; count > 0; count--) {
    const name = nameOf(words.slice(0, count));
    const command = commands.find((each) => each.words === name);
    if (command !== undefined) return { command, name, rest: args.slice(count) };
    if (!isNoun(commands, name)) continue;
    if (count < words.length) throw refuseWord(name, words.slice(count));
    return { command: null, name, rest: args.slice(count) };
  }
  if (words.length > 0) throw refuseWord("", words);
  return { command: null, name: "", rest: args };
}

/** With short words written out, each only where nothing has the word itself. */
function nameOf(words: readonly string[]): string {
  let name = "";
  for (const word of words) {
    const known = wordsAfter(commands, name);
    const long = known.includes(word) ? word : longWord(word);
    name = name === "" ? long : `${name} ${long}`;
  }
  return name;
}

function refuseWord(name: string, words: readonly string[]): Refusal {
  const [word = ""] = words;
  const azure = whyNotHere(`${name} ${words.join(" ")}`.trim());
  if (azure !== null) return new Refusal("InvalidSetting", azure);
  const meant = meantBy(commands, name, word);
  const whole = `${name} ${word}`.trim();
  const hint =
    meant === null
      ? `known are ${wordsAfter(commands, name).join(", ")}`
      : `did you mean ${meant}?`;
  return new Refusal("InvalidSetting", `there is no command ${JSON.stringify(whole)}; ${hint}`);
}

/** What was requested, otherwise az's default, otherwise what suits the reader. */
function formIn(given: ParsedOptions, { prints }: Command, { env, isTerminal }: Outside): Form {
  const usual = isTerminal ? "table" : "json";
  const asked = given.one("output");
  if (asked !== null) return asked as Form;
  const configured = prints === "value" ? (env.AZURE_CORE_OUTPUT ?? "").toLowerCase() : "";
  if (configured === "") return usual;
  const known = forms.find((form) => form === configured);
  if (known !== undefined) return known;
  const words = `AZURE_CORE_OUTPUT must be ${listed(forms)}, and is ${JSON.stringify(configured)}`;
  throw new Refusal("InvalidSetting", words);
}

function withManners(given: ParsedOptions, outside: Outside): Outside {
  const isQuiet = given.isOn("only-show-errors") === true;
  const isVerbose = given.isOn("verbose") === true || given.isOn("debug") === true;
  return {
    ...outside,
    ...(isQuiet && { isShown: false, tell: () => {} }),
    ...(isVerbose && {
      async fetch(input: string | URL | Request, init?: RequestInit) {
        const startedAt = outside.now();
        const response = await outside.fetch(input, init);
        const tookMs = Math.round(outside.now() - startedAt);
        const what = `${init?.method ?? "GET"} ${input}`;
        outside.complain(`posthorn: ${what} → ${response.status}, ${tookMs} ms\n`);
        return response;
      },
    }),
  };
}

/** A refusal or a system error is one line; a bug prints its stack. */
function wordsOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if ("code" in error && error.code === "EADDRINUSE") {
    return `${error.message}: end what listens there, or choose another with --port`;
  }
  const isKnown = error instanceof Refusal || error instanceof BrokerError || "syscall" in error;
  return isKnown ? error.message.replace(/\s*\n\s*/g, " ") : (error.stack ?? error.message);
}
