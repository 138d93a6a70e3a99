import assert from "node:assert/strict";
import { test } from "node:test";
import type { RecordNames } from "./core/registry.ts";
import { followCatalog } from "./follow-catalog.ts";
import { VirtualClock } from "./runtime/clock/virtual.ts";

/** A follower whose reads end when the test decides. */
function openFollower() {
  const clock = new VirtualClock({ startAt: 0, patienceMs: 1_000 });
  const facts: string[] = [];
  const reads: { names: RecordNames | null; end: (error?: Error) => void }[] = [];
  const read = (names: RecordNames | null) =>
    new Promise<void>((resolve, reject) => {
      const end = (error?: Error) => (error === undefined ? resolve() : reject(error));
      reads.push({ names, end });
    });
  const log = { fact: (_level: string, name: string) => void facts.push(name) };
  return { clock, facts, reads, ...followCatalog(read, { clock, log }) };
}

const of = (...subscriptions: number[]): RecordNames => ({ topics: [], subscriptions });
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

test("changes that come together share one read, those that come meanwhile the next", async () => {
  const { note, refresh, reads } = openFollower();
  note(of(1));
  note({ topics: ["orders"], subscriptions: [2, 1] });
  await turn();
  for (let id = 3; id < 53; id += 1) note(of(id));
  const told: string[] = [];
  const late = refresh().then(() => told.push("late"));
  await turn();
  assert.deepEqual(
    reads.map(({ names }) => names),
    [{ topics: ["orders"], subscriptions: [1, 2] }],
  );
  reads[0]?.end();
  await turn();
  assert.deepEqual(told, [], "the read under way began before those changes");
  assert.equal(reads.length, 2);
  assert.equal(reads[1]?.names?.subscriptions.length, 50);
  reads[1]?.end();
  await late;
  await refresh();
  assert.equal(reads.length, 2, "with nothing noted there is nothing to read");
});

test("whoever asks while the read with his change is under way waits for it alone", async () => {
  const { note, refresh, reads } = openFollower();
  note(of(1));
  await turn();
  const asked = refresh();
  reads[0]?.end();
  await asked;
  assert.equal(reads.length, 1);
});

test("a notice that names nothing has everything read, and takes the others along", async () => {
  const { note, reads } = openFollower();
  note(of(1));
  note(null);
  note(of(2));
  await turn();
  assert.deepEqual(
    reads.map(({ names }) => names),
    [null],
  );
});

test("a read that fails is told to whoever asked, and made again with what came since", async () => {
  const { note, refresh, reads, clock, facts, close } = openFollower();
  note(of(1));
  const asked = assert.rejects(refresh(), /the disk is gone/);
  await turn();
  reads[0]?.end(new Error("the disk is gone"));
  await asked;
  assert.deepEqual(facts, ["catalog.failed"]);
  const again = assert.rejects(refresh(), /still gone/);
  await turn();
  assert.deepEqual(reads[1]?.names, of(1), "whoever asks has it read at once");
  note(of(2));
  reads[1]?.end(new Error("still gone"));
  await again;
  await turn();
  assert.deepEqual(reads[2]?.names?.subscriptions.toSorted(), [1, 2]);
  reads[2]?.end(new Error("gone for good"));
  await turn();
  await clock.advance({ byMs: 999 });
  assert.equal(reads.length, 3);
  await clock.advance({ byMs: 1 });
  assert.deepEqual(reads[3]?.names?.subscriptions.toSorted(), [1, 2], "nobody tells twice");
  reads[3]?.end(new Error("and now we stop"));
  await close();
  await clock.advance({ byMs: 10_000 });
  assert.equal(reads.length, 4);
});
