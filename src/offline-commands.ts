// The commands that need no running broker: doctor, which checks; restore, which replaces a store
// with a backup; recover, which saves what can be read of a damaged one; openapi, which describes
// the API. main.ts runs them.

import { join } from "node:path";
import { type ConfigInput, parseConfig } from "./config/config.ts";
import { openapi } from "./control/api/openapi.ts";
import { type Operation, operations } from "./core/api/operations.ts";
import type { Finding } from "./core/diagnosis.ts";
import { Refusal } from "./core/refusal.ts";
import { isTarget, parseTarget } from "./core/text/connection-string.ts";
import { refuseName } from "./core/text/wording.ts";
import { examine } from "./doctor/doctor.ts";
import { realClock } from "./runtime/clock/real.ts";
import { moveToCluster, moveToFolder } from "./store/move/move.ts";
import { Database } from "./store/postgres/database.ts";
import { refusalOf } from "./store/postgres/open.ts";
import { passwordOf } from "./store/postgres/password.ts";
import { restoreStore, storeFile } from "./store/sqlite/backup.ts";
import { type Recovery, recoverStore } from "./store/sqlite/recover.ts";

interface World extends Omit<ConfigInput, "args"> {
  readonly stdout: { readonly isTTY?: boolean; write(text: string): unknown };
}

const marks: Readonly<Record<Finding["state"], string>> = {
  fine: "ok      ",
  warning: "warning ",
  problem: "PROBLEM ",
};

/** With the options of serve, whose settings it checks. */
export async function doctor(world: World, args: readonly string[], now: number): Promise<number> {
  const { form, rest } = takeForm(args, world.stdout.isTTY === true);
  const settings = rest.filter((arg) => arg !== "--deep");
  const isDeep = settings.length < rest.length;
  const findings = await examine({ ...world, args: settings }, { now, isDeep });
  if (form === "table") {
    for (const { state, check, found, advice } of findings) {
      world.stdout.write(`${marks[state]} ${check}: ${found}\n`);
      if (advice !== null) world.stdout.write(`          ${advice}\n`);
    }
  } else world.stdout.write(`${JSON.stringify(findings, null, 2)}\n`);
  return findings.some(({ state }) => state === "problem") ? 1 : 0;
}

/** Refusal: InvalidSetting. */
export function restore(world: World, args: readonly string[], now: number): number {
  const usage = "posthorn restore FILE [--data DIR] [--replace]";
  const { files, folder, flags } = readArgs(world, args, ["--replace"]);
  const [from] = files;
  if (from === undefined || from === "") {
    throw new Refusal("InvalidSetting", `a file must be named; use ${usage}`);
  }
  if (files.length > 1) throw new Refusal("InvalidSetting", `one file is restored; use ${usage}`);
  const replaces = flags.includes("--replace");
  const { former } = restoreStore({ from, folder, replaces, stamp: stampOf(now) });
  world.stdout.write(`restored ${from} into ${folder}\n`);
  if (former !== null) world.stdout.write(`the store that was there is kept as ${former}\n`);
  return 0;
}

/** Refusal: InvalidSetting. */
export function describeApi(world: World, args: readonly string[], version: string): number {
  const { form, rest } = takeForm(args, world.stdout.isTTY === true);
  const [extra] = rest;
  if (extra !== undefined) throw refuseName({ what: "option", name: extra, known: ["--output"] });
  if (form === "json") world.stdout.write(`${JSON.stringify(openapi(version), null, 2)}\n`);
  else {
    for (const { method, path, summary } of Object.values<Operation>(operations)) {
      world.stdout.write(`${method.padEnd(6)} /api/v1${path}\n         ${summary}\n`);
    }
  }
  return 0;
}

/** Refusal: InvalidSetting. */
export function recover(world: World, args: readonly string[], now: number): number {
  const { files, folder } = readArgs(world, args, []);
  if (files.length > 0) {
    throw new Refusal("InvalidSetting", "no file is named; use posthorn recover [--data DIR]");
  }
  const recovery = recoverStore(join(folder, storeFile), stampOf(now));
  for (const line of wordsOf(recovery, folder)) world.stdout.write(`${line}\n`);
  return 0;
}

