// Trace context from publish to attempt, and what a collector of OpenTelemetry gets of it: the real
// program with the real exporters, a real endpoint, and a collector that decodes what it is sent.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { type CollectedSpan, openCollector } from "./fixtures/otlp-collector.ts";
import { startProgram } from "./fixtures/program.ts";
import { eventText } from "./fixtures/publish-routes.ts";
import { openReceiver } from "./fixtures/receiver.ts";

const traceId = "0af7651916cd43dd8448eb211c80319c";
const parent = `00-${traceId}-b7ad6b7169203331-01`;
const other = "00-11112222333344445555666677778888-b7ad6b7169203332-01";

async function openScene(
  t: TestContext,
  env: Record<string, string> = {},
  terms = {},
  options: readonly string[] = [],
) {
  const folder = mkdtempSync(join(tmpdir(), "posthorn-telemetry-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const receiver = await openReceiver(t);
  const config = join(folder, "config.json");
  const properties = { endpointUrl: `${receiver.url}/hook?code=hush`, ...terms };
  const all = { destination: { endpointType: "WebHook", properties } };
  writeFileSync(config, JSON.stringify({ topics: { orders: { subscriptions: { all } } } }));
  const program = await startProgram(
    [
      ...["--config", config, "--data", join(folder, "data"), "--auth", "off"],
      ...["--clock", "virtual", "--clock-start", "2030-01-01T00:00:00Z", "--log-level", "debug"],
      ...options,
    ],
    env,
  );
  t.after(() => program.end("SIGKILL"));
  return {
    receiver,
    program,
    async publish(body: string, headers: Record<string, string> = {}) {
      const url = `${program.url}/topics/orders/api/events`;
      assert.equal((await fetch(url, { method: "POST", headers, body })).status, 200);
    },
    async advance(by: string) {
      const body = JSON.stringify({ advance: by });
      await fetch(`${program.url}/clock`, { method: "POST", body });
    },
    came: receiver.came,
  };
}

test("a publish's trace context is sent with every attempt, as it came", async (t) => {
  const { receiver, program, publish, advance, came } = await openScene(t);
  receiver.answer = (_, count) => (count === 1 ? 503 : 200);
  await publish(eventText(), { traceparent: parent, tracestate: "a=1" });
  await program.told("delivery.attempted");
  await advance("PT5M");
  await came(2);
  await publish(eventText());
  await came(3);
  const seen = receiver.received.map(({ headers }) => [headers.traceparent, headers.tracestate]);
  assert.deepEqual(seen, [
    [parent, "a=1"],
    [parent, "a=1"],
    [undefined, undefined],
  ]);
});

/** Two events of different traces, which an endpoint that is busy with a third gets together. */
async function sendTogether({
  receiver,
  publish,
  advance,
  came,
}: Awaited<ReturnType<typeof openScene>>) {
  receiver.answer = (_, count) => (count === 1 ? null : 200);
  await publish(`[${eventText()},${eventText()}]`, { traceparent: parent });
  await came(1);
  await publish(eventText(), { traceparent: parent });
  await publish(eventText(), { traceparent: other });
  await advance("PT30S");
  await came(2);
}

/** The first request is never answered; nothing hangs on when the second is. */
const oneAtATime = ["--endpoint-concurrency", "1", "--clock-patience", "PT0.2S"];

test("a batch is sent with a trace context only when all its events have the same", async (t) => {
  const scene = await openScene(t, {}, { maxEventsPerBatch: 10 }, oneAtATime);
  await sendTogether(scene);
  const sizes = scene.receiver.received.map(({ body }) => (JSON.parse(body) as unknown[]).length);
  assert.deepEqual(sizes, [2, 2]);
  const seen = scene.receiver.received.map(({ headers }) => headers.traceparent);
  assert.deepEqual(seen, [parent, undefined]);
});

const json = { OTEL_EXPORTER_OTLP_PROTOCOL: "http/json", OTEL_BSP_SCHEDULE_DELAY: "50" };

const named = (spans: readonly CollectedSpan[], name: string) =>
  spans.filter((span) => span.name === name);

test("a publish and each attempt are spans of the publisher's trace, on the broker's clock", async (t) => {
  const collector = await openCollector(t);
  const { receiver, program, publish, advance, came } = await openScene(t, {
    ...json,
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_HEADERS: "x-tenant=a%20b",
    OTEL_SERVICE_NAME: "grid",
    OTEL_RESOURCE_ATTRIBUTES: "deployment.environment.name=test",
  });
  receiver.answer = (_, count) => (count === 1 ? 503 : 200);
  await publish(eventText(), { traceparent: parent, tracestate: "a=1" });
  await program.told("delivery.attempted");
  await advance("PT5M");
  await came(2);
  await collector.until(({ spans }) => spans.length >= 3);
  const [publishing] = named(collector.spans, "publish orders");
  const attempts = named(collector.spans, "deliver orders/all");
  assert.equal(attempts.length, 2);
  assert.deepEqual(
    [publishing?.traceId, publishing?.parentSpanId, publishing?.kind, publishing?.traceState],
    [traceId, "b7ad6b7169203331", 2, "a=1"],
  );
  const startMs = Date.parse("2030-01-01T00:00:00Z");
  assert.equal(publishing?.startMs, startMs);
  for (const [index, attempt] of attempts.entries()) {
    assert.deepEqual(
      [attempt.traceId, attempt.parentSpanId, attempt.kind],
      [traceId, publishing?.spanId, 3],
    );
    const { headers } = receiver.received[index] ?? {};
    assert.equal(headers?.traceparent, `00-${traceId}-${attempt.spanId}-01`);
    assert.equal(headers?.tracestate, "a=1");
  }
  const [failed, delivered] = attempts as [CollectedSpan, CollectedSpan];
  assert.equal(failed.startMs, startMs);
  assert.ok(delivered.startMs >= startMs + 10_000 && delivered.startMs <= startMs + 300_000);
  assert.deepEqual([failed.status, delivered.status], [2, 0]);
  assert.deepEqual(failed.attributes, {
    "messaging.system": "eventgrid",
    "messaging.operation.name": "deliver",
    "messaging.operation.type": "send",
    "messaging.destination.name": "orders",
    "messaging.destination.subscription.name": "all",
    "messaging.batch.message_count": 1,
    "messaging.message.id": failed.attributes["messaging.message.id"],
    "http.request.resend_count": 0,
    "url.full": `${receiver.url}/hook`,
    "server.address": "127.0.0.1",
    "server.port": Number(new URL(receiver.url).port),
    "http.response.status_code": 503,
    "error.type": "Busy",
  });
  assert.equal(delivered.attributes["http.request.resend_count"], 1);
  assert.equal(failed.resource["service.name"], "grid");
  assert.equal(failed.resource["deployment.environment.name"], "test");
  assert.equal(collector.requests[0]?.headers["x-tenant"], "a b");
});

test("a batch from several traces begins one of its own, linked to each; metrics come along", async (t) => {
  const collector = await openCollector(t);
  const scene = await openScene(
    t,
    {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_COMPRESSION: "gzip",
      OTEL_BSP_SCHEDULE_DELAY: "50",
      OTEL_METRIC_EXPORT_INTERVAL: "100",
    },
    { maxEventsPerBatch: 10 },
    oneAtATime,
  );
  await sendTogether(scene);
  await collector.until(({ spans }) => spans.length >= 5);
  const publishes = named(collector.spans, "publish orders");
  const together = named(collector.spans, "deliver orders/all").find(
    ({ links }) => links.length > 0,
  );
  assert.equal(together?.parentSpanId, "");
  assert.equal(together?.attributes["messaging.batch.message_count"], 2);
  assert.deepEqual(
    together?.links.map(({ spanId }) => spanId),
    publishes.slice(1).map(({ spanId }) => spanId),
  );
  const last = scene.receiver.received[1]?.headers.traceparent;
  assert.equal(last, `00-${together?.traceId}-${together?.spanId}-01`);
  const delivered = "posthorn_delivered_events_total";
  await collector.until(({ metrics }) => metrics.get(delivered)?.points[0]?.value === 2);
  const metric = (name: string) => collector.metrics.get(name);
  assert.deepEqual(metric(delivered), {
    name: delivered,
    unit: "1",
    kind: "sum",
    points: [{ attributes: { topic: "orders", subscription: "all" }, value: 2 }],
  });
  assert.equal(metric("eventgrid_publish_success_latency_seconds")?.kind, "histogram");
  assert.equal(metric("eventgrid_publish_success_latency_seconds")?.unit, "s");
  assert.equal(metric("process_resident_memory_bytes")?.kind, "gauge");
  assert.equal(metric("posthorn_waiting_events")?.points.length, 1);
});

test("a refused publish is a span with its code, and what is not sampled is not sent", async (t) => {
  const collector = await openCollector(t);
  const refusing = await openScene(t, { ...json, OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
  const url = `${refusing.program.url}/topics`;
  assert.equal(
    (await fetch(`${url}/orders/api/events`, { method: "POST", body: "{" })).status,
    400,
  );
  assert.equal((await fetch(`${url}/nobody/api/events`, { method: "POST" })).status, 404);
  await collector.until(({ spans }) => spans.length === 2);
  const told = collector.spans.map(({ name, status, attributes }) => [
    ...[name, status, attributes["error.type"]],
  ]);
  assert.deepEqual(told.toSorted(), [
    ["publish orders", 2, "InputJsonInvalid"],
    ["publish", 2, "NotFound"],
  ]);
  const silent = await openScene(t, {
    ...json,
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_TRACES_SAMPLER: "always_off",
    OTEL_METRICS_EXPORTER: "none",
  });
  await silent.publish(eventText(), { traceparent: parent });
  await silent.came(1);
  const sent = String(silent.receiver.received[0]?.headers.traceparent);
  assert.match(sent, new RegExp(`^00-${traceId}-[0-9a-f]{16}-00$`));
  assert.equal(await silent.program.end("SIGTERM"), 0);
  assert.equal(collector.spans.length, 2, "what was left was flushed, and there was nothing");
});

test("what is left is sent before the end, and a collector that is gone holds up nobody", async (t) => {
  const collector = await openCollector(t);
  const traces = { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.url}/v1/traces` };
  const flushed = await openScene(t, { ...traces, OTEL_BSP_SCHEDULE_DELAY: "600000" });
  await flushed.publish(eventText());
  await flushed.came(1);
  await flushed.program.told("delivery.attempted");
  assert.equal(await flushed.program.end("SIGTERM"), 0);
  assert.equal(collector.spans.length, 2);
  const lost = await openScene(t, {
    OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9",
    OTEL_BSP_SCHEDULE_DELAY: "20",
  });
  await lost.publish(eventText());
  await lost.came(1);
  assert.equal(await lost.program.end("SIGTERM"), 0);
});

test("variables that cannot be are refused by their name", async () => {
  const start = (env: Record<string, string>) =>
    startProgram(["--store", "memory", "--auth", "off", "--data", tmpdir()], {
      OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9",
      ...env,
    });
  await assert.rejects(
    start({ OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" }),
    /ended with 2 .*OTEL_EXPORTER_OTLP_PROTOCOL must be http\/protobuf or http\/json, and is "grpc"/,
  );
});
