// A what-if against the truth: the real program on the virtual clock, with the same seed and an
// endpoint that does the same, makes the attempts of the what-if, to the millisecond.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import fc from "fast-check";
import type { SimulateOrder } from "../src/core/api/orders.ts";
import { batchPolicyOf } from "../src/core/delivery/batch.ts";
import { type ProfileName, profileNames, profiles } from "../src/core/delivery/profile.ts";
import type { Sink } from "../src/core/delivery/sink.ts";
import type { Log } from "../src/core/ports.ts";
import type { Reply } from "../src/core/request.ts";
import { plainSubscription } from "../src/core/subscription.ts";
import { plainTopic } from "../src/core/topic.ts";
import { seededChance } from "../src/runtime/chance.ts";
import { VirtualClock } from "../src/runtime/clock/virtual.ts";
import { MemoryStore } from "../src/store/memory.ts";
import { simulate, simulatedName } from "../src/whatif/simulate.ts";
import { assemble } from "../src/wiring.ts";
import { startProgram } from "./fixtures/program.ts";
import { openReceiver } from "./fixtures/receiver.ts";
import { plainRequest } from "./fixtures/request.ts";

const startAt = "2030-01-01T00:00:00.000Z";
const start = Date.parse(startAt);
const key = "what-if-key";
const seed = 11;

interface Made {
  readonly number: number;
  readonly atMs: number;
  readonly saw: string;
}

