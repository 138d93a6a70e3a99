// Traces and metrics for a collector that speaks OTLP, when the standard variables name one. The
// packages are loaded only then; otherwise nothing is recorded and there is no cost.

import type { Log } from "../../core/ports.ts";
import type { Tracer } from "../../core/tracing/span.ts";
import type { Reading } from "../metrics/meter.ts";
import { type Env, readTelemetry, type TelemetrySettings } from "./settings.ts";

export interface Telemetry {
  /** Null where no spans are exported. */
  readonly tracer: Tracer | null;
  /** From now on metrics are exported, if they are enabled. */
  exportMetrics(read: () => Promise<readonly Reading[]>): void;
  /** Sends the rest, within a time limit. */
  close(): Promise<void>;
}

export interface TelemetryDeps {
  readonly log: Log;
  readonly version: string;
  readonly env: Env;
}

/** How long a collector that does not answer may delay the end. */
const flushMs = 3_000;

const off: Telemetry = { tracer: null, exportMetrics: () => {}, close: async () => {} };

/** Refusal: InvalidSetting, naming the variable. */
export async function openTelemetry(deps: TelemetryDeps): Promise<Telemetry> {
  const settings = readTelemetry(deps.env);
  return settings === null ? off : await load(settings, deps);
}

async function load(
  settings: TelemetrySettings,
  { log, version }: TelemetryDeps,
): Promise<Telemetry> {
  const { diag, DiagLogLevel } = await import("@opentelemetry/api");
  const { defaultResource, detectResources, envDetector, resourceFromAttributes } = await import(
    "@opentelemetry/resources"
  );
  const tell = (...words: readonly unknown[]) =>
    log.fact("warn", "telemetry.failed", { reason: words.map(String).join(" ") });
  const quiet = () => {};
  const logger = { error: tell, warn: tell, info: quiet, debug: quiet, verbose: quiet };
  diag.setLogger(logger, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
  const scope = { name: "posthorn", version };
  // What the environment says about the service overrides our values.
  const resource = defaultResource()
    .merge(resourceFromAttributes({ "service.name": "posthorn", "service.version": version }))
    .merge(detectResources({ detectors: [envDetector] }));
  const traces = settings.traces && (await openTraces(settings, settings.traces));
  const metrics = settings.metrics && (await openMetrics(settings.metrics.protocol));
  const ends: (() => Promise<void>)[] = traces === null ? [] : [() => traces.provider.shutdown()];
  return {
    tracer: traces?.tracer ?? null,
    exportMetrics(read) {
      const provider = metrics?.(read);
      if (provider !== undefined) ends.push(() => provider.shutdown());
    },
    async close() {
      const ended = Promise.allSettled(ends.splice(0).map((end) => end()));
      let timer: NodeJS.Timeout | undefined;
      const enough = new Promise((resolve) => {
        timer = setTimeout(resolve, flushMs);
      });
      await Promise.race([ended, enough]);
      clearTimeout(timer);
    },
  };

  async function openTraces(
    { batch }: TelemetrySettings,
    { protocol, sampler }: NonNullable<TelemetrySettings["traces"]>,
  ) {
    const sdk = await import("@opentelemetry/sdk-trace");
    const { OTLPTraceExporter } =
      protocol === "http/json"
        ? await import("@opentelemetry/exporter-trace-otlp-http")
        : await import("@opentelemetry/exporter-trace-otlp-proto");
    const { openTracer } = await import("./tracer.ts");
    const root = new sdk.TraceIdRatioBasedSampler(sampler.ratio);
    const provider = new sdk.TracerProvider({
      resource,
      sampler: sampler.isParentBased ? new sdk.ParentBasedSampler({ root }) : root,
      spanProcessors: [new sdk.BatchSpanProcessor({ exporter: new OTLPTraceExporter(), ...batch })],
    });
    return { provider, tracer: openTracer(provider.getTracer(scope.name, scope.version)) };
  }

  async function openMetrics(protocol: "http/protobuf" | "http/json") {
    const sdk = await import("@opentelemetry/sdk-metrics");
    const { openProducer } = await import("./producer.ts");
    const { OTLPMetricExporter } =
      protocol === "http/json"
        ? await import("@opentelemetry/exporter-metrics-otlp-http")
        : await import("@opentelemetry/exporter-metrics-otlp-proto");
    const { metricIntervalMs, metricTimeoutMs } = settings;
    return (read: () => Promise<readonly Reading[]>) =>
      new sdk.MeterProvider({
        resource,
        readers: [
          new sdk.PeriodicExportingMetricReader({
            exporter: new OTLPMetricExporter(),
            exportIntervalMillis: metricIntervalMs,
            exportTimeoutMillis: Math.min(metricTimeoutMs, metricIntervalMs),
            metricProducers: [openProducer({ read, now: Date.now, resource, scope })],
          }),
        ],
      });
  }
}
