// What was counted over time, as a table: one line for the broker, or for each topic, subscription
// or endpoint, with a small chart of what was delivered.

import type { FigureChart, FigureSeries } from "../../core/api/views.ts";
import { refuseValue } from "../../core/text/wording.ts";
import { openClient } from "../client.ts";
import type { Row, Run } from "../command.ts";

/** As many as the chart has bars. */
const points = 24;

export const showStats: Run = async (given, outside) => {
  const query = new URLSearchParams({ kind: given.one("of") ?? "broker", points: String(points) });
  query.set("minutes", String(minutesIn(given.one("last") ?? "1h")));
  for (const [option, name] of [
    ["name", "name"],
    ["topic-name", "topic"],
    ["domain-topic-name", "domainTopic"],
  ] as const) {
    const value = given.one(option);
    if (value !== null) query.set(name, value);
  }
  const answer = await openClient(given, outside).get(`/api/v1/figures?${query}`);
  const chart = answer as unknown as FigureChart;
  return { value: chart, rows: chart.series.map(rowOf) };
};

const spans: Readonly<Record<string, number>> = { m: 1, h: 60, d: 1_440 };

/** Refusal: InvalidSetting. */
function minutesIn(text: string): number {
  const [, count, unit = ""] = /^(\d{1,5})(m|h|d)$/.exec(text) ?? [];
  const minutes = Number(count) * (spans[unit] ?? 0);
  if (minutes > 0) return minutes;
  throw refuseValue({ field: "--last", value: text, allowed: "a time such as 30m, 6h or 7d" });
}

function rowOf({ kind, name, topic, domainTopic, totals, delivered = [] }: FigureSeries): Row {
  const path = [topic, domainTopic, name].filter((part) => part !== null && part !== "");
  const tried = totals.delivered + totals.failed;
  return {
    Name: kind === "broker" ? "broker" : path.join("/"),
    Published: totals.published,
    Delivered: totals.delivered,
    Failed: totals.failed,
    Success: tried === 0 ? "" : `${Math.floor((1_000 * totals.delivered) / tried) / 10} %`,
    DeadLettered: totals.deadLettered,
    Dropped: totals.dropped,
    "p50 ms": totals.deliveryP50Ms ?? "",
    "p95 ms": totals.deliveryP95Ms ?? "",
    "Answer p95": totals.answerP95Ms ?? "",
    Trend: drawBars(delivered),
  };
}

const bars = "▁▂▃▄▅▆▇█";

function drawBars(values: readonly number[]): string {
  const most = Math.max(1, ...values);
  const barOf = (value: number) =>
    value === 0 ? " " : bars[Math.ceil((value / most) * bars.length) - 1];
  return values.map(barOf).join("");
}
