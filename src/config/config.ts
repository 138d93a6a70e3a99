// Reads the settings: from options, from the environment and from the file that `config` names, in
// this order of precedence, otherwise from the table's defaults.
//
// Everything here is pure: arguments, environment and reading of files are passed in. Unknown
// settings are refused, because an ignored misspelling is found too late. All problems are
// collected, so that values can be listed although a broker would not start.

import { Refusal } from "../core/refusal.ts";
import { isTarget } from "../core/text/connection-string.ts";
import { isLoopback } from "../core/text/setting-kinds.ts";
import { refuseName, refuseValue } from "../core/text/wording.ts";
import {
  moduleKeyIn,
  tlsDefaults,
  type UnusedKey,
  unusedKeysIn,
} from "../edge/environment-keys.ts";
import type { Setting } from "./setting.ts";
import { settingList, settings } from "./settings.ts";

type Settings = typeof settings;

export type Config = {
  readonly [K in keyof Settings]: Settings[K] extends Setting<infer T> ? T : never;
} & {
  /** Sections of the file as written, or null. They are checked when applied. */
  readonly [K in Section]: unknown;
} & {
  /** Keys of the IoT Edge module that are set and have no effect. */
  readonly idleKeys: readonly UnusedKey[];
  /** Each setting as given, and where. */
  readonly rows: readonly ConfigRow[];
};

/** What a file may contain besides settings. */
const sections = [
  "topics",
  "domains",
  "namespaces",
  "storageAccounts",
  "serviceBusNamespaces",
  "eventHubNamespaces",
  "relayNamespaces",
  "functionApps",
] as const;

type Section = (typeof sections)[number];

export interface ConfigInput {
  /** The arguments after the command. */
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly readFile: (path: string) => string;
  /** Other defaults by name, for programs that start a broker of their own. */
  readonly defaults?: Readonly<Record<string, string>>;
}

export type Source = "option" | "environment" | "file" | "default";

export interface ConfigRow {
  readonly name: string;
  /** As written; null: not set. Never a secret. */
  readonly value: string | null;
  readonly from: Source;
  /** Why it cannot be used. */
  readonly problem?: string;
}

/** Refusal: InvalidSetting, in one line. */
export function parseConfig(input: ConfigInput): Config {
  const { config, problems } = survey(input);
  if (problems[0] !== undefined) throw problems[0];
  return config;
}

/** The effective values, whether or not a broker would start with them, and the problems. */
export function listConfig(input: ConfigInput): {
  readonly rows: readonly ConfigRow[];
  readonly problems: readonly Refusal[];
} {
  const { rows, problems } = survey(input);
  return { rows, problems };
}

/** A value and where it came from. */
export interface Found {
  /** Usually text; in a file it may be any JSON. */
  readonly value: unknown;
  readonly from: Source;
  /** For a refusal: `option --http`. */
  readonly where: string;
}

type FoundByName = Map<string, Found>;

interface Survey {
  /** Only valid without problems. */
  readonly config: Config;
  readonly rows: readonly ConfigRow[];
  readonly problems: readonly Refusal[];
}

function survey(given: ConfigInput): Survey {
  const problems: Refusal[] = [];
  const options = readOptions(given.args, problems);
  const environment = readEnvironment(given.env, problems);
  const byPolicy = tlsDefaults(environment.get(settings.moduleTlsPolicy.name)?.value);
  const input = { ...given, defaults: { ...given.defaults, ...byPolicy } };
  const file = readConfigFile(
    options.get("config") ?? environment.get("config") ?? defaultOf(settings.configFile, input),
    input.readFile,
    problems,
  );
  const rows: ConfigRow[] = [];
  const values: Record<string, unknown> = {};
  for (const [key, known] of Object.entries<Setting<unknown>>(settings)) {
    const { name } = known;
    const found =
      options.get(name) ?? environment.get(name) ?? file.found.get(name) ?? defaultOf(known, input);
    const row = { name, value: showValue(known, found), from: found?.from ?? "default" } as const;
    try {
      values[key] = found === undefined ? null : parseValue(known, found);
      rows.push(row);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      problems.push(error);
      rows.push({ ...row, problem: error.message });
    }
  }
  for (const name of sections) {
    const section = file.declared[name];
    if (section !== null) rows.push({ name, value: namesIn(section), from: "file" });
  }
  const idleKeys = unusedKeysIn(input.env);
  const whole: unknown = { ...values, ...file.declared, idleKeys, rows };
  const config = Object.freeze(whole) as Config;
  if (problems.length === 0) problems.push(...contradictionsIn(config));
  return { config, rows, problems };
}

