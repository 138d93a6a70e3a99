// The project's own rules, each a pure function from files to faults. They say what is wrong and
// what to do instead. Edit the tables here when the project grows: a new package gets its one file,
// a new rule its id.

import { posix } from "node:path";
import {
  codeOf,
  commentsOf,
  importsOf,
  isCode,
  isTest,
  lineAt,
  type SourceFile,
} from "./source.ts";

export type Fault = string;

const LINE_COLUMNS_MAX = 100;

/** The files that know the rooms: the floor plan, and the process that opens it. */
const KNOWS_ROOMS = [
  "src/broker.ts",
  "src/routes.ts",
  "src/doctor/doctor.ts",
  "src/environment.ts",
  "src/wiring.ts",
  "src/main.ts",
  "src/stores.ts",
  "src/waiting-room.ts",
  "src/room-options.ts",
  "src/testing/",
  "src/offline-commands.ts",
  "src/whatif/",
];

/**
 * Rooms that are a second face of others: the retired IoT Edge module is spoken to by routes of its
 * own, which publish and manage as ingress and control do, and its environment keys are settings.
 * Namespaces are published to as ingress does.
 */
const ALSO_IMPORTS: Readonly<Record<string, readonly string[]>> = {
  "src/edge/": ["src/ingress/", "src/control/", "src/config/setting.ts"],
  "src/config/": ["src/edge/environment-keys.ts"],
  "src/pull/": ["src/ingress/"],
  // A thread is a process of its own, and gives its memory back like one.
  "src/store/": ["src/runtime/give-back.ts"],
};

/** Benchmarks of a pure function, which no broker uses by itself. */
const MEASURES_LAWS = ["bench/matching.ts"];

/**
 * Where a package or a part of Node may be imported: a file, or a folder with its slash. What is
 * not listed is imported nowhere. Tests and the benchmark are free.
 */
const PLACES: Readonly<Record<string, readonly string[]>> = {
  "@azure/event-hubs": ["src/egress/azure/event-hub.ts"],
  "@azure/identity": ["src/egress/azure/managed-identity.ts"],
  "@azure/service-bus": ["src/egress/azure/servicebus.ts"],
  "@azure/storage-blob": [
    "src/egress/deadletter/blob-writer.ts",
    "src/egress/deadletter/blob-reader.ts",
  ],
  "@azure/storage-queue": ["src/egress/azure/storage-queue.ts"],
  "@jmespath-community/jmespath": ["src/cli/print/output.ts"],
  "@opentelemetry/api": ["src/runtime/telemetry/"],
  "@opentelemetry/exporter-metrics-otlp-http": ["src/runtime/telemetry/"],
  "@opentelemetry/exporter-metrics-otlp-proto": ["src/runtime/telemetry/"],
  "@opentelemetry/exporter-trace-otlp-http": ["src/runtime/telemetry/"],
  "@opentelemetry/exporter-trace-otlp-proto": ["src/runtime/telemetry/"],
  "@opentelemetry/resources": ["src/runtime/telemetry/"],
  "@opentelemetry/sdk-metrics": ["src/runtime/telemetry/"],
  "@opentelemetry/sdk-trace": ["src/runtime/telemetry/"],
  "@peculiar/x509": ["src/runtime/access/certificate.ts"],
  jose: ["src/runtime/access/tokens.ts"],
  rhea: ["src/egress/amqp-broker.ts"],
  pg: ["src/store/postgres/connection.ts"],
  "reflect-metadata": ["src/runtime/access/certificate.ts"],
  yaml: ["src/cli/print/output.ts"],
  "node:buffer": ["src/ingress/", "src/runtime/"],
  "node:crypto": [
    "src/doctor/",
    "src/main.ts",
    "src/ingress/",
    "src/pull/lock-token.ts",
    "src/egress/",
    "src/control/",
    "src/store/",
    "src/runtime/",
    "src/cli/listen/check-signature.ts",
  ],
  "node:fs": [
    "src/doctor/",
    "src/main.ts",
    "src/environment.ts",
    "src/room-options.ts",
    "src/store/",
    "src/runtime/",
    "src/cli/",
    "src/testing/",
  ],
  "node:fs/promises": [
    "src/egress/deadletter/folder-writer.ts",
    "src/egress/deadletter/folder-reader.ts",
  ],
  "node:http": ["src/runtime/", "src/testing/"],
  "node:https": ["src/runtime/"],
  "node:async_hooks": ["src/egress/policy.ts"],
  "node:diagnostics_channel": ["src/egress/policy.ts"],
  "node:dns": ["src/egress/policy.ts"],
  "node:net": [
    "src/egress/policy.ts",
    "src/egress/http/connection.ts",
    "src/egress/http/connections.ts",
    "src/store/postgres/connection.ts",
    "src/doctor/",
    "src/runtime/",
    "src/testing/",
    "src/ingress/network.ts",
  ],
  "node:path": [
    "src/doctor/",
    "src/main.ts",
    "src/offline-commands.ts",
    "src/broker.ts",
    "src/routes.ts",
    "src/doctor/doctor.ts",
    "src/environment.ts",
    "src/stores.ts",
    "src/room-options.ts",
    "src/egress/deadletter/folder-writer.ts",
    "src/egress/deadletter/folder-reader.ts",
    "src/store/",
    "src/runtime/",
    "src/cli/",
    "src/testing/",
  ],
  "node:os": ["src/broker.ts", "src/testing/"],
  "node:perf_hooks": ["src/runtime/"],
  "node:querystring": ["src/runtime/"],
  "node:sqlite": [
    "src/store/sqlite",
    "src/store/sqlite/database.ts",
    "src/store/sqlite/statements.ts",
    "src/store/sqlite/sweep.ts",
    "src/store/sqlite/backup.ts",
    "src/store/story/",
    "src/store/figures/",
    "src/store/move/embedded-side.ts",
  ],
  "node:readline": ["src/main.ts"],
  "node:stream": ["src/runtime/"],
  "node:stream/promises": ["src/main.ts"],
  "node:stream/consumers": ["src/main.ts", "src/testing/"],
  "node:tls": ["src/main.ts", "src/egress/", "src/runtime/"],
  "node:url": ["src/egress/deadletter/folder-writer.ts"],
  "node:util": ["src/main.ts", "src/runtime/", "src/cli/"],
  "node:v8": ["src/runtime/give-back.ts"],
  "node:vm": ["src/runtime/give-back.ts"],
  "node:worker_threads": ["src/store/", "src/egress/deadletter/letter-thread.ts"],
  "node:zlib": [
    "src/ingress/",
    "src/runtime/http/compress.ts",
    "src/store/sqlite/journal.ts",
    "src/store/story/compress.ts",
  ],
};

