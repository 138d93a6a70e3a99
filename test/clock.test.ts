// A day of delivery in a moment: the real program on the virtual clock, against a real endpoint.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { startProgram } from "./fixtures/program.ts";
import { openReceiver, type Receiver } from "./fixtures/receiver.ts";

const startAt = "2030-01-01T00:00:00.000Z";
const key = "clock-key";

interface Told {
  readonly now: string;
  readonly nextDueAt: string | null;
  readonly attempts: number;
  readonly delivered: number;
  readonly deadLettered: number;
  readonly dropped: number;
}

const still = ["--clock", "virtual", "--clock-start", startAt];

/** A broker whose time stands still, with one subscription to the receiver. */
async function openStillBroker(
  t: TestContext,
  options: readonly string[] = [],
  topic = {},
  clock = still,
) {
  const receiver = await openReceiver(t);
  const folder = mkdtempSync(join(tmpdir(), "posthorn-clock-"));
  const config = join(folder, "config.json");
  const properties = { endpointUrl: `${receiver.url}/hook` };
  const billing = { destination: { endpointType: "WebHook", properties } };
  const topics = { orders: { key1: key, subscriptions: { billing }, ...topic } };
  writeFileSync(config, JSON.stringify({ topics }));
  const data = ["--config", config, "--data", join(folder, "data")];
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const start = async (on = clock) => {
    const program = await startProgram([...data, ...on, ...options]);
    t.after(() => program.end("SIGKILL"));
    return { program, ask: (body?: unknown) => askClock(program.url, body) };
  };
  return { ...(await start()), receiver, start };
}

async function askClock(url: string, body?: unknown): Promise<Told> {
  const answer = await fetch(`${url}/clock`, {
    ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
  });
  assert.equal(answer.status, 200);
  return (await answer.json()) as Told;
}

async function publish(url: string, id: string): Promise<number> {
  const answer = await fetch(`${url}/topics/orders/api/events`, {
    method: "POST",
    headers: { "aeg-sas-key": key },
    body: JSON.stringify([
      { id, subject: "s", eventType: "t", eventTime: startAt, data: {}, dataVersion: "1" },
    ]),
  });
  return answer.status;
}

/** The broker's own time at each request, read from the log's facts. */
const attemptTimes = (facts: readonly Readonly<Record<string, unknown>>[]) =>
  facts.filter(({ fact }) => fact === "delivery.attempted").map(({ time }) => time as string);

function failing(receiver: Receiver): void {
  receiver.answer = () => 500;
}

test("an event goes through all ten steps of the schedule to its end (R-1, R-2, R-6)", async (t) => {
  const { program, receiver, ask } = await openStillBroker(t, ["--seed", "7"]);
  failing(receiver);
  assert.equal(await publish(program.url, "a"), 200);
  assert.notEqual((await ask()).nextDueAt, null);
  assert.equal(receiver.received.length, 1, "the first attempt is made at once (D-3)");
  const told = await ask({ advance: "PT36H" });
  assert.deepEqual(
    { ...told, now: "" },
    { now: "", nextDueAt: null, attempts: 10, delivered: 0, deadLettered: 0, dropped: 1 },
  );
  assert.equal(told.now, "2030-01-02T12:00:00.000Z");
  assert.equal(receiver.received.length, 11);
  await program.told("delivery.dropped");
  const seconds = attemptTimes(program.facts).map(
    (at) => (Date.parse(at) - Date.parse(startAt)) / 1000,
  );
  const law = [0, 10, 40, 100, 400, 1000, 2800, 6400, 17_200, 38_800, 82_000];
  for (const [index, at] of seconds.entries()) {
    const least = law[index] as number;
    assert.ok(at >= least && at <= least * 1.1, `attempt ${index + 1} at ${at} s, law ${least} s`);
    t.diagnostic(`attempt ${index + 1} seen at ${at} s; without random additions ${least} s`);
  }
  const dropped = program.facts.find(({ fact }) => fact === "delivery.dropped");
  assert.equal(dropped?.reason, "TimeToLiveExceeded");
});

test("the same seed gives the same times, another seed others", async (t) => {
  const timesWith = async (seed: string) => {
    const { program, receiver, ask } = await openStillBroker(t, ["--seed", seed]);
    failing(receiver);
    await publish(program.url, "a");
    await publish(program.url, "b");
    await ask({ advance: "PT1H" });
    await program.told("delivery.attempted", receiver.received.length);
    return attemptTimes(program.facts);
  };
  const [first, again, other] = [await timesWith("1"), await timesWith("1"), await timesWith("2")];
  assert.deepEqual(first, again);
  assert.notDeepEqual(first, other);
});

