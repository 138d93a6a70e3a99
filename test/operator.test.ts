// What an operator does while others write or the disk fails: the whole broker on the memory store,
// with injected faults.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Level, WholeStore } from "../src/core/ports.ts";
import { Refusal } from "../src/core/refusal.ts";
import type { SkipStep } from "../src/core/steering.ts";
import type { SubscriptionDraft } from "../src/core/subscription.ts";
import { VirtualClock } from "../src/runtime/clock/virtual.ts";
import { MemoryStore } from "../src/store/memory.ts";
import { assemble, type Environment } from "../src/wiring.ts";
import { makeEvent, startAt, subscriptionDraft, topicDraft } from "./contract/fixture.ts";

interface Fact {
  readonly name: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

async function openHouse(
  store: WholeStore = new MemoryStore(),
  more: Partial<Environment> = {},
  draft: Partial<SubscriptionDraft> = {},
) {
  const clock = new VirtualClock({ startAt, patienceMs: 2_000 });
  const facts: Fact[] = [];
  const counted: [string, number][] = [];
  await store.putTopic(topicDraft());
  const { id } = await store.putSubscription(subscriptionDraft(draft));
  const rooms = await assemble(
    {
      store,
      sink: { send: async () => ({ kind: "answered", status: 200 }) },
      deadLetterSink: null,
      clock,
      chance: { draw: () => 0 },
      ids: { next: () => "id" },
      log: { fact: (_level: Level, name, fields) => void facts.push({ name, fields }) },
      meter: {
        count: (name, labels, by = 1) => void counted.push([`${name} ${labels.reason}`, by]),
      },
      ...more,
    },
    { profile: "azure", auth: false, defaults: {}, endpointSendsMax: 8 },
  );
  const flowNow = async () => (await store.catalog()).subscriptions[0]?.flow.kind;
  const publish = async (...names: readonly string[]) => {
    await store.append(
      names.map((name) => ({ event: makeEvent(name), to: [id] })),
      clock.now(),
    );
  };
  return { rooms, store, clock, facts, counted, id, flowNow, publish };
}

/** A write by someone else, which changes nothing but the revision. */
async function touch(store: WholeStore, change: Partial<SubscriptionDraft> = {}): Promise<void> {
  const [record] = (await store.catalog()).subscriptions;
  assert.ok(record);
  await store.putSubscription({ ...record, ...change });
}

test("a pause and a change by someone else at the same time both hold", async () => {
  class Busy extends MemoryStore {
    isFirst = true;
    override async putSubscription(draft: SubscriptionDraft, revision?: number) {
      const isFirst = this.isFirst && revision !== undefined;
      if (isFirst) this.isFirst = false;
      if (isFirst) await touch(this, { labels: ["mine"] });
      return await super.putSubscription(draft, revision);
    }
  }
  const { rooms, store, id } = await openHouse(new Busy());
  await rooms.operator.pause(id);
  const [record] = (await store.catalog()).subscriptions;
  assert.deepEqual([record?.flow.kind, record?.labels], ["paused", ["mine"]]);
});

test("the end of a drain does not undo a pause that came meanwhile", async () => {
  for (const isPauseFirst of [true, false]) {
    const { rooms, clock, id, flowNow } = await openHouse();
    await rooms.operator.drain(id, 5);
    const pausing = isPauseFirst ? rooms.operator.pause(id) : null;
    rooms.operator.drained(id);
    await (pausing ?? rooms.operator.pause(id));
    await clock.advance({ byMs: 0 });
    assert.equal(await flowNow(), "paused");
  }
});

test("what others change all the time is a conflict in words", async () => {
  class Restless extends MemoryStore {
    override async putSubscription(draft: SubscriptionDraft, revision?: number) {
      if (revision !== undefined) await touch(this);
      return await super.putSubscription(draft, revision);
    }
  }
  const { rooms, id } = await openHouse(new Restless());
  await assert.rejects(rooms.operator.pause(id), (error: unknown) => {
    assert.ok(error instanceof Refusal);
    assert.equal(error.code, "Conflict");
    return true;
  });
});

test("a skip that the disk interrupts tells what is gone, and may be repeated", async () => {
  class Failing extends MemoryStore {
    steps = 0;
    override async skip(queue: Parameters<MemoryStore["skip"]>[0], step: SkipStep | null) {
      this.steps += 1;
      if (this.steps === 2) throw new Error("disk I/O error");
      const done = await super.skip(queue, step);
      const next = this.steps === 1 ? { through: 9, dueAt: 0, event: 0, hasDropped: true } : null;
      return { ...done, next: next as null };
    }
  }
  const { rooms, facts, counted, id, publish } = await openHouse(new Failing());
  await rooms.operator.pause(id);
  await publish("a", "b", "c");
  await assert.rejects(rooms.operator.skip(id), /after 3 were skipped.*Try again/);
  const told = () => facts.filter(({ name }) => name === "deliveries.dropped");
  assert.deepEqual(told().at(-1)?.fields.count, 3);
  assert.deepEqual(counted, [["posthorn_dropped_events_total Skipped", 3]]);
  assert.equal(await rooms.operator.skip(id), 0);
});

test("a drain whose end cannot be written goes on, and ends the next time", async () => {
  class Refusing extends MemoryStore {
    isBroken = false;
    override async putSubscription(draft: SubscriptionDraft, revision?: number) {
      if (this.isBroken) throw new Error("disk I/O error");
      return await super.putSubscription(draft, revision);
    }
  }
  const store = new Refusing();
  const { rooms, clock, facts, id, flowNow, publish } = await openHouse(store);
  await rooms.operator.pause(id);
  await publish("a", "b");
  await rooms.operator.drain(id, 1);
  store.isBroken = true;
  await clock.advance({ byMs: 10_000 });
  assert.equal(await flowNow(), "draining");
  assert.ok(facts.some(({ name }) => name === "subscription.undrained"));
  store.isBroken = false;
  await publish("c");
  await clock.advance({ byMs: 10_000 });
  assert.equal(await flowNow(), "running");
});

test("what is gone cannot be steered", async () => {
  const { rooms, store, id } = await openHouse();
  await store.removeSubscription(id);
  await rooms.refresh();
  for (const act of [rooms.operator.pause(id), rooms.operator.skip(id)]) {
    await assert.rejects(act, /no such subscription/);
  }
  await assert.rejects(rooms.operator.hasten(id, null), /no such subscription/);
});

test("a closed endpoint stays closed for whoever subscribes with it later", async () => {
  const { rooms, store, clock, id } = await openHouse();
  const endpoint = "http://127.0.0.1:9/hook";
  await rooms.operator.close(endpoint, "gone fishing");
  await store.removeSubscription(id);
  await rooms.refresh();
  assert.deepEqual([...rooms.switchboard.closures().keys()], [endpoint]);
  const { id: later } = await store.putSubscription(subscriptionDraft({ name: "later" }));
  await rooms.refresh();
  await store.append([{ event: makeEvent("x"), to: [later] }], clock.now());
  await clock.advance({ byMs: 60_000 });
  assert.equal((await store.counts())[0]?.waiting, 1);
  await rooms.operator.open(endpoint, "");
  await clock.advance({ byMs: 0 });
  assert.deepEqual(await store.counts(), []);
});

test("who deletes a subscription loses what waits, and not what we gave up on before (L-1)", async () => {
  const letters: string[] = [];
  const deadLetter = { kind: "blob", resourceId: "/r", container: "box" } as const;
  const house = await openHouse(
    new MemoryStore(),
    {
      sink: {
        send: async ({ deliveries: [first] }) => ({
          kind: "answered",
          status: first?.event.systemId === "waits" ? 500 : 400,
        }),
      },
      deadLetterSink: {
        send: async ({ deliveries }) => {
          letters.push(...deliveries.map(({ event }) => event.systemId));
          return { kind: "answered", status: 201 };
        },
      },
    },
    { deadLetter },
  );
  const { rooms, store, clock, facts, id, publish } = house;
  await publish("a", "waits", "b");
  await clock.advance({ byMs: 60_000 });
  await store.removeSubscription(id);
  await rooms.refresh();
  assert.deepEqual(rooms.catalog().subscriptions, []);
  await clock.advance({ byMs: 310_000 });
  assert.deepEqual(letters.toSorted(), ["a", "b"]);
  assert.deepEqual(await store.counts(), []);
  const dropped = facts.filter(({ name }) => name === "deliveries.dropped");
  assert.deepEqual(
    dropped.map(({ fields }) => fields.count),
    [1],
  );
});
