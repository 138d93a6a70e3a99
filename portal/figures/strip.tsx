// One row of charts, the same on every page: rate, success, latency, backlog. They share one span
// of time and one pointer; dragging over one opens the deliveries of that span.

import { useMemo, useState } from "react";
import type { FigureChart, FigureSeries } from "../../src/core/api/views.ts";
import { makeStyles, mergeClasses, tokens } from "../fluent.ts";
import { brokerNow, useLive } from "../live.ts";
import { Chart, type Series, type Span } from "../parts/chart.tsx";
import { Card, Refusal } from "../parts/page.tsx";
import { go, pathTo } from "../route.ts";
import { sayCount, sayRate, sayShort } from "../words.ts";
import { useFigures } from "./figures.ts";
import { RangePicker } from "./picker.tsx";
import { useRange, useSpan } from "./range.ts";
import type { Scope } from "./scope.ts";

const useStyles = makeStyles({
  head: {
    display: "flex",
    flexWrap: "wrap",
    alignItems: "center",
    gap: tokens.spacingHorizontalM,
    marginBottom: tokens.spacingVerticalM,
  },
  totals: {
    display: "flex",
    flexWrap: "wrap",
    columnGap: tokens.spacingHorizontalL,
    flexGrow: 1,
    color: tokens.colorNeutralForeground2,
    margin: 0,
  },
  whole: { fontWeight: tokens.fontWeightSemibold },
  total: { whiteSpace: "nowrap" },
  number: {
    color: tokens.colorNeutralForeground1,
    fontWeight: tokens.fontWeightSemibold,
    fontVariantNumeric: "tabular-nums",
  },
  bad: { color: tokens.colorPaletteRedForeground1 },
  charts: {
    display: "grid",
    gridTemplateColumns: "repeat(4, minmax(0, 1fr))",
    columnGap: tokens.spacingHorizontalXL,
    rowGap: tokens.spacingVerticalM,
    // As high before it is drawn as after: what is below must not move under the pointer.
    minHeight: "190px",
    "@media (max-width: 1100px)": { gridTemplateColumns: "repeat(2, minmax(0, 1fr))" },
    "@media (max-width: 640px)": { columnGap: tokens.spacingHorizontalM },
  },
  three: {
    gridTemplateColumns: "repeat(3, minmax(0, 1fr))",
    "@media (max-width: 1100px)": { gridTemplateColumns: "repeat(2, minmax(0, 1fr))" },
  },
});

export function FigureStrip({
  scope = null,
  hasPicker = true,
  isNamed = true,
  title,
}: {
  readonly scope?: Scope;
  /** Whose figures these are, where the page does not say it. */
  readonly title?: string;
  /** Whether it says that it is about all of the broker, which is not what the page is about. */
  readonly isNamed?: boolean;
  readonly hasPicker?: boolean;
}) {
  const styles = useStyles();
  const range = useRange();
  const span = useSpan(range);
  const { value, refused } = useFigures(scope, range);
  const own = value?.series[0];
  return (
    <Card>
      <div className={styles.head}>
        {title !== undefined && <span className={styles.whole}>{title}</span>}
        {scope === null && isNamed && <Whole />}
        <Totals own={own} scope={scope} />
        {hasPicker && <RangePicker />}
      </div>
      {refused !== null && value === undefined ? (
        <Refusal refused={refused} />
      ) : (
        <div
          className={mergeClasses(styles.charts, scope?.kind === "member" && styles.three)}
          aria-busy={value === undefined}
        >
          {value !== undefined && <Charts figures={value} own={own} scope={scope} span={span} />}
        </div>
      )}
    </Card>
  );
}

function Whole() {
  const styles = useStyles();
  const isCluster = (useLive("overview")?.brokers ?? 1) > 1;
  return <span className={styles.whole}>{isCluster ? "All brokers" : "The whole broker"}</span>;
}

const totalWords = [
  ["published", "published", false],
  ["delivered", "delivered", false],
  ["failed", "failed attempts", true],
  ["deadLettered", "dead-lettered", true],
  ["dropped", "dropped", true],
] as const;

function Totals({ own, scope }: { readonly own: FigureSeries | undefined; readonly scope: Scope }) {
  const styles = useStyles();
  return (
    <p className={styles.totals}>
      {totalWords.map(([name, usual, isBad]) => {
        const words = name === "published" && isMatched(scope) ? "matched" : usual;
        const value = own?.totals[name] ?? null;
        return (
          <span key={name} className={styles.total}>
            <span
              className={`${styles.number} ${isBad && value !== null && value > 0 ? styles.bad : ""}`}
              title={value === null ? undefined : sayCount(value)}
            >
              {value === null ? "–" : sayShort(value)}
            </span>{" "}
            {words}
          </span>
        );
      })}
    </p>
  );
}

/** Of a subscription or an endpoint it is what matched. */
function isMatched(scope: Scope): boolean {
  return scope?.kind === "subscription" || scope?.kind === "endpoint";
}

const nothing: readonly null[] = [];

