// The front of the embedded store: rounds, their limits and their end.

import assert from "node:assert/strict";
import { test } from "node:test";
import { openFront, queueOf, routedTo, startAt, want } from "../../../test/contract/fixture.ts";
import type { Clock } from "../../core/ports.ts";
import { Refusal, type RefusalCode } from "../../core/refusal.ts";
import { type Engine, FrontStore } from "./front.ts";
import type { Op, Round } from "./round.ts";

test("what comes while a round is under way shares the next one", async () => {
  const engine = new SlowEngine();
  const store = openFront(engine);
  const first = store.append(routedTo([1], "a"), startAt);
  const together = store.counts();
  await engine.runs(1);
  const later = [
    store.append(routedTo([1], "b"), startAt),
    store.append(routedTo([1], "c"), startAt),
    store.claim(queueOf(1), want()),
  ];
  engine.answer();
  await Promise.all([first, together]);
  await engine.runs(2);
  engine.answer();
  await Promise.all(later);
  assert.deepEqual(
    engine.rounds.map((ops) => ops.map(({ kind }) => kind)),
    [
      ["append", "counts"],
      ["append", "append", "claim"],
    ],
  );
});

test("a round takes so much, and what is beyond it shares the next one", async () => {
  const engine = new SlowEngine();
  const store = openFront(engine);
  const large = "x".repeat(900_000);
  const first = [1, 2].map(() => store.append(routedTo([1], large), startAt));
  const rest = [
    store.append(routedTo([1], large), startAt),
    store.settle([]),
    store.append(routedTo([1], large), startAt),
  ];
  await engine.runs(1);
  engine.answer();
  await Promise.all(first);
  await engine.runs(2);
  engine.answer();
  await Promise.all(rest);
  // What is larger than a round goes alone.
  const larger = [3_000_000, 10].map((length) =>
    store.append(routedTo([1], "x".repeat(length)), startAt),
  );
  await engine.runs(3);
  engine.answer();
  await engine.runs(4);
  engine.answer();
  await Promise.all(larger);
  assert.deepEqual(
    engine.rounds.map((ops) => ops.map(({ kind }) => kind)),
    [["append", "append"], ["append", "settle", "append"], ["append"], ["append"]],
  );
});

for (const isBusy of [true, false]) {
  test(`publishes that come together wait for others: ${isBusy}, as the event loop is busy`, async () => {
    const engine = new SlowEngine();
    let waits = 0;
    const store = new FrontStore({
      engine,
      activity: { begin: () => () => {} },
      clock: {
        now: () => startAt,
        after(_, ring) {
          waits += 1;
          ring();
          return () => {};
        },
      },
      eventLoop: { isBusy: () => isBusy, turn: async () => {} },
      ...{ gatherMs: 3, waitingCharsMax: 100_000, retryAfterMs: 1 },
    });
    for (let count = 1; count <= 3; count++) {
      const appends = ["a", "b"].map((name) => store.append(routedTo([1], name), startAt));
      await engine.runs(count);
      engine.answer();
      await Promise.all(appends);
    }
    assert.equal(waits > 0, isBusy);
    await Promise.all([store.close(), engine.runs(4).then(() => engine.answer())]);
  });
}

test("among many publishers a round waits until some turns bring nothing more", async () => {
  const engine = new SlowEngine();
  /** What comes in each turn of the next round, as far as that is said. */
  let coming: number[] = [];
  let turns = 0;
  const publish = (count: number) => {
    for (let left = count; left > 0; left -= 1) void store.append(routedTo([1], "a"), startAt);
  };
  const store = new FrontStore({
    engine,
    activity: { begin: () => () => {} },
    clock: { now: () => startAt, after: () => () => {} },
    eventLoop: {
      isBusy: () => false,
      async turn() {
        turns += 1;
        publish(coming.shift() ?? 0);
      },
    },
    ...{ gatherMs: 0, waitingCharsMax: 100_000, retryAfterMs: 1 },
  });
  const rounds: { readonly size: number; readonly turns: number }[] = [];
  publish(1);
  for (const [meanwhile, inTurns] of [
    [2, []],
    [1, [0, 3, 0, 0, 0, 1]],
    [70, []],
    [1, []],
    [0, []],
  ] as const) {
    await engine.runs(rounds.length + 1);
    rounds.push({ size: engine.rounds.at(-1)?.length ?? 0, turns });
    turns = 0;
    coming = [...inTurns];
    publish(meanwhile);
    engine.answer();
  }
  assert.deepEqual(rounds, [
    { size: 1, turns: 1 },
    { size: 2, turns: 1 },
    { size: 5, turns: 10 },
    { size: 70, turns: 1 },
    { size: 1, turns: 5 },
  ]);
  const closed = store.close();
  await engine.runs(6);
  engine.answer();
  await closed;
});

