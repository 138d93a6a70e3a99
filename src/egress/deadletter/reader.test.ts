// Reading dead letters: one contract for a folder and for Azurite, and stores that fail or do not
// answer.

import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type TestContext, test } from "node:test";
import { BlobServiceClient } from "@azure/storage-blob";
import { CountedActivity, HandClock } from "../../../test/contract/sink.ts";
import { startAzurite } from "../../../test/fixtures/azurite.ts";
import { freePort, serve } from "../../../test/fixtures/webhook.ts";
import { parseStorageAccounts } from "../../core/azure/storage.ts";
import { type ReadRecord, readRecords, type WantedRecords } from "../../core/deadletter/letter.ts";
import type { Listing, NotRead } from "../../core/deadletter/letter-store.ts";
import { blobBytesMax } from "./reader.ts";
import { openDeadLetters } from "./sink.ts";

const box = { account: "letters", container: "box" };
const all = { prefix: "", after: null };
const letterText = JSON.stringify([
  {
    ...{ id: "a", eventType: "ü", eventTime: "2030-01-01T00:00:00Z", subject: "s", data: 1 },
    deadLetterReason: "TimeToLiveExceeded",
  },
]);

function openReader(t: TestContext, section: unknown) {
  const clock = new HandClock();
  const activity = new CountedActivity();
  const letters = openDeadLetters({
    ...{ clock, activity, ids: { next: () => "guid" } },
    accounts: parseStorageAccounts(section),
  });
  t.after(() => letters.close());
  return { ...letters, clock, activity };
}

function makeFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "posthorn-reader-"));
  t.after(() => {
    chmodSync(folder, 0o700);
    rmSync(folder, { recursive: true, force: true });
  });
  return folder;
}

interface World {
  readonly section: unknown;
  write(path: string, text: string): Promise<void>;
}

async function inFolder(t: TestContext): Promise<World> {
  const folder = makeFolder(t);
  return {
    section: { letters: { folder } },
    async write(path, text) {
      const file = join(folder, "box", path);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, text);
    },
  };
}

async function inAzurite(t: TestContext): Promise<World> {
  const { connectionString, makeContainer } = await startAzurite(t);
  await makeContainer("box");
  const container =
    BlobServiceClient.fromConnectionString(connectionString).getContainerClient("box");
  return {
    section: { letters: { connectionString } },
    async write(path, text) {
      await container.getBlockBlobClient(path).upload(text, Buffer.byteLength(text));
    },
  };
}

for (const [name, open] of Object.entries({ "a folder": inFolder, Azurite: inAzurite })) {
  test(`${name}: folders and blobs are listed level by level, and read`, async (t) => {
    const { section, write } = await open(t);
    const { reader, clock, activity } = openReader(t, section);
    await write("ONE/2030/1/2/5/b.json", "[1]");
    await write("ONE/2030/1/2/5/a.json", letterText);
    await write("TWO/2030/1/2/5/c.json", "");
    await write("loose.json", "{}");
    const list = async (prefix: string) => {
      const listing = (await reader.list(box, { prefix, after: null })) as Listing;
      assert.equal(listing.kind, "listed");
      assert.equal(listing.next, null);
      return [listing.folders, listing.blobs.map(({ path, bytes }) => [path, bytes])];
    };
    assert.deepEqual(await list(""), [["ONE", "TWO"], [["loose.json", 2]]]);
    assert.deepEqual(await list("ONE/2030/1/"), [["2"], []]);
    assert.deepEqual(await list("ONE/2030/1/2/5/"), [
      [],
      [
        ["ONE/2030/1/2/5/a.json", Buffer.byteLength(letterText)],
        ["ONE/2030/1/2/5/b.json", 3],
      ],
    ]);
    const { blobs } = (await reader.list(box, all)) as Listing;
    assert.ok(Math.abs((blobs[0]?.modifiedAt ?? 0) - Date.now()) < 600_000);
    const records = async (path: string, wanted: WantedRecords) => {
      const read = await reader.read(box, path, wanted);
      return read.kind === "read" ? read.records : read.why;
    };
    const [head] = (await records("ONE/2030/1/2/5/a.json", "heads")) as ReadRecord[];
    assert.deepEqual(head, readRecords(letterText, "heads")[0]);
    const whole = await records("ONE/2030/1/2/5/a.json", [0, 7]);
    assert.deepEqual(whole, readRecords(letterText, [0, 7]));
    const empty = [{ kind: "unreadable", index: 0, why: "The blob is empty." }];
    assert.deepEqual(await records("TWO/2030/1/2/5/c.json", "heads"), empty);
    const loose = await reader.read(box, "loose.json", "heads");
    assert.equal(loose.kind === "read" && loose.modifiedAt, blobs[0]?.modifiedAt);
    const missing = (await reader.read(box, "ONE/none.json", "heads")) as NotRead;
    assert.deepEqual([missing.kind, missing.isMissing], ["notRead", true]);
    assert.equal(await reader.whyUnreachable(box), null);
    assert.deepEqual([clock.alarms, activity.outside], [0, 0]);
  });

  test(`${name}: a blob above the limit is reported, not read`, async (t) => {
    const { section, write } = await open(t);
    const { reader } = openReader(t, section);
    await write("big.json", " ".repeat(blobBytesMax + 1));
    await write("full.json", " ".repeat(blobBytesMax));
    const { kind, why } = (await reader.read(box, "big.json", "heads")) as NotRead;
    assert.deepEqual([kind, why], ["notRead", "The blob has more than 16777216 bytes."]);
    assert.equal((await reader.read(box, "full.json", "heads")).kind, "read");
  });
}

