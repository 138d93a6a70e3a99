// What became of attempts over the range, as small as a word: what was delivered, and in red what
// failed. Beside it the share that succeeded, so that rows can be compared.

import type { FigureSeries } from "../../src/core/api/views.ts";
import { makeStyles, mergeClasses, tokens } from "../fluent.ts";
import type { Column } from "../parts/table.tsx";
import { sayMany } from "../words.ts";
import { successOf } from "./figures.ts";

const width = 84;
const height = 20;

const useStyles = makeStyles({
  svg: { display: "inline-block", verticalAlign: "middle" },
  good: { fill: tokens.colorPaletteGreenForeground1, opacity: 0.75 },
  bad: { fill: tokens.colorPaletteRedForeground1 },
  base: { stroke: tokens.colorNeutralStroke1, shapeRendering: "crispEdges" },
  share: { fontVariantNumeric: "tabular-nums" },
  low: { color: tokens.colorPaletteRedForeground1, fontWeight: tokens.fontWeightSemibold },
  none: { color: tokens.colorNeutralForeground3 },
});

function Sparkline({ of: series }: { readonly of: FigureSeries | undefined }) {
  const styles = useStyles();
  const delivered = series?.delivered ?? [];
  const failed = series?.failed ?? [];
  const sums = delivered.map((value, index) => (value ?? 0) + (failed[index] ?? 0));
  const most = Math.max(1, ...sums);
  const step = width / Math.max(1, sums.length);
  const words =
    series === undefined
      ? "no attempts"
      : `${sayMany(series.totals.delivered, "delivery", "deliveries")}, ` +
        `${sayMany(series.totals.failed, "failed attempt")}`;
  const bar = (index: number, from: number, count: number) => ({
    x: index * step,
    width: Math.max(1, step - 0.5),
    y: height - 1 - ((from + count) / most) * (height - 2),
    height: Math.max(1, (count / most) * (height - 2)),
  });
  return (
    <svg className={styles.svg} width={width} height={height} role="img" aria-label={words}>
      <title>{words}</title>
      <line className={styles.base} x1={0} x2={width} y1={height - 0.5} y2={height - 0.5} />
      {sums.map((sum, index) => {
        if (sum === 0) return null;
        const bad = failed[index] ?? 0;
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: bars have no name but their place.
          <g key={index}>
            {sum > bad && <rect className={styles.good} {...bar(index, bad, sum - bad)} />}
            {bad > 0 && <rect className={styles.bad} {...bar(index, 0, bad)} />}
          </g>
        );
      })}
    </svg>
  );
}

/** `99.5 %`; red where a tenth or more failed. */
function Success({ of: series }: { readonly of: FigureSeries | undefined }) {
  const styles = useStyles();
  const share = series === undefined ? null : successOf(series.totals);
  if (share === null) return <span className={styles.none}>–</span>;
  // Never rounded up to all.
  const percent = Math.floor(share * 1_000) / 10;
  return (
    <span className={mergeClasses(styles.share, share <= 0.9 && styles.low)}>{percent} %</span>
  );
}

/** How it went with each row of a list, and beside each other. */
export function sparkColumns<T>(
  own: (row: T) => FigureSeries | undefined,
): readonly [Column<T>, Column<T>] {
  return [
    {
      title: "Attempts",
      width: "88px",
      isWideOnly: true,
      show: (row) => <Sparkline of={own(row)} />,
    },
    {
      title: "Success",
      width: "60px",
      align: "right",
      show: (row) => <Success of={own(row)} />,
    },
  ];
}
