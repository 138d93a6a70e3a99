import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { inviteLifeMs, invitesMax, openSessions, sessionLifeMs, sessionsMax } from "./sessions.ts";

test("a link opens one session, once", () => {
  const sessions = openSessions({ path: null });
  const token = sessions.invite();
  const name = sessions.enter(token);
  assert.ok(name !== null && sessions.isOpen(name));
  assert.equal(sessions.enter(token), null);
  assert.equal(sessions.enter("made up"), null);
  assert.equal(sessions.isOpen(token), false);
});

test("a link and a session are good for a while and no longer", () => {
  let now = 1_000;
  const sessions = openSessions({ path: null, now: () => now });
  const early = sessions.invite();
  const late = sessions.invite();
  now += inviteLifeMs - 1;
  const name = sessions.enter(early);
  assert.ok(name !== null);
  now += 1;
  assert.equal(sessions.enter(late), null);
  now += sessionLifeMs - 2;
  assert.equal(sessions.isOpen(name), true);
  now += 1;
  assert.equal(sessions.isOpen(name), false);
});

test("whoever signs out is out, and nobody else", () => {
  const sessions = openSessions({ path: null });
  const [mine, other] = [sessions.open(), sessions.open()];
  sessions.end(mine);
  assert.deepEqual([sessions.isOpen(mine), sessions.isOpen(other)], [false, true]);
});

test("of too many sessions and links the oldest end", () => {
  const sessions = openSessions({ path: null });
  const names = Array.from({ length: sessionsMax + 1 }, () => sessions.open());
  assert.deepEqual(names.map(sessions.isOpen).slice(0, 2), [false, true]);
  const tokens = Array.from({ length: invitesMax + 1 }, () => sessions.invite());
  assert.equal(sessions.enter(tokens[0] ?? ""), null);
  assert.ok(sessions.enter(tokens[1] ?? ""));
});

test("a restart signs nobody out, and the file lets nobody in", (t) => {
  const folder = mkdtempSync(join(tmpdir(), "posthorn-sessions-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "sessions.json");
  const name = openSessions({ path }).open();
  const again = openSessions({ path });
  assert.equal(again.isOpen(name), true);
  assert.equal(statSync(path).mode & 0o077, 0);
  const kept = readFileSync(path, "utf8");
  assert.ok(!kept.includes(name));
  for (const digest of Object.keys(JSON.parse(kept))) assert.equal(again.isOpen(digest), false);
  again.end(name);
  assert.equal(openSessions({ path }).isOpen(name), false);
  writeFileSync(path, "spoilt");
  assert.equal(openSessions({ path }).isOpen(name), false);
});
