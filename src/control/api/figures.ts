// Figures over time, as columns of a chart: of the broker, or of every member of a cluster, topic,
// subscription or endpoint at once.

import type { figureQuery } from "../../core/api/orders.ts";
import type { Infer } from "../../core/api/schema.ts";
import type { FigureChart, FigureColumn, FigureSeries } from "../../core/api/views.ts";
import type { FigureQuery, Series } from "../../core/figures/figures.ts";
import { chartRange } from "../../core/figures/steps.ts";
import type { Clock } from "../../core/ports.ts";
import { isoInstant, parseInstant } from "../../core/text/time.ts";
import type { Handlers } from "./serve.ts";

export interface FiguresDeps {
  readonly figures: { read(query: FigureQuery): Promise<readonly Series[]> };
  readonly clock: Clock;
}

const usualMinutes = 60;
const usualPoints = 60;
/** More series than this are not answered at once. */
const scopesMax = 5_000;

export function figureHandlers(deps: FiguresDeps): Pick<Handlers, "showFigures"> {
  return { showFigures: ({ query }) => chartOf(deps, query) };
}

async function chartOf(deps: FiguresDeps, asked: Infer<typeof figureQuery>): Promise<FigureChart> {
  const now = deps.clock.now();
  const { kind = "broker", name, topic, domainTopic, minutes = usualMinutes } = asked;
  const to = asked.to === undefined ? now + 1 : parseInstant(asked.to, "to");
  const from = asked.from === undefined ? to - minutes * 60_000 : parseInstant(asked.from, "from");
  const range = chartRange({ from, to, points: asked.points ?? usualPoints }, now);
  const selection = { kind, name, topic, domainTopic };
  const series = await deps.figures.read({ selection, range, scopesMax });
  return {
    from: isoInstant(range.from),
    to: isoInstant(range.to),
    stepMs: range.stepMs,
    series: series.map((one) => columnsOf(one, asked.only)),
  };
}

const columns: readonly FigureColumn[] = [
  ...(["published", "delivered", "failed", "deadLettered", "dropped", "waiting"] as const),
  ...(["deliveryP50Ms", "deliveryP95Ms", "answerP50Ms", "answerP95Ms"] as const),
];

function columnsOf({ scope, total, points }: Series, only = columns): FigureSeries {
  const { waiting: _waiting, ...totals } = total;
  const isOfBrokers = scope.kind === "broker" || scope.kind === "member";
  /** Where nothing is known: nothing happened, and only of the broker it is known to have run. */
  const without = (column: FigureColumn) =>
    column.endsWith("Ms") || (column === "waiting" && isOfBrokers) ? null : 0;
  const entries = columns
    .filter((column) => only.includes(column))
    .map((column) => [column, points.map((point) => point?.[column] ?? without(column))]);
  return { ...scope, totals, ...Object.fromEntries(entries) };
}
