// A steady load for minutes: does memory stay flat? What still grows in the second half would grow
// for ever.

import { median, nowMs, residentBytes, sleep } from "./measure.ts";
import type { Result } from "./report.ts";
import { Course } from "./rounds.ts";
import { makeDataFolder, startBroker } from "./servers.ts";

export interface SoakOptions {
  readonly minutes: number;
  readonly perSecond: number;
  readonly connections: number;
  readonly sends: number;
}

const SAMPLES = 60;
const MEBIBYTE = 1024 * 1024;

export async function runSoak(options: SoakOptions): Promise<Result[]> {
  await using course = new Course();
  using folder = makeDataFolder();
  const to = { port: await course.receiverPort(), connections: options.sends };
  await using broker = await startBroker(folder.path, to);
  const ms = options.minutes * 60_000;
  const startedAt = nowMs();
  const load = course.run(broker, {
    connections: options.connections,
    perSecond: options.perSecond,
    eventsPerRequest: 1,
    events: Number.MAX_SAFE_INTEGER,
    copies: 1,
    ms,
  });
  const samples: { readonly minute: number; readonly mebibytes: number }[] = [];
  while (nowMs() < startedAt + ms) {
    await sleep(ms / SAMPLES);
    const bytes = residentBytes(broker.pids[0] as number).now;
    samples.push({ minute: (nowMs() - startedAt) / 60_000, mebibytes: bytes / MEBIBYTE });
  }
  const round = await load;
  const half = samples.slice(samples.length / 2);
  const quarter = Math.ceil(half.length / 4);
  const earlier = median(half.slice(0, quarter).map(({ mebibytes }) => mebibytes));
  const later = median(half.slice(-quarter).map(({ mebibytes }) => mebibytes));
  return [
    {
      scenario: "soak",
      system: "broker",
      minutes: options.minutes,
      deliveries: round.deliveries,
      cpuMicros: round.cpuMicros,
      firstMiB: samples[0]?.mebibytes ?? 0,
      middleMiB: earlier,
      lastMiB: later,
      growthMiBPerMinute: ((later - earlier) / (options.minutes / 2)) * (4 / 3),
    },
  ];
}
