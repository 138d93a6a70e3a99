// Results as people read them, a Markdown table, and as programs do, one JSON object per line.

export type Result = { readonly scenario: string; readonly system: string } & Readonly<
  Record<string, string | number>
>;

/** A column: its title, the property it shows, and how many digits are worth reading. */
type Column = readonly [title: string, property: string, digits: number];

const FLOW: readonly Column[] = [
  ["load", "load", 0],
  ["system", "system", 0],
  ["delivered/s", "deliveredPerSecond", 0],
  ["CPU µs/delivery", "cpuMicros", 0],
  ["publish p50 ms", "p50Ms", 2],
  ["p99", "p99Ms", 2],
  ["arrival p50 ms", "arrivalP50Ms", 2],
  ["p99 ", "arrivalP99Ms", 2],
  ["busiest thread %", "busiestPercent", 0],
  ["CPU ratio of each round, or share of each thread", "cpuRatios", 0],
];

const SICK: readonly Column[] = [
  ["load", "load", 0],
  ["system", "system", 0],
  ["CPU µs/delivery", "cpuMicros", 0],
  ["publish p50 ms", "p50Ms", 2],
  ["p99", "p99Ms", 2],
  ["arrival p50 ms", "arrivalP50Ms", 2],
  ["p99 ", "arrivalP99Ms", 2],
  ["publish p99 ratio of each round", "p99Ratios", 0],
  ["arrival p99 ratio of each round", "arrivalP99Ratios", 0],
];

const WAITING: readonly Column[] = [
  ["waiting", "waiting", 0],
  ["system", "system", 0],
  ["filled/s", "fillPerSecond", 0],
  ["published/s", "publishedPerSecond", 0],
  ["CPU µs/publish", "cpuMicros", 0],
  ["memory MiB", "memoryMiB", 0],
  ["when quiet", "quietMemoryMiB", 0],
  ["peak MiB", "peakMemoryMiB", 0],
  ["ready ms", "readyMs", 0],
  ["ready ms after kill", "readyAfterKillMs", 0],
  ["memory MiB after restart", "memoryAfterRestartMiB", 0],
  ["disk MiB", "diskMiB", 0],
];

const PULL: readonly Column[] = [
  ["system", "system", 0],
  ["events/s", "perSecond", 0],
  ["CPU µs/event", "cpuMicros", 0],
  ["more memory MiB", "memoryMiB", 1],
  ["CPU %", "cpuPercent", 2],
];

const CATALOG: readonly Column[] = [
  ["subscriptions", "subscriptions", 0],
  ["CPU ms/put", "putCpuMs", 2],
  ["CPU ms/put, 50 at once", "putAtOnceCpuMs", 2],
  ["CPU ms/put and publish", "putAndPublishCpuMs", 2],
  ["ready ms, file applied", "applyMs", 0],
  ["ready ms, file unchanged", "readyMs", 0],
];

const SOAK: readonly Column[] = [
  ["minutes", "minutes", 0],
  ["deliveries", "deliveries", 0],
  ["CPU µs/delivery", "cpuMicros", 0],
  ["MiB at first", "firstMiB", 0],
  ["MiB in the middle", "middleMiB", 0],
  ["MiB at last", "lastMiB", 0],
  ["second half, MiB/min", "growthMiBPerMinute", 2],
];

const CLUSTER: readonly Column[] = [
  ["measured", "measured", 0],
  ["system", "system", 0],
  ["brokers' CPU µs/delivery", "cpuMicros", 0],
  ["database's", "databaseMicros", 0],
  ["delivered/s", "deliveredPerSecond", 0],
  ["longest arrival ms", "pauseMs", 0],
  ["memory MiB", "memoryMiB", 0],
  ["when quiet", "quietMemoryMiB", 0],
  ["publish rate, full / empty", "publishRatio", 2],
  ["ready ms", "readyMs", 0],
  ["idle % of a core", "idlePercent", 2],
  ["database's ", "databaseIdlePercent", 2],
];

const COLUMNS: Readonly<Record<string, readonly Column[]>> = {
  sick: SICK,
  soak: SOAK,
  waiting: WAITING,
  catalog: CATALOG,
  pull: PULL,
  cluster: CLUSTER,
};

export function renderTable(results: readonly Result[]): string {
  const columns = COLUMNS[results[0]?.scenario ?? ""] ?? FLOW;
  const rows = results.map((result) =>
    columns.map(([, property, digits]) => {
      const value = result[property] ?? (property === "cpuRatios" ? result.threads : undefined);
      if (typeof value !== "number") return value ?? "";
      // A row that compares two systems holds ratios.
      const isRatio = result.system.includes(" / ") && property !== "waiting";
      return isRatio ? `${value.toFixed(2)}x` : value.toFixed(digits);
    }),
  );
  const titles = columns.map(([title]) => title);
  const widths = titles.map((title, i) =>
    Math.max(title.length, ...rows.map((row) => row[i]?.length ?? 0)),
  );
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join(" | ")} |`;
  const rule = `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |`;
  return [line(titles), rule, ...rows.map(line)].join("\n");
}

export function renderLines(results: readonly Result[]): string {
  return results.map((result) => JSON.stringify(result)).join("\n");
}
