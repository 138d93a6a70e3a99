// Metrics of the process: memory, processor time, and the delay of the event loop, which is the
// first sign of overload. Read on request only.

import { monitorEventLoopDelay } from "node:perf_hooks";
import type { Sample } from "../../core/ports.ts";

/**
 * How often the event loop's delay is measured; anything beyond that is delay. Each time wakes an
 * idle process: every 10 ms cost half a percent of a core.
 */
const resolutionMs = 50;

export interface ProcessFacts {
  samples(): readonly Sample[];
  close(): void;
}

export function openProcessFacts({ version }: { readonly version: string }): ProcessFacts {
  const delay = monitorEventLoopDelay({ resolution: resolutionMs });
  delay.enable();
  const delaySeconds = (nanoseconds: number) =>
    Number.isFinite(nanoseconds) ? Math.max(0, nanoseconds / 1e9 - resolutionMs / 1e3) : 0;
  const startedAt = Date.now() / 1000 - process.uptime();
  return {
    samples() {
      const { user, system } = process.cpuUsage();
      const { rss, heapTotal, heapUsed, external } = process.memoryUsage();
      const values: Readonly<Record<string, number>> = {
        posthorn_event_loop_delay_mean_seconds: delaySeconds(delay.mean),
        posthorn_event_loop_delay_p99_seconds: delaySeconds(delay.percentile(99)),
        posthorn_event_loop_delay_max_seconds: delaySeconds(delay.max),
        process_cpu_seconds_total: (user + system) / 1e6,
        process_resident_memory_bytes: rss,
        process_start_time_seconds: startedAt,
        nodejs_heap_size_total_bytes: heapTotal,
        nodejs_heap_size_used_bytes: heapUsed,
        nodejs_external_memory_bytes: external,
      };
      delay.reset();
      return [
        ...Object.entries(values).map(([name, value]) => ({ name, labels: {}, value })),
        { name: "posthorn_build_info", labels: { version }, value: 1 },
      ];
    },
    close: () => void delay.disable(),
  };
}
