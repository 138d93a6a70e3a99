// A real I/O error. The system forbids a process that holds a store to make its files longer, so
// that writes fail in the middle of a commit; then it allows it again. The store must refuse,
// keep what it has and recover by itself.

import assert from "node:assert/strict";
import { type ChildProcess, execFileSync, fork } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import { SqliteEngine } from "../src/store/sqlite/engine.ts";
import { openInline } from "../src/store/sqlite/thread.ts";
import { Folder } from "./contract/embedded.ts";
import { namesOf, openFront, queueOf } from "./contract/fixture.ts";
import type { Order, Report } from "./faults/store-process.ts";
import { whyNoFileLimit } from "./fixtures/file-limit.ts";

test("a store outlives an I/O error and loses nothing", { skip: whyNoFileLimit() }, async () => {
  const folder = new Folder();
  const child = fork(new URL("./faults/store-process.ts", import.meta.url), [folder.file]);
  const ended = new AbortController();
  child.once("exit", () => ended.abort());
  const report = async () => (await once(child, "message", ended))[0] as Report;
  const tell = async (order: Order) => {
    const answer = report();
    child.send(order);
    return await answer;
  };
  try {
    await report();
    const publish = (name: string) => tell({ kind: "publish", name });
    const accepted: string[] = [];
    const accept = async (name: string) => {
      assert.deepEqual(await publish(name), { kind: "accepted" });
      accepted.push(name);
    };
    for (let count = 0; count < 20; count++) await accept(`before-${count}`);

    // Neither the log nor the journal can be written to any more.
    limitFiles(child, "8");
    for (let count = 0; count < 5; count++) {
      assert.deepEqual(await publish(`during-${count}`), { kind: "refused", code: "Unavailable" });
    }
    const failed = await tell({ kind: "take", max: 3 });
    assert.deepEqual(
      failed,
      { kind: "refused", code: "Unavailable" },
      "nor can anything be settled",
    );

    limitFiles(child, "unlimited");
    for (let count = 0; count < 5; count++) await accept(`after-${count}`);
    const taken = await tell({ kind: "take", max: 3 });
    assert.deepEqual(taken, { kind: "taken", names: accepted.slice(0, 3) });

    child.kill("SIGKILL");
    await once(child, "exit");
    const store = openFront(openInline(new SqliteEngine({ path: folder.file })));
    const [subscription] = (await store.catalog()).subscriptions;
    const page = { after: 0, limit: 100 };
    const waiting = await store.waiting(queueOf(subscription?.id as number), page);
    assert.deepEqual(namesOf(waiting), accepted.slice(3));
    await store.close();
  } finally {
    child.kill("SIGKILL");
    folder.remove();
  }
});

/** How long a file the process may write. Only the soft limit, which may be raised again. */
function limitFiles(child: ChildProcess, bytes: string): void {
  execFileSync("prlimit", ["--pid", String(child.pid), `--fsize=${bytes}:`]);
}
