// The same scenes under every profile: a real broker on the virtual clock, a real endpoint, and
// exactly the differences of the table in docs/profiles.md. Each test sets the six outcomes beside
// each other, in the order of that table.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import {
  type ChosenProfile,
  type ProfileName,
  profileNames,
  profiles,
} from "../src/core/delivery/profile.ts";
import { startProgram } from "./fixtures/program.ts";
import { openReceiver } from "./fixtures/receiver.ts";
import { conformanceTable } from "./profiles/conformance.ts";
import {
  type Json,
  lettersBox,
  lettersIn,
  openScene,
  type Scene,
  sinceStart,
} from "./profiles/scene.ts";
import { transcriptsPage } from "./profiles/transcript.ts";

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;

/** One value per profile, in the order of the table. */
async function row<T>(cell: (name: ProfileName) => T | Promise<T>): Promise<T[]> {
  const cells: T[] = [];
  for (const name of profileNames) cells.push(await cell(name));
  return cells;
}

/** Where an endpoint is silent, and others answer. */
const forSilence = ["--clock-patience", "PT5S"];

/** Answers the first request of each profile with one thing, and every later one with 200. */
function answerFirst(scene: Scene, first: number | null): void {
  scene.receiver.answer = ({ path }) =>
    scene.receiver.received.filter((each) => each.path === path).length === 1 ? first : 200;
}

/** The waits between attempts without their random addition, which is below a tenth. */
async function waitsOf(scene: Scene, name: ProfileName, attempts: number): Promise<number[]> {
  const facts = await scene.facts(name, "delivery.attempted", attempts);
  const ends = facts.map(({ time }) => sinceStart(time));
  const starts = facts.map(({ durationMs }, index) => (ends[index] ?? 0) - Number(durationMs));
  return starts.slice(1).map((start, index) => start - (ends[index] ?? 0));
}

function assertWait(waitMs: number | undefined, lawMs: number, name: string): void {
  const isLaw = waitMs !== undefined && waitMs >= lawMs && waitMs < lawMs * 1.1 + 1;
  assert.ok(isLaw, `${name}: waited ${waitMs} ms where the law is ${lawMs} ms`);
}

/** The first wait of each profile, against the row of the table. */
async function assertFirstWaits(scene: Scene, lawsMs: readonly number[]): Promise<void> {
  for (const [column, name] of profileNames.entries()) {
    const [wait] = await waitsOf(scene, name, 2);
    assertWait(wait, lawsMs[column] as number, name);
  }
}

test("a 201 completes a delivery under the newer four, and is retried under the older two (P-1)", async (t) => {
  const scene = await openScene(t);
  answerFirst(scene, 201);
  await scene.publishAll();
  await scene.advance("PT2M");
  assert.deepEqual(await row((name) => scene.requests(name).length), [2, 2, 1, 1, 1, 1]);
});

test("an endpoint that is silent for 61 s is given up on after 60 or 30 s (P-2)", async (t) => {
  const scene = await openScene(t, { options: forSilence });
  answerFirst(scene, null);
  await scene.publishAll();
  await scene.advance("PT61S");
  const waited = await row(async (name) => {
    const [first] = await scene.facts(name, "delivery.attempted", 1);
    assert.equal(first?.why, "timeout", name);
    return Number(first?.durationMs) / second;
  });
  assert.deepEqual(waited, [60, 60, 30, 30, 60, 30]);
  // After 30 s and a wait of 10 s the newer ones have sent it again; the others have not.
  assert.deepEqual(await row((name) => scene.requests(name).length), [1, 1, 2, 2, 1, 2]);
});

