// A what-if against the truth: the real program on the virtual clock, with the same seed and an
// endpoint that does the same, makes the attempts that the law has simulated, to the millisecond.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { SimulateOrder } from "../src/core/api/orders.ts";
import { simulate, simulatedName } from "../src/core/whatif/simulate.ts";
import { seededChance } from "../src/runtime/chance.ts";
import { startProgram } from "./fixtures/program.ts";
import { openReceiver } from "./fixtures/receiver.ts";

const startAt = "2030-01-01T00:00:00.000Z";
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
  return simulate({ ...order, answerMs: 0, seed }, { seeded: seededChance });
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
    const expected = simulated(order);
    assert.equal(saved, expected.saved);
    assert.deepEqual(
      attempts,
      expected.attempts.map(({ number, atMs, saw }) => ({ number, atMs, saw })),
    );
  });
}
