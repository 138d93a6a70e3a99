import assert from "node:assert/strict";
import { test } from "node:test";
import { MemoryStore } from "../../store/memory.ts";
import { openClusterSessions } from "./cluster-sessions.ts";
import { inviteLifeMs, sessionLifeMs, sessionsMax } from "./sessions.ts";

function openTwo() {
  const time = { now: 1_000 };
  const memos = new MemoryStore();
  const open = () => openClusterSessions({ memos, now: () => time.now });
  return { time, memos, here: open(), there: open() };
}

test("a link made at one broker opens one session, once, and at all of them", async () => {
  const { here, there } = openTwo();
  const token = await here.invite();
  const names = await Promise.all([here.enter(token), there.enter(token), there.enter(token)]);
  const [name, ...more] = names.filter((each) => each !== null);
  assert.ok(name !== undefined);
  assert.deepEqual(more, []);
  assert.deepEqual([await here.isOpen(name), await there.isOpen(name)], [true, true]);
  assert.equal(await here.enter(token), null);
});

test("whoever signs out at one broker is out at the others within a second", async () => {
  const { time, here, there } = openTwo();
  const name = await here.open();
  assert.ok(await there.isOpen(name));
  await here.end(name);
  assert.equal(await here.isOpen(name), false);
  time.now += 1_000;
  assert.equal(await there.isOpen(name), false);
});

test("links and sessions end by themselves, and the oldest when there are too many", async () => {
  const { time, here, there, memos } = openTwo();
  const token = await here.invite();
  const name = await here.open();
  time.now += inviteLifeMs;
  assert.equal(await there.enter(token), null);
  time.now += sessionLifeMs - inviteLifeMs;
  assert.equal(await there.isOpen(name), false);
  for (let count = 0; count < sessionsMax + 5; count += 1) await there.open();
  assert.equal((await memos.notes("portal.session")).length, sessionsMax);
});