test("an answer five seconds late still counts where the table says so (P-3, R-4)", async (t) => {
  const scene = await openScene(t, { options: forSilence });
  const late = new Map<string, (status: number) => void>();
  scene.receiver.answer = ({ path }) => {
    if (late.has(path)) return 200;
    const { promise, resolve } = Promise.withResolvers<number>();
    late.set(path, resolve);
    return promise;
  };
  const answer = async (...names: readonly ProfileName[]) => {
    for (const name of names) late.get(`/${name}`)?.(200);
  };
  await scene.publishAll();
  await scene.advance("PT35S");
  await answer("azure-2020", "azure", "azure-latest");
  for (const name of ["azure-2020", "azure", "azure-latest"] as const) {
    const [, delivered] = await scene.facts(name, "delivery.attempted", 2);
    assert.deepEqual([delivered?.late, delivered?.decision], [true, "delivered"], name);
  }
  await scene.advance("PT30S");
  await answer("preview-2017", "ga-2018", "iot-edge");
  await scene.advance("PT5M");
  assert.deepEqual(await row((name) => scene.requests(name).length), [2, 2, 1, 1, 2, 1]);
});

/** Until the end of the longest life, and to the attempt that is not made after it. */
const wholeLife = "PT36H";

test("an event is tried on its profile's schedule until its life is over (P-4, P-5, P-6, E-2)", async (t) => {
  const scene = await openScene(t);
  scene.receiver.answer = () => 500;
  await scene.publishAll();
  await scene.advance(wholeLife);
  const first = [10, 30, 60, 300, 600, 1_800, 3_600].map((each) => each * second);
  const later = [...first, 3 * hour, 6 * hour, 12 * hour];
  const hourly = (count: number) => Array.from({ length: count }, () => hour);
  const laws: Readonly<Record<ChosenProfile, readonly number[]>> = {
    "preview-2017": first,
    // One attempt an hour; with the random additions the last ones fall beyond the 24 hours.
    "ga-2018": [...first, ...hourly(21)],
    "azure-2020": later,
    azure: later,
    "iot-edge": [minute, ...Array.from({ length: 10 }, () => 10 * minute)],
    "azure-latest": later,
  };
  for (const name of profileNames) {
    const [dropped] = await scene.facts(name, "delivery.dropped", 1);
    assert.equal(dropped?.reason, "TimeToLiveExceeded", name);
    const waits = await waitsOf(scene, name, 2);
    for (const [index, lawMs] of laws[name].entries()) assertWait(waits[index], lawMs, name);
    const { ttlMs } = profiles[name];
    const attempts = await scene.facts(name, "delivery.attempted");
    for (const { time } of attempts) assert.ok(sinceStart(time) < ttlMs.default, name);
    // not before the next attempt was due.
    const last = waits.length < laws[name].length ? laws[name].at(-1) : undefined;
    assert.equal(last, undefined, `${name}: ${waits.length} waits`);
    assert.ok(sinceStart(dropped?.time) >= ttlMs.default, name);
  }
});

test("a 404 of a webhook is given up at once, or retried sooner or later (P-7, P-8)", async (t) => {
  const scene = await openScene(t);
  answerFirst(scene, 404);
  await scene.publishAll();
  await scene.advance("PT10S");
  const reasons = await row(async (name) => {
    if (!profiles[name].neverRetried.webhook.includes(404)) return null;
    const [dropped] = await scene.facts(name, "delivery.dropped", 1);
    return dropped?.reason;
  });
  const final = "UndeliverableDueToHttpNotFound";
  assert.deepEqual(reasons, [null, null, final, final, null, null]);
  await scene.advance("PT10M");
  assert.deepEqual(await row((name) => scene.requests(name).length), [2, 2, 1, 1, 2, 2]);
  for (const [name, lawMs] of [
    ["preview-2017", 10 * second],
    ["ga-2018", 10 * second],
    ["iot-edge", minute],
    ["azure-latest", 5 * minute],
  ] as const) {
    assertWait((await waitsOf(scene, name, 2))[0], lawMs, name);
  }
});

