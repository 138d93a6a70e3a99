// Writing dead letters to a folder, on a real disk. Timeouts and late answers are those of
// client-send.ts, and are tested where an endpoint can be made to wait (blob-writer.test.ts).

import assert from "node:assert/strict";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { pathToFileURL } from "node:url";
import {
  answeredOf,
  CountedActivity,
  HandClock,
  noReplyOf,
  parcelOf,
} from "../../../test/contract/sink.ts";
import { parseStorageAccounts, storageArmId } from "../../core/azure/storage.ts";
import { deadLettersOf } from "../../core/deadletter/record.ts";
import type { DeadLetterDestination } from "../../core/subscription.ts";
import { openFolder } from "./folder-writer.ts";
import { openDeadLetters } from "./sink.ts";

const account = "letters";
const group = { subscriptionId: "s", resourceGroup: "rg" };
const destination: DeadLetterDestination = {
  kind: "blob",
  resourceId: storageArmId({ group, account }),
  container: "box",
};
const parcel = parcelOf(['{"id":"a","data":"ü"}', '{"id":"b"}']);
const hour = "WAREHOUSE/2021/7/1/12";

function openSender(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), "posthorn-dead-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const clock = new HandClock();
  const activity = new CountedActivity();
  let made = 0;
  const store = { kind: "folder", path: join(folder, "dead") } as const;
  const sink = openDeadLetters({
    ...{ clock, activity },
    ids: { next: () => `guid-${++made}` },
    accounts: parseStorageAccounts({ [account]: { folder: store.path } }),
  });
  const send = (signal = new AbortController().signal) =>
    sink.send(parcel, destination, { waitMs: 30_000, lateMs: 30_000, signal });
  const files = () =>
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .sort();
  return { folder, path: store.path, clock, activity, sink, send, files };
}

test("a folder has the layout of a storage account, made as it is needed", async (t) => {
  const { path, send, files, clock, activity } = openSender(t);
  const { status, written } = answeredOf(await send());
  await send();
  const [first, second] = ["guid-1", "guid-2"].map((id) => join(path, "box", hour, `${id}.json`));
  assert.ok(first && second);
  assert.deepEqual(files(), [first, second]);
  assert.equal(readFileSync(first, "utf8"), deadLettersOf(parcel));
  assert.equal(status, 201);
  assert.deepEqual(written, {
    ...{ container: "box", path: `${hour}/guid-1.json`, etag: '"guid-1"' },
    url: pathToFileURL(first).href,
    bytes: readFileSync(first).length,
  });
  assert.equal(activity.outside, 0);
  assert.equal(clock.alarms, 0);
});

test("dead letters are for their owner alone, whatever the umask", async (t) => {
  const { folder, path, send } = openSender(t);
  const before = process.umask(0);
  t.after(() => process.umask(before));
  await send();
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  assert.equal(entries.length, 8);
  for (const entry of entries) {
    const { mode } = statSync(join(entry.parentPath, entry.name));
    assert.equal(mode & 0o777, entry.isFile() ? 0o600 : 0o700, entry.name);
  }
  assert.ok(existsSync(path));
});

test("a virtual clock waits for the disk, also for one that refuses", async (t) => {
  const { path, send, activity } = openSender(t);
  const sent = send();
  assert.equal(activity.inside, 1);
  await sent;
  assert.equal(activity.inside, 0);
  rmSync(path, { recursive: true });
  writeFileSync(path, "a file where the folder should be");
  await send();
  assert.equal(activity.inside, 0);
});

test("what the disk refuses is an answer with its code, and leaves nothing behind", async (t) => {
  const { path, send, files, activity, clock } = openSender(t);
  writeFileSync(path, "a file where the folder should be");
  const refused = answeredOf(await send());
  assert.equal(refused.status, 409);
  assert.match(refused.detail ?? "", /^(ENOTDIR|EEXIST)$/);
  assert.deepEqual(files(), [path]);
  rmSync(path);
  assert.equal(answeredOf(await send()).status, 201);
  assert.equal(activity.outside, 0);
  assert.equal(clock.alarms, 0);
});

test("a full disk is a 507, and leaves nothing behind", async (t) => {
  if (!existsSync("/dev/full")) return t.skip("this system has no disk that is always full");
  const { path, send, files } = openSender(t);
  const folder = join(path, "box", hour);
  mkdirSync(folder, { recursive: true });
  symlinkSync("/dev/full", join(folder, "guid-1.json.part"));
  const { status, detail } = answeredOf(await send());
  assert.deepEqual([status, detail], [507, "ENOSPC"]);
  assert.deepEqual(files(), []);
  assert.equal(answeredOf(await send()).status, 201);
});

test("a place where nobody may write is a 403", async (t) => {
  if (!existsSync("/sys/kernel")) return t.skip("this system has no such place");
  const store = openFolder({ path: "/sys/kernel" });
  const blob = { container: "box", path: `${hour}/x.json`, text: "[]" };
  const { status } = answeredOf(await store.put(blob, new AbortController().signal));
  assert.equal(status, 403);
});

test("a write that was broken off is no file, nor half of one", async (t) => {
  const { folder, files } = openSender(t);
  const store = openFolder({ path: folder });
  const blob = { container: "box", path: `${hour}/x.json`, text: "[]" };
  assert.equal(noReplyOf(await store.put(blob, AbortSignal.abort())).why, "canceled");
  assert.deepEqual(files(), []);
  assert.equal(answeredOf(await store.put(blob, new AbortController().signal)).status, 201);
  assert.equal(files().length, 1);
});

test("after an abort, and after the close, nothing is written any more", async (t) => {
  const { send, sink, files } = openSender(t);
  assert.equal(noReplyOf(await send(AbortSignal.abort())).why, "canceled");
  await Promise.all([sink.close(), sink.close()]);
  assert.equal(noReplyOf(await send()).why, "canceled");
  assert.deepEqual(files(), []);
});
