// The figures of a broker over time, as a port, and the law by which rows become the points of a
// chart. A row is what one broker counted of one scope within one minute. Bodies of the port are
// in store/figures; brokers that share a store each write rows of their own, and readers add them.

import type { Instant } from "../ports.ts";
import { quantileOf } from "./histogram.ts";
import { countOf, type Range } from "./steps.ts";
import { addPacked, addSums, type Count, clearSums, counts, emptySums, type Sums } from "./sums.ts";

export const scopeKinds = ["broker", "member", "topic", "subscription", "endpoint"] as const;

/** What figures are about. */
export interface Scope {
  /** `broker`: all that share the store. `member`: one of them. */
  readonly kind: (typeof scopeKinds)[number];
  /** Of the topic, subscription or endpoint, the id of the member; empty for the broker. */
  readonly name: string;
  /** Of a subscription. */
  readonly topic: string | null;
  readonly domainTopic: string | null;
}

export const wholeBroker: Scope = { kind: "broker", name: "", topic: null, domainTopic: null };

/** One text for each scope; names are the same in any letter case, and endpoints are not. */
export function scopeKey({ kind, name, topic, domainTopic }: Scope): string {
  const parts = [kind, topic ?? "", domainTopic ?? "", name];
  return JSON.stringify(kind === "endpoint" ? parts : parts.map((part) => part.toLowerCase()));
}

/** Which scopes: those of a kind, by their names as far as given. */
export interface Selection {
  readonly kind: Scope["kind"];
  readonly name?: string | undefined;
  readonly topic?: string | undefined;
  readonly domainTopic?: string | undefined;
}

export function isSelected(scope: Scope, selection: Selection): boolean {
  const fold = (name: string) => (scope.kind === "endpoint" ? name : name.toLowerCase());
  const holds = (asked: string | undefined, is: string | null) =>
    asked === undefined || fold(asked) === fold(is ?? "");
  return (
    scope.kind === selection.kind &&
    holds(selection.name, scope.name) &&
    holds(selection.topic, scope.topic) &&
    holds(selection.domainTopic, scope.domainTopic)
  );
}

export interface FigureRow {
  readonly scope: Scope;
  /** The beginning of its minute. */
  readonly at: Instant;
  /** As packSums writes it. */
  readonly packed: Uint8Array;
}

export interface FigureQuery {
  readonly selection: Selection;
  readonly range: Range;
  /** No more scopes than these, in the order of their keys. */
  readonly scopesMax: number;
}

export interface Figures {
  /**
   * Adds to what is there for the same scope and minute. Durable when it resolves; rejects when
   * nothing of it has happened.
   */
  add(rows: readonly FigureRow[], now: Instant): Promise<void>;
  /** Only scopes of which anything is known in the range. */
  read(query: FigureQuery): Promise<readonly Series[]>;
  close(): Promise<void>;
}

export type Latency = "deliveryP50Ms" | "deliveryP95Ms" | "answerP50Ms" | "answerP95Ms";

/** Of one point, or of a whole range. */
export type Point = Readonly<Record<Count, number>> &
  Readonly<Record<Latency, number | null>> & { readonly waiting: number | null };

export interface Series {
  readonly scope: Scope;
  readonly total: Point;
  /** One for each step of the range; null: there was nothing. */
  readonly points: readonly (Point | null)[];
}

export function pointOf(sums: Sums): Point {
  const { delivery, answer } = sums;
  return {
    ...(Object.fromEntries(counts.map((count) => [count, sums[count]])) as Record<Count, number>),
    waiting: sums.waiting,
    deliveryP50Ms: quantileOf(delivery, 0.5),
    deliveryP95Ms: quantileOf(delivery, 0.95),
    answerP50Ms: quantileOf(answer, 0.5),
    answerP95Ms: quantileOf(answer, 0.95),
  };
}

/** Folds the rows of one scope, which come in the order of time, into the points of a range. */
export class SeriesFold {
  readonly #range: Range;
  readonly #points: (Point | null)[];
  readonly #total = emptySums();
  readonly #step = emptySums();
  #index = -1;

  constructor(range: Range) {
    this.#range = range;
    this.#points = new Array(countOf(range)).fill(null);
  }

  add(at: Instant, packed: Uint8Array): void {
    const index = Math.floor((at - this.#range.from) / this.#range.stepMs);
    if (index !== this.#index) this.#close();
    this.#index = index;
    addPacked(this.#step, packed);
  }

  end(scope: Scope): Series {
    this.#close();
    return { scope, total: pointOf(this.#total), points: this.#points };
  }

  #close(): void {
    if (this.#index < 0 || this.#index >= this.#points.length) return;
    addSums(this.#total, this.#step);
    this.#points[this.#index] = pointOf(this.#step);
    clearSums(this.#step);
    this.#index = -1;
  }
}
