// The store on a disk that fails. SQLite's own method: fail the n-th call for n = 1, 2, 3 …
// until the whole run passes untouched, so that there is no step at which a failure has not been
// tried. Then the same with real failures: a file that may not grow, and an I/O error from the
// system.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Wake } from "../src/core/ports.ts";
import type { Subscription } from "../src/core/subscription.ts";
import { openDatabase } from "../src/store/sqlite/database.ts";
import { type EngineOptions, SqliteEngine } from "../src/store/sqlite/engine.ts";
import type { Engine } from "../src/store/sqlite/front.ts";
import { openMemoryJournal } from "../src/store/sqlite/journal.ts";
import { openInline } from "../src/store/sqlite/thread.ts";
import {
  back,
  countsOf,
  gone,
  leaseMs,
  makeEvent,
  namesOf,
  openFront,
  queueOf,
  startAt,
  subscriptionDraft,
  topicDraft,
  type WholeStore,
  want,
} from "./contract/fixture.ts";
import { drain, Journal, liveADay, publish } from "./faults/store-workload.ts";
import { sabotage } from "./fixtures/failing-disk.ts";

/** No day takes as many steps; a loop that gets here does not end by itself. */
const stepsMax = 5000;

const eventChars = 1000;
const memory = { path: ":memory:" };

test("a round that fails before it ran has not happened", async () => {
  const steps = await failEvery(async (n) => {
    const engine = failRound(openInline(new SqliteEngine(memory)), n, "before");
    const store = openFront(engine);
    const journal = new Journal();
    await liveADay(store, journal);
    await drain(store, journal);
    journal.check("nowhere");
    assert.deepEqual(journal.dropped, [2]);
    await store.close();
    return engine.isTouched();
  });
  assert.ok(steps > 10);
});

test("a round whose answer was lost may have happened", async () => {
  const steps = await failEvery(async (n) => {
    const engine = failRound(openInline(new SqliteEngine(memory)), n, "after");
    const store = openFront(engine);
    const journal = new Journal();
    await liveADay(store, journal);
    await drain(store, journal);
    journal.check("anywhere");
    await store.close();
    return engine.isTouched();
  });
  assert.ok(steps > 10);
});

/** With a journal that is soon full, and without one. */
const kinds: Readonly<Record<string, () => EngineOptions>> = {
  "by COMMIT alone": () => memory,
  "with a journal": () => ({ ...memory, journal: openMemoryJournal(), journalBytesMax: 1_000 }),
};

for (const [kind, options] of Object.entries(kinds)) {
  for (const failuresMax of [1, 25]) {
    const howOften = failuresMax === 1 ? "once" : `${failuresMax} times running`;
    test(`${kind}: whichever statement fails ${howOften}, nothing accepted is lost`, async () => {
      const steps = await failEvery(async (n) => {
        const store = openFront(openInline(new SqliteEngine(options())));
        const journal = new Journal();
        const disk = sabotage({ untouched: n - 1, failuresMax });
        try {
          await liveADay(store, journal);
        } finally {
          disk.end();
        }
        await drain(store, journal);
        journal.check("nowhere");
        assert.deepEqual(journal.dropped, [2]);
        assert.deepEqual(await countsOf(store), []);
        await store.close();
        return disk.failures > 0;
      });
      assert.ok(steps > 100);
    });
  }

  test(`${kind}: whichever statement fails, a restart finds all that was accepted`, async () => {
    await failEvery(async (n) => {
      const database = openDatabase(memory);
      const given = options();
      const journal = new Journal();
      const store = openFront(openInline(new SqliteEngine(given, database)));
      const disk = sabotage({ untouched: n - 1, failuresMax: 1 });
      try {
        await liveADay(store, journal);
      } finally {
        disk.end();
      }
      const restarted = openFront(openInline(new SqliteEngine(given, database)));
      journal.listen(restarted);
      await drain(restarted, journal);
      journal.check("nowhere");
      assert.deepEqual(journal.dropped, [2]);
      await restarted.close();
      return disk.failures > 0;
    });
  });

  test(`${kind}: whichever statement fails, a publish is accepted if and only if it is kept`, async () => {
    const steps = await failEvery(async (n) => {
      const database = openDatabase(memory);
      const given = options();
      const journal = new Journal();
      const { id } = await subscribe(
        openFront(openInline(new SqliteEngine(given, database))),
        journal,
      );
      // An engine's first round also looks whether there is something to clean up.
      const store = openFront(openInline(new SqliteEngine(given, database)));
      const disk = sabotage({ untouched: n - 1, failuresMax: 1 });
      await publish(store, journal, "one").finally(() => disk.end());
      const waiting = await store.waiting(queueOf(id), { after: 0, limit: 10 });
      assert.deepEqual(namesOf(waiting), [...journal.accepted]);
      await store.close();
      return disk.failures > 0;
    });
    assert.ok(steps >= 3);
  });
}

