// Every command line of `posthorn` in the README and the documents is run, in the order of its
// page, against a broker of the page's own. What cannot be run as it stands there is changed or
// left out below, each with its reason.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, globSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { openCommandLine } from "./fixtures/command-line.ts";
import { program } from "./fixtures/program.ts";

const root = join(import.meta.dirname, "..");

/** Left out, with where else it is run. */
const leftOut: readonly (readonly [RegExp, string])[] = [
  [/^posthorn serve\b/, "every test starts a broker"],
  [/^posthorn torture\b/, "takes minutes: test/torture"],
  [/^posthorn (restore|recover)\b/, "needs a stopped broker: test/backup.test.ts"],
  [/^posthorn backup\b/, "needs a store on disk: test/backup.test.ts"],
  [/^posthorn migrate\b/, "needs PostgreSQL"],
  [/^posthorn broker\b/, "needs a cluster"],
  [/--lock-tokens TOKEN/, "the token is of an earlier answer"],
];

/** Changed so that it ends, or means this broker. */
const changed: readonly (readonly [RegExp, string])[] = [
  [/npx posthorn\b/, "posthorn"],
  [/ --count 10000 --rate 500/, " --count 100"],
  [/ --count 1000 --for 5m/, ""],
  [/^(posthorn listen\b.*)$/, "$1 --for 200ms"],
  [/^(posthorn tail\b.*)$/, "$1 --for 5s"],
  [/^(posthorn listen\b.*)$/, "$1 -p 0"],
  [/whsec_…/, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"],
  [/ --server https:\/\/broker\.test:4438 --key KEY --ca ca\.pem/, " --data data"],
];

interface Line {
  readonly file: string;
  readonly text: string;
}

/** The lines with our command in them, in the blocks of shell code. */
function linesIn(file: string): Line[] {
  const page = readFileSync(join(root, file), "utf8");
  const blocks = [...page.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, block = ""]) => block);
  return blocks
    .flatMap((block) => block.replaceAll(/\\\n\s*/g, " ").split("\n"))
    .map((line) => line.replace(/ {2,}#.*$/, "").trim())
    .filter((line) => /(^|[(]|npx )posthorn /.test(line) && !/^(az|keytool) /.test(line))
    .map((line) => changed.reduce((known, [form, by]) => known.replace(form, by), line))
    .map((line) => ({ file, text: line }));
}

const topic = {
  ...{ name: "orders", location: "local", type: "Microsoft.EventGrid/topics" },
  id: "/subscriptions/S/resourceGroups/rg1/providers/Microsoft.EventGrid/topics/orders",
  inputSchema: "EventGridSchema",
};
const event = { id: "e-1", subject: "/orders/1", eventType: "Order.Placed", data: { amount: 120 } };
const template = {
  $schema: "https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#",
  contentVersion: "1.0.0.0",
  parameters: { environment: { type: "string" }, size: { type: "int", defaultValue: 1 } },
  resources: [
    {
      ...{ type: "Microsoft.EventGrid/topics", apiVersion: "2022-06-15", location: "local" },
      ...{ name: "[parameters('environment')]", properties: {} },
    },
  ],
};
const subscription = {
  ...{
    name: "billing",
    id: `${topic.id}/providers/Microsoft.EventGrid/eventSubscriptions/billing`,
  },
  ...{ topic: topic.id, type: "Microsoft.EventGrid/eventSubscriptions" },
  destination: { endpointType: "WebHook", endpointBaseUrl: "https://example.com/hook" },
};

const pages = ["README.md", ...globSync("docs/**/*.md", { cwd: root }).toSorted()];

for (const page of pages) {
  const lines = linesIn(page).filter(({ text }) => !leftOut.some(([form]) => form.test(text)));
  if (lines.length === 0) continue;
  test(`the commands on ${page} work`, async (t) => {
    const options = ["--clock", "virtual", "--handshake", "off", "--store", "memory"];
    const cli = await openCommandLine(t, options);
    const home = join(cli.folder, "home");
    const bin = join(cli.folder, "bin");
    mkdirSync(join(home, ".config/fish/completions"), { recursive: true });
    mkdirSync(bin);
    writeFileSync(join(bin, "posthorn"), `#!/bin/sh\nexec ${process.execPath} ${program} "$@"\n`);
    chmodSync(join(bin, "posthorn"), 0o755);
    cli.write("event.json", event);
    cli.write("events.json", [event, { ...event, id: "e-2" }]);
    cli.write("topics.json", [topic]);
    cli.write("subscriptions.json", [subscription]);
    cli.write("main.json", template);
    cli.write("main.parameters.json", { parameters: { size: { value: 2 } } });
    const whole = lines.map(({ text }) => text).join("\n");
    if (!/import topics/.test(whole)) await cli.json("topic create -n orders");
    let isPublished = false;
    const PATH = `${bin}:${process.env.PATH}`;
    const env = { PATH, HOME: home, POSTHORN_DATA: join(cli.folder, "data") };
    for (const { text: line } of lines) {
      if (line.includes("order-4711") && !isPublished) {
        await cli.json("publish -t orders --id order-4711");
        isPublished = true;
      }
      await t.test(line, async () => {
        const shell = spawn("bash", ["-c", line], {
          ...{ cwd: cli.folder, env, stdio: ["ignore", "pipe", "pipe"] as const },
        });
        const exited = once(shell, "exit");
        const [out, err] = await Promise.all([text(shell.stdout), text(shell.stderr)]);
        const [code] = (await exited) as [number];
        assert.equal(code, 0, `${page}: ${line}\n${out}${err}`);
      });
    }
  });
}
