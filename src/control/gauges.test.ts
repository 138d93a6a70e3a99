import assert from "node:assert/strict";
import { test } from "node:test";
import { subscriptionDraft } from "../../test/contract/fixture.ts";
import type { EndpointView } from "../core/api/views.ts";
import type { QueueCount } from "../core/ledger.ts";
import type { Sample } from "../core/ports.ts";
import type { Subscription } from "../core/subscription.ts";
import { type GaugeDeps, readGauges } from "./gauges.ts";

const now = 1_000_000;
const deadLetter = { kind: "blob", resourceId: "/a", container: "dead" } as const;

function subscriptionOf(id: number, changes: Partial<Subscription> = {}): Subscription {
  return { ...subscriptionDraft({ topic: "orders", name: `s${id}` }), id, revision: 1, ...changes };
}

const subscriptions = [
  subscriptionOf(1),
  subscriptionOf(2, { deadLetter }),
  subscriptionOf(3, { topic: "shop", domainTopic: "eu" }),
];

const queues: readonly QueueCount[] = [
  { subscription: 1, stage: "deliver", waiting: 7, oldestAt: now - 90_000, nextDueAt: now },
  { subscription: 3, stage: "deadLetter", waiting: 1, oldestAt: now + 5, nextDueAt: now },
];

const health = { kind: "unhealthy", words: "", failures: 0, until: null } as const;
const endpoint: EndpointView = {
  endpoint: "https://hooks.test/secret-path",
  health,
  isDelayed: true,
  subscriptions: [
    { topic: "orders", domainTopic: null, name: "s1", health },
    { topic: "shop", domainTopic: "eu", name: "s3", health },
  ],
  sendsUnderWay: 3,
  said: null,
  waiting: 7,
  history: [],
  rules: "",
};

const linesOf = (samples: readonly Sample[]) =>
  samples.map(({ name, labels, value }) => `${name} ${JSON.stringify(labels)} ${value}`);

const deps = (changes: Partial<GaugeDeps> = {}): GaugeDeps => ({
  ledger: {
    counts: async () => queues,
    waiting: async () => [],
  } as unknown as GaugeDeps["ledger"],
  catalog: () => ({ topics: [], subscriptions }),
  endpoints: async () => [endpoint],
  evaluations: new Map([[3, { count: 12 }]]),
  clock: { now: () => now, after: () => () => {} },
  whyNotReady: () => null,
  ...changes,
});

test("what waits is told with its age, and what does not as none", async () => {
  const lines = linesOf(await readGauges(deps()));
  const s1 = '{"topic":"orders","subscription":"s1","stage":"deliver"}';
  const s2 = '{"topic":"orders","subscription":"s2","stage":"deadLetter"}';
  const s3 = '{"topic":"shop","subscription":"s3","domain_topic":"eu","stage":"deadLetter"}';
  for (const line of [
    `posthorn_waiting_events ${s1} 7`,
    `posthorn_oldest_waiting_seconds ${s1} 90`,
    `posthorn_waiting_events ${s2} 0`,
    `posthorn_oldest_waiting_seconds ${s2} 0`,
    `posthorn_waiting_events ${s3} 1`,
    `posthorn_oldest_waiting_seconds ${s3} 0`,
  ]) {
    assert.ok(lines.includes(line), line);
  }
  const none = '{"topic":"orders","subscription":"s1","stage":"deadLetter"}';
  assert.ok(!lines.some((line) => line.includes(none)), "there is nowhere to put its dead letters");
});

test("an endpoint is told by its subscriptions and its state, never by its URL", async () => {
  const lines = linesOf(await readGauges(deps()));
  assert.deepEqual(
    lines.filter((line) => line.startsWith("posthorn_endpoint_state")),
    [
      'posthorn_endpoint_state {"topic":"orders","subscription":"s1","state":"unhealthy"} 1',
      'posthorn_endpoint_state {"topic":"shop","subscription":"s3","domain_topic":"eu","state":"unhealthy"} 1',
    ],
  );
  assert.ok(lines.includes("posthorn_sends_under_way {} 3"));
  assert.ok(!lines.join().includes("secret-path"));
});

test("advanced filters are told under Azure's label for subscriptions", async () => {
  const lines = linesOf(await readGauges(deps()));
  const labels = '{"topic":"shop","domain_topic":"eu","event_subscription_name":"s3"}';
  assert.ok(lines.includes(`eventgrid_advanced_filter_evaluation_count_total ${labels} 12`));
});

test("a store that does not answer leaves out what it would have told", async () => {
  const failing = { counts: () => Promise.reject(new Error("the disk")) };
  const ledger = failing as unknown as GaugeDeps["ledger"];
  const lines = linesOf(await readGauges(deps({ ledger, whyNotReady: () => "The disk." })));
  assert.ok(lines.includes("posthorn_ready {} 0"));
  assert.ok(lines.includes("posthorn_subscriptions {} 3"));
  assert.ok(!lines.some((line) => line.startsWith("posthorn_waiting")), "not that nothing waits");
});
