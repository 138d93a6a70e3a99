// A small chart over a fixed span of time: lines that differ in color and in dash, axes with ticks
// and a unit, the values at the pointer or the latest ones in the legend, and the same numbers as a
// table. Dragging over it names a span. Where a value is null there is no line.

import { type PointerEvent, useId, useMemo, useState } from "react";
import { makeStyles, tokens } from "../fluent.ts";
import { useNow } from "../live.ts";
import { sayInstant, sayTick, useZone } from "../zone.ts";
import { timeTicks, valueTicks } from "./ticks.ts";
import { useWidth } from "./width.ts";

export interface Series {
  readonly name: string;
  readonly color: string;
  readonly dash?: string;
  readonly values: readonly (number | null)[];
  /** Filled down to the axis. */
  readonly isArea?: boolean;
}

export interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

const height = 132;
const left = 40;
const right = 6;
const bottom = 18;
const top = 8;
const tableRowsMax = 60;
/** Less is a click. */
const dragMin = 6;

const useStyles = makeStyles({
  figure: { margin: 0, minWidth: 0, display: "flex", flexDirection: "column" },
  title: { fontWeight: tokens.fontWeightSemibold },
  unit: {
    color: tokens.colorNeutralForeground2,
    fontWeight: tokens.fontWeightRegular,
    fontSize: tokens.fontSizeBase200,
    marginLeft: tokens.spacingHorizontalXS,
  },
  // Charts side by side have their axes on one line, however long their legends are.
  legend: {
    display: "flex",
    flexWrap: "wrap",
    flexGrow: 1,
    alignContent: "flex-start",
    columnGap: tokens.spacingHorizontalS,
    minHeight: tokens.lineHeightBase200,
    margin: `2px 0 ${tokens.spacingVerticalXS}`,
    padding: 0,
    listStyleType: "none",
    fontSize: tokens.fontSizeBase200,
    lineHeight: tokens.lineHeightBase200,
  },
  entry: { display: "flex", alignItems: "center", gap: "4px", whiteSpace: "nowrap" },
  value: { fontVariantNumeric: "tabular-nums", fontWeight: tokens.fontWeightSemibold },
  svg: {
    display: "block",
    maxWidth: "100%",
    flexShrink: 0,
    touchAction: "pan-y",
    overflow: "visible",
  },
  drags: { cursor: "crosshair" },
  axis: {
    fill: tokens.colorNeutralForeground2,
    fontSize: "11px",
    fontVariantNumeric: "tabular-nums",
    userSelect: "none",
  },
  grid: { stroke: tokens.colorNeutralStroke2, shapeRendering: "crispEdges" },
  cursor: { stroke: tokens.colorNeutralStrokeAccessible, shapeRendering: "crispEdges" },
  dragged: { fill: tokens.colorBrandBackground2, opacity: 0.6 },
  details: { fontSize: tokens.fontSizeBase200, color: tokens.colorNeutralForeground2 },
  tables: { maxHeight: "260px", overflowY: "auto" },
  table: { borderCollapse: "collapse", fontVariantNumeric: "tabular-nums" },
  cell: { padding: "0 12px 0 0", textAlign: "right" },
});

