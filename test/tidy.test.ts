// The project's own rules as tests. Each rule is run on the whole tree; on planted faults, so that
// no rule can be blind; and on what comes close to a fault and is none. The rules themselves and
// their tables are in test/tidy/.

import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, test } from "node:test";
import { linkFaults } from "./tidy/links.ts";
import * as rules from "./tidy/rules.ts";
import { codeOf, commentsOf, importsOf, readTree, type SourceFile } from "./tidy/source.ts";

interface Rule {
  readonly says: string;
  readonly check: (files: readonly SourceFile[]) => rules.Fault[];
  /** Each is a small tree with one fault in it. */
  readonly planted: readonly Tree[];
  readonly fine: readonly Tree[];
}

/** Path to text. */
type Tree = Readonly<Record<string, string>>;

const tree = readTree(join(import.meta.dirname, ".."));

function each(check: (file: SourceFile) => rules.Fault[]): Rule["check"] {
  return (files) => files.flatMap(check);
}

function filesOf(planted: Tree): SourceFile[] {
  return Object.entries(planted).map(([path, text]) => ({ path, text }));
}

/** Code within a template, which the linter would take for a mistake in a plain string. */
function hole(code: string): string {
  return `\${${code}}`;
}

const RULES: readonly Rule[] = [
  {
    says: "a room imports only core and itself, and only the floor plan imports rooms",
    check: each(rules.starFaults),
    planted: [
      { "src/dispatch/a.ts": 'import { x } from "../store/memory.ts";' },
      { "src/dispatch/a.ts": 'import type { X } from "../store/memory.ts";' },
      { "src/dispatch/a.ts": 'import {\n  x,\n  y,\n} from "../store/memory.ts";' },
      { "src/dispatch/a.ts": 'export { x } from "../store/memory.ts";' },
      { "src/dispatch/a.ts": 'import "../store/memory.ts";' },
      { "src/dispatch/a.ts": 'const x = await import("../store/memory.ts");' },
      { "src/dispatch/a.ts": 'new Worker(new URL("../store/worker.ts", import.meta.url));' },
      { "src/core/a.ts": 'import { x } from "../dispatch/a.ts";' },
      { "src/core/a.ts": 'import { x } from "../config/a.ts";' },
      { "src/config/a.ts": 'import { x } from "../store/memory.ts";' },
      { "src/store/a.ts": 'import { x } from "../config/a.ts";' },
      { "src/config/a.ts": 'import { x } from "../edge/routes.ts";' },
      { "src/edge/a.ts": 'import { x } from "../store/memory.ts";' },
      { "src/store/a.ts": 'import { x } from "../../test/contract/store.ts";' },
      { "src/store/a.ts": 'import { x } from "./a.test.ts";' },
      { "src/broker.ts": 'import { x } from "../test/sim/world.ts";' },
      { "bench/a.ts": 'import { x } from "../src/core/event.ts";' },
      { "bench/matching.ts": 'import { x } from "../src/broker.ts";' },
      { "bin/posthorn.js": 'import { x } from "../src/broker.ts";' },
      { "portal/pages/a.tsx": 'import { x } from "../../src/control/arm.ts";' },
    ],
    fine: [
      { "src/edge/a.ts": 'import { x } from "../control/a.ts";' },
      { "src/config/a.ts": 'import { x } from "../edge/environment-keys.ts";' },
      { "src/dispatch/a.ts": 'import { x } from "../core/retry.ts";\nimport { y } from "./b.ts";' },
      { "src/core/schema/a.ts": 'import { x } from "../event.ts";' },
      { "src/broker.ts": 'import { x } from "./store/memory.ts";' },
      { "src/config/a.ts": 'import { x } from "../core/text/check.ts";' },
      { "src/dispatch/a.test.ts": 'import { x } from "../store/memory.ts";' },
      { "src/dispatch/a.ts": '// import { x } from "../store/memory.ts";' },
      { "src/dispatch/a.ts": "const text = 'import { x } from \"../store/memory.ts\"';" },
      { "bin/posthorn.js": 'import "../src/main.ts";' },
      { "bench/matching.ts": 'import { x } from "../src/core/event.ts";' },
      { "portal/pages/a.tsx": 'import { x } from "../../src/core/event.ts";' },
      { "portal/pages/a.tsx": 'import { x } from "../parts/b.tsx";' },
    ],
  },
  {
    says: "a package or a part of Node is imported only where its trade is",
    check: each(rules.packageFaults),
    planted: [
      { "src/core/a.ts": 'import { createHash } from "node:crypto";' },
      { "src/dispatch/a.ts": 'import { request } from "undici";' },
      { "src/egress/webhook.ts": 'import { parse } from "yaml";' },
      { "src/store/memory.ts": 'import { DatabaseSync } from "node:sqlite";' },
      { "src/dispatch/a.ts": 'import { setTimeout } from "node:timers/promises";' },
      { "src/runtime/a.ts": 'import leftpad from "leftpad";' },
      { "src/dispatch/a.ts": "await import(name);" },
      { "portal/pages/a.tsx": 'import { x } from "undici";' },
      { "portal/pages/a.tsx": 'import { x } from "@fluentui/react-icons";' },
    ],
    fine: [
      { "src/egress/http/connection.ts": 'import type { Socket } from "node:net";' },
      { "src/store/sqlite/database.ts": 'import { DatabaseSync } from "node:sqlite";' },
      { "src/egress/webhook.test.ts": 'import { createServer } from "node:http";' },
      { "portal/fluent.ts": 'export { Button } from "@fluentui/react-button";' },
      { "portal/build.ts": 'import { join } from "node:path";' },
    ],
  },
  {
    says: "time, chance and the environment are real only in runtime/ and main.ts",
    check: each(rules.bannedFaults),
    planted: [
      "Date.now()",
      "new Date()",
      "new Date( )",
      "Date()",
      "performance.now()",
      "setTimeout(ring, 5)",
      "setInterval(ring, 5)",
      "setImmediate(ring)",
      "AbortSignal.timeout(5)",
      "Math.random()",
      "crypto.randomUUID()",
      "process.env.HOME",
      `\`${hole("Date.now()")}\``,
      `\`a ${hole(`\`b ${hole("{ c: 1 }")} d\``)} ${hole("Math.random()")}\``,
      "x / Date.now() / y",
      "/[/\"']/.test(x) && Date.now()",
    ].map((code) => ({ "src/dispatch/a.ts": `const a = ${code};` })),
    fine: [
      { "src/runtime/clock.ts": "Date.now();" },
      { "src/main.ts": "process.env.HOME;" },
      { "src/core/time.ts": "new Date(instant).toISOString();" },
      { "src/core/time.ts": "Date.UTC(2020, 1); Date.parse(text);" },
      { "src/dispatch/a.ts": "// Date.now() is not here.\n/* Nor\n * setTimeout. */" },
      { "src/dispatch/a.ts": "const a = 'setTimeout' + \"Math.random\" + `process.env`;" },
      { "src/dispatch/a.ts": "const a = /Date.now()/.test(text);" },
      { "src/dispatch/a.ts": "const a = mySetTimeoutMs;" },
    ],
  },
  {
    says: "there are no barrels",
    check: each(rules.barrelFaults),
    planted: [{ "src/core/index.ts": "" }, { "index.ts": "" }],
    fine: [{ "src/core/reindex.ts": "" }, { "portal/index.html": "" }],
  },
  {
    says: "what is exported has a name",
    check: each(rules.exportFaults),
    planted: [
      { "src/core/a.ts": "export default function a() {}" },
      { "src/core/a.ts": "export { a as default };" },
      { "test/a.test.ts": "export default 1;" },
    ],
    fine: [
      { "src/core/a.ts": "export { a, b as c };" },
      { "src/core/a.ts": "// export default is not used" },
      { "test/reporter.ts": "export default 1;" },
    ],
  },
  {
    says: "there are no enums",
    check: each(rules.enumFaults),
    planted: [
      { "src/core/a.ts": "enum A { B }" },
      { "src/core/a.ts": "export const enum A { B }" },
      { "src/core/a.ts": "  export declare enum A { B }" },
    ],
    fine: [{ "src/core/a.ts": "// enum A\nconst a = { enum: 1 };" }],
  },
  {
    says: "lines have at most 100 columns",
    check: each(rules.lineFaults),
    planted: [
      { "src/a.ts": `//\n${"x".repeat(101)}\n` },
      { "src/a.ts": `// ${"x y ".repeat(30)}` },
      { "src/a.ts": `/**\n * "${"x y ".repeat(30)}" */` },
    ],
    fine: [
      { "src/a.ts": "ü".repeat(100) },
      { "src/a.ts": `// https://${"x".repeat(100)}` },
      { "src/a.ts": `test("${"x y ".repeat(30)}", () => {});` },
      { "README.md": "x".repeat(101) },
    ],
  },
  {
    says: "every file of code opens by saying what it is for",
    check: each(rules.openingFaults),
    planted: [
      { "src/a.ts": 'import { x } from "./b.ts";' },
      { "src/a.ts": "//\nconst a = 1;" },
      { "bin/a.js": "#!/usr/bin/env node\nimport './b.ts';" },
      { "src/a.ts": "" },
    ],
    fine: [
      { "src/a.ts": "// What it is for." },
      { "src/a.ts": "/**\n * What it is for.\n */" },
      { "bin/a.js": "#!/usr/bin/env node\n// What it is for." },
      { "src/a.test.ts": 'import { a } from "./a.ts";' },
    ],
  },
  {
    says: "files of code have lower-case names that say what is in them",
    check: each(rules.nameFaults),
    planted: [
      { "src/core/util.ts": "" },
      { "src/core/utils.ts": "" },
      { "test/test-helpers.ts": "" },
      { "src/core/manager.test.ts": "" },
      { "src/core/Event.ts": "" },
    ],
    fine: [{ "src/core/event.ts": "" }, { "src/core/commonality.ts": "" }, { "README.md": "" }],
  },
  {
    says: "nothing names a machine or a package registry",
    check: each(rules.machineFaults),
    planted: [
      { "README.md": `see ${"/ho"}me/jane/posthorn` },
      { "src/a.ts": `const a = "${"/wo"}rk/main";` },
      { "package-lock.json": `"https://${"regis"}try.example.com/a.tgz"` },
      { "docs/a.md": `${"regis"}try.npmjs.org` },
    ],
    fine: [
      { "README.md": "http://localhost:8080/topics/work/api/events, src/work/a.ts, ~/work/a" },
      { "src/a.ts": "this.registry.catalog.bind(this)" },
    ],
  },
  {
    says: "the lock file holds no addresses",
    check: each(rules.lockFaults),
    planted: [{ "package-lock.json": '{ "a": { "resolved": "x" } }' }],
    fine: [{ "package-lock.json": '{ "a": { "integrity": "sha512-resolved" } }' }],
  },
  {
    says: "the lock file has the packages of every platform",
    check: each(rules.platformFaults),
    planted: [
      {
        "package-lock.json":
          '{ "packages": { "node_modules/a": { "optionalDependencies": { "b": "1" } } } }',
      },
    ],
    fine: [
      {
        "package-lock.json":
          '{ "packages": { "node_modules/a": { "optionalDependencies": { "b": "1", "c": "1" } }, ' +
          '"node_modules/a/node_modules/b": {}, "node_modules/c": {} } }',
      },
    ],
  },
  {
    says: "no file imports itself by a detour",
    check: rules.cycleFaults,
    planted: [
      { "src/core/a.ts": 'import "./b.ts";', "src/core/b.ts": 'import "./a.ts";' },
      {
        "src/core/a.ts": 'import { b } from "./b.ts";',
        "src/core/b.ts": 'export { c } from "../c.ts";',
        "src/c.ts": 'import { type A, a } from "./core/a.ts";',
      },
      { "src/core/a.ts": 'import "./a.ts";' },
    ],
    fine: [
      {
        "src/a.ts": 'import "./b.ts";\nimport "./c.ts";',
        "src/b.ts": 'import "./d.ts";',
        "src/c.ts": 'import "./d.ts";',
        "src/d.ts": "",
      },
      {
        "src/core/a.ts": 'import type { B } from "./b.ts";',
        "src/core/b.ts": 'import type { A } from "./a.ts";',
      },
    ],
  },
  {
    says: "every rule we speak of exists and is cited by a test",
    check: rules.ruleFaults,
    planted: [
      { "docs/delivery.md": "At once (D-3)." },
      { "README.md": "At once (D-3).", "src/a.ts": "const cited = 'D-3';" },
      { "src/a.ts": "// At once (D-3)." },
      { "README.md": "At once (D-3).", "test/tidy.test.ts": 'test("D-3");' },
      { "README.md": "D-7", "test/a.test.ts": 'test("D-7");' },
      { "test/a.test.ts": 'test("P-14");' },
      { "test/a.test.ts": 'test("R-0");' },
    ],
    fine: [
      { "README.md": "At once (D-3).", "src/a.test.ts": 'test("at once (D-3)");' },
      { "README.md": "UTF-8, ISO-8601, P-256, 1E-3, ETB-1", "src/a.ts": 'const a = "L-99";' },
    ],
  },
  {
    says: "what we promise to be compatible with has a test that exists",
    check: rules.promiseFaults,
    planted: [
      { "docs/compatibility.md": "| topics | yes | | |" },
      { "docs/compatibility.md": '| topics | yes | | `src/a.test.ts` "a" |' },
      {
        "docs/compatibility.md":
          '| topics | differs | | `src/a.test.ts` "a"; `src/a.test.ts` "b" |',
        "src/a.test.ts": 'test("a");',
      },
      { "docs/compatibility.md": "| topics | perhaps | | |" },
      { "docs/compatibility.md": "| topics | no |" },
      { "src/a.ts": "// *Differs:* in all." },
      { "src/a.ts": "// *Differs:* in all.", "docs/compatibility.md": "no word of it" },
    ],
    fine: [
      {
        "docs/compatibility.md":
          "| feature | here | how | shown by |\n| --- | --- | --- | --- |\n" +
          '| topics | yes | `src/a.ts` | `src/a.test.ts` "a `b`" |\n' +
          "| az | yes | | [recipe](clients.md#the-azure-cli) |\n| more | no | | |",
        "src/a.test.ts": 'test("a `b` c");',
        "src/a.ts": "// *Differs:* in all.",
      },
    ],
  },
  {
    says: "every dependency has a reason in docs/decisions",
    check: rules.dependencyFaults,
    planted: [
      { "package.json": '{ "dependencies": { "left": "1" } }' },
      {
        "package.json": '{ "devDependencies": { "left": "1" } }',
        "docs/decisions/0001-a.md": "left-pad, @types/left",
      },
      { "package.json": '{ "dependencies": { "left": "1" } }', "docs/a.md": "`left`" },
    ],
    fine: [
      {
        "package.json": '{ "dependencies": { "left": "1", "@a/b": "1" } }',
        "docs/decisions/0001-a.md": "We use Left, and `@a/b`.",
      },
    ],
  },
  {
    says: "a link from page to page leads somewhere",
    check: linkFaults,
    planted: [
      { "README.md": "[b](docs/b.md)" },
      { "docs/a.md": "![b](images/b.png)", "images/b.png": "" },
      { "docs/a.md": "[b](b.md#two)", "docs/b.md": "# One" },
      { "docs/a.md": "[here](#two)\n\n## One\n" },
    ],
    fine: [
      { "README.md": "[b](docs/b.md), [c](docs)", "docs/b.md": "" },
      { "docs/a.md": "[b](../README.md#what-is-there)", "README.md": "## What is `there`?" },
      { "docs/a.md": "[b](https://example.test/b) `[c](d.md)`\n```\n[e](f.md)\n```\n" },
    ],
  },
];

