// Reads the standard variables of OpenTelemetry, except those that the exporters read themselves
// (endpoints, headers, timeouts, compression and certificates). Pure. Follows
// https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/.

import { Refusal } from "../../core/refusal.ts";
import { shownAs } from "../../core/text/wording.ts";

export type Env = Readonly<Record<string, string | undefined>>;

export type Protocol = "http/protobuf" | "http/json";

export interface TelemetrySettings {
  /** Null: not exported. */
  readonly traces: { readonly protocol: Protocol; readonly sampler: SamplerSettings } | null;
  readonly metrics: { readonly protocol: Protocol } | null;
  readonly batch: {
    readonly scheduledDelayMillis: number;
    readonly exportTimeoutMillis: number;
    readonly maxQueueSize: number;
    readonly maxExportBatchSize: number;
  };
  readonly metricIntervalMs: number;
  readonly metricTimeoutMs: number;
}

export interface SamplerSettings {
  readonly isParentBased: boolean;
  /** The share of traces that are recorded. */
  readonly ratio: number;
}

/** Null when nothing is exported. Refusal: InvalidSetting, naming the variable. */
export function readTelemetry(env: Env): TelemetrySettings | null {
  if (givenIn(env, "OTEL_SDK_DISABLED")?.toLowerCase() === "true") return null;
  const traces = protocolOf(env, "TRACES");
  const metrics = protocolOf(env, "METRICS");
  if (traces === null && metrics === null) return null;
  if (metrics !== null) checkTemporality(env);
  const maxQueueSize = numberOf(env, "OTEL_BSP_MAX_QUEUE_SIZE", 2_048);
  const batchSize = numberOf(env, "OTEL_BSP_MAX_EXPORT_BATCH_SIZE", 512);
  return {
    traces: traces && { protocol: traces, sampler: samplerOf(env) },
    metrics: metrics && { protocol: metrics },
    batch: {
      scheduledDelayMillis: numberOf(env, "OTEL_BSP_SCHEDULE_DELAY", 5_000),
      exportTimeoutMillis: numberOf(env, "OTEL_BSP_EXPORT_TIMEOUT", 30_000),
      maxQueueSize,
      maxExportBatchSize: Math.min(batchSize, maxQueueSize),
    },
    metricIntervalMs: numberOf(env, "OTEL_METRIC_EXPORT_INTERVAL", 60_000),
    metricTimeoutMs: numberOf(env, "OTEL_METRIC_EXPORT_TIMEOUT", 30_000),
  };
}

/** An empty variable counts as not set. */
function givenIn(env: Env, name: string): string | undefined {
  return env[name]?.trim() || undefined;
}

/** Null: there is no collector, or it is switched off. */
function protocolOf(env: Env, signal: "TRACES" | "METRICS"): Protocol | null {
  const name = `OTEL_${signal}_EXPORTER`;
  const exporter = givenIn(env, name);
  if (exporter === "none") return null;
  if (exporter !== undefined && exporter !== "otlp") throw refuse(name, exporter, "otlp or none");
  const endpoint =
    givenIn(env, `OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`) ??
    givenIn(env, "OTEL_EXPORTER_OTLP_ENDPOINT");
  if (endpoint === undefined && exporter === undefined) return null;
  const own = `OTEL_EXPORTER_OTLP_${signal}_PROTOCOL`;
  const variable = givenIn(env, own) === undefined ? "OTEL_EXPORTER_OTLP_PROTOCOL" : own;
  const protocol = givenIn(env, variable) ?? "http/protobuf";
  if (protocol === "http/protobuf" || protocol === "http/json") return protocol;
  throw refuse(variable, protocol, "http/protobuf or http/json");
}

/** Counts are cumulative since the start, as for Prometheus. */
function checkTemporality(env: Env): void {
  const name = "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE";
  const given = givenIn(env, name);
  if (given !== undefined && given.toLowerCase() !== "cumulative") {
    throw refuse(name, given, "cumulative");
  }
}

const samplers = ["always_on", "always_off", "traceidratio"];

function samplerOf(env: Env): SamplerSettings {
  const name = "OTEL_TRACES_SAMPLER";
  const given = givenIn(env, name) ?? "parentbased_always_on";
  const kind = given.replace(/^parentbased_/, "");
  if (!samplers.includes(kind)) {
    const all = [...samplers, ...samplers.map((each) => `parentbased_${each}`)];
    throw refuse(name, given, `one of ${all.join(", ")}`);
  }
  const isParentBased = kind !== given;
  if (kind !== "traceidratio") return { isParentBased, ratio: kind === "always_on" ? 1 : 0 };
  const argument = givenIn(env, "OTEL_TRACES_SAMPLER_ARG") ?? "1";
  const ratio = Number(argument);
  if (ratio >= 0 && ratio <= 1) return { isParentBased, ratio };
  throw refuse("OTEL_TRACES_SAMPLER_ARG", argument, "a number from 0 to 1");
}

function numberOf(env: Env, name: string, usual: number): number {
  const given = givenIn(env, name);
  if (given === undefined) return usual;
  const value = Number(given);
  if (Number.isInteger(value) && value > 0 && value <= 2_147_483_647) return value;
  throw refuse(name, given, "a whole number above 0");
}

function refuse(variable: string, value: string, allowed: string): Refusal {
  const words = `environment variable ${variable} must be ${allowed}, and is ${shownAs(value)}`;
  return new Refusal("InvalidSetting", words, { target: variable });
}
