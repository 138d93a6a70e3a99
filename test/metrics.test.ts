// The metrics as Prometheus gets them: the real program, with something of everything happening to
// events, and its page checked by promtool.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { type Program, startProgram } from "./fixtures/program.ts";
import { promtool } from "./fixtures/promtool.ts";
import { eventText } from "./fixtures/publish-routes.ts";
import { openReceiver } from "./fixtures/receiver.ts";

const key = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
const account =
  "/subscriptions/s/resourceGroups/g/providers/Microsoft.Storage/storageAccounts/letters";

interface Scene {
  readonly program: Program;
  publish(text: string, headers?: Record<string, string>): Promise<number>;
  page(): Promise<string>;
  advance(duration: string): Promise<void>;
}

/** One endpoint that takes all, one that takes nothing, one that is given dead letters for. */
async function openScene(t: TestContext): Promise<Scene> {
  const folder = mkdtempSync(join(tmpdir(), "posthorn-metrics-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const receiver = await openReceiver(t);
  receiver.answer = ({ path }) => (path === "/good" ? 200 : 503);
  const hook = (path: string) => ({
    destination: { endpointType: "WebHook", properties: { endpointUrl: receiver.url + path } },
  });
  const filter = {
    includedEventTypes: ["recordInserted"],
    advancedFilters: [{ operatorType: "StringContains", key: "subject", values: ["myapp"] }],
  };
  const once = { retryPolicy: { maxDeliveryAttempts: 1 } };
  const config = join(folder, "config.json");
  const subscriptions = {
    good: { ...hook("/good"), filter },
    bad: { ...hook("/bad"), ...once, filter },
    given: {
      ...hook("/given"),
      ...once,
      filter,
      deadLetterDestination: {
        endpointType: "StorageBlob",
        properties: { resourceId: account, blobContainerName: "dead" },
      },
    },
  };
  const letters = { folder: join(folder, "letters") };
  writeFileSync(
    config,
    JSON.stringify({
      topics: { orders: { key1: key, subscriptions } },
      storageAccounts: { [account]: letters },
    }),
  );
  const program = await startProgram([
    ...["--config", config, "--data", join(folder, "data"), "--clock", "virtual"],
    ...["--log-level", "debug"],
  ]);
  t.after(() => program.end("SIGKILL"));
  const url = `${program.url}/topics/orders/api/events`;
  return {
    program,
    async publish(text, headers = { "aeg-sas-key": key }) {
      return (await fetch(url, { method: "POST", headers, body: text })).status;
    },
    async page() {
      const answer = await fetch(`${program.url}/metrics`);
      assert.equal(answer.headers.get("content-type"), "text/plain; version=0.0.4; charset=utf-8");
      return await answer.text();
    },
    async advance(by) {
      const answer = await fetch(`${program.url}/clock`, {
        method: "POST",
        body: JSON.stringify({ advance: by }),
      });
      assert.equal(answer.status, 200, await answer.text());
    },
  };
}

test("the page shows Event Grid's metrics and ours, and promtool has nothing to say", async (t) => {
  const { program, publish, page, advance } = await openScene(t);
  assert.equal(await publish(`[${eventText()},${eventText({ eventType: "other" })}]`), 200);
  await program.told("delivery.attempted", 3);
  assert.equal(await publish("[{}]"), 400);
  assert.equal(await publish(eventText(), {}), 401);
  assert.equal(await publish(" ".repeat(1_048_577)), 413);
  const wrong = [`${program.url}/topics/orders/api/events`, `${program.url}/topics/x/api/events`];
  assert.equal((await fetch(wrong[0] as string, { method: "PUT" })).status, 405);
  assert.equal((await fetch(wrong[1] as string, { method: "POST" })).status, 404);
  const waiting = await page();
  const has = (text: string, line: string) =>
    assert.ok(text.includes(`\n${line}\n`), `${line}\n${text}`);
  const given = 'topic="orders"';
  has(waiting, `posthorn_waiting_events{stage="deadLetter",subscription="given",${given}} 1`);
  has(waiting, `posthorn_waiting_events{stage="deliver",subscription="good",${given}} 0`);
  await advance("PT5M");
  await program.told("delivery.deadLettered");
  const text = await page();
  const of = (name: string) => `event_subscription_name="${name}",${given}`;
  has(text, `eventgrid_publish_success_count_total{${given}} 2`);
  has(text, `eventgrid_unmatched_event_count_total{${given}} 1`);
  has(text, `eventgrid_publish_success_latency_seconds_count{${given}} 1`);
  for (const [error, topic] of [
    ["InputJsonInvalid", "orders"],
    ["Unauthorized", "orders"],
    ["PayloadTooLarge", "orders"],
    ["MethodNotAllowed", "orders"],
    ["NotFound", "unknown"],
  ]) {
    const labels = `error="${error}",error_type="ClientError",topic="${topic}"`;
    has(text, `eventgrid_publish_fail_count_total{${labels}} 1`);
  }
  for (const name of ["good", "bad", "given"]) {
    has(text, `eventgrid_matched_event_count_total{${of(name)}} 1`);
    has(text, `eventgrid_advanced_filter_evaluation_count_total{${of(name)}} 1`);
    has(text, `eventgrid_destination_processing_duration_seconds_count{${of(name)}} 1`);
  }
  has(text, `eventgrid_delivery_success_count_total{${of("good")}} 1`);
  const busy = `error="Busy",error_type="ServerError",${of("bad")}`;
  has(text, `eventgrid_delivery_attempt_fail_count_total{${busy}} 1`);
  const reason = "MaxDeliveryAttemptsExceeded";
  has(text, `eventgrid_dropped_event_count_total{drop_reason="${reason}",${of("bad")}} 1`);
  has(text, `eventgrid_dead_lettered_count_total{dead_letter_reason="${reason}",${of("given")}} 1`);
  has(text, `posthorn_endpoint_state{state="healthy",subscription="good",${given}} 1`);
  has(text, `posthorn_delivery_latency_seconds_count{${given}} 1`);
  has(text, "posthorn_ready 1");
  for (const name of ["store_commit_seconds", "store_round_operations"]) {
    assert.match(text, new RegExp(`^posthorn_${name}_count [1-9]`, "m"));
  }
  for (const name of [
    "posthorn_event_loop_delay_p99_seconds",
    "process_resident_memory_bytes",
    "nodejs_heap_size_used_bytes",
  ]) {
    assert.match(text, new RegExp(`^${name} [0-9]`, "m"));
  }
  const checked = await promtool(["check", "metrics"], text);
  assert.ok(checked.isFine, checked.said);
  assert.equal(text.includes("/good"), false, "no URL is told");
});

test("the oldest that waits is told by its age", async (t) => {
  const { program, publish, page, advance } = await openScene(t);
  await publish(eventText());
  await program.told("delivery.attempted", 3);
  await advance("PT1M");
  const labels = 'stage="deadLetter",subscription="given",topic="orders"';
  assert.match(
    await page(),
    new RegExp(`^posthorn_oldest_waiting_seconds{${labels}} 60(\\.\\d+)?$`, "m"),
  );
});
