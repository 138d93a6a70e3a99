import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { inviteLifeMs, invitesMax, openSessions, sessionLifeMs, sessionsMax } from "./sessions.ts";

test("a link opens one session, once", async () => {
  const sessions = openSessions({ path: null });
  const token = await sessions.invite();
  const name = await sessions.enter(token);
  assert.ok(name !== null && (await sessions.isOpen(name)));
  assert.equal(await sessions.enter(token), null);
  assert.equal(await sessions.enter("made up"), null);
  assert.equal(await sessions.isOpen(token), false);
});

test("a link and a session are good for a while and no longer", async () => {
  let now = 1_000;
  const sessions = openSessions({ path: null, now: () => now });
  const early = await sessions.invite();
  const late = await sessions.invite();
  now += inviteLifeMs - 1;
  const name = await sessions.enter(early);
  assert.ok(name !== null);
  now += 1;
  assert.equal(await sessions.enter(late), null);
  now += sessionLifeMs - 2;
  assert.equal(await sessions.isOpen(name), true);
  now += 1;
  assert.equal(await sessions.isOpen(name), false);
});

test("whoever signs out is out, and nobody else", async () => {
  const sessions = openSessions({ path: null });
  const [mine, other] = [await sessions.open(), await sessions.open()];
  await sessions.end(mine);
  assert.deepEqual([await sessions.isOpen(mine), await sessions.isOpen(other)], [false, true]);
});

test("of too many sessions and links the oldest end", async () => {
  const sessions = openSessions({ path: null });
  const names = await Promise.all(Array.from({ length: sessionsMax + 1 }, sessions.open));
  const isOpen = await Promise.all(names.map(sessions.isOpen));
  assert.deepEqual(isOpen.slice(0, 2), [false, true]);
  const tokens = await Promise.all(Array.from({ length: invitesMax + 1 }, sessions.invite));
  assert.equal(await sessions.enter(tokens[0] ?? ""), null);
  assert.ok(await sessions.enter(tokens[1] ?? ""));
});

test("a restart signs nobody out, and the file lets nobody in", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "posthorn-sessions-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "sessions.json");
  const name = await openSessions({ path }).open();
  const again = openSessions({ path });
  assert.equal(await again.isOpen(name), true);
  assert.equal(statSync(path).mode & 0o077, 0);
  const kept = readFileSync(path, "utf8");
  assert.ok(!kept.includes(name));
  for (const digest of Object.keys(JSON.parse(kept)))
    assert.equal(await again.isOpen(digest), false);
  await again.end(name);
  assert.equal(await openSessions({ path }).isOpen(name), false);
  writeFileSync(path, "spoilt");
  assert.equal(await openSessions({ path }).isOpen(name), false);
});