/** Plays the order on the real program: what it did with the first event, and with the others. */
async function play(t: TestContext, order: SimulateOrder) {
  const receiver = await openReceiver(t);
  const folder = mkdtempSync(join(tmpdir(), "posthorn-what-if-"));
  const properties = { endpointUrl: `${receiver.url}/hook`, ...order.batch };
  const subscription = {
    destination: { endpointType: "WebHook", properties },
    retryPolicy: {
      maxDeliveryAttempts: order.maxDeliveryAttempts ?? null,
      eventTimeToLiveInMinutes: order.eventTimeToLiveInMinutes ?? null,
    },
  };
  const subscriptions = { [simulatedName]: subscription };
  const topics = { orders: { key1: key, profile: order.profile, subscriptions } };
  writeFileSync(join(folder, "config.json"), JSON.stringify({ topics }));
  const program = await startProgram([
    ...["--config", join(folder, "config.json"), "--data", join(folder, "data")],
    ...["--clock", "virtual", "--clock-start", startAt, "--seed", String(seed)],
    ...["--store", "memory", "--log-level", "debug"],
  ]);
  t.after(async () => {
    await program.end("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  });
  const clock = async (body?: object): Promise<{ now: string; nextDueAt: string | null }> => {
    const init = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
    return (await (await fetch(`${program.url}/clock`, init)).json()) as never;
  };
  const msOf = (instant: string) => Date.parse(instant) - Date.parse(startAt);
  let nowMs = 0;
  receiver.answer = () => {
    const spell = order.outage.find(
      ({ fromMs, untilMs }) => fromMs <= nowMs && (untilMs === null || nowMs < untilMs),
    );
    return (spell?.does ?? 200) as number;
  };
  const moveTo = async (atMs: number) => {
    // From one due moment to the next, so that the endpoint knows what time it is.
    for (let { nextDueAt } = await clock(); ; ) {
      if (nextDueAt === null || msOf(nextDueAt) > atMs) break;
      nowMs = msOf(nextDueAt);
      ({ nextDueAt } = await clock({ to: "next" }));
    }
    nowMs = atMs;
    if (Number.isFinite(atMs))
      await clock({ to: new Date(Date.parse(startAt) + atMs).toISOString() });
  };
  const publish = async (id: string) => {
    const answer = await fetch(`${program.url}/topics/orders/api/events`, {
      method: "POST",
      headers: { "aeg-sas-key": key },
      body: JSON.stringify([
        { id, subject: "s", eventType: "t", eventTime: startAt, data: {}, dataVersion: "1" },
      ]),
    });
    assert.equal(answer.status, 200);
  };
  const backlog = order.backlog ?? 0;
  const untilMs = order.outage.at(-1)?.untilMs ?? 0;
  await publish("0");
  for (let index = 0; index < backlog; index++) {
    await moveTo(Math.floor((index + 1) * (untilMs / (backlog + 1))));
    await publish(String(index + 1));
  }
  await moveTo(Number.POSITIVE_INFINITY);
  const events = receiver.received.flatMap(({ body }) => JSON.parse(body) as unknown[]);
  await program.told("delivery.attempted", events.length);
  const attempted = program.facts.filter(({ fact }) => fact === "delivery.attempted");
  const numberOf = ({ event }: Readonly<Record<string, unknown>>) => event;
  const followed = numberOf(attempted[0] ?? {});
  return {
    attempts: attempted
      .filter((each) => numberOf(each) === followed)
      .map(
        (each): Made => ({
          number: Number(each.attempt),
          atMs: msOf(String(each.time)),
          saw: String(each.status),
        }),
      ),
    /** Of the others. */
    saved: new Set(
      attempted
        .filter((each) => numberOf(each) !== followed && Number(each.status) === 200)
        .map(numberOf),
    ).size,
  };
}

function simulated(order: SimulateOrder) {
  return simulate({ ...order, answerMs: 0, seed });
}

const hour = 3_600_000;
const minute = 60_000;

const orders: Readonly<Record<string, SimulateOrder>> = {
  "an outage of five hours under the default profile": {
    profile: "azure",
    outage: [
      { fromMs: 0, untilMs: 2 * hour, does: 503 },
      { fromMs: 2 * hour, untilMs: 5 * hour, does: 500 },
    ],
  },
  "an endpoint that never returns, under the profile of IoT Edge": {
    profile: "iot-edge",
    outage: [{ fromMs: 0, untilMs: null, does: 500 }],
  },
  "three attempts, all used up": {
    profile: "azure",
    maxDeliveryAttempts: 3,
    outage: [{ fromMs: 0, untilMs: null, does: 500 }],
  },
  "a backlog behind it, and an endpoint that turns sick (H-1, H-2)": {
    profile: "azure",
    backlog: 40,
    outage: [{ fromMs: 0, untilMs: 40 * minute, does: 503 }],
  },
  "a backlog of which the older half expires while nobody may send (H-3, R-6)": {
    profile: "azure",
    backlog: 30,
    eventTimeToLiveInMinutes: 120,
    outage: [{ fromMs: 0, untilMs: 3 * hour, does: 500 }],
  },
  "a backlog that travels in batches (B-1)": {
    profile: "azure",
    backlog: 30,
    batch: { maxEventsPerBatch: 4, preferredBatchSizeInKilobytes: 64 },
    outage: [{ fromMs: 0, untilMs: 30 * minute, does: 500 }],
  },
};

for (const [name, order] of Object.entries(orders)) {
  test(`simulated is what really happens: ${name}`, async (t) => {
    const { attempts, saved } = await play(t, order);
    const expected = await simulated(order);
    assert.equal(saved, expected.saved);
    assert.deepEqual(
      attempts,
      expected.attempts.map(({ number, atMs, saw }) => ({ number, atMs, saw })),
    );
  });
}

// The same for orders that nobody thought of: the broker as its wiring joins it, published to by
// its own route, on the virtual clock, with an endpoint and a dead-letter store that do as told.

interface Whole {
  readonly attempts: readonly Made[];
  readonly writes: readonly Made[];
  readonly saved: number;
  readonly lost: number;
}

function scripted<D>(
  clock: VirtualClock,
  spells: SimulateOrder["outage"],
  usually: { readonly status: number; readonly answerMs: number },
): Sink<D> {
  const after = <T>(ms: number, value: T) =>
    new Promise<T>((resolve) => void clock.after(ms, () => resolve(value)));
  return {
    send(_parcel, _destination, { waitMs, lateMs }) {
      const at = clock.now() - start;
      const spell = spells.find((each) => each.fromMs <= at && at < (each.untilMs ?? Infinity));
      const { does = usually.status, answerMs = usually.answerMs } = spell ?? {};
      if (does === "refused") return after(0, { kind: "noReply", why: "connection" } as const);
      const answer = { kind: "answered", status: Number(does) } as const;
      if (does !== "timeout" && answerMs <= waitMs) return after(answerMs, answer);
      const isLate = does !== "timeout" && answerMs < lateMs;
      const late = isLate ? after(answerMs, answer) : after(lateMs, null);
      return after(waitMs, { kind: "noReply", why: "timeout", late } as const);
    },
  };
}

async function playWhole(order: SimulateOrder): Promise<Whole> {
  const clock = new VirtualClock({ startAt: start, patienceMs: 1_000 });
  const store = new MemoryStore();
  const attempts: Made[] = [];
  const writes: Made[] = [];
  let [saved, lost] = [0, 0];
  const log: Log = {
    fact(_level, name, { event, stage, attempt, status, why, durationMs, late, decision }) {
      const isFollowed = event === first;
      if (name === "delivery.attempted" && isFollowed && late !== true) {
        const atMs = clock.now() - start - Number(durationMs);
        const saw = String(status ?? (why === "connection" ? "refused" : why));
        const made = { number: Number(attempt), atMs, saw };
        if (stage === "deliver") attempts.push(made);
        else writes.push(made);
      }
      if (isFollowed || stage === "deadLetter") return;
      if (name === "delivery.attempted" && decision === "delivered") saved += 1;
      if (name === "delivery.givenUp" || name === "delivery.dropped") lost += 1;
    },
  };
  let made = 0;
  const first = "event-1";
  const { answerMs = 50 } = order;
  const rooms = await assemble(
    {
      ...{ store, clock, log, meter: { count: () => {} }, chance: seededChance(seed) },
      ids: { next: () => `event-${++made}` },
      sink: scripted(clock, order.outage, { status: 200, answerMs }),
      deadLetterSink: scripted(clock, order.deadLetterOutage ?? [], { status: 201, answerMs: 0 }),
    },
    { profile: order.profile as ProfileName, auth: false, defaults: {}, endpointSendsMax: 64 },
  );
  await store.putTopic({ ...plainTopic, name: "orders", key1: "a", key2: "b", origin: "api" });
  const handshake = { code: "", startedAt: 0, until: 0, pending: null, exchanges: [] };
  await store.putSubscription({
    ...{ ...plainSubscription, topic: "orders", name: simulatedName, origin: "api" },
    destination: { kind: "webhook", url: "http://endpoint.test/" },
    retryPolicy: {
      maxDeliveryAttempts: order.maxDeliveryAttempts ?? null,
      eventTimeToLiveMs: null,
    },
    batch: batchPolicyOf(order.batch ?? {}, "batch"),
    deadLetter: order.deadLetter ? { kind: "blob", resourceId: "a", container: "c" } : null,
    handshake: { ...handshake, allowedRate: order.allowedRate ?? null },
  });
  await rooms.refresh();
  const publish = rooms.routes.find(
    ({ method, path }) => method === "POST" && path === "/topics/:topic/api/events",
  );
  assert.ok(publish);
  const { backlog = 0 } = order;
  const untilMs = order.outage.at(-1)?.untilMs ?? 0;
  for (let place = 0; place <= backlog; place++) {
    await clock.advance({ to: start + Math.floor(place * (untilMs / (backlog + 1))) });
    const event = { id: `${place}`, subject: "s", eventType: "t", eventTime: startAt, data: {} };
    const body = Buffer.from(JSON.stringify([{ ...event, dataVersion: "1" }]));
    const answer: Reply = await publish.handle({
      ...plainRequest,
      params: { topic: "orders" },
      body,
    });
    assert.equal(answer.status, 200);
  }
  await clock.advance({ byMs: 10 * 24 * hour });
  await rooms.close(AbortSignal.abort());
  return { attempts, writes, saved, lost };
}

const does = fc.constantFrom<number | string>(200, 400, 429, 500, 503, "timeout", "refused");
const spells = (lengths: fc.Arbitrary<number>) =>
  fc
    .array(fc.record({ lengthMs: lengths, does, answerMs: fc.integer({ min: 0, max: 60_000 }) }), {
      maxLength: 3,
    })
    .map((list) => {
      let fromMs = 0;
      return list.map(({ lengthMs, ...rest }) => {
        const untilMs = fromMs + lengthMs;
        const spell = { fromMs, untilMs, ...rest };
        fromMs = untilMs;
        return spell;
      });
    });
const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });
const anyOrder = fc
  .record({
    profile: fc.constantFrom(...profileNames),
    outage: spells(fc.integer({ min: 1, max: 5 * hour })),
    backlog: fc.integer({ min: 0, max: 40 }),
    maxDeliveryAttempts: maybe(fc.integer({ min: 1, max: 12 })),
    batch: maybe(fc.record({ maxEventsPerBatch: fc.integer({ min: 1, max: 8 }) })),
    deadLetterOutage: maybe(spells(fc.integer({ min: 1, max: 8 * hour }))),
    allowedRate: maybe(fc.integer({ min: 1, max: 200 })),
    answerMs: fc.integer({ min: 0, max: 60_000 }),
  })
  .map(({ profile, batch, deadLetterOutage, maxDeliveryAttempts, allowedRate, ...order }) => {
    const { batching, deadLettering, attemptsMax } = profiles[profile];
    return {
      ...{ ...order, profile },
      ...(batch !== undefined && batching && { batch }),
      ...(deadLetterOutage !== undefined &&
        deadLettering && { deadLetter: true, deadLetterOutage }),
      ...(maxDeliveryAttempts !== undefined && attemptsMax.range && { maxDeliveryAttempts }),
      ...(allowedRate !== undefined && { allowedRate }),
    };
  });

test("simulated is what the whole broker does on the virtual clock, whatever is asked", async () => {
  const seen = ({ number, atMs, saw }: Made) => ({ number, atMs, saw });
  await fc.assert(
    fc.asyncProperty(anyOrder, async (order) => {
      const { attempts, deadLetters, saved, lost } = await simulate({ ...order, seed });
      assert.deepEqual(
        {
          ...{ attempts: attempts.map(seen), saved, lost },
          writes: (deadLetters?.attempts ?? []).map(seen),
        },
        await playWhole(order),
      );
    }),
    { numRuns: 60 },
  );
});
