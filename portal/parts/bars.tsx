// A small chart of bars, with the same numbers as a table beneath it.

import { makeStyles, tokens } from "../fluent.ts";
import { sayCount, sayShort } from "../words.ts";
import { useWidth } from "./width.ts";

const height = 130;
const left = 36;
const bottom = 18;
const top = 8;

const useStyles = makeStyles({
  figure: { margin: `${tokens.spacingVerticalM} 0 0`, minWidth: 0 },
  title: { fontWeight: tokens.fontWeightSemibold, marginBottom: tokens.spacingVerticalXS },
  svg: { display: "block", maxWidth: "100%" },
  bar: { fill: tokens.colorBrandForeground1 },
  axis: { fill: tokens.colorNeutralForeground2, fontSize: "11px" },
  grid: { stroke: tokens.colorNeutralStroke2 },
  details: { fontSize: tokens.fontSizeBase200, color: tokens.colorNeutralForeground2 },
  cell: { padding: "0 12px 0 0", textAlign: "right", fontVariantNumeric: "tabular-nums" },
});

export function Bars({
  title,
  points,
}: {
  readonly title: string;
  readonly points: readonly { readonly at: string; readonly value: number }[];
}) {
  const styles = useStyles();
  const [place, width] = useWidth<HTMLElement>(500);
  const most = Math.max(1, ...points.map(({ value }) => value));
  const step = (width - left - 4) / Math.max(1, points.length);
  const y = (value: number) => top + (1 - value / most) * (height - top - bottom);
  const last = points.length - 1;
  return (
    <figure className={styles.figure} ref={place}>
      <figcaption className={styles.title}>{title}</figcaption>
      <svg role="img" aria-label={title} width={width} height={height} className={styles.svg}>
        {[0, 1].map((share) => (
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
        {points.map(({ at, value }, index) => (
          <rect
            // biome-ignore lint/suspicious/noArrayIndexKey: points have no name but their place.
            key={index}
            className={styles.bar}
            x={left + index * step + step * 0.1}
            width={Math.max(1, step * 0.8)}
            y={y(value)}
            height={Math.max(0, height - bottom - y(value))}
          >
            <title>{`${at}: ${sayCount(value)}`}</title>
          </rect>
        ))}
        <text className={styles.axis} x={left} y={height - 4}>
          {points[0]?.at}
        </text>
        {last > 0 && (
          <text className={styles.axis} x={width - 4} y={height - 4} textAnchor="end">
            {points[last]?.at}
          </text>
        )}
      </svg>
      <details className={styles.details}>
        <summary>As a table</summary>
        <table>
          <tbody>
            {points.map(({ at, value }, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: points have no name but their place.
              <tr key={index}>
                <td className={styles.cell}>{at}</td>
                <td className={styles.cell}>{sayCount(value)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </details>
    </figure>
  );
}
