import assert from "node:assert/strict";
import { test } from "node:test";
import { VirtualClock } from "../../runtime/clock/virtual.ts";
import { type Ending, openOperations } from "./operations.ts";

const succeeded: Ending = { status: "Succeeded" };

function open() {
  const clock = new VirtualClock({ startAt: 0, patienceMs: 1_000 });
  const stop = new AbortController();
  const facts: string[] = [];
  let made = 0;
  const operations = openOperations({
    clock,
    ids: { next: () => `id-${++made}` },
    log: { fact: (_, name) => facts.push(name) },
    quiet: null,
    stop: stop.signal,
  });
  return { clock, stop, facts, operations };
}

test("who asks for an operation under way is answered when it ends", async () => {
  const { operations } = open();
  const { promise, resolve } = Promise.withResolvers<Ending>();
  const id = operations.start(promise);
  const first = operations.look(id);
  const second = operations.look(id.toLowerCase());
  resolve(succeeded);
  assert.deepEqual(await Promise.all([first, second]), [succeeded, succeeded]);
  assert.deepEqual(await operations.look(id), succeeded);
});

test("an answer is held back for twenty seconds and no longer", async () => {
  const { clock, operations } = open();
  const look = operations.look(operations.start(new Promise(() => {})));
  assert.equal(await clock.nextDueAt(), 20_000);
  await clock.advance({ to: "next" });
  assert.deepEqual(await look, { status: "InProgress" });
  assert.equal(await clock.nextDueAt(), null, "nothing is left behind");
});

test("a broker that stops holds no answer back", async () => {
  const { clock, stop, operations } = open();
  const id = operations.start(new Promise(() => {}));
  const look = operations.look(id);
  stop.abort();
  assert.deepEqual(await look, { status: "InProgress" });
  assert.deepEqual(await operations.look(id), { status: "InProgress" });
  assert.equal(await clock.nextDueAt(), null);
});

test("what an operation waits for may break, and its poller hears of it", async () => {
  const { facts, operations } = open();
  const id = operations.start(Promise.reject(new Error("a secret of ours")));
  const progress = await operations.look(id);
  assert.deepEqual(progress, {
    status: "Failed",
    error: { code: "InternalServerError", message: "The broker's log says why." },
  });
  assert.deepEqual(facts, ["operation.failed"]);
});

test("so many operations are remembered, and the oldest is forgotten first", async () => {
  const { operations } = open();
  const ids = Array.from({ length: 10_001 }, () => operations.start(Promise.resolve(succeeded)));
  assert.equal(await operations.look(ids[0] as string), null);
  assert.deepEqual(await operations.look(ids[1] as string), succeeded);
  assert.deepEqual(await operations.look(ids.at(-1) as string), succeeded);
});
