import assert from "node:assert/strict";
import { test } from "node:test";
import { startAt } from "../../../test/contract/fixture.ts";
import { subscriptionOf } from "../../../test/fixtures/story-notes.ts";
import { healthRules } from "../delivery/health.ts";
import type { QueueCount } from "../ledger.ts";
import type { Subscription } from "../subscription.ts";
import { firstLine, type Problem, problemsIn, type Situation } from "./problems.ts";

const minute = 60_000;
const shop = subscriptionOf(1, "shop");
const audit = subscriptionOf(2, "audit");

const calm: Situation = {
  ...{ now: startAt, endpoints: [], subscriptions: [shop, audit], queues: [], lately: [] },
  ...{ disk: null, storeFailure: null, stoppedDispatchers: 0 },
};

type EndpointOf = Situation["endpoints"][number];

function endpoint(over: Partial<EndpointOf> = {}): EndpointOf {
  return {
    ...{ name: "https://shop.test/hook", isDelayed: true, closure: null, sends: 0, changes: [] },
    ...{ health: { kind: "healthy", failures: 0 }, failures: 0, trouble: null, rules: healthRules },
    ...{ subscriptions: [shop], ...over },
  };
}

function queue(of: Subscription, over: Partial<QueueCount> = {}): QueueCount {
  const when = { oldestAt: startAt - minute, nextDueAt: startAt + minute };
  return { subscription: of.id, stage: "deliver", waiting: 7, ...when, ...over };
}

const unhealthy = { kind: "unhealthy", until: startAt + 2 * minute, waitMs: 1 } as const;
const busy = { kind: "answered", status: 503, excerpt: "\n <b>Down</b> \nmore" } as const;
const trouble = { since: startAt - 5 * minute, outcome: busy };

function judged(over: Partial<Situation>): readonly Problem[] {
  return problemsIn({ ...calm, ...over });
}

function titles(over: Partial<Situation>): string[] {
  return judged(over).map(({ kind, severity, title }) => `${severity} ${kind}: ${title}`);
}

test("where nothing is wrong there is no problem", () => {
  assert.deepEqual(judged({ endpoints: [endpoint(), endpoint({ failures: 2 })] }), []);
  assert.deepEqual(judged({ queues: [queue(shop), queue(audit, { stage: "deadLetter" })] }), []);
});

test("an unhealthy endpoint says what it answered, since when, and when it is tried again", () => {
  const ill = endpoint({ health: unhealthy, failures: 12, trouble });
  const [problem, ...others] = judged({ endpoints: [ill], queues: [queue(shop)] });
  assert.deepEqual(others, []);
  const { members, words, ...rest } = problem as Problem;
  assert.deepEqual(rest, {
    ...{ id: "unhealthy Answers 503 503 <b>Down</b>", kind: "unhealthy", severity: "error" },
    ...{ title: "Answers 503", status: 503, answer: "<b>Down</b>", since: startAt - 5 * minute },
    ...{ failures: 12, waiting: 7, nextTryAt: startAt + 2 * minute },
  });
  assert.deepEqual(members[0]?.subscriptions, [shop]);
  assert.match(words, /left alone/);
  assert.match(judged({ endpoints: [ill] })[0]?.words ?? "", /^Nothing waits for it/);
});

test("the next try is never in the past", () => {
  const due = { ...unhealthy, until: startAt - minute };
  const at = (over: Partial<EndpointOf>, queues: readonly QueueCount[]) =>
    judged({ endpoints: [endpoint({ failures: 12, trouble, ...over })], queues })[0]?.nextTryAt;
  assert.equal(at({ health: due }, [queue(shop)]), startAt + minute);
  assert.equal(at({ health: due }, [queue(shop, { nextDueAt: startAt - minute })]), startAt);
  assert.equal(at({ health: due }, []), null);
  const paused = { ...shop, flow: { kind: "paused", since: startAt } } as const;
  const held = { health: unhealthy, subscriptions: [paused] };
  assert.equal(at(held, [queue(shop)]), null, "what is paused is not tried");
});

