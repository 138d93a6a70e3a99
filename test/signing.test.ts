// Signed deliveries from end to end: the real program on the real clock, secrets given through ARM
// and our own API, and receivers who verify with the library of Standard Webhooks.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { Webhook } from "standardwebhooks";
import { startProgram } from "./fixtures/program.ts";
import { eventText } from "./fixtures/publish-routes.ts";
import { openReceiver } from "./fixtures/receiver.ts";

const topicId =
  "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/posthorn" +
  "/providers/Microsoft.EventGrid/topics/orders";
const appId = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Web/sites/app";

interface Secrets {
  readonly secrets: readonly { readonly secret: string; readonly expiresAt: string | null }[];
}

async function openScene(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), "posthorn-signing-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const receiver = await openReceiver(t);
  const config = join(folder, "config.json");
  const functionApps = { [appId]: { url: receiver.url } };
  writeFileSync(config, JSON.stringify({ topics: { orders: { key1: "key" } }, functionApps }));
  const data = join(folder, "data");
  const program = await startProgram([
    ...["--config", config, "--data", data, "--handshake", "off", "--log-level", "debug"],
  ]);
  t.after(() => program.end("SIGKILL"));
  const key = readFileSync(join(data, "admin.key"), "utf8").trim();
  return {
    receiver,
    program,
    async ask(method: string, path: string, body?: unknown) {
      const answer = await fetch(program.url + path, {
        method,
        headers: { authorization: `Bearer ${key}` },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
    },
    async publish() {
      const url = `${program.url}/topics/orders/api/events`;
      const headers = { "aeg-sas-key": "key" };
      assert.equal((await fetch(url, { method: "POST", headers, body: eventText() })).status, 200);
    },
    came: receiver.came,
    /** Whether the request of that number is signed with the secret. */
    isSignedWith(secret: string, number: number): boolean {
      const { body, headers } = receiver.received[number - 1] ?? assert.fail("it has not come");
      try {
        new Webhook(secret).verify(body, headers as Record<string, string>);
        return true;
      } catch {
        return false;
      }
    },
  };
}

const subscriptionPath = (name: string) =>
  `${topicId}/providers/Microsoft.EventGrid/eventSubscriptions/${name}?api-version=2025-02-15`;

test("a webhook and a function are signed with secrets that follow one another", async (t) => {
  const scene = await openScene(t);
  const { receiver, ask, publish, came, isSignedWith } = scene;
  const hook = { endpointType: "WebHook", properties: { endpointUrl: `${receiver.url}/hook` } };
  const plain = { properties: { destination: hook } };
  assert.equal((await ask("PUT", subscriptionPath("hook"), plain)).status, 201);
  await publish();
  await came(1);
  assert.equal(receiver.received[0]?.headers["webhook-signature"], undefined, "off by default");

  const signing = `/api/v1/topics/orders/subscriptions/hook/signing`;
  const first = ((await ask("POST", signing)).body as unknown as Secrets).secrets[0]?.secret ?? "";
  await publish();
  await came(2);
  assert.ok(isSignedWith(first, 2));

  const rotated = (await ask("POST", signing, { overlapMs: 3_600_000 })).body as unknown as Secrets;
  const second = rotated.secrets[0]?.secret ?? "";
  assert.equal(rotated.secrets[1]?.secret, first);
  await publish();
  await came(3);
  assert.deepEqual([isSignedWith(first, 3), isSignedWith(second, 3)], [true, true]);

  const last = (await ask("POST", signing, { overlapMs: 0 })).body as unknown as Secrets;
  await publish();
  await came(4);
  const third = last.secrets[0]?.secret ?? "";
  assert.deepEqual(
    [first, second, third].map((secret) => isSignedWith(secret, 4)),
    [false, false, true],
  );

  const shown = await ask("GET", subscriptionPath("hook"));
  const { posthorn } = shown.body.properties as { posthorn: unknown };
  const hidden = { signing: { secrets: [{ secret: "Hidden", expiresAt: null }] } };
  assert.deepEqual(posthorn, hidden);
  // A client that knows nothing of it, and one that writes back what it read, change nothing.
  for (const properties of [plain.properties, { ...plain.properties, posthorn }]) {
    assert.equal((await ask("PUT", subscriptionPath("hook"), { properties })).status, 201);
  }
  assert.deepEqual((await ask("GET", signing)).body, last);

  const made = {
    properties: {
      destination: {
        endpointType: "AzureFunction",
        properties: { resourceId: `${appId}/functions/grid`, maxEventsPerBatch: 10 },
      },
      posthorn: { signing: { secrets: [{ secret: first }] } },
    },
  };
  const answer = await ask("PUT", subscriptionPath("function"), made);
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  await publish();
  await came(6);
  const ofFunction = receiver.received.findIndex(({ path }) => path.includes("runtime/webhooks"));
  assert.ok(isSignedWith(first, ofFunction + 1));
  const facts = JSON.stringify(scene.program.facts);
  for (const secret of [first, second, third, "whsec_"]) assert.ok(!facts.includes(secret));
});

test("what cannot be signed is refused in words, through ARM too", async (t) => {
  const { ask, receiver } = await openScene(t);
  const put = (properties: object) => ask("PUT", subscriptionPath("queue"), { properties });
  const wrong = await put({
    destination: { endpointType: "WebHook", properties: { endpointUrl: receiver.url } },
    posthorn: { signing: { secrets: [{ secret: "whsec_c2hvcnQ=" }] } },
  });
  assert.equal(wrong.status, 400);
  const { message } = wrong.body.error as { message: string };
  assert.match(
    message,
    /posthorn\.signing\.secrets\[0\]\.secret must be whsec_ and 24 to 64 bytes/,
  );
  assert.ok(!message.includes("c2hvcnQ"));
});
