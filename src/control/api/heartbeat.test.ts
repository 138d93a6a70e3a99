import assert from "node:assert/strict";
import { test } from "node:test";
import { plainRequest } from "../../../test/fixtures/request.ts";
import type { EndpointView } from "../../core/api/views.ts";
import type { QueueCount } from "../../core/ledger.ts";
import { type HeartbeatDeps, startHeartbeat } from "./heartbeat.ts";
import { Live } from "./live.ts";
import { RateHistory } from "./rate-history.ts";
import { apiRoutes } from "./serve.ts";

function begin(over: Partial<HeartbeatDeps> = {}) {
  const live = new Live();
  const pulse = new RateHistory();
  let ring = () => {};
  const counts = { published: 0, refused: 0, delivered: 0, failed: 0, deadLettered: 0, dropped: 0 };
  startHeartbeat({
    ...{ version: "1", startedAt: 0, profile: "azure", store: "memory", clockKind: "real" },
    ...{ live, pulse, sums: () => counts, whyNotReady: () => null, endpoints: async () => [] },
    clock: { now: () => 0, after: () => () => {} },
    cluster: async () => ({ brokers: 1, counts, rates: pulse.rates() }),
    tell: () => {},
    log: { fact: () => {} },
    catalog: () => ({ topics: [], subscriptions: [] }),
    ledger: { counts: async () => [], waiting: async () => [], look: async () => [] },
    every(_ms, given) {
      ring = given;
      return () => {};
    },
    ...over,
  });
  const beat = async (times = 1) => {
    for (let count = 0; count < times; count++) ring();
    await new Promise((resolve) => setImmediate(resolve));
  };
  const watch = async () => {
    const told: string[] = [];
    const [route] = apiRoutes(live.handlers);
    const reply = await route?.handle({ ...plainRequest, method: "GET" });
    reply?.stream?.({ write: (text) => told.push(text) > 0 });
    return told;
  };
  return { beat, watch, pulse };
}

function ledgerWith(counts: () => Promise<readonly QueueCount[]>): HeartbeatDeps["ledger"] {
  return { counts, waiting: async () => [], look: async () => [] };
}

test("a store that does not answer is asked once, and counting goes on", async () => {
  let asked = 0;
  const ledger = ledgerWith(() => {
    asked += 1;
    return new Promise(() => {});
  });
  const { beat, watch, pulse } = begin({ ledger });
  await watch();
  await beat(120);
  assert.equal(asked, 1);
  assert.equal(pulse.history(60).points.length, 12);
});

test("while nobody watches the store is asked for the points of the charts alone", async () => {
  let asked = 0;
  const queue = {
    subscription: 1,
    stage: "deliver",
    waiting: 7,
    oldestAt: 0,
    nextDueAt: 0,
  } as const;
  const letters = { ...queue, stage: "deadLetter", waiting: 100 } as const;
  const ledger = ledgerWith(async () => {
    asked += 1;
    return [queue, letters];
  });
  const { beat, pulse } = begin({ ledger });
  for (let second = 0; second < 20; second++) await beat();
  assert.equal(asked, 2);
  assert.deepEqual(
    pulse.history(60).points.map(({ waiting }) => waiting),
    [7, 7],
  );
});

test("a watcher is told the overview, and an endpoint when its health has changed", async () => {
  const endpoint = { endpoint: "http://a/", waiting: 0, health: { kind: "unhealthy" } };
  const endpoints = async () => [endpoint as EndpointView];
  const { beat, watch } = begin({ endpoints });
  const told = await watch();
  await beat();
  await beat();
  const kinds = told.map((text) => /^event: (\w+)/.exec(text)?.[1]).filter(Boolean);
  assert.deepEqual(kinds, ["overview", "endpoint", "overview"]);
});
