// After a crash: the latest notes of the stories may be lost, and the store knows better. What
// waits there and is not known here is recalled; what is held to be waiting and is not, is lost:
// its end came in the last moments, and how it ended nobody knows.
//
// It goes on beside everything else, a page at a time, and only once: from then on stories are
// complete again. What it cannot read now it leaves: a story is compared with the store whenever it
// is told.

import { isOpen } from "../core/chronicle.ts";
import type { Catalog, Chronicle, Clock, Ledger, Log, Stage } from "../core/ports.ts";
import type { DeliveryState } from "../core/view.ts";

export interface RecollectionGround {
  readonly chronicle: Pick<Chronicle, "note" | "search">;
  readonly ledger: Ledger;
  readonly catalog: () => Catalog;
  readonly clock: Pick<Clock, "now">;
  readonly log: Log;
  /** The latest event of the store's that the chronicle knew; those before it are noted. */
  readonly lastStored: number;
  readonly signal: AbortSignal;
}

const pageMax = 500;
const stages: readonly Stage[] = ["deliver", "deadLetter"];
const openStates: readonly DeliveryState[] = ["waiting", "deadLettering"];

export async function recollect(ground: RecollectionGround): Promise<void> {
  try {
    const lost = await noteLost(ground);
    const recalled = await recall(ground);
    if (lost + recalled > 0) ground.log.fact("info", "story.recollected", { recalled, lost });
  } catch (error) {
    if (ground.signal.aborted) return;
    ground.log.fact("warn", "story.unrecollected", { error: String(error) });
  }
}

/** Before anything is recalled: what is known is compared with what is true. */
async function noteLost({ chronicle, ledger, clock, signal }: RecollectionGround) {
  let lost = 0;
  for (const state of openStates) {
    let after: string | null = "";
    while (after !== null && !signal.aborted) {
      const query = { state, limit: pageMax, ...(after === "" ? {} : { after }) };
      const { found, next }: Awaited<ReturnType<Chronicle["search"]>> =
        await chronicle.search(query);
      const held = found.flatMap(({ event, number, fates }) =>
        fates.flatMap((fate) =>
          number === null || !isOpen(fate.state)
            ? []
            : [{ name: event, event: number, subscription: fate.subscription }],
        ),
      );
      for (let place = 0; place < held.length; place += pageMax) {
        const some = held.slice(place, place + pageMax);
        const seen = await ledger.look(some);
        for (const [index, { name, subscription }] of some.entries()) {
          if (seen[index]?.event.systemId === name) continue;
          chronicle.note({ kind: "lost", at: clock.now(), event: name, subscription });
          lost += 1;
        }
      }
      after = next;
    }
  }
  return lost;
}

async function recall(ground: RecollectionGround): Promise<number> {
  const { chronicle, ledger, catalog, lastStored, signal } = ground;
  let recalled = 0;
  for (const subscription of catalog().subscriptions) {
    for (const stage of stages) {
      let after = lastStored;
      for (;;) {
        if (signal.aborted) return recalled;
        const queue = { subscription: subscription.id, stage };
        const waiting = await ledger.waiting(queue, { after, limit: pageMax });
        for (const delivery of waiting) {
          chronicle.note({ kind: "recalled", subscription, delivery });
        }
        recalled += waiting.length;
        after = waiting.at(-1)?.id.event ?? after;
        if (waiting.length < pageMax) break;
      }
    }
  }
  return recalled;
}