test("what is never retried is given up at once, by webhook code and profile (P-7, R-3)", async (t) => {
  const finals: Readonly<Record<number, readonly boolean[]>> = {
    400: [false, false, true, true, false, true],
    401: [false, false, true, true, false, true],
    403: [false, false, true, true, false, true],
    404: [false, false, true, true, false, false],
    413: [false, false, true, true, false, true],
  };
  for (const [code, expected] of Object.entries(finals)) {
    const scene = await openScene(t);
    scene.receiver.answer = () => Number(code);
    await scene.publishAll();
    const seen = await row(async (name) => {
      const [first] = await scene.facts(name, "delivery.attempted", 1);
      return first?.decision === "drop";
    });
    assert.deepEqual(seen, expected, code);
    await scene.program.end("SIGKILL");
  }
});

test("after a 503 the next attempt is half a minute away where statuses have waits (P-8)", async (t) => {
  const scene = await openScene(t);
  answerFirst(scene, 503);
  await scene.publishAll();
  await scene.advance("PT5M");
  const [short, half] = [10 * second, 30 * second];
  await assertFirstWaits(scene, [short, short, half, half, minute, half]);
});

test("after a 408 it is two minutes away (P-8)", async (t) => {
  const scene = await openScene(t);
  answerFirst(scene, 408);
  await scene.publishAll();
  await scene.advance("PT5M");
  const [short, long] = [10 * second, 2 * minute];
  await assertFirstWaits(scene, [short, short, long, long, minute, long]);
});

test("three events travel in one request where the profile has batches (P-9)", async (t) => {
  const scene = await openScene(t, {
    terms: (name) => (profiles[name].batching ? { inside: { maxEventsPerBatch: 10 } } : {}),
  });
  await scene.publishAll(3);
  for (const name of profileNames) await scene.facts(name, "delivery.attempted", 3);
  assert.deepEqual(await row((name) => scene.requests(name).length), [3, 3, 1, 1, 1, 1]);
});

test("after ten failures in a row new events wait where there is delayed delivery (P-10, H-1)", async (t) => {
  const scene = await openScene(t);
  scene.receiver.answer = () => 500;
  await scene.publishAll(10);
  for (const name of profileNames) await scene.facts(name, "delivery.attempted", 10);
  const before = await row((name) => scene.requests(name).length);
  assert.deepEqual(before, [10, 10, 10, 10, 10, 10]);
  await scene.publishAll(1);
  await scene.advance("PT1S");
  assert.deepEqual(await row((name) => scene.requests(name).length), [11, 11, 10, 10, 11, 10]);
});

test("what is given up is a dead letter or dropped (P-11, L-1)", async (t) => {
  const scene = await openScene(t, {
    terms: (name) =>
      profiles[name].deadLettering ? { more: { deadLetterDestination: lettersBox } } : {},
  });
  scene.receiver.answer = () => 413;
  await scene.publishAll();
  await scene.advance(wholeLife);
  const ends = await row(async (name) => {
    const end = profiles[name].deadLettering ? "delivery.deadLettered" : "delivery.dropped";
    const [fact] = await scene.facts(name, end, 1);
    return `${fact?.fact} ${fact?.reason}`;
  });
  const dropped = "delivery.dropped TimeToLiveExceeded";
  const letter = "delivery.deadLettered UndeliverableDueToHttpRequestEntityTooLarge";
  assert.deepEqual(ends, [dropped, dropped, letter, letter, dropped, letter]);
  assert.equal(lettersIn(scene).length, 3);
});

const tenant = { name: "x-tenant", type: "Static", properties: { value: "a" } };

test("custom headers are sent where the profile knows them (P-12, C-1)", async (t) => {
  const scene = await openScene(t, {
    terms: (name) =>
      profiles[name].deliveryHeaders ? { inside: { deliveryAttributeMappings: [tenant] } } : {},
  });
  await scene.publishAll();
  const sent = await row(async (name) => {
    await scene.facts(name, "delivery.attempted", 1);
    return scene.requests(name)[0]?.headers["x-tenant"] ?? null;
  });
  assert.deepEqual(sent, [null, null, null, "a", null, "a"]);
});

