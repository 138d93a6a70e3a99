// The commands that keep a broker well and need none to be running: doctor, which examines, and
// restore, which puts a backup in the place of a store. main.ts runs them.

import type { ConfigInput } from "./config/config.ts";
import type { Finding } from "./core/diagnosis.ts";
import { Refusal } from "./core/refusal.ts";
import { refuseName } from "./core/text/wording.ts";
import { examine } from "./doctor/doctor.ts";
import { restoreStore } from "./store/sqlite/backup.ts";

interface World extends Omit<ConfigInput, "args"> {
  readonly stdout: { readonly isTTY?: boolean; write(text: string): unknown };
}

const marks: Readonly<Record<Finding["state"], string>> = {
  fine: "ok      ",
  warning: "warning ",
  problem: "PROBLEM ",
};

/** With the options of serve, whose settings it looks at. */
export async function doctor(world: World, args: readonly string[], now: number): Promise<number> {
  const { form, rest } = takeForm(args, world.stdout.isTTY === true);
  const findings = await examine({ ...world, args: rest }, now);
  if (form === "table") {
    for (const { state, check, found, advice } of findings) {
      world.stdout.write(`${marks[state]} ${check}: ${found}\n`);
      if (advice !== null) world.stdout.write(`          ${advice}\n`);
    }
  } else world.stdout.write(`${JSON.stringify(findings, null, 2)}\n`);
  return findings.some(({ state }) => state === "problem") ? 1 : 0;
}

const usage = "posthorn restore FILE [--data DIR] [--replace]";

/** Refusal: InvalidSetting. */
export function restore(world: World, args: readonly string[], now: number): number {
  const { from, folder, replaces } = readArgs(args, world.env.POSTHORN_DATA || "./posthorn-data");
  const stamp = new Date(now).toISOString().replace(/[-:]|\.\d+/g, "");
  const { former } = restoreStore({ from, folder, replaces, stamp });
  world.stdout.write(`restored ${from} into ${folder}\n`);
  if (former !== null) world.stdout.write(`the store that was there is kept as ${former}\n`);
  return 0;
}

function readArgs(args: readonly string[], dataDefault: string) {
  let folder = dataDefault;
  let replaces = false;
  const files: string[] = [];
  const rest = [...args];
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    if (word === "--replace") replaces = true;
    else if (word === "--data") folder = need(rest.shift(), "--data must be followed by a folder");
    else if (word.startsWith("--data=")) folder = word.slice("--data=".length);
    else if (word.startsWith("-")) {
      throw refuseName({ what: "option", name: word, known: ["--data", "--replace"] });
    } else files.push(word);
  }
  const [from] = files;
  if (files.length > 1) throw new Refusal("InvalidSetting", `one file is restored; use ${usage}`);
  return { from: need(from, `a file must be named; use ${usage}`), folder, replaces };
}

function need(value: string | undefined, words: string): string {
  if (value !== undefined && value !== "") return value;
  throw new Refusal("InvalidSetting", words);
}

// How the commands print that look at this machine: a table for people, JSON for programs, unless
// -o says which. The other commands have more forms; these run also where no broker can.

export type Form = "table" | "json";

/** The form, and the arguments without it. Refusal: InvalidSetting. */
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
