import assert from "node:assert/strict";
import { test } from "node:test";
import { startAt } from "../../../test/contract/fixture.ts";
import { subscriptionOf } from "../../../test/fixtures/story-notes.ts";
import type { BrokerView, Page } from "../../core/api/views.ts";
import { noPeers } from "../../core/cluster/peers.ts";
import { healthRules } from "../../core/delivery/health.ts";
import type { Ledger, QueueCount } from "../../core/ledger.ts";
import type { Clock } from "../../core/ports.ts";
import type { LiveCatalog } from "../../core/routing/live-catalog.ts";
import type { EndpointUse, Switchboard } from "../../core/steering.ts";
import type { Subscription } from "../../core/subscription.ts";
import { type AboutBroker, brokerHandlers, otherDeclarers } from "./brokers.ts";

test("brokers whose files declare something else are named, and those that declare nothing not", async () => {
  const peer = (id: string, about: object) => ({ id, about, startedAt: 0, seenAt: 0, slots: [] });
  const list = async () => [
    peer("alike", { declares: "a" }),
    peer("nothing", { declares: null }),
    peer("new", {}),
    peer("other", { declares: "b" }),
  ];
  const others = await otherDeclarers({ ...noPeers, list }, { declares: "a" });
  assert.deepEqual(others, ["other"]);
});

test("what is held back is not overdue, and what nobody sends neither", async () => {
  const hook = (name: string) => ({ kind: "webhook", url: `https://${name}.test/` }) as const;
  const fine = subscriptionOf(1, "fine", { destination: hook("fine") });
  const sick = subscriptionOf(2, "sick", { destination: hook("sick") });
  const held = subscriptionOf(3, "held", { flow: { kind: "paused", since: startAt } });
  const pulled = subscriptionOf(4, "pulled", { destination: { kind: "pull", lockMs: 60_000 } });
  const overdueWith = async (late: readonly Subscription[]) => {
    const queueOf = ({ id }: Subscription): QueueCount => ({
      ...{ subscription: id, stage: "deliver", waiting: 1, oldestAt: startAt },
      nextDueAt: startAt - 60_000,
    });
    const endpointOfSick = {
      ...{ name: "https://sick.test/", isDelayed: true, closure: null, sends: 0, failures: 12 },
      health: { kind: "unhealthy", until: startAt + 60_000, waitMs: 1 },
      ...{ trouble: null, changes: [], rules: healthRules, subscriptions: [sick] },
    } as const satisfies EndpointUse;
    const { listBrokers } = brokerHandlers({
      ...{ broker: "this", peers: noPeers, startedAt: startAt, about: () => ({}) as AboutBroker },
      catalog: () => ({ subscriptions: [fine, sick, held, pulled] }) as unknown as LiveCatalog,
      ledger: { counts: async () => late.map(queueOf) } as unknown as Ledger,
      switchboard: { endpoints: async () => [endpointOfSick] } as unknown as Switchboard,
      clock: { now: () => startAt } as Clock,
    });
    const { value } = (await listBrokers({} as never)) as Page<BrokerView>;
    return value.map(({ overdueMs, waiting }) => [overdueMs, waiting]);
  };
  assert.deepEqual(await overdueWith([sick, held, pulled]), [[0, 3]]);
  assert.deepEqual(await overdueWith([sick, fine]), [[60_000, 2]]);
});
