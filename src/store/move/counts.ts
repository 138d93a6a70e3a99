// What is moved from one store to another, counted on both sides: a move that does not come out
// even is undone.

export interface MoveCounts {
  readonly topics: number;
  readonly subscriptions: number;
  /** Deleted subscriptions whose dead letters are yet to be written. */
  readonly retired: number;
  readonly events: number;
  /** Deliveries that wait, with their attempts and due times. */
  readonly deliveries: number;
  /** Closed endpoints, sessions and the like. */
  readonly memos: number;
  /** How often dead letters were sent again. */
  readonly redriven: number;
}

/** Rows that are read and written at a time. */
export const pageRows = 1_000;

/** Throws where they differ. */
export function compareCounts(from: MoveCounts, to: MoveCounts): void {
  const differing = (Object.keys(from) as (keyof MoveCounts)[]).filter(
    (name) => from[name] !== to[name],
  );
  if (differing.length === 0) return;
  const words = differing.map((name) => `${from[name]} ${name} became ${to[name]}`);
  throw new Error(`The move was undone, because the counts differ: ${words.join(", ")}.`);
}
