// The rows about brokers and slots that a cluster shares, as the keeper of slots uses them. All
// times in it are the database's: a broker is alive while its row says so, and nobody compares two
// machines' clocks.

import type { Peer } from "../../core/cluster/peers.ts";
import type { Slot } from "../../core/cluster/slot.ts";
import type { Instant } from "../../core/ports.ts";

/** How busy slots are; those without load are left out. */
export type Loads = Readonly<Record<string, number>>;

/** What a broker writes about itself. */
export interface SelfRow {
  readonly id: string;
  readonly about: object;
  readonly loads: Loads;
  /** Whether it takes slots: not while it starts, nor when it leaves. */
  readonly isServing: boolean;
  /** It counts as alive for this long from now. */
  readonly leaseMs: number;
}

export interface PeerRow extends Omit<Peer, "slots"> {
  readonly loads: Loads;
  readonly isServing: boolean;
}

export interface SlotRow {
  readonly slot: Slot;
  /** Null also if its broker is not alive. */
  readonly owner: string | null;
  /** Grows with every change of owner. */
  readonly term: number;
}

export interface ClusterRows {
  /** The database's time at this moment. */
  readonly now: Instant;
  /** Those alive. */
  readonly brokers: readonly PeerRow[];
  readonly slots: readonly SlotRow[];
}

export interface SlotTable {
  /** One write renews the broker with everything it owns; then all rows are read. */
  beat(self: SelfRow): Promise<ClusterRows>;
  /** Those of these that are free become the broker's, each with a new term. */
  take(broker: string, slots: readonly Slot[]): Promise<readonly SlotRow[]>;
  /** Those of these that are the broker's become free, and the others are told. */
  free(broker: string, slots: readonly Slot[]): Promise<void>;
  /** Frees all that is left, and removes the broker. */
  leave(broker: string): Promise<void>;
  /** Called when a broker serves, leaves, or has freed slots: a hint, and no more than that. */
  onHint(listener: () => void): void;
}