function readOptions(args: readonly string[], problems: Refusal[]): FoundByName {
  const found: FoundByName = new Map();
  const known = settingList.filter(({ isOption }) => isOption);
  for (let place = 0; place < args.length; place++) {
    const [option = "", inline] = splitOnce(args[place] ?? "", "=");
    const setting = known.find(({ name }) => option === `--${name}`);
    const next = args[place + 1];
    const takesNext = inline === undefined && next !== undefined && !next.startsWith("--");
    if (setting === undefined) {
      problems.push(
        refuseName({ what: "option", name: option, known: known.map(({ name }) => `--${name}`) }),
      );
      if (option.startsWith("--") && takesNext) place++;
      continue;
    }
    const where = `option ${option}`;
    const before = setting.isList ? found.get(setting.name) : undefined;
    const value = takesNext ? next : inline;
    if (takesNext) place++;
    found.set(setting.name, {
      value: before === undefined ? value : `${before.value},${value}`,
      from: "option",
      where,
    });
  }
  return found;
}

/** Variables of commands that talk to a broker; they may be set where a broker runs. */
const forClients = ["POSTHORN_SERVER", "POSTHORN_KEY"];

/** Variables of Posthorn's own tests, which start brokers in their environment. */
const forTests = "POSTHORN_TEST_";

/** What Kubernetes sets in every container for a service that happens to be called posthorn. */
const fromKubernetes = /^POSTHORN_(SERVICE_(HOST|PORT)|PORT)(_|$)/;

function readEnvironment(env: ConfigInput["env"], problems: Refusal[]): FoundByName {
  const found: FoundByName = new Map();
  for (const { name, env: own, isOption } of settingList) {
    const variable = isOption ? own : (moduleKeyIn(env, own) ?? own);
    const value = env[variable];
    // An empty variable counts as not set: there is no other way to unset one.
    if (value === undefined || value === "") continue;
    found.set(name, { value, from: "environment", where: `environment ${variable}` });
  }
  const known = settingList.map((setting) => setting.env);
  for (const variable of Object.keys(env)) {
    if (!variable.startsWith("POSTHORN_") || known.includes(variable)) continue;
    if (fromKubernetes.test(variable) || forClients.includes(variable)) continue;
    if (variable.startsWith(forTests)) continue;
    problems.push(refuseName({ what: "environment variable", name: variable, known }));
  }
  return found;
}

function readConfigFile(
  named: Found | undefined,
  readFile: ConfigInput["readFile"],
  problems: Refusal[],
): { readonly found: FoundByName; readonly declared: Readonly<Record<Section, unknown>> } {
  const found: FoundByName = new Map();
  const declared = Object.fromEntries(sections.map((name) => [name, null])) as Record<
    Section,
    unknown
  >;
  if (typeof named?.value !== "string") return { found, declared };
  const where = `file ${named.value}`;
  try {
    const keys = settingList.filter(({ isKey }) => isKey).map(({ name }) => name);
    for (const [key, value] of Object.entries(readObject(named.value, readFile))) {
      const section = sections.find((name) => name === key);
      if (section !== undefined) declared[section] = value;
      else if (keys.includes(key)) found.set(key, { value, from: "file", where });
      else
        problems.push(refuseName({ what: "key", name: key, where, known: [...keys, ...sections] }));
    }
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    problems.push(error);
  }
  return { found, declared };
}

/** A parse error gives the line and never the text, which may be a key. */
function readObject(path: string, readFile: ConfigInput["readFile"]): object {
  const refuse = (why: string, cause?: unknown) =>
    new Refusal("InvalidSetting", `config must be a JSON file, and ${path} ${why}`, { cause });
  let text: string;
  try {
    text = readFile(path).replace(/^\uFEFF/, "");
  } catch (error) {
    throw refuse(`cannot be read (${(error as { code?: unknown }).code ?? "unknown"})`, error);
  }
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  } catch {
    throw refuse(`is not JSON: see line ${faultyLine(text)}`);
  }
  throw refuse("does not hold an object");
}

