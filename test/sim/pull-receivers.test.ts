// Receivers of a pull queue in a simulated world, from a seed: they acknowledge, release, reject,
// renew, forget, hang up and die between receive and acknowledge, while the brokers that serve them
// come and go on one store. What must hold at every step is checked at every step.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Delivery } from "../../src/core/delivery/delivery.ts";
import type { Instant, WholeStore } from "../../src/core/ports.ts";
import { pullRulesOf } from "../../src/core/pull/pull-rules.ts";
import type { LockOrder, PullQueue } from "../../src/core/pull/receivers.ts";
import { QueueKeeper } from "../../src/dispatch/queue-keeper.ts";
import { PullReceivers } from "../../src/dispatch/receivers.ts";
import { MemoryStore } from "../../src/store/memory.ts";
import { openInMemory } from "../contract/embedded.ts";
import { makeEvent, startAt, subscriptionDraft, topicDraft } from "../contract/fixture.ts";
import { SimClock } from "./clock.ts";
import { Dice } from "./dice.ts";

const seeds = 40;
const steps = 120;
const lockMs = 60_000;
const lifeMs = 20 * 60_000;
const countMax = 4;

interface Lock {
  readonly delivery: Delivery;
  until: Instant;
}

class World {
  readonly clock = new SimClock(startAt, () => {});
  readonly store: WholeStore;
  readonly dice: Dice;
  queue!: PullQueue;
  broker!: { readonly receivers: PullReceivers; readonly keeper: QueueKeeper };
  readonly published = new Map<string, Instant>();
  readonly acknowledged = new Set<string>();
  /** Handed out how often. */
  readonly counts = new Map<string, number>();
  readonly locks = new Map<string, Lock>();
  readonly ended = new Map<string, string>();
  readonly waits: Promise<void>[] = [];
  /** What its own receiver decides about. */
  settling: string | null = null;

  constructor(store: WholeStore, seed: number) {
    this.store = store;
    this.dice = new Dice(seed, "pull");
  }

  async open(): Promise<void> {
    await this.store.putTopic(
      topicDraft({ name: "shop/orders", kind: "namespaceTopic", profile: "namespace" }),
    );
    const subscription = await this.store.putSubscription(
      subscriptionDraft({
        ...{ topic: "shop/orders", name: "all", destination: { kind: "pull", lockMs } },
        retryPolicy: { maxDeliveryAttempts: countMax, eventTimeToLiveMs: lifeMs },
      }),
    );
    const [topic] = (await this.store.catalog()).topics;
    assert.ok(topic);
    this.queue = { topic, subscription };
    this.broker = this.start();
  }

  start() {
    const { store, clock } = this;
    const deps = {
      ...{ store, clock, meter: { count: () => {} } },
      log: {
        fact: (_: string, name: string, fields: Readonly<Record<string, unknown>>) => {
          if (name === "delivery.dropped") this.end(String(fields.event), String(fields.reason));
          assert.notEqual(name, "dispatcher.broken", String(fields.error));
        },
      },
    };
    const { subscription } = this.queue;
    const rules = pullRulesOf(subscription, this.queue.topic, {});
    const fail = (error: unknown) => assert.fail(String(error));
    return {
      receivers: new PullReceivers({ deps, defaults: {} }),
      keeper: new QueueKeeper({ subscription, rules, deps, onBroken: fail }),
    };
  }

  end(event: string, reason: string): void {
    assert.ok(!this.acknowledged.has(event), `${event} ended as ${reason} after its end`);
    assert.ok(!this.ended.has(event), `${event} ended twice`);
    const lock = this.locks.get(event);
    // A release of the last delivery ends it at once (N-36).
    if (this.settling !== event && lock !== undefined) {
      const isReleased = lock.until <= this.clock.now();
      assert.ok(isReleased, `${event} ended as ${reason} while it was locked`);
    }
    if (reason === "MaxDeliveryAttemptsExceeded") assert.equal(this.counts.get(event), countMax);
    this.ended.set(event, reason);
  }

  async publish(): Promise<void> {
    const now = this.clock.now();
    const name = `e${this.published.size}`;
    this.published.set(name, now);
    const { id } = this.queue.subscription;
    const event = makeEvent(name, { publishedAt: now, schema: "CloudEventSchemaV1_0" });
    await this.store.append([{ event, to: [id] }], now);
  }

