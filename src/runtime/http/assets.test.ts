import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { openAssets } from "./assets.ts";

function folderWith(t: TestContext, files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), "posthorn-assets-"));
  t.after(() => rmSync(folder, { recursive: true }));
  mkdirSync(join(folder, "assets"));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}

test("a file is found in the best encoding that the client takes", (t) => {
  const folder = folderWith(t, {
    "assets/a.js": "plain",
    "assets/a.js.br": "brotli",
    "assets/a.js.gz": "gzip",
  });
  const assets = openAssets(folder);
  const found = (accepts: string) => {
    const asset = assets.find("assets/a.js", accepts);
    return asset && [asset.encoding, Buffer.from(asset.bytes).toString(), asset.contentType];
  };
  const type = "text/javascript; charset=utf-8";
  assert.deepEqual(found("gzip, deflate, br"), ["br", "brotli", type]);
  assert.deepEqual(found("gzip;q=0.5"), ["gzip", "gzip", type]);
  assert.deepEqual(found("br;q=0, GZIP"), ["gzip", "gzip", type]);
  assert.deepEqual(found(""), [null, "plain", type]);
});

test("only what was in the folder at the start is found, whatever a name spells", (t) => {
  const folder = folderWith(t, { "assets/a.js": "plain", "assets/secret": "no type" });
  const assets = openAssets(folder);
  writeFileSync(join(folder, "assets/late.js"), "late");
  for (const name of ["../assets/a.js", "assets/../assets/a.js", "assets/late.js", "assets", ""]) {
    assert.equal(assets.find(name, ""), null, name);
  }
  assert.equal(assets.find("assets/secret", ""), null);
});

test("a file that has gone since the start is not found, and one that was read stays", (t) => {
  const folder = folderWith(t, { "assets/a.js": "a", "assets/b.js": "b" });
  const assets = openAssets(folder);
  assert.notEqual(assets.find("assets/a.js", ""), null);
  rmSync(join(folder, "assets"), { recursive: true });
  assert.notEqual(assets.find("assets/a.js", ""), null);
  assert.equal(assets.find("assets/b.js", ""), null);
});

test("a folder that is not there is an empty one", () => {
  assert.equal(openAssets("no/such/folder").find("index.html", ""), null);
});
