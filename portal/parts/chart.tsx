// A small chart over time: lines that differ in color and in dash, the values at the pointer or the
// latest ones in the legend, and the same numbers as a table for screen readers.

import { type PointerEvent, useId, useMemo, useState } from "react";
import { makeStyles, tokens } from "../fluent.ts";
import { useNow } from "../live.ts";
import { sayCount, sayInstant, sayShort } from "../words.ts";
import { useWidth } from "./width.ts";

export interface Series {
  readonly name: string;
  readonly color: string;
  readonly dash?: string;
  readonly values: readonly number[];
}

const height = 140;
const left = 36;
const bottom = 18;
const top = 8;
const tableRowsMax = 60;

const useStyles = makeStyles({
  figure: { margin: 0, minWidth: 0 },
  title: { fontWeight: tokens.fontWeightSemibold },
  legend: {
    display: "flex",
    flexWrap: "wrap",
    columnGap: tokens.spacingHorizontalL,
    minHeight: tokens.lineHeightBase300,
    marginTop: tokens.spacingVerticalXS,
    marginBottom: tokens.spacingVerticalXS,
    padding: 0,
    listStyleType: "none",
    fontSize: tokens.fontSizeBase200,
  },
  entry: { display: "flex", alignItems: "center", gap: tokens.spacingHorizontalXS },
  value: { fontVariantNumeric: "tabular-nums", fontWeight: tokens.fontWeightSemibold },
  svg: { display: "block", maxWidth: "100%", touchAction: "pan-y" },
  axis: { fill: tokens.colorNeutralForeground2, fontSize: "11px" },
  grid: { stroke: tokens.colorNeutralStroke2 },
  cursor: { stroke: tokens.colorNeutralStrokeAccessible },
  details: { fontSize: tokens.fontSizeBase200, color: tokens.colorNeutralForeground2 },
  table: { borderCollapse: "collapse", fontVariantNumeric: "tabular-nums" },
  cell: { padding: "0 12px 0 0", textAlign: "right" },
});

export function Chart({
  title,
  at,
  series,
}: {
  readonly title: string;
  /** One instant for each value, the oldest first. */
  readonly at: readonly string[];
  readonly series: readonly Series[];
}) {
  const styles = useStyles();
  const id = useId();
  const [place, width] = useWidth<HTMLElement>(400);
  const now = useNow(60_000);
  const [pointed, setPointed] = useState<number | null>(null);
  const most = useMemo(() => niceMax(series.flatMap(({ values }) => values)), [series]);
  const last = at.length - 1;
  const shown = pointed === null || pointed > last ? last : pointed;
  const x = (index: number) => left + (last <= 0 ? 0 : (index / last) * (width - left - 4));
  const y = (value: number) => top + (1 - value / most) * (height - top - bottom);
  const point = (event: PointerEvent<SVGSVGElement>) => {
    const box = event.currentTarget.getBoundingClientRect();
    const along = event.clientX - box.left - left;
    const index = Math.round((along / (width - left - 4)) * last);
    setPointed(Math.min(last, Math.max(0, index)));
  };
  const latest = at[shown];
  return (
    <figure className={styles.figure} ref={place}>
      <figcaption className={styles.title} id={id}>
        {title}
      </figcaption>
      <ul className={styles.legend}>
        {series.map(({ name, color, dash, values }) => (
          <li key={name} className={styles.entry}>
            <svg width="18" height="6" aria-hidden="true">
              <line
                x1="0"
                y1="3"
                x2="18"
                y2="3"
                stroke={color}
                strokeWidth="3"
                strokeDasharray={dash}
              />
            </svg>
            {name} <span className={styles.value}>{sayShort(values[shown] ?? 0)}</span>
          </li>
        ))}
        {pointed !== null && latest !== undefined && <li>{sayInstant(latest, now)}</li>}
      </ul>
      <svg
        role="img"
        aria-label={title}
        aria-describedby={`${id}-words`}
        width={width}
        height={height}
        className={styles.svg}
        onPointerMove={point}
        onPointerLeave={() => setPointed(null)}
      >
        <desc id={`${id}-words`}>{describe(series)}</desc>
        {[0, 0.5, 1].map((share) => (
          <g key={share}>
            <line
              className={styles.grid}
              x1={left}
              x2={width - 4}
              y1={y(most * share)}
              y2={y(most * share)}
            />
            <text className={styles.axis} x={left - 5} y={y(most * share) + 3} textAnchor="end">
              {sayShort(most * share)}
            </text>
          </g>
        ))}
        {(last > 0 ? [0, last] : [0]).map(
          (index) =>
            at[index] !== undefined && (
              <text
                key={index}
                className={styles.axis}
                x={x(index)}
                y={height - 4}
                textAnchor={index === 0 ? "start" : "end"}
              >
                {sayInstant(at[index] ?? "", now).replace(/:\d\d$/, "")}
              </text>
            ),
        )}
        {pointed !== null && (
          <line
            className={styles.cursor}
            x1={x(shown)}
            x2={x(shown)}
            y1={top}
            y2={height - bottom}
          />
        )}
        {last === 0 &&
          series.map(({ name, color, values }) => (
            <circle key={name} fill={color} cx={x(0)} cy={y(values[0] ?? 0)} r="3" />
          ))}
        {series.map(({ name, color, dash, values }) => (
          <polyline
            key={name}
            fill="none"
            stroke={color}
            strokeWidth="2"
            strokeLinejoin="round"
            strokeDasharray={dash}
            points={values
              .map((value, index) => `${x(index).toFixed(1)},${y(value).toFixed(1)}`)
              .join(" ")}
          />
        ))}
      </svg>
      <details className={styles.details}>
        <summary>As a table</summary>
        <NumberTable at={at} series={series} now={now} />
      </details>
    </figure>
  );
}

function NumberTable({
  at,
  series,
  now,
}: {
  readonly at: readonly string[];
  readonly series: readonly Series[];
  readonly now: number;
}) {
  const styles = useStyles();
  const from = Math.max(0, at.length - tableRowsMax);
  return (
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
          .map((instant, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a clock may stand still.
            <tr key={index}>
              <td className={styles.cell}>{sayInstant(instant, now)}</td>
              {series.map(({ name, values }) => (
                <td key={name} className={styles.cell}>
                  {sayCount(values[from + index] ?? 0)}
                </td>
              ))}
            </tr>
          ))
          .reverse()}
      </tbody>
    </table>
  );
}

function describe(series: readonly Series[]): string {
  return series
    .map(({ name, values }) => {
      const sum = values.reduce((total, value) => total + value, 0);
      return `${name}: ${sayCount(sum)} in all, at most ${sayCount(Math.max(0, ...values))} at once`;
    })
    .join("; ");
}

/** Two, four, six or ten, and zeros: a scale with a middle that does not jump with every point. */
function niceMax(values: readonly number[]): number {
  const most = Math.max(2, ...values);
  const power = 10 ** Math.floor(Math.log10(most));
  const step = [1, 2, 4, 6, 10].find((each) => each * power >= most) ?? 10;
  return Math.max(2, step * power);
}