  /** In the background: it may wait. */
  receive(): void {
    const gone: (() => void)[] = [];
    const order = {
      ...{ max: 1 + this.dice.whole(0, 2), waitMs: 10_000 + this.dice.whole(0, 49999), by: "r" },
      onGone: (listener: () => void) => void gone.push(listener),
    };
    const isLeaving = this.dice.isHit(0.15);
    const { receivers } = this.broker;
    this.waits.push(receivers.receive(this.queue, order).then((got) => this.got(got)));
    if (isLeaving)
      this.clock.after(this.dice.whole(0, 4999), () => {
        for (const leave of gone) leave();
      });
  }

  got(deliveries: readonly Delivery[]): void {
    for (const delivery of deliveries) {
      const { systemId } = delivery.event;
      const now = this.clock.now();
      const held = this.locks.get(systemId);
      assert.ok(held === undefined || held.until <= now, `${systemId} was handed out twice`);
      assert.ok(!this.acknowledged.has(systemId), `${systemId} came back`);
      assert.ok(!this.ended.has(systemId), `${systemId} came back after its end`);
      const count = (this.counts.get(systemId) ?? 0) + 1;
      assert.equal(delivery.attempts, count, systemId);
      assert.ok(count <= countMax);
      assert.ok(now - (this.published.get(systemId) as number) < lifeMs, `${systemId} was old`);
      this.counts.set(systemId, count);
      this.locks.set(systemId, { delivery, until: delivery.leasedUntil });
    }
  }

  async settle(): Promise<void> {
    const held = [...this.locks.values()];
    const lock = held[this.dice.whole(0, Math.max(0, held.length - 1))];
    if (lock === undefined) return;
    const kind = (["acknowledge", "release", "reject", "renewLock"] as const)[
      this.dice.whole(0, 3)
    ];
    const delayMs = [0, 10_000, 60_000][this.dice.whole(0, 2)] as number;
    const order = (kind === "release" ? { kind, delayMs } : { kind }) as LockOrder;
    const now = this.clock.now();
    const { id, lease, event } = lock.delivery;
    const isMine = lock.until > now && !this.ended.has(event.systemId);
    this.settling = event.systemId;
    const [counted] = await this.broker.receivers.settle(this.queue, [{ event: id.event, lease }], {
      ...order,
      by: "r",
    });
    assert.equal(counted, isMine, `${kind} ${event.systemId}`);
    this.settling = null;
    if (!counted) return;
    if (kind === "renewLock") lock.until = now + lockMs;
    else this.locks.delete(event.systemId);
    if (kind === "acknowledge") this.acknowledged.add(event.systemId);
  }

  /** The process ends without a word; another one goes on. */
  async crash(): Promise<void> {
    const { receivers, keeper } = this.broker;
    receivers.close();
    await keeper.close();
    this.broker = this.start();
  }

  async run(): Promise<void> {
    await this.open();
    for (let step = 0; step < steps; step += 1) {
      const roll = this.dice.whole(0, 99);
      if (roll < 30) await this.publish();
      else if (roll < 60) this.receive();
      else if (roll < 85) await this.settle();
      else if (roll < 90) await this.crash();
      await this.clock.run(this.clock.now() + this.dice.whole(0, 19999));
    }
    // Whoever has something forgets it: in the end everything has ended in one way.
    await this.clock.run(this.clock.now() + 2 * lifeMs + 10 * lockMs);
    await Promise.all(this.waits);
    const { id } = this.queue.subscription;
    const left = await this.store.waiting(
      { subscription: id, stage: "deliver" },
      { after: 0, limit: 1_000 },
    );
    assert.deepEqual(left, []);
    for (const name of this.published.keys()) {
      const isEnded = this.acknowledged.has(name) !== this.ended.has(name);
      assert.ok(isEnded, `${name} has no end, or two`);
    }
  }
}

const stores: Readonly<Record<string, () => Promise<WholeStore>>> = {
  "the memory store": async () => new MemoryStore(),
  "the embedded store": async () => (await openInMemory()).store,
};

for (const [name, open] of Object.entries(stores)) {
  test(`receivers who forget, leave and die lose nothing and get nothing twice, on ${name}`, async () => {
    for (let seed = 1; seed <= seeds; seed += 1) {
      try {
        await new World(await open(), seed).run();
      } catch (error) {
        throw new Error(`seed ${seed}`, { cause: error });
      }
    }
  });
}
