// Named contexts: where a broker is and what it is asked with, kept in a file of the user's, so
// that a name replaces --server, --key and --ca. One of them may be the usual one.

import { isAbsolute, join, resolve } from "node:path";
import { Refusal } from "../core/refusal.ts";
import { isObject } from "../core/template/expression.ts";
import { refuseName } from "../core/text/wording.ts";
import type { Outside } from "./client.ts";
import type { Row, Run } from "./command.ts";
import type { ParsedOptions } from "./option.ts";

const settings = ["server", "key", "data", "ca"] as const;
type Setting = (typeof settings)[number];

export type Context = Readonly<Partial<Record<Setting, string>>>;

interface Contexts {
  /** The name of the usual one; null: there is none. */
  readonly current: string | null;
  readonly contexts: Readonly<Record<string, Context>>;
}

const nothing: Contexts = { current: null, contexts: {} };

/** Null for a user without a home. */
function fileOf(env: Outside["env"]): string | null {
  const home = env.HOME || env.USERPROFILE;
  const base = env.XDG_CONFIG_HOME || (home ? join(home, ".config") : "");
  return isAbsolute(base) ? join(base, "posthorn", "contexts.json") : null;
}

/** Refusal: InvalidSetting, for a file that is not one of ours. */
function read({ env, exists, readFile }: Outside): Contexts {
  const file = fileOf(env);
  if (file === null || !exists(file)) return nothing;
  const refuse = () => new Refusal("InvalidSetting", `${file} cannot be read; delete or mend it`);
  try {
    const value: unknown = JSON.parse(readFile(file));
    if (!isObject(value) || !isObject(value.contexts)) throw refuse();
    const current = typeof value.current === "string" ? value.current : null;
    return { current, contexts: value.contexts as Contexts["contexts"] };
  } catch {
    throw refuse();
  }
}

/** Refusal: InvalidSetting. */
function write(outside: Outside, contexts: Contexts): void {
  const file = fileOf(outside.env);
  if (file === null) throw new Refusal("InvalidSetting", "HOME must be set, to keep contexts");
  outside.writePrivate(file, `${JSON.stringify(contexts, null, 2)}\n`);
}

/** The one that is named, else the usual one, else an empty one. Refusal: InvalidSetting. */
export function contextIn(given: Pick<ParsedOptions, "one">, outside: Outside): Context {
  const name = given.one("context") ?? (outside.env.POSTHORN_CONTEXT || null);
  const { current, contexts } = read(outside);
  return name === null ? (contexts[current ?? ""] ?? {}) : found(contexts, name);
}

function found(contexts: Contexts["contexts"], name: string): Context {
  const one = Object.hasOwn(contexts, name) ? contexts[name] : undefined;
  if (one !== undefined) return one;
  throw refuseName({ what: "context", name, known: Object.keys(contexts) });
}

export const setContext: Run = async (given, outside) => {
  const name = given.operands[0] ?? "";
  const { current, contexts } = read(outside);
  const one: Record<string, string> = { ...contexts[name] };
  for (const setting of settings) {
    const value = given.one(setting);
    if (value === null) continue;
    // A path must mean the same wherever the name is used.
    one[setting] = setting === "data" || setting === "ca" ? resolve(value) : value;
  }
  if (Object.keys(one).length === 0) {
    throw new Refusal("InvalidSetting", "what it stands for must be given: --server URL --key KEY");
  }
  write(outside, { current: current ?? name, contexts: { ...contexts, [name]: one } });
  outside.tell(`posthorn: the context ${name} is kept${current === null ? " and in use" : ""}\n`);
  return {};
};

export const useContext: Run = async (given, outside) => {
  const kept = read(outside);
  const name = given.operands[0] ?? "";
  found(kept.contexts, name);
  write(outside, { ...kept, current: name });
  outside.tell(`posthorn: the context ${name} is in use\n`);
  return {};
};

export const deleteContext: Run = async (given, outside) => {
  const { current, contexts } = read(outside);
  const name = given.operands[0] ?? "";
  found(contexts, name);
  const { [name]: _, ...others } = contexts;
  write(outside, { current: current === name ? null : current, contexts: others });
  return {};
};

export const listContexts: Run = async (_, outside) => {
  const { current, contexts } = read(outside);
  const all = Object.entries(contexts).map(([name, { key, ...shown }]) => ({
    ...{ name, isCurrent: name === current, ...shown, hasKey: key !== undefined },
  }));
  const rows: Row[] = all.map((one) => ({
    Name: one.name,
    Current: one.isCurrent ? "*" : "",
    ...{ Server: one.server ?? "", Data: one.data ?? "", Key: one.hasKey ? "kept" : "" },
  }));
  return { value: all, rows };
};

export function contextNames(outside: Outside): readonly string[] {
  return Object.keys(read(outside).contexts);
}