test("time moves from one due moment to the next, and not by itself", async (t) => {
  const { program, receiver, ask } = await openStillBroker(t, ["--store", "memory", "--seed", "1"]);
  receiver.answer = (_, count) => (count === 1 ? 503 : 200);
  await publish(program.url, "a");
  const before = await ask();
  assert.equal(before.now, startAt);
  const told = await ask({ to: "next" });
  assert.equal(told.now, before.nextDueAt);
  assert.deepEqual([told.attempts, told.delivered], [1, 1]);
  assert.equal((await ask()).nextDueAt, null);
});

test("an endpoint that never answers costs its wait in virtual time only (P-2)", async (t) => {
  const options = ["--seed", "1", "--clock-patience", "PT5S"];
  const { program, receiver, ask } = await openStillBroker(t, options);
  receiver.answer = (_, count) => (count === 1 ? null : 200);
  await publish(program.url, "a");
  const told = await ask({ advance: "PT2M" });
  assert.deepEqual([told.attempts, told.delivered], [2, 1]);
  await program.told("delivery.attempted");
  const [first] = program.facts.filter(({ fact }) => fact === "delivery.attempted");
  assert.equal(first?.outcome, "TimedOut");
  assert.equal(first?.time, "2030-01-01T00:00:30.000Z");
});

test("what waits survives a restart on the virtual clock, too (D-1, P-13)", async (t) => {
  const receiver = await openReceiver(t);
  failing(receiver);
  const folder = mkdtempSync(join(tmpdir(), "posthorn-clock-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const config = join(folder, "config.json");
  const properties = { endpointUrl: receiver.url };
  const billing = { destination: { endpointType: "WebHook", properties } };
  const topics = { orders: { key1: key, subscriptions: { billing } } };
  writeFileSync(config, JSON.stringify({ topics }));
  const options = ["--config", config, "--data", join(folder, "data"), "--clock", "virtual"];
  const first = await startProgram([...options, "--clock-start", startAt]);
  await publish(first.url, "a");
  await fetch(`${first.url}/clock`, { method: "POST", body: '{"advance":"PT15S"}' });
  assert.equal(receiver.received.length, 2);
  assert.equal(await first.end("SIGKILL"), "SIGKILL");
  const second = await startProgram([...options, "--clock-start", "2030-01-01T00:10:00Z"]);
  t.after(() => second.end("SIGKILL"));
  receiver.answer = () => 200;
  await fetch(`${second.url}/clock`, { method: "POST", body: '{"advance":"PT0S"}' });
  assert.equal(receiver.received.at(-1)?.headers["aeg-delivery-count"], "2");
});

test("a wrong wish for time is refused in words, naming the field", async (t) => {
  const { program } = await openStillBroker(t, ["--store", "memory"]);
  for (const [body, words] of [
    ['{"advance":"soon"}', "advance"],
    ['{"to":"2020-01-01T00:00:00Z"}', "moment"],
    ['{"hurry":true}', "hurry"],
    ["", "JSON"],
  ] as const) {
    const answer = await fetch(`${program.url}/clock`, { method: "POST", body });
    assert.equal(answer.status, 400);
    assert.match(await answer.text(), new RegExp(words));
  }
});

test("time never goes back over a restart, however the broker ended", async (t) => {
  const { program, ask, receiver, start } = await openStillBroker(t);
  receiver.answer = () => 503;
  assert.equal(await publish(program.url, "a"), 200);
  const { now } = await ask({ advance: "PT1H" });
  assert.equal(now, "2030-01-01T01:00:00.000Z");
  await program.end("SIGTERM");

  const second = await start();
  const { nextDueAt } = await second.ask();
  assert.equal((await second.ask()).now, now);
  assert.ok((nextDueAt ?? "") >= now, "what waits is due as it was");
  assert.equal(await publish(second.program.url, "b"), 200);
  const later = await second.ask({ advance: "PT1H" });
  await second.program.end("SIGKILL");

  const third = await start();
  assert.equal((await third.ask()).now, later.now);
});

test("a store that ran on the real clock is not opened in its past", async (t) => {
  const { program, receiver, start } = await openStillBroker(t, [], {}, []);
  receiver.answer = () => 503;
  const before = new Date().toISOString();
  assert.equal(await publish(program.url, "a"), 200);
  await program.end("SIGTERM");
  const second = await start(["--clock", "virtual", "--clock-start", "2020-01-01T00:00:00Z"]);
  assert.ok((await second.ask()).now >= before);
});
