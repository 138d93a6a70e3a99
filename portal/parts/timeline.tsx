// A timeline of attempts and the waits between them. The first retries are seconds apart and the
// last ones hours, so the line is stretched at its beginning (a logarithmic scale). The text beside
// it always has the same content.

import { makeStyles, tokens } from "../fluent.ts";
import { sayCount, sayLength } from "../words.ts";
import { useWidth } from "./width.ts";

export interface Mark {
  /** From the beginning of the line. */
  readonly atMs: number;
  readonly kind: "good" | "bad" | "next" | "end" | "lost";
  readonly words: string;
}

export interface Span {
  readonly fromMs: number;
  /** Null: to the end of the line. */
  readonly untilMs: number | null;
  readonly words: string;
}

const useStyles = makeStyles({
  figure: { margin: 0, minWidth: 0 },
  svg: { display: "block", maxWidth: "100%" },
  axis: { fill: tokens.colorNeutralForeground2, fontSize: "11px" },
  line: { stroke: tokens.colorNeutralStrokeAccessible, strokeWidth: 2 },
  ahead: { stroke: tokens.colorNeutralStrokeAccessible, strokeWidth: 2, strokeDasharray: "3 4" },
  tick: { stroke: tokens.colorNeutralStroke1 },
  span: { fill: tokens.colorPaletteRedBackground2 },
  now: { stroke: tokens.colorBrandForeground1, strokeWidth: 2 },
  nowWords: { fill: tokens.colorBrandForeground1, fontSize: "11px", fontWeight: 600 },
  good: { fill: tokens.colorPaletteGreenForeground1 },
  bad: { fill: tokens.colorPaletteRedForeground1 },
  next: {
    fill: tokens.colorNeutralBackground1,
    stroke: tokens.colorBrandForeground1,
    strokeWidth: 2,
  },
  end: { fill: tokens.colorPaletteDarkOrangeForeground1 },
  lost: { fill: tokens.colorPaletteBerryForeground1 },
});

const height = 66;
const middle = 28;
const side = 14;
const ticksMs = [
  0, 10_000, 60_000, 600_000, 3_600_000, 21_600_000, 86_400_000, 604_800_000, 2_592_000_000,
];
const bendMs = 8_000;

/** How far along the line an instant is, from 0 to 1. */
export function shareOf(ms: number, furthestMs: number): number {
  const scale = (each: number) => Math.log1p(Math.max(0, each) / bendMs);
  return scale(ms) / scale(Math.max(1_000, furthestMs));
}

/** Ticks that leave room for their words: `apart` is a share of the line. */
export function ticksTo(furthestMs: number, apart: number): readonly number[] {
  return ticksMs.filter((ms, index) => {
    const before = ticksMs[index - 1];
    if (ms > furthestMs) return false;
    return before === undefined || shareOf(ms, furthestMs) - shareOf(before, furthestMs) > apart;
  });
}

export function Timeline({
  label,
  marks,
  spans = [],
  untilMs,
  nowMs = null,
}: {
  readonly label: string;
  readonly marks: readonly Mark[];
  readonly spans?: readonly Span[];
  /** The end of the line. */
  readonly untilMs: number;
  readonly nowMs?: number | null;
}) {
  const styles = useStyles();
  const [place, width] = useWidth<HTMLElement>(600);
  const furthest = Math.max(1_000, untilMs, ...marks.map(({ atMs }) => atMs), nowMs ?? 0);
  const x = (ms: number) => side + shareOf(ms, furthest) * (width - 2 * side);
  const reached = nowMs ?? Math.max(0, ...marks.map(({ atMs }) => atMs));
  const ticks = ticksTo(furthest, 34 / (width - 2 * side));
  return (
    <figure className={styles.figure} ref={place}>
      <svg role="img" aria-label={label} width={width} height={height} className={styles.svg}>
        <desc>{describe(marks)}</desc>
        {spans.map(({ fromMs, untilMs: until, words }) => (
          <rect
            key={`${fromMs} ${until}`}
            className={styles.span}
            x={x(fromMs)}
            y={middle - 12}
            width={Math.max(2, x(until ?? furthest) - x(fromMs))}
            height={24}
          >
            <title>{words}</title>
          </rect>
        ))}
        {ticks.map((ms) => (
          <g key={ms}>
            <line className={styles.tick} x1={x(ms)} x2={x(ms)} y1={middle + 8} y2={middle + 18} />
            <text
              className={styles.axis}
              x={x(ms)}
              y={middle + 31}
              textAnchor={ms === 0 ? "start" : "middle"}
            >
              {ms === 0 ? "0" : sayLength(ms)}
            </text>
          </g>
        ))}
        <line className={styles.line} x1={x(0)} x2={x(reached)} y1={middle} y2={middle} />
        {nowMs !== null && (
          <line className={styles.ahead} x1={x(reached)} x2={x(furthest)} y1={middle} y2={middle} />
        )}
        {nowMs !== null && (
          <g>
            <line className={styles.now} x1={x(nowMs)} x2={x(nowMs)} y1={12} y2={middle + 12} />
            <text
              className={styles.nowWords}
              x={x(nowMs)}
              y={9}
              textAnchor={x(nowMs) > width - 40 ? "end" : x(nowMs) < 40 ? "start" : "middle"}
            >
              now
            </text>
          </g>
        )}
        {marks.map(({ atMs, kind, words }, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: several may fall on one instant.
          <Dot key={index} x={x(atMs)} kind={kind} words={words} />
        ))}
      </svg>
    </figure>
  );
}

/** Shapes differ, too, for people who do not see the colours. */
function Dot({
  x,
  kind,
  words,
}: {
  readonly x: number;
  readonly kind: Mark["kind"];
  readonly words: string;
}) {
  const styles = useStyles();
  const y = middle;
  const title = <title>{words}</title>;
  if (kind === "bad" || kind === "lost") {
    const points = `${x - 6},${y - 6} ${x + 6},${y - 6} ${x},${y + 6}`;
    return (
      <polygon className={styles[kind]} points={points}>
        {title}
      </polygon>
    );
  }
  if (kind === "end") {
    return (
      <rect className={styles.end} x={x - 5} y={y - 5} width={10} height={10}>
        {title}
      </rect>
    );
  }
  return (
    <circle className={styles[kind]} cx={x} cy={y} r={6}>
      {title}
    </circle>
  );
}

const shownMax = 40;

function describe(marks: readonly Mark[]): string {
  const told = marks.slice(0, shownMax).map(({ atMs, words }) => `${sayLength(atMs)}: ${words}`);
  const more = marks.length - told.length;
  return [...told, ...(more > 0 ? [`and ${sayCount(more)} more`] : [])].join("; ");
}
