// A process that holds a store on its own thread and does what its parent tells it, so that the
// parent can take the disk from under it and kill it. Run by faults.test.ts; the store's file is
// its only parameter.

import { Refusal } from "../../src/core/refusal.ts";
import { realClock } from "../../src/runtime/clock/real.ts";
import { openThread } from "../../src/store/sqlite/thread.ts";
import {
  gone,
  makeEvent,
  namesOf,
  openFront,
  queueOf,
  startAt,
  subscriptionDraft,
  topicDraft,
  want,
} from "../contract/fixture.ts";

export type Order =
  | { readonly kind: "publish"; readonly name: string }
  | { readonly kind: "take"; readonly max: number };

export type Report =
  | { readonly kind: "ready" }
  | { readonly kind: "accepted" }
  | { readonly kind: "refused"; readonly code: string }
  /** The names of the events that were claimed and settled. */
  | { readonly kind: "taken"; readonly names: readonly string[] }
  | { readonly kind: "failed"; readonly reason: string };

const tell = (report: Report) => process.send?.(report);
const onCrash = (error: Error) => {
  throw error;
};
const store = openFront(
  await openThread({ path: process.argv[2] as string, onCrash }),
  realClock(),
);
await store.putTopic(topicDraft());
const { id } = await store.putSubscription(subscriptionDraft());

async function obey(order: Order): Promise<Report> {
  if (order.kind === "publish") {
    const event = makeEvent(order.name, { text: "x".repeat(1000) });
    await store.append([{ event, to: [id] }], startAt);
    return { kind: "accepted" };
  }
  const { deliveries } = await store.claim(queueOf(id), want({ max: order.max, leaseMs: 0 }));
  await store.settle(deliveries.map(gone));
  return { kind: "taken", names: namesOf(deliveries) };
}

process.on("message", (order: Order) => {
  obey(order)
    .catch((error: unknown): Report => {
      if (error instanceof Refusal) return { kind: "refused", code: error.code };
      return { kind: "failed", reason: String(error) };
    })
    .then(tell);
});
process.on("disconnect", () => process.exit());
tell({ kind: "ready" });
