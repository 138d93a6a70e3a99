import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import fc from "fast-check";
import { Refusal } from "../../core/refusal.ts";
import { sleep } from "../../core/text/time.ts";
import { VirtualClock } from "./virtual.ts";

const startAt = Date.UTC(2030, 0, 1);

function openClock(patienceMs = 60_000): VirtualClock {
  return new VirtualClock({ startAt, patienceMs });
}

/** Some turns of the event loop, as work in another thread takes. */
async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise<void>((go) => setImmediate(go));
}

test("time stands still until it is advanced", async () => {
  const clock = openClock();
  const rung: number[] = [];
  clock.after(1, () => rung.push(clock.now()));
  assert.equal(await clock.nextDueAt(), startAt + 1);
  assert.equal(clock.now(), startAt);
  assert.deepEqual(rung, []);
  assert.equal(await clock.advance({ byMs: 30_000 }), startAt + 30_000);
  assert.equal(clock.now(), startAt + 30_000);
  assert.deepEqual(rung, [startAt + 1]);
  assert.equal(await clock.nextDueAt(), null);
});

test("alarms ring at their own moments, in order, also those set on the way", async () => {
  const alarms = fc.array(
    fc.record({ ms: fc.integer({ min: 0, max: 50 }), thenMs: fc.integer({ min: 0, max: 50 }) }),
    { maxLength: 30 },
  );
  await fc.assert(
    fc.asyncProperty(alarms, async (given) => {
      const clock = openClock();
      const rung: number[] = [];
      for (const { ms, thenMs } of given) {
        clock.after(ms, () => {
          assert.equal(clock.now(), startAt + ms);
          rung.push(clock.now());
          clock.after(thenMs, () => {
            assert.equal(clock.now(), startAt + ms + thenMs);
            rung.push(clock.now());
          });
        });
      }
      await clock.advance({ to: startAt + 100 });
      assert.equal(rung.length, 2 * given.length);
      assert.deepEqual(
        rung,
        rung.toSorted((one, other) => one - other),
      );
    }),
    { numRuns: 50 },
  );
});

test("alarms of one moment ring in the order in which they were set", async () => {
  const clock = openClock();
  const rung: string[] = [];
  for (const name of ["a", "b", "c", "d", "e"]) clock.after(7, () => rung.push(name));
  clock.after(7, () => rung.push("called off"))();
  await clock.advance({ to: "next" });
  assert.equal(rung.join(""), "abcde");
});

test("an alarm for this very moment rings without an advance, but never at once", async () => {
  const clock = openClock();
  const rang = Promise.withResolvers<number>();
  let isSet = false;
  clock.after(0, () => rang.resolve(isSet ? clock.now() : Number.NaN));
  isSet = true;
  assert.equal(await rang.promise, startAt);
});

test("time waits without limit for work inside, and for what that work sets", async () => {
  const clock = openClock(0);
  const seen: [string, number][] = [];
  clock.after(10, async () => {
    const end = clock.begin("inside");
    await turns(50);
    clock.after(5, () => seen.push(["set by the work", clock.now() - startAt]));
    end();
  });
  clock.after(20, () => seen.push(["later", clock.now() - startAt]));
  await clock.advance({ byMs: 100 });
  assert.deepEqual(seen, [
    ["set by the work", 15],
    ["later", 20],
  ]);
});

test("work handed on between promises and turns of the loop keeps time waiting", async () => {
  const clock = openClock();
  const finished: number[] = [];
  const work = async () => {
    for (let step = 0; step < 5; step++) {
      const end = clock.begin("inside");
      await turns(3);
      end();
      await turns(1);
      await Promise.resolve();
    }
    finished.push(clock.now() - startAt);
  };
  clock.after(1, work);
  clock.after(2, work);
  await clock.advance({ byMs: 1_000 });
  assert.deepEqual(finished, [1, 2]);
});