for (const { says, check, planted, fine } of RULES) {
  describe(says, () => {
    test("in the whole tree", () => {
      const faults = check(tree);
      if (faults.length > 0) assert.fail(`${faults.length} faults\n${faults.join("\n")}`);
    });
    test("and every planted fault is found, and nothing else", () => {
      for (const example of planted) {
        assert.notDeepEqual(check(filesOf(example)), [], JSON.stringify(example));
      }
      for (const example of fine) assert.deepEqual(check(filesOf(example)), []);
    });
  });
}

test("the tree is really read", () => {
  const paths = tree.map(({ path }) => path);
  for (const path of ["src/core/ports.ts", "test/tidy.test.ts", "package-lock.json", ".ci/run"]) {
    assert.ok(paths.includes(path), path);
  }
  assert.ok(!paths.some((path) => path.includes("node_modules") || path.startsWith(".git/")));
});

test("a file is split into code and comment, and nothing is moved", () => {
  const text = `a("b // c", \`d ${hole("e /* f */")} g\`, /h"/); // i\n`;
  assert.equal(codeOf(text), 'a("      ", `   {e        }  `,     );     \n');
  assert.equal(commentsOf(text).trim().replaceAll(/ +/g, " "), "/* f */ // i");
  assert.equal(commentsOf(text).indexOf("// i"), text.indexOf("// i"));
});

test("an import is found with its line and its file", () => {
  const text = '// One.\n\nimport {\n  a,\n} from "../b/c.ts";\n';
  assert.deepEqual(importsOf({ path: "src/d/e.ts", text }), [
    { specifier: "../b/c.ts", path: "src/b/c.ts", line: 3, isType: false },
  ]);
});
