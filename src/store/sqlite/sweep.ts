// Cleaning up after deleted subscriptions, and giving free pages back to the disk: a little at a
// time, in rounds of their own, so that a publish waits for one step at most.

import type { DatabaseSync } from "node:sqlite";
import type { SubscriptionId } from "../../core/subscription.ts";
import { pragma } from "./database.ts";
import type { Round } from "./round.ts";
import type { Statements } from "./statements.ts";

const sweepRowsMax = 200;
const sweepPagesMax = 200;
/** Free pages are given back when there are this many, and more than half the file is free. */
const freePagesMin = 16_384;
const roundsBetweenLooks = 512;

export class Sweep {
  readonly #database: DatabaseSync;
  readonly #statements: Statements;
  #removing: boolean;
  #shrinking = false;

  constructor(database: DatabaseSync, statements: Statements) {
    this.#database = database;
    this.#statements = statements;
    this.#removing = statements.firstRemoval.get() !== undefined;
  }

  /** The deliveries of this subscription are to be dropped. */
  add(subscription: SubscriptionId): void {
    this.#statements.addRemoval.run(subscription);
    this.#removing = true;
  }

  isDue(roundsMade: number): boolean {
    if (roundsMade % roundsBetweenLooks === 0) {
      const free = pragma(this.#database, "freelist_count");
      this.#shrinking = free > freePagesMin && free * 2 > pragma(this.#database, "page_count");
    }
    return this.#removing || this.#shrinking;
  }

  /** Returns true when it has dropped the last delivery of a subscription. */
  step(): Round["dropped"][number] | null {
    const removal = this.#statements.firstRemoval.get();
    if (removal === undefined) {
      this.#removing = false;
      if (this.#shrinking) this.#database.exec(`PRAGMA incremental_vacuum(${sweepPagesMax})`);
      return null;
    }
    const subscription = removal.subscription as number;
    // Dead letters stay until they are written.
    const isRetired = this.#statements.retiredById.get(subscription) !== undefined;
    const rows = this.#statements.someOf.all(subscription, isRetired ? 0 : 1, sweepRowsMax);
    for (const row of rows) {
      this.#statements.removeDelivery.run(row.event as number, subscription);
      this.#statements.removeEvent.run(row.event as number, row.event as number);
    }
    const count = (removal.dropped as number) + rows.length;
    if (rows.length === sweepRowsMax) {
      this.#statements.noteRemoval.run(count, subscription);
      return null;
    }
    this.#statements.removeRemoval.run(subscription);
    this.#statements.removeCounts.run(subscription);
    return { subscription, count };
  }
}
