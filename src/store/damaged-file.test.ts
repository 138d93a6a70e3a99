import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { markingDamage, openOrMoveAway } from "./damaged-file.ts";

test("damage that a start does not see is moved away by the one after it was met", (t) => {
  const folder = mkdtempSync(join(tmpdir(), "posthorn-damaged-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, "notes.db");
  const open = () => new DatabaseSync(path);
  const made = open();
  made.exec("CREATE TABLE notes (text); INSERT INTO notes VALUES ('one')");
  made.close();
  // The first page is whole, so that it can be opened.
  const bytes = readFileSync(path);
  writeFileSync(path, Buffer.concat([bytes.subarray(0, 4_096), Buffer.alloc(4_096, "x")]));

  const first = openOrMoveAway(path, open);
  assert.equal(first.setAside, null);
  const use = (sql: string) => markingDamage(path, () => first.opened.prepare(sql).all());
  assert.throws(() => use("SELECT * FROM missing"), /no such table/);
  openOrMoveAway(path, open).opened.close();
  assert.throws(() => use("SELECT * FROM notes"), /malformed/);
  first.opened.close();

  const second = openOrMoveAway(path, open);
  assert.equal(second.setAside, `${path}.damaged-1`);
  second.opened.exec("CREATE TABLE notes (text)");
  second.opened.close();
  const third = openOrMoveAway(path, open);
  third.opened.close();
  assert.equal(third.setAside, null);
});