test("what was accepted survives a crash under every profile (P-13, D-1)", async (t) => {
  const scene = await openScene(t);
  scene.receiver.answer = () => 500;
  await scene.publishAll();
  for (const name of profileNames) await scene.facts(name, "delivery.attempted", 1);
  const again = await scene.restart();
  again.receiver.answer = () => 200;
  await again.advance("PT5M");
  for (const name of profileNames) {
    const [delivered] = await again.facts(name, "delivery.attempted", 1);
    assert.deepEqual([delivered?.decision, delivered?.attempt], ["delivered", 2], name);
  }
});

test("headers that a new profile of the broker does not know are not sent, and logged (P-12)", async (t) => {
  const seen = await underOtherProfile(t, { from: "azure", to: "azure-2020" });
  assert.deepEqual(seen.headers, ["a", undefined]);
  const [idle] = seen.told;
  assert.deepEqual(idle?.members, ["destination.properties.deliveryAttributeMappings"]);
  assert.equal(idle?.words, "the profile azure-2020 does not support delivery headers");
});

/** A subscription created over HTTP, on a broker that is restarted with another profile. */
async function underOtherProfile(
  t: TestContext,
  { from, to }: { readonly from: ProfileName; readonly to: ProfileName },
): Promise<{ headers: unknown[]; told: readonly Json[] }> {
  const folder = mkdtempSync(join(tmpdir(), "posthorn-profiles-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const receiver = await openReceiver(t);
  const headers: unknown[] = [];
  let told: readonly Json[] = [];
  for (const profile of [from, to]) {
    const program = await startProgram([
      ...["--profile", profile, "--data", folder, "--admin-key", "admin", "--handshake", "off"],
      ...["--log-level", "debug"],
    ]);
    t.after(() => program.end("SIGKILL"));
    const path = "/subscriptions/s/resourceGroups/r/providers/Microsoft.EventGrid/topics/orders";
    const put = async (at: string, body: Json) => {
      const init = { method: "PUT", headers: { authorization: "Bearer admin" } };
      const answer = await fetch(`${program.url}${at}`, { ...init, body: JSON.stringify(body) });
      assert.equal(answer.status, 201, await answer.text());
    };
    if (profile === from) {
      await put(path, { location: "local", properties: { key1: "k" } });
      const properties = { endpointUrl: receiver.url, deliveryAttributeMappings: [tenant] };
      const destination = { endpointType: "WebHook", properties };
      await put(`${path}/eventSubscriptions/hook`, { properties: { destination } });
    }
    const event = { id: "1", subject: "s", eventType: "t", eventTime: "2030-01-01T00:00:00Z" };
    const body = JSON.stringify([{ ...event, dataVersion: "1" }]);
    const url = `${program.url}/topics/orders/api/events`;
    await fetch(url, { method: "POST", headers: { "aeg-sas-key": "k" }, body });
    await program.told("delivery.attempted");
    headers.push(receiver.received.at(-1)?.headers["x-tenant"]);
    told = program.facts.filter(({ fact }) => fact === "subscription.idle");
    await program.end("SIGTERM");
  }
  return { headers, told };
}

const page = (name: string) => readFileSync(join(import.meta.dirname, "../docs", name), "utf8");

test("the table in docs/profiles.md is what the profiles say (P-1 to P-13)", () => {
  const told = "docs/profiles.md is out of date; run: node test/profiles/main.ts";
  assert.ok(page("profiles.md").includes(conformanceTable()), told);
});

test("the transcripts in docs/transcripts.md are what happens (R-1, R-2, R-6)", async (t) => {
  const told = "docs/transcripts.md is out of date; run: node test/profiles/main.ts";
  assert.equal(page("transcripts.md"), await transcriptsPage(t), told);
});