/** Refusals: InvalidSetting; Unavailable, while a side is in use or cannot be reached. */
export async function migrate(world: World, args: readonly string[]): Promise<number> {
  const usage = "use posthorn migrate --from DIR --to postgres://user@host/database, or back";
  const [from, to] = ["--from", "--to"].map((name) => readOption(args, name));
  const isKnown = args.every((arg) => !arg.startsWith("-") || /^--(from|to)(=|$)/.test(arg));
  if (from === undefined || to === undefined || !isKnown || isTarget(from) === isTarget(to)) {
    throw new Refusal("InvalidSetting", `one side is a folder and the other a database; ${usage}`);
  }
  const [folder, url] = isTarget(to) ? [from, to] : [to, from];
  const config = parseConfig({ ...world, args: ["--store", url] });
  const target = parseTarget(config.store, passwordOf(config, world.env));
  if (typeof target === "string") throw new Refusal("InvalidSetting", target);
  const database = new Database({
    ...{ target, clock: realClock(), log: { fact: () => {} } },
    ...{ connectionsMax: 1, name: "posthorn migrate" },
  });
  try {
    const move = isTarget(to) ? moveToCluster : moveToFolder;
    const counts = await move({ folder, database, schema: target.schema });
    const words = Object.entries(counts).map(([name, count]) => `${count} ${name}`);
    world.stdout.write(`moved and counted on both sides: ${words.join(", ")}\n`);
    world.stdout.write(
      `${isTarget(from) ? "The database" : from} is as it was; ` +
        "a broker that is started on it again sends the same events.\n",
    );
    return 0;
  } catch (error) {
    throw refusalOf(error, target) ?? error;
  } finally {
    await database.close();
  }
}

function readOption(args: readonly string[], name: string): string | undefined {
  const at = args.findIndex((arg) => arg === name || arg.startsWith(`${name}=`));
  const word = args[at];
  if (word === undefined) return undefined;
  return word === name ? args[at + 1] : word.slice(name.length + 1);
}

function wordsOf({ why, former, saved, torn, lost }: Recovery, folder: string): readonly string[] {
  if (why === null) return [`the store in ${folder} is whole; nothing was changed`];
  if (former === null) return [why, "The next start continues with what was saved."];
  const rows = Object.entries(saved).map(([table, count]) => `${count} ${table}`);
  return [
    `the store was damaged: ${why}`,
    ...(rows.length === 0 ? [] : [`saved: ${rows.join(", ")}`]),
    `not all could be read of: ${torn.length === 0 ? "nothing" : torn.join(", ")}`,
    `deliveries whose event could not be read: ${lost}`,
    `the damaged store is kept as ${former}`,
  ];
}

function stampOf(now: number): string {
  return new Date(now).toISOString().replace(/[-:]|\.\d+/g, "");
}

/** Refusal: InvalidSetting. */
function readArgs(world: World, args: readonly string[], known: readonly string[]) {
  let folder = world.env.POSTHORN_DATA || "./posthorn-data";
  const files: string[] = [];
  const flags: string[] = [];
  const rest = [...args];
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    if (known.includes(word)) flags.push(word);
    else if (word === "--data") folder = rest.shift() ?? "";
    else if (word.startsWith("--data=")) folder = word.slice("--data=".length);
    else if (word.startsWith("-")) {
      throw refuseName({ what: "option", name: word, known: ["--data", ...known] });
    } else files.push(word);
  }
  if (folder === "") throw new Refusal("InvalidSetting", "--data must be followed by a folder");
  return { files, folder, flags };
}

// Output of these commands: a table at a terminal, otherwise JSON, unless -o is given. The other
// commands have more formats.

export type Form = "table" | "json";

/** The format, and the arguments without it. Refusal: InvalidSetting. */
export function takeForm(
  args: readonly string[],
  isTerminal: boolean,
): { readonly form: Form; readonly rest: readonly string[] } {
  const at = args.findIndex((arg) => /^(-o|--output)(=|$)/.test(arg));
  if (at === -1) return { form: isTerminal ? "table" : "json", rest: args };
  const [name = "", inline] = (args[at] ?? "").split("=", 2);
  const said = inline ?? args[at + 1];
  if (said !== "table" && said !== "json") {
    const found = said === undefined ? "is missing" : `is "${said}"`;
    throw new Refusal("InvalidSetting", `${name} must be table or json, and ${found}`);
  }
  return { form: said, rest: args.toSpliced(at, inline === undefined ? 2 : 1) };
}
