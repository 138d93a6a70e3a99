// Counters with labels, told in the text form that Prometheus reads. Names are ours and follow its
// rules (`posthorn_…_total`); label values are anybody's.
//
// Labels come from topics and subscriptions, of which there may be any number; a counter keeps so
// many sets of them and gathers the rest under `other`, so that neither memory nor the page grows
// without bound and no count is lost.

import type { Meter } from "../core/ports.ts";

export interface OpenMeter extends Meter {
  /** All counters, in the text exposition format. */
  text(): string;
}

/** Sets of labels kept apart per counter. */
export const labelSetsMax = 1_000;

type Labels = Readonly<Record<string, string>>;

interface Cell {
  value: number;
}

interface Counter {
  /** By the very object that was given, for those who count often and keep their labels. */
  readonly byObject: WeakMap<Labels, Cell>;
  /** By labels as they were given, which finds most cells without sorting. */
  readonly byGiven: Map<string, Cell>;
  /** By labels as they are told. */
  readonly byTold: Map<string, Cell>;
}

export function openMeter(): OpenMeter {
  const counters = new Map<string, Counter>();
  return {
    count(name, labels, by = 1) {
      let counter = counters.get(name);
      if (counter === undefined) {
        counter = { byObject: new WeakMap(), byGiven: new Map(), byTold: new Map() };
        counters.set(name, counter);
      }
      let cell = counter.byObject.get(labels);
      if (cell === undefined) {
        cell = cellOf(counter, labels);
        counter.byObject.set(labels, cell);
      }
      cell.value += by;
    },
    text() {
      const told = [...counters].map(([name, counter]) => tell(name, counter));
      return told.toSorted().join("");
    },
  };
}

function cellOf(counter: Counter, labels: Labels): Cell {
  let given = "";
  for (const label in labels) given += `${label}\u0000${labels[label]}\u0000`;
  const known = counter.byGiven.get(given);
  if (known !== undefined) return known;
  let told = toldLabels(labels);
  if (!counter.byTold.has(told) && counter.byTold.size >= labelSetsMax) {
    told = toldLabels(Object.fromEntries(Object.keys(labels).map((label) => [label, "other"])));
  }
  let cell = counter.byTold.get(told);
  if (cell === undefined) {
    cell = { value: 0 };
    counter.byTold.set(told, cell);
  }
  if (counter.byGiven.size < 2 * labelSetsMax) counter.byGiven.set(given, cell);
  return cell;
}

function tell(name: string, counter: Counter): string {
  const lines = [...counter.byTold].map(([labels, { value }]) => `${name}${labels} ${value}\n`);
  return `# TYPE ${name} counter\n${lines.toSorted().join("")}`;
}

function toldLabels(labels: Labels): string {
  const pairs = Object.entries(labels).map(([label, value]) => `${label}="${escaped(value)}"`);
  return pairs.length === 0 ? "" : `{${pairs.toSorted().join(",")}}`;
}

function escaped(value: string): string {
  return value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}
