// Who should own which slot. Every broker computes the same from the same rows, and carries out its
// own part: it gives away what another should have, and takes what is free and should be its own.
//
// Few slots move: those without an owner go where there is least; then busy ones move one by one
// from the broker with the most load to the one with the least, until they differ by little; at
// last the idle ones are spread by their number.

import type { Slot } from "./slot.ts";

export interface SlotState {
  readonly slot: Slot;
  /** Null: free, or its owner is dead. */
  readonly owner: string | null;
  /** Sends a second, roughly. */
  readonly load: number;
}

/** From this on a slot counts as busy. */
const busyLoadMin = 1;
/** Differences of load that nothing is moved for: a part of the mean, and at least so much. */
const tolerance = 0.2;
const toleranceMin = 5;
/** Busy slots that move at a time; more the next time. */
const movesMax = 16;

/** What one broker owns, while the plan is made. */
interface Share {
  readonly broker: string;
  readonly slots: Map<Slot, number>;
  load: number;
}

/** `brokers`: those alive, and at least one. A slot whose owner is not among them is free. */
export function balance(
  brokers: readonly string[],
  slots: readonly SlotState[],
): ReadonlyMap<Slot, string> {
  const shares = brokers
    .toSorted()
    .map((broker): Share => ({ broker, slots: new Map<Slot, number>(), load: 0 }));
  const byBroker = new Map(shares.map((share) => [share.broker, share]));
  const free: SlotState[] = [];
  for (const state of slots) {
    const owner = state.owner === null ? undefined : byBroker.get(state.owner);
    if (owner === undefined) free.push(state);
    else give(owner, state);
  }
  for (const state of free.toSorted((a, b) => b.load - a.load || a.slot - b.slot)) {
    give(isBusy(state.load) ? least(shares, byLoad) : least(shares, byNumber), state);
  }
  evenLoad(shares);
  evenNumber(shares);
  return new Map(
    shares.flatMap(({ broker, slots: own }) => [...own.keys()].map((slot) => [slot, broker])),
  );
}

export interface Plan {
  readonly take: readonly Slot[];
  readonly give: readonly Slot[];
}

/** The part of one broker. */
export function planFor(me: string, brokers: readonly string[], slots: readonly SlotState[]): Plan {
  const target = balance(brokers, slots);
  const isToBeMine = ({ slot }: SlotState) => target.get(slot) === me;
  const isFree = ({ owner }: SlotState) => owner === null || !brokers.includes(owner);
  return {
    take: slots.filter((state) => isFree(state) && isToBeMine(state)).map(({ slot }) => slot),
    give: slots.filter((state) => state.owner === me && !isToBeMine(state)).map(({ slot }) => slot),
  };
}

function evenLoad(shares: readonly Share[]): void {
  const mean = shares.reduce((sum, { load }) => sum + load, 0) / shares.length;
  const allowed = Math.max(toleranceMin, mean * tolerance);
  for (let moves = 0; moves < movesMax; moves += 1) {
    const from = most(shares, byLoad);
    const to = least(shares, byLoad);
    const apart = from.load - to.load;
    if (apart <= allowed) return;
    // After a move of x they are |apart - 2x| apart. One that would soon be moved back, because
    // loads are never quite the same, stays.
    const leftBy = ([, load]: readonly [Slot, number]) => Math.abs(apart - 2 * load);
    const [best] = [...from.slots]
      .filter(([, load]) => isBusy(load) && load <= apart - allowed)
      .toSorted((a, b) => leftBy(a) - leftBy(b) || a[0] - b[0]);
    if (best === undefined) return;
    move(best[0], from, to);
  }
}

function evenNumber(shares: readonly Share[]): void {
  for (;;) {
    const to = least(shares, byNumber);
    const rich = shares.filter((share) => byNumber(share) - byNumber(to) > 1 && hasIdle(share));
    if (rich.length === 0) return;
    const from = most(rich, byNumber);
    const idle = [...from.slots].findLast(([, load]) => !isBusy(load));
    if (idle === undefined) return;
    move(idle[0], from, to);
  }
}

const byLoad = ({ load }: Share) => load;
const byNumber = ({ slots }: Share) => slots.size;

function isBusy(load: number): boolean {
  return load >= busyLoadMin;
}

function hasIdle({ slots }: Share): boolean {
  return slots.values().some((load) => !isBusy(load));
}

/** The first of those with the least; they are in the order of their names. */
function least(shares: readonly Share[], of: (share: Share) => number): Share {
  return shares.reduce((best, share) => (of(share) < of(best) ? share : best));
}

function most(shares: readonly Share[], of: (share: Share) => number): Share {
  return shares.reduce((best, share) => (of(share) > of(best) ? share : best));
}

function give(share: Share, { slot, load }: Pick<SlotState, "slot" | "load">): void {
  share.slots.set(slot, load);
  share.load += load;
}

function move(slot: Slot, from: Share, to: Share): void {
  const load = from.slots.get(slot) ?? 0;
  from.slots.delete(slot);
  from.load -= load;
  give(to, { slot, load });
}