test("a full disk refuses publishes, keeps what it has and recovers by itself", async () => {
  const store = openFront(openInline(new SqliteEngine({ ...memory, pagesMax: 80 })));
  const journal = new Journal();
  const { id } = await subscribe(store, journal);
  const fill = async (round: string) => {
    for (let count = 0; await publish(store, journal, `${round}-${count}`, eventChars); count++) {
      assert.ok(count < 1000, "it never fills");
    }
  };
  await fill("first");
  assert.ok(journal.accepted.size > 10);
  assert.deepEqual(await countsOf(store), [
    { subscription: id, stage: "deliver", waiting: journal.accepted.size },
  ]);

  // New events find no room; what rides in the same round is done all the same.
  const [early] = (await store.claim(queueOf(id), want({ max: 1 }))).deliveries;
  assert.ok(early);
  const [refused, claim, settled] = await Promise.all([
    publish(store, journal, "with others", 20_000),
    store.claim(queueOf(id), want({ max: 3 })),
    store.settle([gone(early)]),
  ]);
  assert.equal(refused, false);
  assert.deepEqual(settled, [true]);
  journal.sent.add(`${early.event.systemId}/${id}/deliver`);
  assert.deepEqual(
    namesOf(claim.deliveries),
    [...journal.accepted].slice(1, 4),
    "the failed try has leased nothing",
  );
  const look = await store.claim(queueOf(id), want({ max: 0 }));
  assert.equal(look.nextDueAt, startAt, "the others are free");
  assert.deepEqual((await store.settle(claim.deliveries.map(back))).length, 3);

  await fill("second");
  await drain(store, journal);
  await fill("third");
  await drain(store, journal);
  assert.ok([...journal.accepted].some((name) => name.startsWith("third")));
  journal.check("nowhere");
  await store.close();
});

test("a failed round leaves leases as they were", async () => {
  const store = openFront(openInline(new SqliteEngine(memory)));
  const journal = new Journal();
  const { id } = await subscribe(store, journal);
  for (const name of ["a", "b", "c"]) await publish(store, journal, name);
  const [a] = (await store.claim(queueOf(id), want({ max: 1 }))).deliveries;
  assert.ok(a);
  const disk = sabotage({ untouched: 8, failuresMax: Number.POSITIVE_INFINITY });
  const failed = await Promise.allSettled([
    store.claim(queueOf(id), want({ now: startAt + leaseMs, max: 1 })),
    store.settle([gone(a)]),
    store.claim(queueOf(id), want()),
    store.append([{ event: makeEvent("d"), to: [id] }], startAt),
  ]);
  disk.end();
  assert.deepEqual(
    failed.map(({ status }) => status),
    ["rejected", "rejected", "rejected", "rejected"],
  );
  const wakes: Wake[] = [];
  store.onWake((wake) => wakes.push(wake));
  await publish(store, journal, "e");
  assert.deepEqual(
    wakes.map(({ deliveries }) => deliveries.length),
    [0],
    "no claim is standing",
  );
  const rest = await store.claim(queueOf(id), want());
  assert.deepEqual(namesOf(rest.deliveries), ["b", "c", "e"]);
  assert.deepEqual(await store.settle([gone(a)]), [true], "its lease is still the latest");
  await store.close();
});

/** The answer is how many steps there are. `run` says whether the failure struck. */
async function failEvery(run: (n: number) => Promise<boolean>): Promise<number> {
  for (let n = 1; n <= stepsMax; n++) if (!(await run(n))) return n - 1;
  assert.fail("the run never passed untouched");
}

function failRound(
  engine: Engine,
  n: number,
  when: "before" | "after",
): Engine & { isTouched(): boolean } {
  let rounds = 0;
  return {
    async run(ops) {
      rounds += 1;
      if (rounds !== n) return await engine.run(ops);
      if (when === "after") await engine.run(ops);
      throw new Error("the disk is gone for a moment");
    },
    close: () => engine.close(),
    isTouched: () => rounds >= n,
  };
}

async function subscribe(store: WholeStore, journal: Journal): Promise<Subscription> {
  await store.putTopic(topicDraft());
  const subscription = await store.putSubscription(subscriptionDraft());
  journal.subscriptions.push(subscription.id);
  return subscription;
}