test("a missing container is reported in an account, and empty in a folder", async (t) => {
  const { connectionString } = await startAzurite(t);
  const folder = makeFolder(t);
  const { reader } = openReader(t, { letters: { connectionString }, disk: { folder } });
  const gone = {
    kind: "notRead",
    why: "The store answered 404 (ContainerNotFound).",
    isMissing: true,
  };
  assert.deepEqual(await reader.list(box, all), gone);
  assert.match((await reader.whyUnreachable(box)) ?? "", /^The store answered 404/);
  const onDisk = { ...box, account: "disk" };
  assert.deepEqual(await reader.list(onDisk, all), {
    ...{ kind: "listed", folders: [], blobs: [], next: null },
  });
  assert.equal(await reader.whyUnreachable(onDisk), null);
});

test("a folder of many files is listed in pages", async (t) => {
  const folder = makeFolder(t);
  mkdirSync(join(folder, "box"));
  for (let index = 0; index < 1_001; index++) writeFileSync(join(folder, `box/${index}.json`), "");
  const { reader } = openReader(t, { letters: { folder } });
  const first = (await reader.list(box, all)) as Listing;
  assert.deepEqual([first.blobs.length, first.next !== null], [1_000, true]);
  const second = (await reader.list(box, { prefix: "", after: first.next })) as Listing;
  assert.deepEqual([second.blobs.length, second.next], [1, null]);
});

test("a folder that may not be written, or is a file, is reported before it is needed", async (t) => {
  const folder = makeFolder(t);
  const file = join(folder, "file");
  writeFileSync(file, "");
  const { reader } = openReader(t, { letters: { folder: file } });
  assert.match((await reader.whyUnreachable(box)) ?? "", /(is not a folder|ENOTDIR)\.$/);
  const { why } = (await reader.list(box, all)) as NotRead;
  assert.equal(why, "The disk answered ENOTDIR.");
});

test("a store that refuses, is away or never answers is reported without a secret", async (t) => {
  const key = Buffer.from("not a secret").toString("base64");
  const at = (port: number) => ({
    connectionString:
      `DefaultEndpointsProtocol=http;AccountName=letters;AccountKey=${key};` +
      `BlobEndpoint=http://127.0.0.1:${port}/letters;`,
  });
  const refusing = await serve(t, (response) => {
    const code = "<Code>AuthorizationFailure</Code>";
    response.writeHead(403, { "content-type": "application/xml" });
    response.end(`<?xml version="1.0"?><Error>${code}<Message>m</Message></Error>`);
  });
  const silent = await serve(t, () => {});
  const section = { letters: at(refusing.port), away: at(await freePort()), mute: at(silent.port) };
  const { reader, clock, close, activity } = openReader(t, section);
  const why = async (account: string) =>
    ((await reader.list({ ...box, account }, all)) as NotRead).why;
  assert.equal(await why("letters"), "The store answered 403 (AuthorizationFailure).");
  assert.match(await why("away"), /^The store gave no answer: .*ECONNREFUSED/);
  assert.ok(!(await why("away")).includes(key));
  assert.equal(await why("unknown"), "unknown is not in storageAccounts.");
  const waiting = why("mute");
  await silent.reached(1);
  clock.advance(30_000);
  assert.equal(await waiting, "The store gave no answer in time.");
  const cut = why("mute");
  await close();
  assert.equal(await cut, "The broker is stopping.");
  assert.equal(await why("mute"), "The broker is stopping.");
  assert.deepEqual([clock.alarms, activity.outside], [0, 0]);
});
