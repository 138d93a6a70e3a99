// `npm run compat`: Microsoft's clients of other languages, unmodified, against a real broker over
// TLS and plain. Their packages go into a cache of the checkout (node_modules/.cache/compat); a
// language whose tools are missing is skipped by name. The code of the language pages in docs/ is
// run, too. Not a part of `npm test`, which needs none of this.

import { spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openCompatBroker } from "../compat/broker.ts";

const here = import.meta.dirname;
const root = join(here, "../..");
const cache = join(root, "node_modules/.cache/compat");
const tenant = "00000000-0000-0000-0000-000000000001";

interface Language {
  readonly name: string;
  /** What must be there, as command lines that succeed. */
  readonly needs: readonly (readonly string[])[];
  /** Fetches what the programs need, once. */
  prepare(): void;
  /** The command lines to run, by what they are. */
  programs(work: Work): Readonly<Record<string, readonly string[]>>;
}

interface Work {
  /** For files of this run. */
  readonly folder: string;
  /** The authority to trust. */
  readonly ca: string;
}

/** The first block of code of that language on a page. */
function codeOn(page: string, language: string): string {
  const text = readFileSync(join(root, "docs", page), "utf8");
  const found = new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``).exec(text)?.[1];
  if (found === undefined) throw new Error(`docs/${page} has no code in ${language}`);
  return found;
}

function run(words: readonly string[], env: Readonly<Record<string, string>> = {}, cwd = here) {
  const [command = "", ...args] = words;
  const done = spawnSync(command, args, {
    ...{ cwd, encoding: "utf8", env: { ...process.env, ...env }, timeout: 900_000 },
  });
  return { isDone: done.status === 0, out: `${done.stdout ?? ""}${done.stderr ?? ""}`.trim() };
}

/** Throws with what it printed. */
function must(words: readonly string[], env: Readonly<Record<string, string>> = {}, cwd = here) {
  const { isDone, out } = run(words, env, cwd);
  if (!isDone) throw new Error(`${words.join(" ")}\n${out}`);
  return out;
}

const python = join(cache, "python/bin/python");

const javaNamespaces = join(cache, "java/lib/azure-messaging-eventgrid-namespaces-1.1.0.jar");

function hasJavaNamespaces(): boolean {
  return existsSync(javaNamespaces);
}

const languages: readonly Language[] = [
  {
    name: "Python",
    needs: [["python3", "--version"]],
    prepare() {
      if (!existsSync(python)) must(["python3", "-m", "venv", join(cache, "python")]);
      const list = join(here, "python/requirements.txt");
      must([python, "-m", "pip", "install", "--quiet", "--requirement", list]);
    },
    programs({ folder }) {
      writeFileSync(join(folder, "page.py"), codeOn("languages/python.md", "python"));
      return {
        topics: [python, join(here, "python/compat.py")],
        namespaces: [python, join(here, "python/namespaces.py")],
        "docs/languages/python.md": [python, join(folder, "page.py")],
      };
    },
  },
  {
    name: "Java",
    needs: [
      ["java", "-version"],
      ["javac", "-version"],
      ["mvn", "-version"],
    ],
    prepare() {
      const places = [
        `-DoutputDirectory=${cache}/java/lib`,
        `-Dmaven.repo.local=${cache}/java/repository`,
      ];
      must(["mvn", "-q", "-B", "dependency:copy-dependencies", ...places], {}, join(here, "java"));
      // Not every registry has it: then it is what this variable names, built from its sources.
      const own = process.env.POSTHORN_TEST_JAVA_NAMESPACES;
      const artifact = "-Dartifact=com.azure:azure-messaging-eventgrid-namespaces:1.1.0";
      const get = ["mvn", "-q", "-B", "dependency:copy", artifact, "-Dmdep.useBaseVersion=true"];
      if (own !== undefined) cpSync(own, javaNamespaces);
      else if (!hasJavaNamespaces()) run([...get, ...places], {}, join(here, "java"));
      if (!hasJavaNamespaces())
        console.log("skipped Java, namespaces: the package cannot be fetched");
    },
    programs({ folder, ca }) {
      const trusted = join(folder, "trusted.p12");
      const store = ["-keystore", trusted, "-storepass", "changeit", "-storetype", "PKCS12"];
      must(["keytool", "-importcert", "-noprompt", "-alias", "posthorn", "-file", ca, ...store]);
      mkdirSync(join(folder, "page"));
      writeFileSync(join(folder, "page/Orders.java"), codeOn("languages/java.md", "java"));
      const start = [
        ...["java", `-Djavax.net.ssl.trustStore=${trusted}`],
        ...["-Djavax.net.ssl.trustStorePassword=changeit", "-cp", `${cache}/java/lib/*`],
      ];
      return {
        topics: [...start, join(here, "java/Compat.java")],
        ...(hasJavaNamespaces() && { namespaces: [...start, join(here, "java/Namespaces.java")] }),
        "docs/languages/java.md": [...start, join(folder, "page/Orders.java")],
      };
    },
  },
  {
    name: "Go",
    needs: [["go", "version"]],
    prepare() {},
    programs({ folder }) {
      const page = join(folder, "page");
      cpSync(join(here, "go"), page, { recursive: true });
      writeFileSync(join(page, "main.go"), codeOn("languages/go.md", "go"));
      return {
        topics: ["go", "run", "-C", join(here, "go"), "."],
        namespaces: ["go", "run", "-C", join(here, "go"), "./namespaces"],
        "docs/languages/go.md": ["go", "run", "-C", page, "."],
      };
    },
  },
];

const goEnv = {
  GOMODCACHE: join(cache, "go/mod"),
  GOCACHE: join(cache, "go/build"),
  GOFLAGS: "-mod=mod",
};

async function runLanguage(language: Language): Promise<boolean> {
  const missing = language.needs.find((words) => !run(words).isDone);
  if (missing !== undefined) {
    console.log(`skipped ${language.name}: ${missing[0]} is not here`);
    return true;
  }
  language.prepare();
  const options = ["--handshake", "on", "--tls-names", "localhost"];
  const broker = await openCompatBroker({ orders: {} }, options);
  const folder = mkdtempSync(join(tmpdir(), "posthorn-languages-"));
  const ca = join(folder, "ca.pem");
  writeFileSync(ca, broker.ca);
  const env = {
    REQUESTS_CA_BUNDLE: ca,
    ...{ POSTHORN_HTTP: broker.http, POSTHORN_HTTPS: broker.https, POSTHORN_CA: ca },
    ...{ POSTHORN_ADMIN_KEY: broker.adminKey, POSTHORN_TENANT: tenant, ...goEnv },
  };
  let isGood = true;
  try {
    for (const [what, words] of Object.entries(language.programs({ folder, ca }))) {
      const { isDone, out } = run(words, env);
      console.log(`${isDone ? "passed" : "FAILED"}  ${language.name}, ${what}: ${out}`);
      isGood &&= isDone;
    }
  } finally {
    await broker.close();
    rmSync(folder, { recursive: true, force: true });
  }
  return isGood;
}

const only = process.argv.slice(2).map((word) => word.toLowerCase());
mkdirSync(cache, { recursive: true });
let isGood = true;
for (const language of languages) {
  if (only.length > 0 && !only.includes(language.name.toLowerCase())) continue;
  isGood = (await runLanguage(language)) && isGood;
}
process.exitCode = isGood ? 0 : 1;
