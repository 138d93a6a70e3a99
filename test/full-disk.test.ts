// The whole program on a disk that has no room: the system forbids it to make its files longer, and
// later allows it again. It must refuse in words, say that it is not ready, keep operators in, and
// recover by itself.

import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { limitFiles, whyNoFileLimit } from "./fixtures/file-limit.ts";
import { startProgram } from "./fixtures/program.ts";

const key = "full-admin";
const group =
  "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/posthorn/providers";

async function open(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), "posthorn-full-"));
  const data = join(folder, "data");
  const program = await startProgram(["--data", data, "--admin-key", key, "--handshake", "off"]);
  t.after(async () => {
    await program.end("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  });
  const ask = async (method: string, path: string, body?: string) => {
    const authorization = `Bearer ${key}`;
    const content = { "content-type": "application/json" };
    const answer = await fetch(`${program.url}${path}`, {
      ...{ method, redirect: "manual" },
      headers: body === undefined ? { authorization } : { authorization, ...content },
      ...(body !== undefined && { body }),
    });
    return { status: answer.status, headers: answer.headers, text: await answer.text() };
  };
  const limit = (bytes: string) => limitFiles(program.child.pid, bytes);
  const topic = (name: string) => {
    const path = `${group}/Microsoft.EventGrid/topics/${name}?api-version=2022-06-15`;
    return ask("PUT", path, '{"location":"here"}');
  };
  const subscription = JSON.stringify({
    properties: {
      destination: { endpointType: "WebHook", properties: { endpointUrl: "http://127.0.0.1:1/" } },
    },
  });
  const publish = () => {
    const event = { id: "1", subject: "s", eventType: "t", eventTime: "2030-01-01T00:00:00Z" };
    const events = JSON.stringify([{ ...event, data: {}, dataVersion: "1" }]);
    return ask("POST", "/topics/orders/api/events", events);
  };
  assert.equal((await topic("orders")).status, 201);
  const at = `${group}/Microsoft.EventGrid/topics/orders/eventSubscriptions/billing`;
  const made = await ask("PUT", `${at}?api-version=2022-06-15`, subscription);
  assert.ok(made.status < 300, made.text);
  // Nothing is sent: what became of an attempt would be written meanwhile, now and then.
  const paused = await ask("POST", "/api/v1/topics/orders/subscriptions/billing/pause", "{}");
  assert.equal(paused.status, 200, paused.text);
  return { data, program, ask, limit, topic, publish };
}

test("a full disk refuses writes in words, keeps operators in, and is left by itself", {
  skip: whyNoFileLimit(),
}, async (t) => {
  const { data, ask, limit, topic, publish } = await open(t);
  assert.equal((await publish()).status, 200);
  assert.equal((await ask("GET", "/readyz")).status, 200);

  // Shorter than the log and than a copy of the store. The journal has room for a few more.
  limit("16384");
  await publishUntilRefused(publish);
  for (const write of [() => topic("more"), () => ask("POST", "/api/v1/backups", "{}")]) {
    const { status, text } = await write();
    assert.equal(status, 503, text);
    assert.match(text, /cannot write at the moment: .*\.|No backup was made: /);
  }
  // What is left of the journal may have taken one more since.
  await publishUntilRefused(publish);
  const ready = await ask("GET", "/readyz");
  assert.equal(ready.status, 503);
  assert.match(ready.text, /The store cannot write: /);
  const form = new URLSearchParams({ key }).toString();
  const signedIn = await ask("POST", "/signin", form);
  assert.match(signedIn.headers.get("set-cookie") ?? "", /posthorn_/, signedIn.text);
  assert.equal((await ask("GET", "/api/v1/overview")).status, 200);
  const halves = readdirSync(data, { recursive: true }).filter((name) =>
    /\.part|sessions\.json\./.test(String(name)),
  );
  assert.deepEqual(halves, []);

  limit("unlimited");
  while ((await ask("GET", "/readyz")).status !== 200);
  assert.equal((await publish()).status, 200);
});

test("a broker on a full disk stops when it is asked to, and nothing is lost", {
  skip: whyNoFileLimit(),
}, async (t) => {
  const { data, program, limit, publish } = await open(t);
  assert.equal((await publish()).status, 200);
  limit("16384");
  const accepted = 1 + (await publishUntilRefused(publish));
  assert.equal(await program.end("SIGTERM"), 0);
  const again = await startProgram(["--data", data, "--admin-key", key]);
  const overview = await fetch(`${again.url}/api/v1/overview`, {
    headers: { authorization: `Bearer ${key}` },
  });
  assert.equal(((await overview.json()) as { waiting: number }).waiting, accepted);
  assert.equal(await again.end("SIGTERM"), 0);
});

/** Returns how many were accepted before. */
async function publishUntilRefused(
  publish: () => Promise<{ readonly status: number; readonly text: string }>,
): Promise<number> {
  for (let accepted = 0; accepted < 1_000; accepted += 1) {
    const { status, text } = await publish();
    if (status === 200) continue;
    assert.equal(status, 503, text);
    assert.match(text, /cannot write at the moment: .*\./);
    return accepted;
  }
  assert.fail("the disk never fills");
}