/** What the portal is made of, in the browser; only its build knows Node and the bundler. */
const PORTAL_PACKAGES = /^(react|react-dom\/client)$/;
const PORTAL_BUILD = "portal/build.ts";
const FLUENT_PLACE = "portal/fluent.ts";

/** Time, chance and the environment come in as values; only here are they real. */
const REAL_PLACES = ["src/runtime/", "src/doctor/", "src/main.ts", "src/testing/"];
const BANNED: readonly (readonly [word: RegExp, instead: string])[] = [
  [/\bDate\.now\b/g, "take the instant, or a Clock"],
  [/\bDate\(\s*\)|\bnew Date\b(?!\()/g, "take the instant, or a Clock"],
  [/\bperformance\b/g, "take the instant, or a Clock"],
  [/\bhrtime\b/g, "take the instant, or a Clock"],
  [/\bset(Timeout|Interval|Immediate)\b/g, "use Clock.after"],
  [/\bAbortSignal\.timeout\b/g, "use Clock.after and an AbortController"],
  [/\bMath\.random\b/g, "use Chance"],
  [/\b(randomUUID|randomBytes|randomInt|getRandomValues)\b/g, "use Ids or Chance"],
  [/\bprocess\.env\b/g, "take the setting as a value"],
];

const NAMES_REFUSED = /^(helper|util|common|manager|service|misc|shared|handler|data|info)s?$/;

/** The rules of the delivery specification: how many each letter has. */
const RULES: { readonly [letter: string]: number } = {
  P: 13,
  D: 6,
  R: 7,
  H: 4,
  B: 5,
  L: 8,
  C: 1,
  E: 3,
  M: 2,
};

/** Node's runner wants the reporter as a default export, the bundler gives addresses as one. */
const DEFAULT_EXPORT_ALLOWED = ["test/reporter.ts", "portal/types.d.ts"];

function isIn(path: string, places: readonly string[]): boolean {
  return places.some((place) => path === place || (isPrefix(place) && path.startsWith(place)));
}

/** `src/store/` is a folder, `src/store/sqlite` the beginning of some names, `a.ts` one file. */
function isPrefix(place: string): boolean {
  return !place.endsWith(".ts");
}

/** The room a file is in; the files directly in `src` are in none. */
function roomOf(path: string): string | null {
  return /^src\/([^/]+)\//.exec(path)?.[1] ?? null;
}

/** Every room imports `core` and itself; only the floor plan and the process import rooms. */
export function starFaults(file: SourceFile): Fault[] {
  if (!isCode(file.path) || isTest(file.path)) return [];
  return importsOf(file).flatMap(({ path, line }) => {
    if (path === null || mayImport(file.path, path)) return [];
    const rule = file.path.startsWith("src/")
      ? "a room imports only core and itself"
      : "from outside, use what the broker serves";
    return [`${file.path}:${line}: imports ${path}; ${rule}`];
  });
}

function mayImport(from: string, to: string): boolean {
  // Everything else the portal asks the broker for, as everybody does.
  if (from.startsWith("portal/")) return to.startsWith("portal/") || roomOf(to) === "core";
  if (isIn(from, MEASURES_LAWS) && roomOf(to) === "core") return true;
  if (!from.startsWith("src/")) {
    return !to.startsWith("src/") || (from.startsWith("bin/") && to === "src/main.ts");
  }
  if (!to.startsWith("src/") || isTest(to)) return false;
  const also = Object.entries(ALSO_IMPORTS).flatMap(([room, places]) =>
    from.startsWith(room) ? places : [],
  );
  if (isIn(from, KNOWS_ROOMS) || isIn(to, also)) return true;
  return roomOf(to) === "core" || roomOf(to) === roomOf(from);
}

/** A package is imported only where its trade is; `core` imports none, so that it runs anywhere. */
export function packageFaults(file: SourceFile): Fault[] {
  const isPortal = file.path.startsWith("portal/") && file.path !== PORTAL_BUILD;
  if (!isPortal && !file.path.startsWith("src/")) return [];
  if (!isCode(file.path) || isTest(file.path)) return [];
  return importsOf(file).flatMap(({ specifier, path, line }) => {
    if (path !== null || isIn(file.path, PLACES[specifier] ?? [])) return [];
    if (isPortal && PORTAL_PACKAGES.test(specifier)) return [];
    if (file.path === FLUENT_PLACE && /^@(fluentui|griffel)\//.test(specifier)) return [];
    return [
      `${file.path}:${line}: imports ${specifier}; its place is in the table of the tidy test`,
    ];
  });
}

export function bannedFaults(file: SourceFile): Fault[] {
  if (!file.path.startsWith("src/") || !isCode(file.path)) return [];
  if (isTest(file.path) || isIn(file.path, REAL_PLACES)) return [];
  const code = codeOf(file.text);
  return BANNED.flatMap(([word, instead]) =>
    [...code.matchAll(word)].map(
      (match) => `${file.path}:${lineAt(code, match.index)}: ${match[0]}; ${instead}`,
    ),
  );
}

export function barrelFaults(file: SourceFile): Fault[] {
  const isBarrel = /(^|\/)index\.[^/]+$/.test(file.path) && isCode(file.path);
  return isBarrel ? [`${file.path}: a barrel; import from the file that has it`] : [];
}

export function exportFaults(file: SourceFile): Fault[] {
  if (!isCode(file.path) || isIn(file.path, DEFAULT_EXPORT_ALLOWED)) return [];
  const code = codeOf(file.text);
  return [...code.matchAll(/\bexport\s+default\b|\bexport\s*\{[^}]*\bas\s+default\b/g)].map(
    (match) => `${file.path}:${lineAt(code, match.index)}: a default export; give it its name`,
  );
}

export function enumFaults(file: SourceFile): Fault[] {
  if (!isCode(file.path)) return [];
  const code = codeOf(file.text);
  return [...code.matchAll(/^[ \t]*(?:(?:export|declare|const)\s+)*enum\s+\w/gm)].map(
    (match) => `${file.path}:${lineAt(code, match.index)}: an enum; use a union of literals`,
  );
}

/** Links and texts in quotes cannot be broken. The formatter breaks code, we break comments. */
export function lineFaults(file: SourceFile): Fault[] {
  if (!isCode(file.path)) return [];
  const [code, comments] = [codeOf, commentsOf].map((mask) => mask(file.text).split("\n"));
  return file.text.split("\n").flatMap((line, index) => {
    const columns = [...line].length;
    const isQuoting = [...line].some(
      (sign, at) => sign !== " " && code?.[index]?.[at] === " " && comments?.[index]?.[at] === " ",
    );
    if (columns <= LINE_COLUMNS_MAX || isQuoting || line.includes("https://")) return [];
    return [`${file.path}:${index + 1}: ${columns} columns; at most ${LINE_COLUMNS_MAX}`];
  });
}

/** A test beside its file is introduced by that file. */
export function openingFaults(file: SourceFile): Fault[] {
  if (!isCode(file.path) || /^src\/.*\.test\.ts$/.test(file.path)) return [];
  const text = file.text.replace(/^#!.*\n/, "");
  const isOpened = /^(\/\/ \S|\/\*\*? *\n? *\*? *\S)/.test(text);
  return isOpened ? [] : [`${file.path}: begins without saying what it is for`];
}

/** Files are lower-case nouns named for what they export, not for being somewhere to put things. */
export function nameFaults(file: SourceFile): Fault[] {
  if (!isCode(file.path)) return [];
  const name = posix.basename(file.path).replace(/\.[^.]+$/, "");
  if (name !== name.toLowerCase()) return [`${file.path}: file names are in lower case`];
  const word = name.split(/[-_.]/).find((part) => NAMES_REFUSED.test(part));
  return word === undefined ? [] : [`${file.path}: "${word}" says nothing; name what it exports`];
}

// Written in pieces so that this file does not find itself.
const MACHINE = new RegExp(
  [
    String.raw`(?<![\w.~-])/(?:work|root|home|Users)/[\w.-]+`,
    String.raw`https?://[^\s"'/]*(?:registry|npmjs|yarnpkg|artifactory|verdaccio)[^\s"'/]*`,
    String.raw`\bregistry\.npm${"js"}\.org`,
  ].join("|"),
  "g",
);

/** Nothing in the repository says on which machine it was made or where packages came from. */
export function machineFaults(file: SourceFile): Fault[] {
  return [...file.text.matchAll(MACHINE)].map(
    (match) => `${file.path}:${lineAt(file.text, match.index)}: names a machine: ${match[0]}`,
  );
}

export function lockFaults(file: SourceFile): Fault[] {
  if (file.path !== "package-lock.json") return [];
  // A folder of ours that takes the place of a package is no address.
  return [...file.text.matchAll(/"resolved"\s*:(?! "portal\/icons",)/g)].map(
    (match) =>
      `${file.path}:${lineAt(file.text, match.index)}: an address; ` +
      "install with --omit-lockfile-registry-resolved",
  );
}

interface Locked {
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

/**
 * A lock that lacks the packages of some platform is refused by `npm ci`, though the machine that
 * made it needs none of them: a registry that did not have them left them out.
 */
export function platformFaults(file: SourceFile): Fault[] {
  if (file.path !== "package-lock.json") return [];
  const { packages = {} } = JSON.parse(file.text) as { packages?: Record<string, Locked> };
  return Object.entries(packages).flatMap(([path, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies)
      .filter((name) => !isLocked(packages, path, name))
      .map((name) => `${file.path}: ${path} may want ${name}, which is not locked`),
  );
}

/** Beside the package itself, or in any of the folders above it. */
function isLocked(packages: Readonly<Record<string, Locked>>, path: string, name: string): boolean {
  for (let place = path; ; place = place.slice(0, Math.max(0, place.lastIndexOf("/")))) {
    if (`${place}${place === "" ? "" : "/"}node_modules/${name}` in packages) return true;
    if (place === "") return false;
  }
}

/**
 * What imports itself by a detour cannot be read from the top. Types may speak of each other: an
 * event has an instant, and the ports that define the instant carry events.
 */
export function cycleFaults(files: readonly SourceFile[]): Fault[] {
  const code = files.filter((file) => isCode(file.path));
  const edges = new Map(
    code.map((file) => [file.path, importsOf(file).filter(({ isType }) => !isType)]),
  );
  const done = new Set<string>();
  const faults: Fault[] = [];
  const visit = (path: string, trail: readonly string[]): void => {
    if (trail.includes(path)) {
      faults.push([...trail.slice(trail.indexOf(path)), path].join(" → "));
      return;
    }
    if (done.has(path)) return;
    for (const next of edges.get(path) ?? []) {
      if (next.path !== null) visit(next.path, [...trail, path]);
    }
    done.add(path);
  };
  for (const path of edges.keys()) visit(path, []);
  return faults;
}

/** A rule we speak of exists, and some test proves it. */
export function ruleFaults(files: readonly SourceFile[]): Fault[] {
  const isSpoken = (path: string): boolean =>
    /^(README|ARCHITECTURE|CONTRIBUTING)\.md$|^docs\/.*\.md$/.test(path);
  const tests = files.filter(({ path }) => isTest(path) && isCode(path) && !isTidy(path));
  const proved = new Set(tests.flatMap(({ text }) => ruleIds(text).map(({ id }) => id)));
  return files.flatMap((file) => {
    const isSource = file.path.startsWith("src/") && isCode(file.path);
    if (!isSpoken(file.path) && !isSource && !tests.includes(file)) return [];
    const text = isSource && !isTest(file.path) ? commentsOf(file.text) : file.text;
    return ruleIds(text).flatMap(({ id, line }) => {
      if (!isRule(id)) return [`${file.path}:${line}: there is no rule ${id}`];
      return proved.has(id) ? [] : [`${file.path}:${line}: no test cites ${id}`];
    });
  });
}

/** The tidy test speaks of every rule and proves none. */
function isTidy(path: string): boolean {
  return path.startsWith("test/tidy");
}

function ruleIds(text: string): { id: string; line: number }[] {
  return [...text.matchAll(/(?<![\w-])[PDRHBLCEM]-\d{1,2}(?![\w-])/g)].map((match) => ({
    id: match[0],
    line: lineAt(text, match.index),
  }));
}

function isRule(id: string): boolean {
  const [letter = "", number = ""] = id.split("-");
  return Number(number) >= 1 && Number(number) <= (RULES[letter] ?? 0);
}

/** Whoever adds a dependency writes down why. */
export function dependencyFaults(files: readonly SourceFile[]): Fault[] {
  const manifest = JSON.parse(files.find(({ path }) => path === "package.json")?.text ?? "{}");
  const decisions = files.filter(({ path }) => /^docs\/decisions\/.*\.md$/.test(path));
  const names = Object.keys({ ...manifest.dependencies, ...manifest.devDependencies });
  return names
    .filter((name) => !decisions.some(({ text }) => mentions(text, name)))
    .map((name) => `package.json: no file in docs/decisions says why we use ${name}`);
}

function mentions(text: string, name: string): boolean {
  return new RegExp(`(?<![\\w/@-])${RegExp.escape(name)}(?![\\w/-])`, "i").test(text);
}

const PROMISES = "docs/compatibility.md";

/** A promise to users names a test that proves it, and every difference we admit to is promised. */
export function promiseFaults(files: readonly SourceFile[]): Fault[] {
  const page = files.find(({ path }) => path === PROMISES);
  const differing = files.filter(
    ({ path, text }) => /^src\/.*\.ts$/.test(path) && commentsOf(text).includes("*Differs:*"),
  );
  const unsaid = differing
    .filter(({ path }) => !page?.text.includes(`\`${path}\``))
    .map(({ path }) => `${path}: says *Differs:*, and no row of ${PROMISES} names the file`);
  const rows = (page?.text ?? "").split("\n").flatMap((line, index) => {
    const cells = line.split("|").map((cell) => cell.trim());
    const isRow = line.startsWith("|") && !/^\| (--- \||(feature|operation|client) \|)/.test(line);
    return isRow ? rowFaults(cells.slice(1, -1), files).map((why) => [index + 1, why]) : [];
  });
  return [...unsaid, ...rows.map(([line, why]) => `${PROMISES}:${line}: ${why}`)];
}

function rowFaults(cells: readonly string[], files: readonly SourceFile[]): string[] {
  const [, says = "", , proof = ""] = cells;
  if (cells.length !== 4) return [`has ${cells.length} cells in the place of four`];
  if (!["yes", "no", "differs"].includes(says)) return [`says "${says}", not yes, no or differs`];
  if (says === "no") return [];
  const named = [...proof.matchAll(/`([^`]+\.test\.ts)` "([^"]+)"/g)];
  const isRecipe = /\]\(clients\.md#[a-z-]+\)/.test(proof);
  if (named.length === 0 && !isRecipe) return ["names neither a test nor a recipe"];
  return named.flatMap(([, path, name = ""]) => {
    const test = files.find((file) => file.path === path);
    if (test === undefined) return [`there is no ${path}`];
    return test.text.includes(name) ? [] : [`${path} has no test "${name}"`];
  });
}