test("of many queues that a round wakes, each turn of the event loop wakes some, in order", async () => {
  const subscriptions = Array.from({ length: 40 }, (_, index) => index + 1);
  const wakes = subscriptions.map((id) => ({ queue: queueOf(id), dueAt: startAt }));
  const turns: number[] = [];
  const woken: number[] = [];
  const all = Promise.withResolvers<void>();
  const store = new FrontStore({
    engine: {
      run: async (ops) => ({ ...quietRound, answers: ops.map(() => done), wakes }),
      close: async () => {},
    },
    activity: { begin: () => () => {} },
    clock: { now: () => startAt, after: () => () => {} },
    eventLoop: { isBusy: () => false, turn: async () => void turns.push(woken.length) },
    ...{ gatherMs: 0, waitingCharsMax: 100_000, retryAfterMs: 1 },
  });
  store.onWake(({ queue }) => {
    woken.push(queue.subscription);
    if (woken.length === subscriptions.length) all.resolve();
  });
  await store.counts();
  assert.ok(woken.length < subscriptions.length, "some of them later");
  await all.promise;
  assert.deepEqual(woken, subscriptions);
  // One before the round, and two between the wakes.
  assert.equal(turns.length, 3);
  assert.ok((turns[1] ?? 0) > 0, "and some at once");
});

test("publishes are refused while more waits for the disk than is held", async () => {
  const engine = new SlowEngine();
  const store = new FrontStore({
    engine,
    activity: { begin: () => () => {} },
    clock: { now: () => startAt, after: () => () => {} },
    gatherMs: 0,
    waitingCharsMax: 30,
    retryAfterMs: 1234,
  });
  const fits = store.append(routedTo([1], "a-long-enough-name"), startAt);
  const refused = store.append(routedTo([1], "b"), startAt);
  await assert.rejects(refused, refusal("TooManyRequests", 1234));
  await engine.runs(1);
  engine.answer();
  await fits;
  const large = store.append(routedTo([1], "one-larger-than-the-bound-goes-alone"), startAt);
  await engine.runs(2);
  engine.answer();
  await large;
});

test("publishes are refused while the disk is behind, until it has caught up", async () => {
  const engine = new SlowEngine();
  const clock = { at: startAt, now: () => clock.at, after: () => () => {} };
  const store = new FrontStore({
    ...{ engine, clock, activity: { begin: () => () => {} } },
    ...{ gatherMs: 0, waitingCharsMax: 100_000_000, waitMsMax: 2_000, retryAfterMs: 1234 },
  });
  const append = (name: string) => store.append(routedTo([1], name), clock.now());
  const slow = append("slow");
  await engine.runs(1);
  clock.at += 2_000;
  const inTime = append("in-time");
  clock.at += 1;
  await assert.rejects(append("late"), refusal("TooManyRequests", 1234));
  engine.answer();
  await slow;
  await engine.runs(2);
  // The oldest of what is left has waited one millisecond: half the bound is not reached.
  const again = append("again");
  clock.at += 1_500;
  const more = append("more");
  engine.answer();
  await engine.runs(3);
  engine.answer();
  await Promise.all([inTime, again, more]);
});

test("a disk that was slow with a large round is not given as much again", async () => {
  const engine = new SlowEngine();
  const clock = { at: startAt, now: () => clock.at, after: () => () => {} };
  const store = new FrontStore({
    ...{ engine, clock, activity: { begin: () => () => {} } },
    ...{ gatherMs: 0, waitingCharsMax: 100_000_000, waitMsMax: 2_000, retryAfterMs: 1234 },
  });
  const large = "x".repeat(500_000);
  const append = () => store.append(routedTo([1], large), clock.now());
  // Four of them took a little more than four seconds.
  const first = Promise.all([append(), append(), append(), append()]);
  await engine.runs(1);
  clock.at += 4_100;
  engine.answer();
  await first;
  const second = [append(), append()];
  await assert.rejects(append(), refusal("TooManyRequests", 1234));
  await engine.runs(2);
  engine.answer();
  await Promise.all(second);
  // Nothing waits, and the disk has shown that it can.
  const third = [append(), append(), append(), append()];
  await engine.runs(3);
  engine.answer();
  await Promise.all(third);
});

test("a round of settlements waits for company, one that somebody waits for does not", async () => {
  const engine = new SlowEngine();
  const rings: (() => void)[] = [];
  const clock: Clock = {
    now: () => startAt,
    after(_, ring) {
      rings.push(ring);
      return () => {};
    },
  };
  const store = openFront(engine, clock);
  const alone = store.settle([]);
  await turn();
  assert.equal(engine.rounds.length, 0);
  rings.shift()?.();
  await engine.runs(1);
  engine.answer();
  await alone;
  const settle = store.settle([]);
  await turn();
  const claim = store.claim(queueOf(1), want());
  await engine.runs(2);
  engine.answer();
  await Promise.all([settle, claim]);
  assert.deepEqual(
    engine.rounds.map((ops) => ops.map(({ kind }) => kind)),
    [["settle"], ["settle", "claim"]],
  );
});