test("an endpoint that answers is waited for, whatever real time it takes", async () => {
  const clock = openClock();
  const server = createServer(async (_, response) => {
    await turns(20);
    response.end("ok");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const answered: number[] = [];
  const send = async () => {
    const end = clock.begin("outside");
    const response = await fetch(url);
    await response.text();
    end();
    answered.push(clock.now() - startAt);
    if (answered.length < 3) clock.after(10_000, send);
  };
  clock.after(5, send);
  await clock.advance({ byMs: 3_600_000 });
  assert.deepEqual(answered, [5, 10_005, 20_005]);
  server.closeAllConnections();
  server.close();
});

test("an endpoint that never answers holds time back for its patience and no longer", async () => {
  const clock = openClock(5);
  const over: number[] = [];
  clock.after(10, () => {
    const end = clock.begin("outside");
    clock.after(30_000, () => {
      over.push(clock.now() - startAt);
      end();
      end();
    });
  });
  await clock.advance({ byMs: 60_000 });
  assert.deepEqual(over, [30_010]);
  clock.after(1, () => over.push(clock.now() - startAt));
  await clock.advance({ to: "next" });
  assert.deepEqual(over, [30_010, 60_001], "ending twice did not upset the count");
});

test("two advances at once happen one after the other", async () => {
  const clock = openClock();
  const seen: string[] = [];
  clock.after(10, async () => {
    const end = clock.begin("inside");
    await turns(10);
    seen.push("first's work");
    end();
  });
  await Promise.all([
    clock.advance({ byMs: 15 }).then((now) => seen.push(`first to ${now - startAt}`)),
    clock.advance({ byMs: 15 }).then((now) => seen.push(`second to ${now - startAt}`)),
    clock.nextDueAt().then((next) => seen.push(`then ${next}`)),
  ]);
  assert.deepEqual(seen, ["first's work", "first to 15", "second to 30", "then null"]);
});

test("`next` goes to the earliest alarm, and nowhere when there is none", async () => {
  const clock = openClock();
  clock.after(250, () => {});
  clock.after(900, () => {});
  assert.equal(await clock.advance({ to: "next" }), startAt + 250);
  assert.equal(await clock.advance({ to: "next" }), startAt + 900);
  assert.equal(await clock.advance({ to: "next" }), startAt + 900);
});

test("going back is refused, and the clock still goes on", async () => {
  const clock = openClock();
  await clock.advance({ byMs: 10 });
  for (const target of [{ to: startAt }, { byMs: -1 }, { byMs: Number.NaN }, { byMs: 1e300 }]) {
    await assert.rejects(clock.advance(target), (error) => {
      assert.ok(error instanceof Refusal);
      assert.equal(error.code, "InvalidSetting");
      assert.match(error.message, /2030-01-01T00:00:00\.010Z/);
      return true;
    });
  }
  assert.equal(await clock.advance({ to: startAt + 20 }), startAt + 20);
});

test("alarms that set themselves for the same moment for ever are a bug, not a hang", async () => {
  const clock = openClock();
  let isOver = false;
  const again = () => {
    if (!isOver) clock.after(0, again);
  };
  clock.after(1, again);
  await assert.rejects(clock.advance({ byMs: 10 }), /without end/);
  isOver = true;
  assert.equal(await clock.advance({ byMs: 10 }), startAt + 11);
});

test("an alarm that fails fails the advance, and the others still ring", async () => {
  const clock = openClock();
  const rang: number[] = [];
  clock.after(1, () => {
    throw new Error("a bug");
  });
  clock.after(1, () => rang.push(clock.now()));
  await assert.rejects(clock.advance({ byMs: 10 }), /a bug/);
  await clock.advance({ byMs: 10 });
  assert.deepEqual(rang, [startAt + 1]);
});

test("alarms called off while time stands still leave nothing behind", async () => {
  const clock = openClock();
  for (let sends = 0; sends < 100_000; sends++) clock.after(30_000, () => {})();
  assert.equal(await clock.nextDueAt(), null);
});

test("a sleep on this clock ends when the clock gets there", async () => {
  const clock = openClock();
  const slept = sleep(clock, 86_400_000).then(() => clock.now());
  await clock.advance({ byMs: 100_000_000 });
  assert.equal(await slept, startAt + 86_400_000);
});

test("at the end of the calendar time answers, and what is set beyond it never rings", async () => {
  const clock = openClock();
  const end = Date.UTC(9999, 11, 31, 23, 59, 59, 999);
  let rung = 0;
  const again = () => {
    rung += 1;
    clock.after(10_000, again);
  };
  clock.after(end - startAt, again);
  assert.equal(await clock.advance({ to: end }), end);
  assert.equal(rung, 1);
  assert.equal(await clock.nextDueAt(), null);
  assert.equal(await clock.advance({ to: "next" }), end);
  await assert.rejects(clock.advance({ byMs: 1 }), Refusal);
});
