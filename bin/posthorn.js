#!/usr/bin/env node
// The way in from the shell: says in one line when Node is too old to read the rest, which is
// TypeScript, and hands over to src/main.ts. Plain JavaScript, so that an old Node gets this far.

const oldest = [24, 15];
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);

if (major < oldest[0] || (major === oldest[0] && minor < oldest[1])) {
  console.error(`posthorn needs Node ${oldest.join(".")} or newer, and this is ${process.version}`);
  process.exit(1);
}

const { main } = await import("../src/main.ts");
await main();
