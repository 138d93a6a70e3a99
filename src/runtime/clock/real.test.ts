import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import fc from "fast-check";
import { realClock, steady } from "./real.ts";

const hourMs = 3_600_000;

test("the real clock never goes back, whatever the system's clock does", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 1_000 }), { minLength: 2 }), (readings) => {
      let turn = 0;
      const wall = () => readings[Math.min(turn++, readings.length - 1)] ?? 0;
      const now = steady({ wall, elapsed: () => turn });
      let latest = Number.NEGATIVE_INFINITY;
      for (const _ of readings) {
        const time = now();
        assert.ok(time >= latest);
        latest = time;
      }
    }),
  );
});

const minuteMs = 60_000;

/** A system clock that can be set, and one that only counts. */
function openPair() {
  const pair = {
    wall: 100 * hourMs,
    elapsed: 0,
    setBack: [] as number[],
    pass(ms: number) {
      pair.wall += ms;
      pair.elapsed += ms;
    },
  };
  const now = steady({
    wall: () => pair.wall,
    elapsed: () => pair.elapsed,
    onSetBack: (byMs) => pair.setBack.push(byMs),
  });
  return Object.assign(pair, { now });
}

test("a clock that was set back a little is waited for at half speed, and that is logged", () => {
  const pair = openPair();
  const start = pair.now();
  pair.wall -= 2 * minuteMs;
  assert.equal(pair.now(), start);
  pair.pass(2 * minuteMs);
  assert.equal(pair.now(), start + minuteMs, "one minute has passed in two");
  pair.pass(2 * minuteMs);
  assert.equal(pair.now(), start + 2 * minuteMs);
  pair.pass(1);
  assert.equal(pair.now(), start + 2 * minuteMs + 1, "and from there on at full pace");
  assert.deepEqual(pair.setBack, [2 * minuteMs]);
});

test("a clock that was set back by a day changes nothing of our pace", () => {
  const pair = openPair();
  const start = pair.now();
  pair.wall -= 24 * hourMs;
  assert.equal(pair.now(), start);
  for (let hours = 1; hours < 50; hours++) {
    pair.pass(hourMs);
    assert.equal(pair.now(), start + hours * hourMs);
  }
  pair.wall += 24 * hourMs;
  assert.equal(pair.now(), start + 49 * hourMs, "set right again");
  pair.pass(hourMs);
  assert.equal(pair.now(), start + 50 * hourMs);
  assert.deepEqual(pair.setBack, [24 * hourMs]);
});

test("an alarm rings once, not within the call that sets it, and not when called off", async () => {
  const clock = realClock();
  const rung: string[] = [];
  for (const ms of [0, 1]) clock.after(ms, () => rung.push("called off"))();
  const ring = (ms: number) =>
    new Promise<void>((resolve) => {
      clock.after(ms, () => {
        rung.push(`after ${ms}`);
        resolve();
      });
    });
  const first = [ring(0), ring(-5), ring(2)];
  assert.deepEqual(rung, []);
  await Promise.all(first);
  await ring(3);
  assert.deepEqual(rung.toSorted(), ["after -5", "after 0", "after 2", "after 3"]);
});

test("alarms of one length ring in the order they were set, without those called off", async () => {
  const clock = realClock();
  const rung: number[] = [];
  const callOffs = Array.from({ length: 10 }, (_, index) => clock.after(2, () => rung.push(index)));
  callOffs[0]?.();
  callOffs[4]?.();
  callOffs[4]?.();
  await new Promise<void>((resolve) => clock.after(2, resolve));
  assert.deepEqual(rung, [1, 2, 3, 5, 6, 7, 8, 9]);
  callOffs[9]?.();
});

test("many alarms that ring together leave turns of the event loop to others", async () => {
  const clock = realClock();
  const count = 200;
  const rungInTurns: number[] = [];
  let rung = 0;
  for (let set = 0; set < count; set++) {
    clock.after(2, () => {
      rung += 1;
    });
  }
  for (let seen = 0; seen < count; seen = rung) {
    await new Promise((resolve) => setImmediate(resolve));
    rungInTurns.push(rung - seen);
  }
  assert.ok(Math.max(...rungInTurns) < 50, `rung in one turn: ${Math.max(...rungInTurns)}`);
});

test("an alarm set by one that rings, of the same length, rings in its turn", async () => {
  const clock = realClock();
  const turns: number[] = [];
  for (let round = 0; round < 3; round++) {
    await new Promise<void>((resolve) => {
      clock.after(1, () => {
        const setAt = clock.now();
        clock.after(1, () => {
          turns.push(clock.now() - setAt);
          resolve();
        });
        while (clock.now() < setAt + 2);
      });
    });
  }
  assert.equal(turns.length, 3);
});

test("alarms that were all called off keep no process up", () => {
  const script =
    `import { realClock } from ${JSON.stringify(new URL("./real.ts", import.meta.url).href)};` +
    "const clock = realClock();" +
    "for (const ms of [50_000, 50_000, 70_000]) clock.after(ms, () => {})();" +
    'clock.after(5, () => console.log("rung"));';
  const args = ["--input-type=module", "--eval", script];
  const { status, stdout } = spawnSync(process.execPath, args, { timeout: 30_000 });
  assert.deepEqual([status, stdout.toString()], [0, "rung\n"]);
});

test("an alarm does not ring before its time has come on the same clock", async () => {
  const clock = realClock();
  for (let round = 0; round < 20; round++) {
    const dueAt = clock.now() + 1;
    await new Promise<void>((resolve) => clock.after(1, resolve));
    assert.ok(clock.now() >= dueAt);
  }
});

test("a wait longer than the system's timers can count is kept in full", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout", "Date"], now: 1_000 });
  const clock = realClock();
  const waitMs = 2 ** 31 + 12_345;
  let rangAt = 0;
  clock.after(waitMs, () => {
    rangAt = clock.now();
  });
  const calledOff = clock.after(waitMs, () => assert.fail("it was called off"));
  t.mock.timers.tick(waitMs - 1);
  assert.equal(rangAt, 0);
  calledOff();
  t.mock.timers.tick(1);
  assert.equal(rangAt, 1_000 + waitMs);
});
