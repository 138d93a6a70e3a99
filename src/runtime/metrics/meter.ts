// Counters and measurements with labels, in Prometheus' text format, and as plain values for other
// exporters. families.ts lists them; label values may be anything.
//
// Labels come from topics and subscriptions, of which there may be any number; a family keeps a
// limited number of label sets and counts the rest under `other`, so that neither memory nor the
// page grows without limit and no count is lost.

import type { Meter, Sample } from "../../core/ports.ts";
import { type Family, families, type Labels } from "./families.ts";

export interface OpenMeter extends Required<Meter> {
  /**
   * All metrics, with gauges read just now, in a fixed order; also those without values yet, so
   * that the page describes all of them.
   */
  read(samples?: readonly Sample[]): readonly Reading[];
}

/** One family as it stands. */
export interface Reading {
  readonly family: Family;
  readonly points: readonly Point[];
}

export interface Point {
  readonly labels: Labels;
  /** Of a histogram or a summary the sum. */
  readonly value: number;
  readonly count: number;
  /** How many measurements each bucket has, one more than there are bounds; otherwise empty. */
  readonly buckets: readonly number[];
}

/** The most label sets per family. */
export const labelSetsMax = 1_000;
/** For a histogram, in which each takes a dozen lines. */
export const histogramSetsMax = 100;

/** A metric that is missing in families.ts; a test finds those. */
const unknownHelp = "Not described.";

interface Cell extends Point {
  value: number;
  count: number;
  readonly buckets: number[];
}

interface Series {
  readonly family: Family;
  readonly setsMax: number;
  /** By the identity of the label object, for callers that keep theirs. */
  readonly byObject: WeakMap<Labels, Cell>;
  /** By labels as given, which finds most cells without sorting. */
  readonly byGiven: Map<string, Cell>;
  /** By labels as shown. */
  readonly byShown: Map<string, Cell>;
  /** For gauges: what is beyond the limit. */
  other?: Cell;
}

export function openMeter(): OpenMeter {
  const all = new Map<string, Series>();
  const seriesOf = (name: string) => {
    let series = all.get(name);
    if (series === undefined) {
      series = openSeries(knownFamilies.get(name) ?? unknownFamily(name));
      all.set(name, series);
    }
    return series;
  };
  return {
    count(name, labels, by = 1) {
      cellOf(seriesOf(name), labels).value += by;
    },
    observe(name, labels, value) {
      const series = seriesOf(name);
      const cell = cellOf(series, labels);
      cell.value += value;
      cell.count += 1;
      const { buckets } = series.family;
      if (buckets === undefined) return;
      let bucket = 0;
      while (bucket < buckets.length && value > (buckets[bucket] as number)) bucket++;
      cell.buckets[bucket] = (cell.buckets[bucket] ?? 0) + 1;
    },
    read(samples = []) {
      const looked = new Map<string, Series>();
      for (const { name, labels, value } of samples) {
        const family = knownFamilies.get(name) ?? { ...unknownFamily(name), kind: "gauge" };
        const series = looked.get(name) ?? openSeries(family);
        looked.set(name, series);
        const cell = lookedCell(series, labels);
        cell.value = family.fold === "max" ? Math.max(cell.value, value) : cell.value + value;
      }
      const told = [...[...all.values(), ...looked.values()].map(readingOf), ...retold(all)];
      const names = new Set(told.map(({ family }) => family.name));
      const others = families.filter(({ name }) => !names.has(name));
      return [...told, ...others.map((family) => ({ family, points: [] }))].toSorted(byName);
    },
  };
}

const knownFamilies = new Map(families.map((family) => [family.name, family]));

function unknownFamily(name: string): Family {
  return { name, kind: "counter", help: unknownHelp };
}

function openSeries(family: Family): Series {
  const setsMax = family.kind === "histogram" ? histogramSetsMax : labelSetsMax;
  return { family, setsMax, byObject: new WeakMap(), byGiven: new Map(), byShown: new Map() };
}

function byName(one: Reading, other: Reading): number {
  return one.family.name < other.family.name ? -1 : 1;
}

function readingOf({ family, byShown }: Series): Reading {
  const sorted = [...byShown].toSorted(([one], [other]) => (one < other ? -1 : 1));
  return { family, points: sorted.map(([, cell]) => cell) };
}

