import assert from "node:assert/strict";
import { test } from "node:test";
import { Refusal } from "../../core/refusal.ts";
import { type Env, readTelemetry } from "./settings.ts";

const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:4318" };

test("nothing is exported unless a variable names a collector", () => {
  assert.equal(readTelemetry({}), null);
  assert.equal(readTelemetry({ OTEL_SERVICE_NAME: "grid" }), null);
  assert.equal(readTelemetry({ OTEL_EXPORTER_OTLP_ENDPOINT: " " }), null);
  assert.equal(readTelemetry({ ...endpoint, OTEL_SDK_DISABLED: "TRUE" }), null);
  const none = { OTEL_TRACES_EXPORTER: "none", OTEL_METRICS_EXPORTER: "none" };
  assert.equal(readTelemetry({ ...endpoint, ...none }), null);
});

test("traces and metrics are asked for together or each by itself", () => {
  const asked = (env: Env) => {
    const { traces, metrics } = readTelemetry(env) ?? { traces: null, metrics: null };
    return [traces?.protocol ?? null, metrics?.protocol ?? null];
  };
  assert.deepEqual(asked(endpoint), ["http/protobuf", "http/protobuf"]);
  assert.deepEqual(asked({ OTEL_TRACES_EXPORTER: "otlp" }), ["http/protobuf", null]);
  assert.deepEqual(asked({ OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: "http://h/" }), [
    null,
    "http/protobuf",
  ]);
  assert.deepEqual(asked({ ...endpoint, OTEL_METRICS_EXPORTER: "none" }), ["http/protobuf", null]);
  const protocols = {
    OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
    OTEL_EXPORTER_OTLP_METRICS_PROTOCOL: "http/protobuf",
  };
  assert.deepEqual(asked({ ...endpoint, ...protocols }), ["http/json", "http/protobuf"]);
});

test("samplers are those of the specification", () => {
  const sampler = (name?: string, argument?: string) =>
    readTelemetry({
      ...endpoint,
      OTEL_TRACES_SAMPLER: name,
      OTEL_TRACES_SAMPLER_ARG: argument,
    })?.traces?.sampler;
  assert.deepEqual(sampler(), { isParentBased: true, ratio: 1 });
  assert.deepEqual(sampler("always_off"), { isParentBased: false, ratio: 0 });
  assert.deepEqual(sampler("traceidratio", "0.25"), { isParentBased: false, ratio: 0.25 });
  assert.deepEqual(sampler("parentbased_traceidratio"), { isParentBased: true, ratio: 1 });
});

test("sizes and times have the defaults of the specification", () => {
  assert.deepEqual(readTelemetry(endpoint)?.batch, {
    scheduledDelayMillis: 5_000,
    exportTimeoutMillis: 30_000,
    maxQueueSize: 2_048,
    maxExportBatchSize: 512,
  });
  const small = readTelemetry({ ...endpoint, OTEL_BSP_MAX_QUEUE_SIZE: "100" });
  assert.equal(small?.batch.maxExportBatchSize, 100);
  const often = readTelemetry({ ...endpoint, OTEL_METRIC_EXPORT_INTERVAL: "1000" });
  assert.equal(often?.metricIntervalMs, 1_000);
});

test("what cannot be is refused with the variable's name and what is allowed", () => {
  for (const [name, value, allowed] of [
    ["OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", "http/protobuf or http/json"],
    ["OTEL_TRACES_EXPORTER", "zipkin", "otlp or none"],
    ["OTEL_METRICS_EXPORTER", "prometheus", "otlp or none"],
    ["OTEL_TRACES_SAMPLER", "sometimes", "one of always_on"],
    ["OTEL_BSP_SCHEDULE_DELAY", "soon", "a whole number above 0"],
    ["OTEL_METRIC_EXPORT_INTERVAL", "0", "a whole number above 0"],
    ["OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE", "delta", "cumulative"],
  ] as const) {
    assert.throws(
      () => readTelemetry({ ...endpoint, [name]: value }),
      (error) => {
        assert.ok(error instanceof Refusal);
        assert.ok(error.message.startsWith(`environment variable ${name} must be ${allowed}`));
        return true;
      },
    );
  }
  const ratio = { OTEL_TRACES_SAMPLER: "traceidratio", OTEL_TRACES_SAMPLER_ARG: "2" };
  assert.throws(() => readTelemetry({ ...endpoint, ...ratio }), /OTEL_TRACES_SAMPLER_ARG must be/);
});