test("closing answers what was asked before and refuses what is asked after", async () => {
  const engine = new SlowEngine();
  const store = openFront(engine);
  const before = store.append(routedTo([1], "a"), startAt);
  await engine.runs(1);
  const closed = store.close();
  await assert.rejects(store.append(routedTo([1], "b"), startAt), refusal("Unavailable"));
  await assert.rejects(store.counts(), refusal("Unavailable"));
  engine.answer();
  await before;
  assert.equal(engine.isClosed, false);
  await engine.runs(2);
  engine.answer();
  await closed;
  assert.equal(engine.isClosed, true);
});

test("an engine that is gone refuses everything, with its reason", async () => {
  const broken = new Error("gone");
  const store = openFront({ run: () => Promise.reject(broken), close: async () => {} });
  await assert.rejects(store.append(routedTo([1], "a"), startAt), (error) => {
    return refusal("Unavailable", 1000)(error) && (error as Refusal).cause === broken;
  });
  await assert.rejects(store.claim(queueOf(1), want()), refusal("Unavailable", 1000));
  await store.close();
});

test("a store that cannot write says why, and tries until it can again", async () => {
  const rings: (() => void)[] = [];
  const clock: Clock = {
    now: () => startAt,
    after(_, ring) {
      rings.push(ring);
      return () => {};
    },
  };
  let isFull = true;
  const engine: Engine = {
    run: async (ops) => ({ ...quietRound, answers: ops.map(() => (isFull ? failed : done)) }),
    async close() {},
  };
  const store = openFront(engine, clock);
  assert.equal(store.failure, null);
  await assert.rejects(store.append(routedTo([1], "a"), startAt), /: disk I\/O error\.$/);
  assert.equal(store.failure, "disk I/O error");
  rings.pop()?.();
  await turn();
  assert.equal(store.failure, "disk I/O error");
  isFull = false;
  rings.pop()?.();
  await turn();
  assert.equal(store.failure, null);
  assert.equal(rings.length, 0);
  await store.close();
});

test("what a removal left is swept again by itself after the disk has failed", async () => {
  const rings: (() => void)[] = [];
  const clock: Clock = {
    now: () => startAt,
    after(_, ring) {
      rings.push(ring);
      return () => {};
    },
  };
  const rounds: string[] = [];
  const engine: Engine = {
    async run(ops) {
      rounds.push(ops.map(({ kind }) => kind).join());
      const isFailed = rounds.length === 2;
      const answer = isFailed ? failed : done;
      const sweep = ops.some(({ kind }) => kind === "removeSubscription");
      return { ...quietRound, answers: ops.map(() => answer), sweep };
    },
    async close() {},
  };
  const store = openFront(engine, clock);
  await store.removeSubscription(1);
  await turn();
  assert.deepEqual(rounds, ["removeSubscription", "sweep"]);
  rings.pop()?.();
  await turn();
  assert.deepEqual(rounds, ["removeSubscription", "sweep", "putNote,sweep"]);
  assert.equal(rings.length, 0);
  await store.close();
});

test("what was dropped before anybody listened is told to the first who does", async () => {
  const dropped = [{ subscription: 7, count: 3 }];
  const engine: Engine = {
    run: async (ops) => ({ ...quietRound, answers: ops.map(() => done), dropped }),
    async close() {},
  };
  const store = openFront(engine);
  await store.counts();
  const heard: number[][] = [];
  store.onDropped((subscription, count) => heard.push([subscription, count]));
  assert.deepEqual(heard, [[7, 3]]);
  await store.counts();
  assert.deepEqual(heard, [
    [7, 3],
    [7, 3],
  ]);
  await store.close();
});

const done = { kind: "done", value: undefined } as const;
const failed = { kind: "failed", reason: "disk I/O error" } as const;
const quietRound = { pushes: [], wakes: [], changed: null, dropped: [], sweep: false };

/** An engine that answers when the test decides. */
class SlowEngine implements Engine {
  readonly rounds: (readonly Op[])[] = [];
  isClosed = false;
  #answer: ((round: Round) => void) | null = null;
  #onRun: (() => void) | null = null;

  run(ops: readonly Op[]): Promise<Round> {
    this.rounds.push(ops);
    this.#onRun?.();
    return new Promise((resolve) => {
      this.#answer = resolve;
    });
  }

  async close(): Promise<void> {
    this.isClosed = true;
  }

  /** Resolves when this many rounds have come. */
  runs(count: number): Promise<void> {
    return new Promise((resolve) => {
      this.#onRun = () => {
        if (this.rounds.length >= count) resolve();
      };
      this.#onRun();
    });
  }

  answer(): void {
    const answers = (this.rounds.at(-1) ?? []).map(() => done);
    this.#answer?.({ ...quietRound, answers });
  }
}

/** Lets everything that is ready run. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function refusal(code: RefusalCode, retryAfterMs?: number): (error: unknown) => boolean {
  return (error) =>
    error instanceof Refusal && error.code === code && error.retryAfterMs === retryAfterMs;
}