test("the words for an endpoint name what to look for", () => {
  const table: [Partial<EndpointOf>, string][] = [
    [{ health: unhealthy, failures: 10 }, "error unhealthy: Fails"],
    [
      { health: { ...unhealthy, kind: "probing", startedAt: 0 }, trouble },
      "error unhealthy: Answers 503",
    ],
    [{ failures: 3, trouble }, "warning failing: Answers 503"],
    [{ isDelayed: false, failures: 30, trouble }, "warning failing: Answers 503"],
    [
      { failures: 3, trouble: { since: 1, outcome: { kind: "noReply", why: "timeout" } } },
      "warning failing: Does not answer in time",
    ],
    [
      { failures: 3, trouble: { since: 1, outcome: { kind: "noReply", why: "dns", detail: "x" } } },
      "warning failing: Its name cannot be found",
    ],
    [
      { health: unhealthy, failures: 12, closure: { at: startAt, because: "rebuilt" } },
      "warning closed: Closed by an operator",
    ],
  ];
  for (const [over, title] of table)
    assert.deepEqual(titles({ endpoints: [endpoint(over)] }), [title]);
  const health = { kind: "recovering", startedAt: 0, atOnce: 2, waitMs: 1 } as const;
  const back = { endpoints: [endpoint({ health })] };
  assert.deepEqual(titles({ ...back, queues: [queue(shop)] }), ["warning unhealthy: Recovers"]);
  assert.deepEqual(titles(back), [], "nothing waits for it");
  const closed = endpoint({ closure: { at: startAt, because: "rebuilt" } });
  assert.match(judged({ endpoints: [closed] })[0]?.words ?? "", /until it is opened: rebuilt\.$/);
});

test("equal problems are one, and its members come with the longest queue first", () => {
  const ill = { health: unhealthy, failures: 12, trouble };
  const other = { since: startAt - 9 * minute, outcome: { ...busy, status: 500 } };
  const problems = judged({
    endpoints: [
      endpoint({ ...ill, name: "a" }),
      endpoint({ ...ill, name: "b", subscriptions: [audit], failures: 1 }),
      endpoint({ ...ill, name: "c", subscriptions: [], trouble: other }),
    ],
    queues: [queue(shop), queue(audit, { waiting: 9 })],
  });
  assert.deepEqual(
    problems.map(({ title, failures, waiting, members }) => [
      ...[title, failures, waiting],
      members.map((member) => member.endpoint).join(),
    ]),
    [
      ["Answers 503", 13, 16, "b,a"],
      ["Answers 500", 12, 0, "c"],
    ],
  );
});

function asked(over: Partial<Subscription>, answer?: string): Subscription {
  const exchanges =
    answer === undefined
      ? []
      : [{ at: startAt, request: "POST", answer, verdict: "No code came." }];
  const handshake = {
    ...{ code: "A", startedAt: startAt, until: startAt + minute, pending: null },
    ...{ exchanges, allowedRate: null },
  };
  return { ...shop, isActive: false, handshake, ...over };
}

test("answers that differ only in ids, numbers and times are the same error", () => {
  const said = (excerpt: string) =>
    endpoint({
      ...{ health: unhealthy, failures: 12 },
      trouble: { ...trouble, outcome: { ...busy, excerpt } },
    });
  const alike = judged({
    endpoints: [
      said('{"request":"8f3c1d2e-77aa-4c1b-9d0e-0123456789ab","at":"10:00:01"}'),
      said('{"request":"0a1b2c3d-1111-4222-8333-abcdefabcdef","at":"10:07:59"}'),
    ],
  });
  assert.deepEqual([alike.length, alike[0]?.members.length], [1, 2]);
  assert.match(alike[0]?.answer ?? "", /8f3c1d2e/, "one of them is shown as it is");
  const [later] = judged({
    endpoints: [said('{"request":"ffffffff-1111-4222-8333-abcdefabcdef","at":"11:00:00"}')],
  });
  assert.equal(later?.id, alike[0]?.id, "it is the same problem after another answer");
  const words = ["upstream timed out", "no such tenant"].map(said);
  assert.equal(judged({ endpoints: words }).length, 2, "other words are another error");
});

