// Our metrics as OpenTelemetry's: read when the exporter asks, from the same counts as for
// Prometheus. A Prometheus summary becomes a histogram with one bucket.

import { type HrTime, ValueType } from "@opentelemetry/api";
import type { Resource } from "@opentelemetry/resources";
import {
  AggregationTemporality,
  type DataPoint,
  DataPointType,
  type Histogram,
  type MetricData,
  type MetricProducer,
} from "@opentelemetry/sdk-metrics";
import type { Family } from "../metrics/families.ts";
import type { Point, Reading } from "../metrics/meter.ts";

export interface ProducerDeps {
  readonly read: () => Promise<readonly Reading[]>;
  /** In milliseconds since 1970; metrics have real time, whatever the broker's clock says. */
  readonly now: () => number;
  readonly resource: Resource;
  readonly scope: { readonly name: string; readonly version: string };
}

export function openProducer({ read, now, resource, scope }: ProducerDeps): MetricProducer {
  const startTime = hrTime(now());
  return {
    async collect() {
      const readings = await read();
      const times = { startTime, endTime: hrTime(now()) };
      const metrics = readings
        .filter(({ points }) => points.length > 0)
        .map((reading) => metricOf(reading, times));
      return { resourceMetrics: { resource, scopeMetrics: [{ scope, metrics }] }, errors: [] };
    },
  };
}

interface Times {
  readonly startTime: HrTime;
  readonly endTime: HrTime;
}

function hrTime(ms: number): HrTime {
  return [Math.floor(ms / 1000), Math.round((ms % 1000) * 1e6)];
}

function metricOf({ family, points }: Reading, times: Times): MetricData {
  const frame = {
    descriptor: {
      name: family.name,
      description: family.help,
      unit: unitOf(family),
      valueType: ValueType.DOUBLE,
    },
    aggregationTemporality: AggregationTemporality.CUMULATIVE,
  };
  const dataPoints = points.map((point) => pointOf(point, point.value, times));
  switch (family.kind) {
    case "counter":
      return { ...frame, dataPointType: DataPointType.SUM, isMonotonic: true, dataPoints };
    case "gauge":
      return { ...frame, dataPointType: DataPointType.GAUGE, dataPoints };
    case "histogram":
    case "summary":
      return {
        ...frame,
        dataPointType: DataPointType.HISTOGRAM,
        dataPoints: points.map((point) => pointOf(point, histogramOf(family, point), times)),
      };
    default:
      return family.kind satisfies never;
  }
}

function pointOf<T>({ labels }: Point, value: T, times: Times): DataPoint<T> {
  return { ...times, attributes: { ...labels }, value };
}

function histogramOf({ buckets = [] }: Family, point: Point): Histogram {
  const counts = point.buckets.length === 0 ? [point.count] : [...point.buckets];
  return { buckets: { boundaries: [...buckets], counts }, sum: point.value, count: point.count };
}

function unitOf({ name }: Family): string {
  if (name.includes("_seconds")) return "s";
  return name.includes("_bytes") ? "By" : "1";
}
