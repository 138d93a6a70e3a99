// The process: reads the configuration, opens the broker, waits for a signal, closes it. `run` is
// the whole program with its surroundings passed in, so that a test can start the same thing;
// `main` runs it for real. Nothing happens on import.
//
// Here are the commands that are the process itself: serve, config, and those of
// offline-commands.ts; all others are in cli/. Exit codes: 0 for success or after a signal; 2 for
// an invalid command or setting, with one line; 1 for anything else; 3 from cli/ for a resource
// that does not exist.

import { randomUUID } from "node:crypto";
import { createWriteStream, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import type { Outside, Wire } from "./cli/client.ts";
import { withOptionsLast } from "./cli/leading-options.ts";
import { type Config, type ConfigInput, listConfig, parseConfig } from "./config/config.ts";
import { configurationDoc, helpText } from "./config/manual.ts";
import { settingList } from "./config/settings.ts";
import { Refusal } from "./core/refusal.ts";
import { isTarget } from "./core/text/connection-string.ts";
import { refuseName } from "./core/text/wording.ts";
import { takeForm } from "./offline-commands.ts";
import { seededChance } from "./runtime/chance.ts";
import { giveBackWhenQuiet } from "./runtime/give-back.ts";

export interface Output {
  readonly fd?: number;
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

export interface World {
  /** The arguments after `posthorn`. */
  readonly args: readonly string[];
  readonly env: ConfigInput["env"];
  readonly readFile: ConfigInput["readFile"];
  readonly stdout: Output;
  readonly stderr: Output;
  /** Calls back for SIGTERM and SIGINT. The result stops that. */
  readonly onSignal: (listener: (signal: string) => void) => () => void;
  /** Ends the process at once. */
  readonly exit: (code: number) => void;
  readonly open: (
    config: Config,
    outside: {
      readonly stdout: Output;
      readonly startedAt: number;
      readonly env: ConfigInput["env"];
      readonly onCrash: (error: Error) => void;
    },
  ) => Promise<{ close(signal: AbortSignal): Promise<void> }>;
  /** For commands that talk to a running broker. */
  readonly wire: Wire;
}

const configCommands = ["config list", "config doc"];

const optionNames = settingList.filter(({ isOption }) => isOption).map(({ name }) => name);

/** Resolves with the exit code. */
export async function run(world: World): Promise<number> {
  try {
    return await obey(world);
  } catch (error) {
    world.stderr.write(`posthorn: ${wordsOf(error)}\n`);
    return error instanceof Refusal && error.code === "InvalidSetting" ? 2 : 1;
  }
}

async function obey(world: World): Promise<number> {
  const args = world.args[0]?.startsWith("-")
    ? withOptionsLast(world.args, optionNames)
    : world.args;
  const [command, ...rest] = args;
  const asksHelp = rest.includes("--help") || rest.includes("-h");
  const about = command === "help" ? rest[0] : asksHelp ? command : undefined;
  if (about === "serve" || about === "config") {
    world.stdout.write(helpText());
    return 0;
  }
  const asked = asksHelp ? "help" : command;
  switch (asked) {
    case "serve":
      return await serve(world, parseConfig({ ...world, args: rest }));
    case "config":
      return config(world, rest);
    case "doctor":
    case "migrate":
    case "recover":
    case "restore":
      return await (await import("./offline-commands.ts"))[asked](world, rest, Date.now());
    case "openapi": {
      const { describeApi } = await import("./offline-commands.ts");
      return describeApi(world, rest, versionOf(world));
    }
    case "--version":
    case "-v":
    case "version":
      world.stdout.write(`${versionOf(world)}\n`);
      return 0;
    default: {
      // Loaded on demand: a broker does not need it.
      const { runCommand } = await import("./cli/run.ts");
      return await runCommand(args, outsideOf(world));
    }
  }
}

const columnsDefault = 80;

/** The surroundings of commands that talk to a running broker. */
function outsideOf({ env, readFile, wire, stdout, stderr, onSignal, exit }: World): Outside {
  return {
    ...wire,
    env,
    readFile,
    print: (text) => void stdout.write(text),
    tell: (text) => void stderr.write(text),
    complain: (text) => void stderr.write(text),
    isTerminal: stdout.isTTY === true,
    isShown: stderr.isTTY === true,
    // A terminal that does not know its width says zero.
    columns: stdout.columns || columnsDefault,
    onSignal(listener) {
      let firstAt: number | null = null;
      return onSignal((signal) => {
        const now = Date.now();
        if (firstAt === null) listener(signal);
        else if (now - firstAt > echoMsMax) exit(interruptedCode);
        firstAt ??= now;
      });
    },
  };
}

/** The terminal edits the line, and an interrupt there ends the process as usual. */
async function question(words: string): Promise<string> {
  process.stderr.write(words);
  const lines = createInterface({ input: process.stdin, terminal: false });
  for await (const line of lines) return line;
  return "";
}

/** The exit code that shells expect after a second interrupt. */
const interruptedCode = 130;

/**
 * A terminal sends its interrupt to npm and to us, and npm passes it on: one keypress, two signals.
 */
const echoMsMax = 200;

async function serve(world: World, config: Config): Promise<number> {
  const ended = Promise.withResolvers<Error | null>();
  const endGivingBack = giveBackWhenQuiet();
  let firstAt: number | null = null;
  const ignoreSignals = world.onSignal((signal) => {
    const now = Date.now();
    if (firstAt === null) {
      firstAt = now;
      ended.resolve(null);
    } else if (signal !== "SIGINT" || now - firstAt > echoMsMax) world.exit(1);
  });
  try {
    const opening = open(world, config, ended.resolve);
    // Nobody waits for a database any longer than he likes.
    if (isTarget(config.store)) {
      const first = await Promise.race([opening, ended.promise]);
      if (first === null) world.exit(0);
    }
    const broker = await opening;
    const crash = await ended.promise;
    // Without its store a broker could only wait; a restart fixes it.
    if (crash !== null) throw crash;
    await closeWithin(config.stopGraceMs, broker);
    return 0;
  } finally {
    ignoreSignals();
    endGivingBack();
  }
}

const reopenMs = 1_000;

/** A database that goes away while the broker is being opened is waited for, as at any time. */
async function open(world: World, config: Config, onCrash: (error: Error) => void) {
  const { stdout, stderr, env, wire } = world;
  for (let said = ""; ; ) {
    try {
      return await world.open(config, { stdout, startedAt: Date.now(), env, onCrash });
    } catch (error) {
      const isAway = error instanceof Refusal && error.code === "Unavailable";
      if (!isAway || !isTarget(config.store)) throw error;
      const words = wordsOf(error);
      if (words !== said) stderr.write(`posthorn: ${words} Trying again until it is back.\n`);
      said = words;
    }
    await wire.sleep(reopenMs);
  }
}

async function closeWithin(
  graceMs: number,
  broker: { close(signal: AbortSignal): Promise<void> },
): Promise<void> {
  const abort = new AbortController();
  const grace = setTimeout(() => abort.abort(), graceMs);
  try {
    await broker.close(abort.signal);
  } finally {
    clearTimeout(grace);
  }
}

function config(world: World, [command = "list", ...args]: readonly string[]): number {
  if (command === "doc") {
    world.stdout.write(configurationDoc());
    return 0;
  }
  if (command !== "list") {
    throw refuseName({ what: "command", name: `config ${command}`, known: configCommands });
  }
  const { form, rest } = takeForm(args, world.stdout.isTTY === true);
  const { rows, problems } = listConfig({ ...world, args: rest });
  if (form === "table") {
    const lines = rows.map(({ name, value, from }) => [name, value ?? "–", from]);
    world.stdout.write(table([["setting", "value", "from"], ...lines]));
  } else world.stdout.write(`${JSON.stringify(rows, null, 2)}\n`);
  for (const { message } of problems) world.stderr.write(`posthorn: ${message}\n`);
  // The same as serve would give.
  return problems.length === 0 ? 0 : 2;
}

function table(lines: readonly (readonly string[])[]): string {
  const widths = [0, 1].map((column) =>
    Math.max(...lines.map((line) => line[column]?.length ?? 0)),
  );
  const rows = lines.map((line) =>
    line.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  "),
  );
  return rows.map((row) => `${row.trimEnd()}\n`).join("");
}

/** A refusal or a system error is one line; a bug prints its stack. */
function wordsOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if ("code" in error && error.code === "EADDRINUSE") {
    return `${error.message}: end what listens there, or choose with --http or --https`;
  }
  const isKnown = error instanceof Refusal || "syscall" in error;
  return isKnown ? error.message : (error.stack ?? error.message);
}

function versionOf({ readFile }: World): string {
  const text = readFile(join(import.meta.dirname, "..", "package.json"));
  return (JSON.parse(text) as { version: string }).version;
}

/** The program for real. Ends the process. */
export async function main(): Promise<void> {
  // The reader of our output may stop reading; `posthorn help | head` is no error.
  process.stdout.on("error", () => {});
  const code = await run({
    args: process.argv.slice(2),
    env: process.env,
    readFile: (path) => readFileSync(path, "utf8"),
    stdout: process.stdout,
    stderr: process.stderr,
    onSignal(listener) {
      for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, listener);
      return () => {
        for (const signal of ["SIGTERM", "SIGINT"] as const) process.off(signal, listener);
      };
    },
    exit: (immediately) => process.exit(immediately),
    // Loaded on demand: help and settings must work in a broken installation, too.
    open: async (...given) => (await import("./broker.ts")).openBroker(...given),
    wire: {
      readInput: () => text(process.stdin),
      question: process.stdin.isTTY && process.stderr.isTTY ? question : null,
      fetch,
      now: () => Date.now(),
      sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
      trust: (pem) => setDefaultCACertificates([...getCACertificates("default"), pem]),
      makeId: () => randomUUID(),
      chance: () => Math.random(),
      seeded: seededChance,
      simulate: async (order) => (await import("./whatif/simulate.ts")).simulate(order),
      exists: existsSync,
      writePrivate(path, text) {
        mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
        writeFileSync(path, text, { mode: 0o600 });
      },
      save: (path, bytes, replaces) =>
        pipeline(bytes, createWriteStream(path, { mode: 0o600, flags: replaces ? "w" : "wx" })),
      openReceiver: async (options) =>
        (await import("./runtime/http/receiver.ts")).openReceiver(options),
      settingNames: optionNames,
    },
  });
  await new Promise<void>((resolve) => process.stdout.write("", () => resolve()));
  process.exit(code);
}