export function Chart({
  title,
  unit,
  at,
  span,
  series,
  say,
  most: mostGiven,
  isWhole = false,
  pointedMs = null,
  onPoint,
  onSpan,
}: {
  readonly title: string;
  readonly unit: string;
  /** One instant for each value, the oldest first. */
  readonly at: readonly number[];
  readonly span: Span;
  readonly series: readonly Series[];
  /** How a value is written. */
  readonly say: (value: number) => string;
  /** The top of the scale; without it a round number above all values. */
  readonly most?: number;
  /** Whether there are no halves of it. */
  readonly isWhole?: boolean;
  /** Charts side by side point at the same instant. */
  readonly pointedMs?: number | null;
  readonly onPoint?: (atMs: number | null) => void;
  readonly onSpan?: (span: Span) => void;
}) {
  const styles = useStyles();
  useZone();
  const id = useId();
  const [place, width] = useWidth<HTMLElement>(280);
  const now = useNow(60_000);
  const [start, setStart] = useState<number | null>(null);
  const ticks = useMemo(() => valueTicks(series, mostGiven, isWhole), [series, mostGiven, isWhole]);
  const most = ticks.at(-1) ?? 1;
  const { fromMs, toMs } = span;
  const inner = Math.max(1, width - left - right);
  // A step may reach beyond the end, which is now.
  const x = (ms: number) =>
    left + ((Math.min(toMs, Math.max(fromMs, ms)) - fromMs) / (toMs - fromMs)) * inner;
  const y = (value: number) => top + (1 - value / most) * (height - top - bottom);
  const msAt = (event: PointerEvent<SVGSVGElement>) => {
    const box = event.currentTarget.getBoundingClientRect();
    const share = Math.min(1, Math.max(0, (event.clientX - box.left - left) / inner));
    return fromMs + share * (toMs - fromMs);
  };
  const shown = indexAt(at, pointedMs);
  const shownMs = at[shown];
  const end = (event: PointerEvent<SVGSVGElement>) => {
    if (start === null) return;
    setStart(null);
    const until = msAt(event);
    if (Math.abs(x(until) - x(start)) < dragMin) return;
    onSpan?.({ fromMs: Math.min(start, until), toMs: Math.max(start, until) });
  };
  const stepMs = (at[1] ?? 0) - (at[0] ?? 0);
  return (
    <figure className={styles.figure} ref={place}>
      <figcaption className={styles.title} id={id}>
        {title}
        <span className={styles.unit}>{unit}</span>
      </figcaption>
      <ul className={styles.legend}>
        {series.map(({ name, color, dash, values }) => (
          <li key={name} className={styles.entry}>
            <svg width="14" height="6" aria-hidden="true">
              <line
                x1="0"
                y1="3"
                x2="14"
                y2="3"
                stroke={color}
                strokeWidth="3"
                strokeDasharray={dash}
              />
            </svg>
            {name}{" "}
            <span className={styles.value}>
              {sayOr(values[shown] ?? (pointedMs === null ? values[shown - 1] : null), say)}
            </span>
          </li>
        ))}
        {pointedMs !== null && shownMs !== undefined && (
          <li>{sayInstant(new Date(shownMs).toISOString(), now).replace(/:\d\d$/, "")}</li>
        )}
      </ul>
      <svg
        role="img"
        aria-label={`${title}, ${unit}`}
        aria-describedby={`${id}-words`}
        width={width}
        height={height}
        className={onSpan === undefined ? styles.svg : `${styles.svg} ${styles.drags}`}
        onPointerDown={(event) => {
          if (onSpan === undefined || event.button !== 0) return;
          event.currentTarget.setPointerCapture(event.pointerId);
          setStart(msAt(event));
        }}
        onPointerMove={(event) => onPoint?.(msAt(event))}
        onPointerUp={end}
        onPointerCancel={() => setStart(null)}
        onPointerLeave={() => onPoint?.(null)}
      >
        <desc id={`${id}-words`}>{describe(series, say)}</desc>
        {start !== null && pointedMs !== null && (
          <rect
            className={styles.dragged}
            x={Math.min(x(start), x(pointedMs))}
            width={Math.abs(x(pointedMs) - x(start))}
            y={top}
            height={height - top - bottom}
          />
        )}
        {ticks.map((value) => (
          <g key={value}>
            <line
              className={styles.grid}
              x1={left}
              x2={width - right}
              y1={y(value)}
              y2={y(value)}
            />
            <text className={styles.axis} x={left - 6} y={y(value) + 4} textAnchor="end">
              {say(value)}
            </text>
          </g>
        ))}
        {timeTicks(span, inner).map(({ atMs, isDay, anchor }) => (
          <g key={atMs}>
            <line
              className={styles.grid}
              x1={x(atMs)}
              x2={x(atMs)}
              y1={height - bottom}
              y2={height - bottom + 4}
            />
            <text className={styles.axis} x={x(atMs)} y={height - 3} textAnchor={anchor}>
              {sayTick(atMs, isDay)}
            </text>
          </g>
        ))}
        {series.map(({ name, color, dash, values, isArea }) => (
          <Line key={name} {...{ at, values, x, y, stepMs, color, dash, isArea }} />
        ))}
        {pointedMs !== null && shownMs !== undefined && (
          <line
            className={styles.cursor}
            x1={x(shownMs)}
            x2={x(shownMs)}
            y1={top}
            y2={height - bottom}
          />
        )}
      </svg>
      <details className={styles.details}>
        <summary>As a table</summary>
        <NumberTable at={at} series={series} now={now} say={say} />
      </details>
    </figure>
  );
}

