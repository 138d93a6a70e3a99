// A broker whose database is away when it starts says so at once, and is not ready: publishers of
// every kind are asked to come again.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { freePort } from "./fixtures/scope.ts";

test("a broker that waits for its database says so, and asks everybody to come again", async (t) => {
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), "posthorn-waiting-"));
  const program = join(import.meta.dirname, "../bin/posthorn.js");
  const store = ["--store", `postgres://posthorn:secret@127.0.0.1:1/events`];
  const http = ["--http", `127.0.0.1:${port}`, "--https", "off"];
  const args = [program, "serve", ...store, ...http, "--data", folder];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  t.after(async () => {
    child.kill("SIGKILL");
    await once(child, "close");
    rmSync(folder, { recursive: true });
  });
  const [line] = (await once(createInterface({ input: child.stdout }), "line")) as [string];
  assert.match(line, /"fact":"database\.awaited"/);
  assert.doesNotMatch(line, /secret/);
  const ask = (method: string, path: string) =>
    fetch(`http://127.0.0.1:${port}${path}`, { method }).catch(() => null);
  let ready = await ask("GET", "/readyz");
  while (ready === null) ready = await ask("GET", "/readyz");
  assert.equal(ready.status, 503);
  assert.equal((await ask("GET", "/healthz"))?.status, 200);
  const others = [
    ["POST", "/topics/orders/api/events"],
    ["POST", "/topics/orders:publish?api-version=2024-06-01"],
    ["PUT", "/subscriptions/s/resourceGroups/g/providers/Microsoft.EventGrid/topics/orders"],
    ["GET", "/api/v1/topics"],
  ] as const;
  for (const [method, path] of others) {
    const answer = await ask(method, path);
    assert.deepEqual([answer?.status, answer?.headers.get("retry-after")], [503, "2"], path);
  }
});