/** Families that are derived from the counts of another. */
function retold(all: ReadonlyMap<string, Series>): readonly Reading[] {
  return families.flatMap((family) => {
    const { from } = family;
    const source = from && all.get(from.name);
    if (source === undefined) return [];
    const series = openSeries(family);
    for (const { labels, value } of source.byShown.values()) {
      cellOf(series, from?.labels(labels) ?? labels).value += value;
    }
    return [readingOf(series)];
  });
}

function cellOf(series: Series, labels: Labels): Cell {
  let cell = series.byObject.get(labels);
  if (cell === undefined) {
    cell = findCell(series, labels);
    series.byObject.set(labels, cell);
  }
  return cell;
}

function findCell(series: Series, labels: Labels): Cell {
  let given = "";
  for (const label in labels) given += `${label}\u0000${labels[label]}\u0000`;
  const known = series.byGiven.get(given);
  if (known !== undefined) return known;
  const told = shownLabels(labels);
  const isFull = !series.byShown.has(told) && series.byShown.size >= series.setsMax;
  const cell = isFull ? shownCell(series, others(labels)) : shownCell(series, labels, told);
  if (series.byGiven.size < 2 * series.setsMax) series.byGiven.set(given, cell);
  return cell;
}

/** For gauges, in which each label set occurs once: beyond the limit none need be compared. */
function lookedCell(series: Series, labels: Labels): Cell {
  if (series.byShown.size < series.setsMax) return shownCell(series, labels);
  series.other ??= shownCell(series, others(labels));
  return series.other;
}

function others(labels: Labels): Labels {
  return Object.fromEntries(Object.keys(labels).map((label) => [label, "other"]));
}

function shownCell(series: Series, labels: Labels, told = shownLabels(labels)): Cell {
  let cell = series.byShown.get(told);
  if (cell === undefined) {
    const places = series.family.buckets === undefined ? 0 : series.family.buckets.length + 1;
    cell = { labels, value: 0, count: 0, buckets: Array<number>(places).fill(0) };
    series.byShown.set(told, cell);
  }
  return cell;
}

/** Labels whose values are user-given names. */
const nameLabels = ["topic", "domain_topic", "subscription", "event_subscription_name"];

/** The same, over all topics and subscriptions: for readers that may not know their names. */
export function withoutNames({ family, points }: Reading): Reading {
  const series = openSeries(family);
  for (const point of points) {
    const labels = Object.entries(point.labels).filter(([label]) => !nameLabels.includes(label));
    const cell = shownCell(series, Object.fromEntries(labels));
    const { value } = point;
    cell.value = family.fold === "max" ? Math.max(cell.value, value) : cell.value + value;
    cell.count += point.count;
    for (const [index, count] of point.buckets.entries()) {
      cell.buckets[index] = (cell.buckets[index] ?? 0) + count;
    }
  }
  return readingOf(series);
}

/** The text exposition format, version 0.0.4. */
export function textOf(readings: readonly Reading[]): string {
  return readings.map(tell).join("");
}

function tell({ family, points }: Reading): string {
  const { name, kind, help } = family;
  const lines = points.map((point) =>
    kind === "histogram" || kind === "summary"
      ? tellSpread(family, point)
      : `${name}${shownLabels(point.labels)} ${point.value}\n`,
  );
  return `# HELP ${name} ${help}\n# TYPE ${name} ${kind}\n${lines.join("")}`;
}

function tellSpread({ name, buckets = [] }: Family, point: Point): string {
  let below = 0;
  const bounds = point.buckets.map((count, index) => {
    below += count;
    const le = index < buckets.length ? String(buckets[index]) : "+Inf";
    return `${name}_bucket${shownLabels({ ...point.labels, le })} ${below}\n`;
  });
  const labels = shownLabels(point.labels);
  return `${bounds.join("")}${name}_sum${labels} ${point.value}\n${name}_count${labels} ${point.count}\n`;
}

function shownLabels(labels: Labels): string {
  let text = "";
  for (const label of Object.keys(labels).sort()) {
    text += `${text === "" ? "{" : ","}${label}="${escaped(labels[label] ?? "")}"`;
  }
  return text === "" ? "" : `${text}}`;
}

function escaped(value: string): string {
  if (!/["\\\n]/.test(value)) return value;
  return value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}