/** The first line up to which the text cannot be the beginning of JSON. */
function faultyLine(text: string): number {
  const lines = text.split("\n");
  for (let count = 1; count < lines.length; count++) {
    const beginning = `${lines.slice(0, count).join("\n")}\n`;
    try {
      JSON.parse(beginning);
    } catch (error) {
      const words = (error as Error).message;
      const position = /at position (\d+)/.exec(words)?.[1];
      const isAtEnd =
        /end of JSON|Unterminated/.test(words) || Number(position) >= beginning.length;
      if (!isAtEnd) return count;
    }
  }
  return lines.length;
}

function defaultOf(known: Setting<unknown>, { defaults }: ConfigInput): Found | undefined {
  const value = defaults?.[known.name] ?? known.default;
  return value === null ? undefined : { value, from: "default", where: "default" };
}

/** Refusal: InvalidSetting, which says where the value came from and never shows a secret. */
export function parseValue(
  { name, kind, isList, isSecret }: Setting<unknown>,
  { value, where }: Found,
) {
  const text = textOf(value, isList);
  try {
    if (text !== null && text !== "") return kind.parse(text, name);
    throw refuseValue({ field: name, value, allowed: kind.allowed });
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const refusal = isSecret
      ? refuseValue({ field: name, value, allowed: kind.allowed, secret: true })
      : error;
    throw new Refusal("InvalidSetting", `${refusal.message} (${where})`);
  }
}

/** A shorter lease would end between two heartbeats of a busy broker. */
const leaseMsMin = 3_000;

/** Combinations that are invalid although each value is valid. */
function contradictionsIn(config: Config): Refusal[] {
  const refusals: Refusal[] = [];
  const refuse = (words: string) => refusals.push(new Refusal("InvalidSetting", words));
  for (const name of ["http", "https"] as const) {
    const { [name]: listener, auth } = config;
    if (auth || listener === null || isLoopback(listener.host)) continue;
    refuse(`auth must be on unless ${name} is on 127.0.0.1, ::1 or localhost, and is off`);
  }
  if (config.http === null && config.https === null) {
    refuse("http must be HOST:PORT where https is off, and is off, too");
  }
  for (const [one, other, isFine] of [
    ["tls-cert", "tls-key", (config.tlsCertFile === null) === (config.tlsKeyFile === null)],
    ["entra-issuer", "entra-jwks", (config.entraIssuer === null) === (config.entraJwks === null)],
  ] as const) {
    if (!isFine) refuse(`${one} and ${other} must be given together, and one is missing`);
  }
  if (config.tlsCertFile !== null && config.tlsNames !== null) {
    refuse("tls-names must be left out where tls-cert is given: its names are its own");
  }
  if (config.moduleKeysEnabled && (config.moduleKey1 ?? config.moduleKey2) === null) {
    const { moduleKey1, moduleKeysEnabled } = settings;
    refuse(`${moduleKey1.name} must be given where ${moduleKeysEnabled.name} is true`);
  }
  if (config.healthWaitMaxMs < config.healthFirstWaitMs) {
    refuse("health-wait-max must be at least as long as health-first-wait, and is shorter");
  }
  if (isTarget(config.store) && config.clock === "virtual") {
    refuse("clock must be real where store is a database, which has its own, and is virtual");
  }
  if (config.storePassword !== null && config.storePasswordFile !== null) {
    refuse("store-password must be left out where store-password-file is given");
  }
  if (config.storeLeaseMs < leaseMsMin) {
    refuse("store-lease must be at least PT3S, and is shorter");
  }
  if (config.clock === "real" && config.clockStartAt !== null) {
    refuse("clock must be virtual where clock-start is set, and is real");
  }
  return refusals;
}

export function showValue(
  { isSecret, isList, show = (text) => text }: Setting<unknown>,
  found: Found | undefined,
): string | null {
  if (found === undefined) return null;
  if (isSecret) return "********";
  const text = textOf(found.value, isList) ?? JSON.stringify(found.value) ?? null;
  return text === null ? null : show(text);
}

/** A number in a file is the same as its digits; null for what is not text. */
function textOf(value: unknown, isList: boolean): string | null {
  if (typeof value === "string") return value;
  if (typeof value === "number") return String(value);
  const isTexts = Array.isArray(value) && value.every((part) => typeof part === "string");
  return isList && isTexts ? value.join(",") : null;
}

/** Names only: what is below them has keys. */
function namesIn(section: unknown): string {
  return typeof section === "object" && section !== null ? Object.keys(section).join(", ") : "";
}

function splitOnce(text: string, separator: string): [string, string?] {
  const place = text.indexOf(separator);
  return place < 0 ? [text] : [text.slice(0, place), text.slice(place + separator.length)];
}
