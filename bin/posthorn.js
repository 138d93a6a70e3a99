#!/usr/bin/env node
// The way in from the shell: hands over to main, TypeScript in a checkout, the bundle of it in an
// installed package. A Node that is too old for it finds a newer one and runs this file again with
// that. Plain and old JavaScript, because an old Node reads it.

import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import module from "node:module";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import { fileURLToPath } from "node:url";
import versions from "./node-version.cjs";

const why = versions.whyTooOld();
const cache = cacheFolder();

if (why === null) {
  const isCheckout = existsSync(new URL("../src/main.ts", import.meta.url));
  keepCompiled();
  if (process.argv[2] === "torture") await torture(isCheckout);
  else {
    const { main } = await import(isCheckout ? "../src/main.ts" : "../dist/main.js");
    await main();
  }
} else {
  const { default: finder } = await import("./find-node.cjs");
  const node = finder.findNode({ cache, why });
  if (node === null) process.exitCode = 1;
  else runWith(node);
}

/** A test of ours, which starts and kills brokers by this file. */
async function torture(isCheckout) {
  process.env.PROGRAM_UNDER_TEST ??= fileURLToPath(import.meta.url);
  const file = isCheckout ? "../test/torture/main.ts" : "../dist/torture.js";
  const { torture: run } = await import(file);
  process.exit(await run(process.argv.slice(3)));
}

/** As if it were this process: the same terminal, signals and exit code. */
function runWith(node) {
  const child = spawn(node, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], {
    stdio: "inherit",
  });
  const { stdin, stdout, stderr } = process;
  const isAtTerminal = stdin.isTTY || stdout.isTTY || stderr.isTTY;
  for (const signal of ["SIGTERM", "SIGHUP", "SIGINT"]) {
    process.on(signal, () => {
      // Ctrl-C reaches both of us.
      if (signal !== "SIGINT" || !isAtTerminal) child.kill(signal);
    });
  }
  child.on("error", (error) => {
    console.error(`posthorn: ${error.message}`);
    process.exitCode = 1;
  });
  child.on("exit", (code, signal) => {
    if (signal === null) process.exit(code);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}

/** The user's own folder, because what lies there is run. Null for a user without a home. */
function cacheFolder() {
  try {
    const folder = join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "posthorn");
    // Never below whatever folder we were started in.
    return isAbsolute(folder) ? folder : null;
  } catch {
    return null;
  }
}

/** Keeps what Node makes of our files for the next start, which then takes a third of the time. */
function keepCompiled() {
  const folder = process.env.NODE_COMPILE_CACHE || cache;
  if (folder === null || !isAbsolute(folder)) return;
  module.enableCompileCache(folder);
  // Threads learn of it only by the environment.
  process.env.NODE_COMPILE_CACHE = folder;
}
