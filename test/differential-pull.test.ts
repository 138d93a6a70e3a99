// Pull queues: the memory store is the model, and the others answer as it does. Events are
// published, received, acknowledged, released, renewed and ended by chance, with tokens of long
// ago, too. Numbers of events and leases are each store's own; all else must be the same.

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Delivery } from "../src/core/delivery/delivery.ts";
import type { Instant, WholeStore } from "../src/core/ports.ts";
import { handOut, lastReason, settlementOf } from "../src/core/pull/pull-rules.ts";
import { MemoryStore } from "../src/store/memory.ts";
import { openInMemory } from "./contract/embedded.ts";
import { makeEvent, startAt, subscriptionDraft, topicDraft } from "./contract/fixture.ts";
import { postgresHarness } from "./contract/postgres.ts";
import { withTimeToShrink } from "./differential/shrink.ts";

const lockMs = 60_000;
const attemptsMax = 3;
const lifeMs = 300_000;

const step = fc.record({
  kind: fc.constantFrom(
    "append",
    "append",
    "receive",
    "receive",
    "settle",
    "settle",
    "end",
    "tick",
  ),
  draw: fc.nat(10_000),
});
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

class Side {
  readonly store: WholeStore;
  #id = 0;
  #made = 0;
  readonly #handed: Delivery[] = [];

  constructor(store: WholeStore) {
    this.store = store;
  }

  async open(): Promise<void> {
    await this.store.putTopic(topicDraft({ name: "shop/t", kind: "namespaceTopic" }));
    const destination = { kind: "pull", lockMs } as const;
    const draft = subscriptionDraft({ topic: "shop/t", name: "all", destination });
    this.#id = (await this.store.putSubscription(draft)).id;
  }

  /** What happened, in words that are the same for every store. */
  async play({ kind, draw }: Step, now: Instant): Promise<unknown> {
    const { store } = this;
    const expiredSince = now - lifeMs;
    const seen = (one: Delivery) => [
      one.event.systemId,
      one.attempts,
      one.dueAt,
      one.last,
      one.reason,
    ];
    switch (kind) {
      case "append": {
        this.#made += 1;
        const event = makeEvent(`e${this.#made}`, { publishedAt: now });
        await store.append([{ event, to: [this.#id] }], now);
        return null;
      }
      case "receive": {
        const want = { max: 1 + (draw % 3), charsMax: 1_000_000, now, lockMs, attemptsMax };
        const got = await store.receive(this.#id, { ...want, lastReason, expiredSince });
        for (const one of got.deliveries) this.#handed.push(handOut(one, now));
        return got.deliveries.map(seen);
      }
      case "settle": {
        const one = this.#handed[draw % Math.max(1, this.#handed.length)];
        if (one === undefined) return null;
        const isLast = one.attempts >= attemptsMax;
        const fate = (
          [
            { kind: "acknowledged" },
            { kind: "available", at: one.since },
            { kind: "available", at: now + 10_000 },
            { kind: "renewed", until: now + lockMs, isLast },
            { kind: "deadLetter", at: now + 5, reason: "Rejected" },
          ] as const
        )[draw % 5];
        if (fate === undefined || (isLast && fate.kind === "available")) return null;
        return await store.settle([settlementOf(one, fate, { now, isLocked: true })]);
      }
      case "end": {
        const want = { max: 100, now, leaseMs: 1_000, expiredSince };
        const { deliveries } = await store.takeEnded(this.#id, want);
        const counted = await store.settle(
          deliveries.map((one) => ({ kind: "gone", delivery: one.id, lease: one.lease })),
        );
        return [deliveries.map(({ event }) => event.systemId).toSorted(), counted];
      }
      default:
        return null;
    }
  }

  async look(now: Instant): Promise<unknown> {
    const page = { after: 0, limit: 1_000 };
    const rows = await this.store.waiting({ subscription: this.#id, stage: "deliver" }, page);
    const shown = rows.map(({ event, attempts, dueAt, last, reason }) => {
      return [event.systemId, attempts, dueAt, last, reason];
    });
    return [shown, await this.store.locked([this.#id], now)];
  }
}

async function keepStep(
  open: () => Promise<WholeStore & { close?(): Promise<void> }>,
  runs: number,
) {
  let received = 0;
  const inStep = fc.asyncProperty(
    fc.array(step, { minLength: 60, maxLength: 60 }),
    withTimeToShrink(async (steps) => {
      const store = await open();
      const [model, other] = [new Side(new MemoryStore()), new Side(store)];
      await Promise.all([model.open(), other.open()]);
      let now = startAt;
      for (const one of steps) {
        now += 1 + (one.kind === "tick" ? one.draw * 10 : 0);
        const [said, told] = [await model.play(one, now), await other.play(one, now)];
        assert.deepEqual(told, said, one.kind);
        assert.deepEqual(await other.look(now), await model.look(now), one.kind);
        if (one.kind === "receive" && Array.isArray(said)) received += said.length;
      }
      await store.close?.();
    }),
  );
  await fc.assert(inStep, { numRuns: runs });
  assert.ok(received > runs, "something was received");
}

test("the embedded store hands out and settles as the memory store does", async () => {
  await keepStep(async () => (await openInMemory()).store, 60);
});

const openOnServer = postgresHarness();

test("the PostgreSQL store hands out and settles as the memory store does", async () => {
  await keepStep(async () => (await openOnServer()).store, 4);
});