test("subscriptions that get nothing, or lose something, are problems", () => {
  const lately = { subscription: shop.id, dropped: 0, deadLettered: 0, since: startAt };
  const stuck = queue(shop, { stage: "deadLetter", oldestAt: startAt - 15 * minute });
  const table: [Partial<Situation>, string[]][] = [
    [
      { subscriptions: [{ ...shop, flow: { kind: "paused", since: startAt } }] },
      ["warning paused: Paused"],
    ],
    [{ subscriptions: [asked({ state: "Failed" })] }, ["error handshake: The handshake failed"]],
    [
      { subscriptions: [asked({ state: "AwaitingManualAction" }, "200")] },
      ["warning handshake: The handshake waits for a person"],
    ],
    [{ subscriptions: [asked({ state: "Creating" })] }, []],
    [
      { subscriptions: [asked({ state: "Creating" }, "connect ECONNREFUSED")] },
      ["warning handshake: The handshake is not answered yet"],
    ],
    [{ lately: [{ ...lately, dropped: 1 }] }, ["error dropping: Events are dropped"]],
    [{ lately: [{ ...lately, deadLettered: 9 }] }, []],
    [{ lately: [{ ...lately, deadLettered: 10 }] }, ["warning deadLetters: Dead letters pile up"]],
    [{ queues: [stuck] }, ["error deadLetterStore: Dead letters cannot be written"]],
  ];
  for (const [over, expected] of table) assert.deepEqual(titles(over), expected);
  const [failed] = judged({ subscriptions: [asked({ state: "Failed" }, "404 no such page")] });
  assert.deepEqual([failed?.status, failed?.answer], [404, "no such page"]);
  assert.equal(failed?.words, "No code came. It gets no events.");
  const silent = asked({ state: "Failed" }, "");
  const exchanges = [{ at: startAt, request: "", answer: "", verdict: "connect ECONNREFUSED" }];
  const handshake = silent.handshake && { ...silent.handshake, exchanges };
  const [stopped] = judged({ subscriptions: [{ ...silent, handshake }] });
  assert.equal(stopped?.words, "connect ECONNREFUSED. It gets no events.");
  const [refused] = judged({ subscriptions: [asked({ state: "Failed" }, "ECONNREFUSED")] });
  assert.deepEqual([refused?.status, refused?.answer], [null, "ECONNREFUSED"]);
});

test("a disk that fills is a problem before it is full", () => {
  const gib = 2 ** 30;
  const table: [freeGib: number, totalGib: number, string | undefined][] = [
    [20, 100, undefined],
    [1.1, 100, undefined],
    [0.9, 100, "warning"],
    [0.2, 100, "error"],
    [0.2, 1, undefined],
    [0.05, 1, "warning"],
    [0.01, 1, "error"],
  ];
  for (const [free, total, severity] of table) {
    const disk = { freeBytes: free * gib, totalBytes: total * gib };
    assert.equal(judged({ disk })[0]?.severity, severity, `${free} of ${total}`);
  }
});

test("what stops everything comes first, and warnings come last", () => {
  const order = titles({
    storeFailure: "disk full",
    stoppedDispatchers: 1,
    subscriptions: [
      { ...shop, flow: { kind: "paused", since: startAt } },
      { ...audit, state: "Failed" },
    ],
    endpoints: [endpoint({ health: unhealthy, failures: 12, trouble })],
  });
  assert.deepEqual(order, [
    "error store: The store cannot write",
    "error dispatcher: A dispatcher has stopped",
    "error unhealthy: Answers 503",
    "error handshake: The handshake failed",
    "warning paused: Paused",
  ]);
});

test("of a text the first line with something in it is shown, and not too much of it", () => {
  assert.equal(firstLine(undefined), null);
  assert.equal(firstLine(" \n\t\r\n"), null);
  assert.equal(firstLine("\r\n  one \r\ntwo"), "one");
  assert.equal(firstLine("x".repeat(500))?.length, 201);
});