function sayOr(value: number | null | undefined, say: (value: number) => string): string {
  return value === null || value === undefined ? "–" : say(value);
}

/** The point nearest to the pointer; without one the latest, which may have only begun. */
function indexAt(at: readonly number[], pointedMs: number | null): number {
  const last = at.length - 1;
  const first = at[0];
  if (pointedMs === null || first === undefined || last < 1) return last;
  const stepMs = ((at[last] ?? first) - first) / last;
  return Math.min(last, Math.max(0, Math.round((pointedMs - first) / stepMs)));
}

/** In as many pieces as there are gaps; a value without neighbours is a dot. */
function Line({
  at,
  values,
  x,
  y,
  color,
  dash,
  isArea = false,
}: {
  readonly at: readonly number[];
  readonly values: readonly (number | null)[];
  readonly x: (ms: number) => number;
  readonly y: (value: number) => number;
  readonly color: string;
  readonly dash: string | undefined;
  readonly isArea: boolean | undefined;
}) {
  const pieces: [number, number][][] = [];
  let isOpen = false;
  for (const [index, value] of values.entries()) {
    if (value === null) {
      isOpen = false;
      continue;
    }
    if (!isOpen) pieces.push([]);
    isOpen = true;
    pieces.at(-1)?.push([x(at[index] ?? 0), y(value)]);
  }
  return pieces.map((piece) => {
    const [first, last] = [piece[0], piece.at(-1)];
    if (first === undefined || last === undefined) return null;
    if (piece.length === 1) {
      return <circle key={first[0]} cx={first[0]} cy={first[1]} r="2" fill={color} />;
    }
    const points = piece.map(([px, py]) => `${px.toFixed(1)},${py.toFixed(1)}`).join(" ");
    return (
      <g key={first[0]}>
        {isArea && (
          <polygon
            fill={color}
            opacity="0.14"
            points={`${first[0]},${y(0)} ${points} ${last[0]},${y(0)}`}
          />
        )}
        <polyline
          fill="none"
          stroke={color}
          strokeWidth="1.75"
          strokeLinejoin="round"
          strokeDasharray={dash}
          points={points}
        />
      </g>
    );
  });
}

function NumberTable({
  at,
  series,
  now,
  say,
}: {
  readonly at: readonly number[];
  readonly series: readonly Series[];
  readonly now: number;
  readonly say: (value: number) => string;
}) {
  const styles = useStyles();
  const from = Math.max(0, at.length - tableRowsMax);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by key.
    <section className={styles.tables} tabIndex={0} aria-label="Numbers">
      <table className={styles.table}>
        <thead>
          <tr>
            <th scope="col" className={styles.cell}>
              time
            </th>
            {series.map(({ name }) => (
              <th key={name} scope="col" className={styles.cell}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {at
            .slice(from)
            .map((ms, index) => (
              <tr key={ms}>
                <td className={styles.cell}>{sayInstant(new Date(ms).toISOString(), now)}</td>
                {series.map(({ name, values }) => (
                  <td key={name} className={styles.cell}>
                    {sayOr(values[from + index], say)}
                  </td>
                ))}
              </tr>
            ))
            .reverse()}
        </tbody>
      </table>
    </section>
  );
}

function describe(series: readonly Series[], say: (value: number) => string): string {
  return series
    .map(({ name, values }) => {
      const known = values.filter((value) => value !== null);
      if (known.length === 0) return `${name}: nothing`;
      return `${name}: at most ${say(Math.max(...known))}, at last ${sayOr(known.at(-1), say)}`;
    })
    .join("; ");
}
