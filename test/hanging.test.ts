// Endpoints that hang beside one that answers, with few connections for all of them.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { startProgram } from "./fixtures/program.ts";
import { openReceiver } from "./fixtures/receiver.ts";

const sendsMax = 16;
const events = 50;
const hangingEndpoints = 30;

test("hanging endpoints cannot take every connection from one that answers", async (t) => {
  const receiver = await openReceiver(t);
  const arrived = Promise.withResolvers<void>();
  let underWay = 0;
  let mostUnderWay = 0;
  let answered = 0;
  receiver.answer = ({ path }) => {
    if (path !== "/healthy") {
      mostUnderWay = Math.max(mostUnderWay, ++underWay);
      return null;
    }
    if (++answered === events) arrived.resolve();
    return 200;
  };
  const names = Array.from({ length: hangingEndpoints }, (_, index) => `hanging${index}`);
  const subscriptions = Object.fromEntries(
    ["healthy", ...names].map((name) => [
      name,
      {
        destination: {
          endpointType: "WebHook",
          properties: { endpointUrl: `${receiver.url}/${name}` },
        },
      },
    ]),
  );
  const folder = mkdtempSync(join(tmpdir(), "posthorn-hanging-"));
  const config = join(folder, "config.json");
  writeFileSync(config, JSON.stringify({ topics: { orders: { key1: "k", subscriptions } } }));
  const program = await startProgram([
    ...["--config", config, "--data", join(folder, "data"), "--handshake", "off"],
    // Time stands still, so that none of them is given up on while we look.
    ...["--clock", "virtual", "--sends-max", String(sendsMax)],
  ]);
  t.after(async () => {
    await program.end("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  });
  for (let id = 0; id < events; id++) {
    const event = { id: String(id), subject: "s", eventType: "t", dataVersion: "1", data: {} };
    const answer = await fetch(`${program.url}/topics/orders/api/events`, {
      method: "POST",
      headers: { "aeg-sas-key": "k" },
      body: JSON.stringify([{ ...event, eventTime: "2030-01-01T00:00:00Z" }]),
    });
    assert.equal(answer.status, 200);
  }
  await arrived.promise;
  assert.ok(mostUnderWay < sendsMax, `${mostUnderWay} of ${sendsMax} held by those that hang`);
});