function Charts({
  figures,
  own,
  scope,
  span,
}: {
  readonly figures: FigureChart;
  readonly own: FigureSeries | undefined;
  readonly scope: Scope;
  readonly span: Span;
}) {
  const [pointedMs, setPointed] = useState<number | null>(null);
  const { at, rate, success, latency, backlog } = useMemo(
    () => seriesOf(figures, own, isMatched(scope) ? "matched" : "published"),
    [figures, own, scope],
  );
  const open = ({ fromMs, toMs }: Span) => {
    const query = {
      ...scopeQuery(scope),
      from: new Date(fromMs).toISOString(),
      to: new Date(toMs).toISOString(),
    };
    go(pathTo(["deliveries"], query));
  };
  const shared = { at, span, pointedMs, onPoint: setPointed, onSpan: open };
  return (
    <>
      <Chart title="Rate" unit={rate.unit} series={rate.series} say={sayRate} {...shared} />
      <Chart
        title="Success"
        unit="% of attempts"
        series={success}
        say={sayPercent}
        most={100}
        {...shared}
      />
      <Chart
        title="Latency"
        unit={latency.unit}
        series={latency.series}
        say={latency.unit === "s" ? saySeconds : sayRate}
        {...shared}
      />
      {/* What waits belongs to all brokers together. */}
      {scope?.kind !== "member" && (
        <Chart title="Backlog" unit="events" series={backlog} say={sayShort} isWhole {...shared} />
      )}
    </>
  );
}

export function scopeQuery(scope: Scope): Readonly<Record<string, string>> {
  if (scope?.kind === "topic") return { q: `topic:${scope.name}` };
  if (scope?.kind === "subscription") {
    return { q: `topic:${scope.topic} subscription:${scope.name}` };
  }
  return {};
}

function sayPercent(value: number): string {
  return Number.isInteger(value) ? String(value) : value.toFixed(value > 99 ? 2 : 1);
}

function seriesOf(figures: FigureChart, own: FigureSeries | undefined, publishedWords: string) {
  const { from, stepMs } = figures;
  // While the broker did not run, nothing is known, which is not nothing.
  const known = (values: readonly number[] = []) =>
    own?.kind === "broker" || own?.kind === "member"
      ? values.map((value, index) => (own.waiting?.[index] === null ? null : value))
      : values;
  const published = known(own?.published);
  const delivered = known(own?.delivered);
  const failed = known(own?.failed);
  const firstMs = Date.parse(from);
  const at = published.map((_, index) => firstMs + index * stepMs + stepMs / 2);
  const most = Math.max(0, ...[...published, ...delivered, ...failed].map((each) => each ?? 0));
  const isSlow = (most / stepMs) * 1_000 < 1;
  const perMs = isSlow ? 60_000 : 1_000;
  // The last step has only begun: its rate is that of the time it has had, if that was enough.
  const lastMs = Math.min(stepMs, brokerNow() - firstMs - (published.length - 1) * stepMs);
  const rateOf = (values: readonly (number | null)[]) =>
    values.map((value, index) => {
      const ms = index === values.length - 1 ? lastMs : stepMs;
      return value === null || ms < stepMs / 4 ? null : (value / ms) * perMs;
    });
  const rate: Series[] = [
    {
      name: publishedWords,
      color: tokens.colorBrandForeground1,
      values: rateOf(published),
    },
    {
      name: "delivered",
      color: tokens.colorPaletteGreenForeground1,
      dash: "6 3",
      values: rateOf(delivered),
    },
    {
      name: "failed",
      color: tokens.colorPaletteRedForeground1,
      dash: "2 3",
      values: rateOf(failed),
    },
  ];
  const success: Series[] = [
    {
      name: "success",
      color: tokens.colorPaletteGreenForeground1,
      isArea: true,
      values: delivered.map((value, index) => {
        const all = (value ?? 0) + (failed[index] ?? 0);
        return all === 0 ? null : ((value ?? 0) / all) * 100;
      }),
    },
  ];
  return {
    at,
    rate: { unit: isSlow ? "a minute" : "a second", series: rate },
    success,
    latency: latencyOf(own),
    backlog: backlogOf(own),
  };
}

function latencyOf(own: FigureSeries | undefined) {
  const lines = [
    ["p50", own?.deliveryP50Ms, tokens.colorBrandForeground1, undefined],
    ["p95", own?.deliveryP95Ms, tokens.colorPalettePurpleForeground2, "6 3"],
    ["answer p95", own?.answerP95Ms, tokens.colorPaletteDarkOrangeForeground1, "2 3"],
  ] as const;
  const most = Math.max(
    0,
    ...lines.flatMap(([, values]) => (values ?? []).map((each) => each ?? 0)),
  );
  const isLong = most >= 10_000;
  const series = lines.map(
    ([name, values, color, dash]): Series => ({
      name,
      color,
      ...(dash !== undefined && { dash }),
      values: (values ?? []).map((value) =>
        value === null ? null : isLong ? value / 1_000 : value,
      ),
    }),
  );
  return { unit: isLong ? "s" : "ms", series };
}

/** A few milliseconds on an axis of seconds are not nothing. */
function saySeconds(value: number): string {
  return value > 0 && value < 0.1 ? `${sayRate(value * 1_000)} ms` : sayRate(value);
}

function backlogOf(own: FigureSeries | undefined): Series[] {
  return [
    {
      name: "waiting",
      color: tokens.colorPalettePurpleForeground2,
      isArea: true,
      values: own?.waiting ?? nothing,
    },
  ];
}
