import assert from "node:assert/strict";
import { test } from "node:test";
import type { LiveEvent } from "../../core/api/views.ts";
import { Live } from "../api/live.ts";
import { openLiveRelay } from "./live-relay.ts";

const inbox = (name: string) => ({ kind: "inbox", inbox: name }) as unknown as LiveEvent;

/** Two brokers that ask each other at once. */
function openTwo() {
  let now = 0;
  const answers = new Map<string, (order: never) => Promise<unknown>>();
  const asked: string[] = [];
  const open = (broker: string) => {
    const live = new Live();
    let ring = () => {};
    const close = openLiveRelay({
      ...{ live, broker, clock: { now: () => now } },
      every: (_ms, act) => {
        ring = act;
        return () => {};
      },
      calls: {
        answer: (_verb, act) => void answers.set(broker, act as (order: never) => Promise<unknown>),
        async askAll<T>(_verb: string, order: unknown) {
          asked.push(broker);
          const others = [...answers].filter(([name]) => name !== broker);
          return (await Promise.all(others.map(([, act]) => act(order as never)))) as T[];
        },
      },
    });
    const beat = async () => {
      now += 1_000;
      ring();
      await new Promise((resolve) => setImmediate(resolve));
    };
    return { live, beat, close };
  };
  return { one: open("one"), other: open("other"), asked };
}

async function watch(live: Live) {
  const seen: string[] = [];
  const answer = await live.handlers.watch({ query: {} } as never);
  assert.ok("stream" in answer && answer.stream !== undefined);
  const stop = answer.stream({ write: (text: string) => seen.push(text) > 0 } as never);
  return { seen: () => seen.filter((text) => text !== ":\n\n"), stop: stop as () => void };
}

test("who watches one broker sees what happens at the other, once", async () => {
  const { one, other, asked } = openTwo();
  other.live.tell(inbox("before"));
  await one.beat();
  assert.deepEqual(asked, [], "nobody watches");
  const { seen, stop } = await watch(one.live);
  await one.beat();
  other.live.tell(inbox("a"));
  other.live.tell({ kind: "catalog" });
  await one.beat();
  await one.beat();
  assert.equal(seen().length, 1);
  assert.match(seen()[0] ?? "", /"inbox":"a"/);
  stop();
  await one.beat();
  assert.equal(asked.length, 3);
  one.close();
  other.close();
});

test("nothing is kept for who does not ask any more, and not much for who does", async () => {
  const { one, other } = openTwo();
  const { seen, stop } = await watch(one.live);
  await one.beat();
  for (let count = 0; count < 500; count++) other.live.tell(inbox(`e${count}`));
  await one.beat();
  assert.match(seen()[0] ?? "", /event: missed\ndata: \{"count":300\}/);
  stop();
  assert.ok(other.live.isHeard);
  for (let seconds = 0; seconds < 7; seconds++) await other.beat();
  assert.ok(!other.live.isHeard);
  one.close();
  other.close();
});
