// At every start: waiting events that are missing in the stories are added. They were accepted
// while none were kept, or just before a crash. After a crash, deliveries that wait according to
// the stories and not in the store are marked as unknown: they ended in the last moments before it.
//
// It runs in the background, a page at a time, and only once: from then on stories are complete
// again. What it cannot read is left out: a story is compared with the store whenever it is shown.

import type { DeliveryState } from "../core/api/views.ts";
import type { Ledger, Seen } from "../core/ledger.ts";
import type { Clock, Log } from "../core/ports.ts";
import type { Catalog } from "../core/registry.ts";
import { type Chronicle, isOpen } from "../core/story/chronicle.ts";

export interface RecoverStoriesDeps {
  readonly chronicle: Pick<Chronicle, "note" | "search">;
  readonly ledger: Ledger;
  readonly catalog: () => Catalog;
  readonly clock: Pick<Clock, "now">;
  readonly log: Log;
  /** The store's latest event that the chronicle knew; those before it are noted. */
  readonly lastStored: number;
  /** Whether it was not closed: then its last notes are missing. */
  readonly isAfterCrash: boolean;
  readonly signal: AbortSignal;
}

const pageMax = 500;
const openStates: readonly DeliveryState[] = ["waiting", "deadLettering"];

export async function recoverStories(deps: RecoverStoriesDeps): Promise<void> {
  try {
    const lost = deps.isAfterCrash ? await noteLost(deps) : 0;
    const recalled = await recall(deps);
    if (lost + recalled > 0) deps.log.fact("info", "story.recollected", { recalled, lost });
  } catch (error) {
    if (deps.signal.aborted) return;
    deps.log.fact("warn", "story.unrecollected", { error: String(error) });
  }
}

/** First the known ones are compared with the store. */
async function noteLost({ chronicle, ledger, clock, signal }: RecoverStoriesDeps) {
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

async function recall(deps: RecoverStoriesDeps): Promise<number> {
  const { chronicle, ledger, catalog, lastStored, signal } = deps;
  const subscriptions = new Map(catalog().subscriptions.map((each) => [each.id, each]));
  let recalled = 0;
  for (const { subscription: id, stage } of await ledger.counts()) {
    const subscription = subscriptions.get(id);
    let after: number | null = subscription === undefined ? null : lastStored;
    while (after !== null && subscription !== undefined && !signal.aborted) {
      const queue = { subscription: id, stage };
      const waiting: readonly Seen[] = await ledger.waiting(queue, { after, limit: pageMax });
      for (const delivery of waiting) chronicle.note({ kind: "recalled", subscription, delivery });
      recalled += waiting.length;
      after = waiting.length < pageMax ? null : (waiting.at(-1)?.id.event ?? null);
    }
  }
  return recalled;
}
