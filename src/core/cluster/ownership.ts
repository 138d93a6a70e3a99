// Which slots this broker owns, as the rooms see it. A store that belongs to one process says that
// everything is its own; in a cluster a lease in the database decides, and changes (the keeper of
// slots, in the store's room).

import type { SubscriptionId } from "../subscription.ts";
import type { Slot } from "./slot.ts";

export interface Ownership {
  /** This broker's name in the cluster: a new one with every start. */
  readonly broker: string;
  /**
   * Whether deliveries of this slot may be claimed here, and sends begun, at this very moment.
   * False also when the lease could not be renewed in time: asked before each send, so that a
   * broker that was frozen sends nothing that others send meanwhile.
   */
  isMine(slot: Slot): boolean;
  /** For all changes from now on; what is owned at this time is not told. */
  listen(listener: SlotListener): void;
  /**
   * Nothing of this subscription is in flight here any more, and its destination belongs to another
   * slot now: from now on the owner of that one serves it.
   */
  handOver(subscription: SubscriptionId, to: Slot): Promise<void>;
  /** Gives everything away, each slot as soon as nothing of it is in flight, and takes no more. */
  leave(): Promise<void>;
}

export interface SlotListener {
  /** Owned from now on, with the loads they had where they come from. */
  gained(slots: readonly Slot[], loads: ReadonlyMap<Slot, number>): void;
  /**
   * To be given to another broker: nothing more is begun. Resolves when what was in flight has
   * ended; the slots are free then.
   */
  release(slots: readonly Slot[]): Promise<void>;
  /** No longer owned, whatever is in flight: it is aborted, and its settlements do not count. */
  lost(slots: readonly Slot[]): void;
  /** Sends a second, roughly, of slots that have any. */
  loads(): ReadonlyMap<Slot, number>;
}

/** For a store that only this process can use. */
export const everythingIsMine: Ownership = {
  broker: "this",
  isMine: () => true,
  listen: () => {},
  handOver: () => Promise.resolve(),
  leave: () => Promise.resolve(),
};
