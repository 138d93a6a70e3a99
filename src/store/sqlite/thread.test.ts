// The embedded store on its thread: the contract, and what happens when the thread ends.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Folder, openOnThread, watchThread } from "../../../test/contract/embedded.ts";
import {
  gone,
  namesOf,
  openFront,
  queueOf,
  routedTo,
  startAt,
  subscriptionDraft,
  topicDraft,
  want,
} from "../../../test/contract/fixture.ts";
import { storeContract } from "../../../test/contract/store.ts";
import { Refusal } from "../../core/refusal.ts";
import { SqliteEngine } from "./engine.ts";
import { openThread } from "./thread.ts";

storeContract("the embedded store on its thread", openOnThread);

test("a thread that ends is told once, and its store refuses and can be closed", async () => {
  const folder = new Folder();
  const crash = Promise.withResolvers<Error>();
  const { engine, worker } = await watchThread(folder.file, crash.resolve);
  const store = openFront(engine);
  await worker.terminate();
  assert.match((await crash.promise).message, /thread has ended/);
  await assert.rejects(
    store.append(routedTo([1], "one"), startAt),
    (error) => error instanceof Refusal && error.code === "Unavailable",
  );
  await assert.rejects(store.counts(), /thread has ended/);
  await store.close();
  await store.close();
  folder.remove();
});

test("events that wait stay as they are while others come and go", async () => {
  const folder = new Folder();
  const { engine } = await watchThread(folder.file, (error) => assert.fail(error));
  const store = openFront(engine);
  await store.putTopic(topicDraft());
  const [busy, idle] = await Promise.all(
    ["busy", "idle"].map((name) => store.putSubscription(subscriptionDraft({ name }))),
  );
  const [first, second] = [busy?.id as number, idle?.id as number];
  const waiting: string[] = [];
  for (let count = 0; count < 20; count += 1) {
    const name = `${count}`;
    if (count % 5 > 2) waiting.push(name);
    await store.append(routedTo([count % 5 > 2 ? second : first], name), startAt);
    const { deliveries } = await store.claim(queueOf(first), want());
    await store.settle(deliveries.map(gone));
    if (count === 9) {
      // Nothing is left of what came before.
      const all = want({ max: waiting.length });
      const { deliveries: late } = await store.claim(queueOf(second), all);
      assert.deepEqual(namesOf(late), waiting.splice(0));
      await store.settle(late.map(gone));
    }
  }
  const { deliveries } = await store.claim(queueOf(second), want());
  assert.deepEqual(namesOf(deliveries), waiting);
  await store.close();
  folder.remove();
});

test("a thread that is closed is no crash", async () => {
  const folder = new Folder();
  let crashes = 0;
  const { engine } = await watchThread(folder.file, () => {
    crashes += 1;
  });
  await openFront(engine).close();
  assert.equal(crashes, 0);
  folder.remove();
});

test("a file that is in use is refused in words on the thread, too", async () => {
  const folder = new Folder();
  const engine = new SqliteEngine({ path: folder.file });
  await assert.rejects(
    openThread({ path: folder.file, onCrash: (error) => assert.fail(error) }),
    (error) =>
      error instanceof Refusal &&
      error.code === "Unavailable" &&
      /in use by another broker/.test(error.message),
  );
  engine.close();
  folder.remove();
});
