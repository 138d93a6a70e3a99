// The broker's figures over time, of itself or of a topic, a subscription or an endpoint.

import type { FigureChart, FigureSeries } from "../../src/core/api/views.ts";
import { type Asked, apiPath, useAsked } from "../api.ts";
import { useTick } from "../live.ts";
import type { Range } from "./range.ts";
import type { Scope } from "./scope.ts";

const pointsWanted = 90;
const sparkPoints = 30;

function timeOf({ minutes, from, to }: Range) {
  return minutes === null ? { from, to } : { minutes };
}

export function useFigures(scope: Scope, range: Range): Asked<FigureChart> {
  const tick = useTick(["overview"], 10_000);
  const path = apiPath(["figures"], {
    kind: scope?.kind ?? "broker",
    ...scope,
    ...timeOf(range),
    points: pointsWanted,
  });
  return useAsked<FigureChart>(path, tick);
}

/** Of everything in a list, by its key; the few numbers that a row has room for. */
export function useSparks(
  kind: NonNullable<Scope>["kind"],
  range: Range,
): ReadonlyMap<string, FigureSeries> | null {
  const tick = useTick(["overview"], 20_000);
  const path = apiPath(["figures"], {
    kind,
    ...timeOf(range),
    points: sparkPoints,
    only: kind === "topic" ? "published,delivered,failed" : "delivered,failed",
  });
  return useAsked(path, tick, byKey).value ?? null;
}

function byKey(given: unknown): ReadonlyMap<string, FigureSeries> {
  return new Map((given as FigureChart).series.map((each) => [sparkKey(each), each]));
}

export function sparkKey({
  topic,
  domainTopic,
  name,
}: Pick<FigureSeries, "topic" | "domainTopic" | "name">): string {
  return `${topic ?? ""} ${domainTopic ?? ""} ${name}`.toLowerCase();
}

/** Of attempts, from 0 to 1; null: there was none. */
export function successOf({
  delivered = 0,
  failed = 0,
}: Partial<Record<"delivered" | "failed", number>>): number | null {
  return delivered + failed === 0 ? null : delivered / (delivered + failed);
}
