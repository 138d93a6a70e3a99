#!/usr/bin/env node
// The way in from the shell: says in one line when Node is too old to read the rest, and hands over
// to main: TypeScript in a checkout, what was compiled from it in an installed package, where Node
// reads no TypeScript. Plain JavaScript, so that an old Node gets this far.

import { existsSync } from "node:fs";

import module from "node:module";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";

const oldest = [24, 15];
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);

if (major < oldest[0] || (major === oldest[0] && minor < oldest[1])) {
  console.error(`posthorn needs Node ${oldest.join(".")} or newer, and this is ${process.version}`);
  process.exit(1);
}

const isCheckout = existsSync(new URL("../src/main.ts", import.meta.url));
keepCompiled();
const { main } = await import(isCheckout ? "../src/main.ts" : "../dist/main.js");
await main();

/**
 * What Node has made of our files is kept for the next start, which then takes a third of the time.
 * In the user's own folder, because what lies there is run; without one, every start is the first.
 */
function keepCompiled() {
  try {
    const cache = process.env.XDG_CACHE_HOME || join(homedir(), ".cache");
    const folder = process.env.NODE_COMPILE_CACHE || join(cache, "posthorn");
    // Never below whatever folder we were started in.
    if (isAbsolute(folder)) module.enableCompileCache(folder);
  } catch {
    // A user without a home.
  }
}
