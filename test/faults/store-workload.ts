// A day in the life of a store, small but with everything in it: registering, publishing alone
// and together, claiming, retrying, giving back, giving up. It is lived by a caller who behaves
// as the broker does: a publish that is refused is not repeated; everything else is, until it
// works. The journal says what was accepted and what was sent.

import assert from "node:assert/strict";
import type { Delivery } from "../../src/core/delivery/delivery.ts";
import type { Instant, Settlement } from "../../src/core/ports.ts";
import { Refusal } from "../../src/core/refusal.ts";
import type { SubscriptionId } from "../../src/core/subscription.ts";
import {
  back,
  due,
  gone,
  leaseMs,
  makeEvent,
  queueOf,
  routedTo,
  startAt,
  subscriptionDraft,
  topicDraft,
  type WholeStore,
  want,
} from "../contract/fixture.ts";

export class Journal {
  readonly accepted = new Set<string>();
  readonly refused = new Set<string>();
  /** `event/subscription/stage` of everything that was sent. */
  readonly sent = new Set<string>();
  readonly givenUp = new Set<string>();
  readonly subscriptions: SubscriptionId[] = [];
  /** What wakes have brought and is still to be sent. */
  readonly pushed: Delivery[] = [];
  /** What was told of the subscription that was removed with two deliveries waiting. */
  readonly dropped: number[] = [];
  now: Instant = startAt;

  listen(store: WholeStore): void {
    store.onWake(({ deliveries }) => this.pushed.push(...deliveries));
    store.onDropped((_, count) => this.dropped.push(count));
  }

  /** Nothing accepted is lost; what was refused is nowhere, unless the answer itself was lost. */
  check(refusedMayBe: "nowhere" | "anywhere"): void {
    for (const name of this.accepted) {
      for (const subscription of this.subscriptions) {
        assert.ok(this.sent.has(`${name}/${subscription}/deliver`), `${name} was lost`);
      }
    }
    for (const key of this.givenUp) {
      assert.ok(this.sent.has(`${key}/deadLetter`), `${key} was given up and lost`);
    }
    if (refusedMayBe === "anywhere") return;
    const sent = new Set([...this.sent].map((key) => key.split("/")[0]));
    for (const name of this.refused) assert.ok(!sent.has(name), `${name} was refused and sent`);
  }
}

export async function liveADay(store: WholeStore, journal: Journal): Promise<void> {
  journal.listen(store);
  await again(() => store.putTopic(topicDraft()));
  for (const name of ["warehouse", "billing"]) {
    const { id } = await again(() => store.putSubscription(subscriptionDraft({ name })));
    journal.subscriptions.push(id);
  }
  const leaving = await again(() => store.putSubscription(subscriptionDraft({ name: "leaving" })));
  await again(() => store.append(routedTo([leaving.id], "dropped-1", "dropped-2"), journal.now));
  await publish(store, journal, "alone");
  await work(store, journal);
  // Now claims are standing: what comes next is pushed.
  await publish(store, journal, "pushed");
  await work(store, journal);
  await Promise.all([
    publish(store, journal, "together-1"),
    work(store, journal),
    publish(store, journal, "together-2"),
  ]);
  journal.now += 10_000;
  await again(() => store.removeSubscription(leaving.id));
  await Promise.all([publish(store, journal, "last"), work(store, journal)]);
}

export async function publish(
  store: WholeStore,
  journal: Journal,
  name: string,
  chars = 10,
): Promise<boolean> {
  try {
    const event = makeEvent(name, { text: "x".repeat(chars) });
    await store.append([{ event, to: journal.subscriptions }], journal.now);
    journal.accepted.add(name);
    return true;
  } catch (error) {
    assert.ok(error instanceof Refusal);
    assert.equal(error.code, "Unavailable");
    assert.ok(error.retryAfterMs !== undefined && error.cause instanceof Error);
    journal.refused.add(name);
    return false;
  }
}

/** Goes on until nothing waits; whoever held a lease has long gone. */
export async function drain(store: WholeStore, journal: Journal): Promise<void> {
  const isOver = async () => (await again(() => store.counts())).length === 0;
  for (let rounds = 0; rounds < 2 || !(await isOver()); rounds++) {
    assert.ok(rounds < 200, "it does not drain");
    journal.now += leaseMs;
    await work(store, journal);
  }
}

/** One claim of every queue, and what came of the sends. */
async function work(store: WholeStore, journal: Journal): Promise<void> {
  const queues = journal.subscriptions.flatMap((id) => [queueOf(id), queueOf(id, "deadLetter")]);
  const claims = queues.map(async (queue) => {
    const { deliveries } = await again(() =>
      store.claim(queue, want({ now: journal.now, max: 3 })),
    );
    await sendAll(store, journal, deliveries);
  });
  await Promise.all([...claims, sendAll(store, journal, journal.pushed.splice(0))]);
}

async function sendAll(
  store: WholeStore,
  journal: Journal,
  deliveries: readonly Delivery[],
): Promise<void> {
  if (deliveries.length === 0) return;
  const settlements = deliveries.map((delivery) => send(delivery, journal));
  await again(() => store.settle(settlements));
}

/** What becomes of a send depends on the event's place, so that everything happens to some. */
function send(delivery: Delivery, journal: Journal): Settlement {
  const { event, id, stage, attempts } = delivery;
  const key = `${event.systemId}/${id.subscription}`;
  const luck = (id.event + id.subscription) % 4;
  if (stage === "deliver" && attempts === 0 && luck === 1 && !journal.sent.has(`${key}/back`)) {
    journal.sent.add(`${key}/back`);
    return back(delivery);
  }
  journal.sent.add(`${key}/${stage}`);
  if (stage === "deadLetter" || luck === 0) return gone(delivery);
  if (luck === 2 && attempts === 0) return due(delivery, { at: journal.now + 10_000 });
  if (luck !== 3) return gone(delivery);
  journal.givenUp.add(key);
  return due(delivery, {
    at: journal.now + 5000,
    stage: "deadLetter",
    attempts: 0,
    reason: "because",
  });
}

/** The broker's own loops try again when the disk has failed; a failure that stays is a bug. */
async function again<T>(ask: () => Promise<T>): Promise<T> {
  for (let tries = 0; ; tries++) {
    try {
      return await ask();
    } catch (error) {
      if (tries > 30) throw error;
    }
  }
}
