// The crash proof of pull delivery: the real broker on the real disk, published to and fetched from
// at once, killed with SIGKILL at random moments, with receivers that forget what they have got.
// What was acknowledged never comes back; what was accepted and not acknowledged is received in the
// end. The clock stands still but for the ends of locks. The ledger is printed.

import assert from "node:assert/strict";
import { test } from "node:test";
import { type NamespaceBroker, openNamespaceBroker } from "./fixtures/namespace-broker.ts";

const kills = 4;
const publishers = 3;
const receivers = 3;
/** How many receives are forgotten. */
const forgotten = 0.2;

class Ledger {
  readonly accepted = new Set<string>();
  readonly received = new Map<string, number>();
  readonly acknowledged = new Set<string>();
  /** Acknowledged, but the answer was lost: it may be gone or not. */
  readonly uncertain = new Set<string>();
  readonly returned: string[] = [];
  forgets = 0;

  get isSettled(): boolean {
    return [...this.accepted].every((id) => this.acknowledged.has(id) || this.uncertain.has(id));
  }
}

/** Never rejects: a dead broker answers nothing. */
async function attempt<T>(act: () => Promise<T>): Promise<T | null> {
  try {
    return await act();
  } catch {
    return null;
  }
}

const subscription = "/topics/orders/eventsubscriptions/all";

async function publishOne(broker: NamespaceBroker, ledger: Ledger, id: string): Promise<void> {
  const event = { id, specversion: "1.0", source: "/s", type: "t", data: "x".repeat(300) };
  const type = "application/cloudevents+json";
  const sent = await attempt(() =>
    broker.post("/topics/orders:publish", JSON.stringify(event), type),
  );
  if (sent?.status === 200) ledger.accepted.add(id);
}

async function receiveSome(broker: NamespaceBroker, ledger: Ledger): Promise<number> {
  const answer = await attempt(() =>
    broker.post(`${subscription}:receive?maxEvents=7&maxWaitTime=10`),
  );
  if (answer?.status !== 200) return 0;
  const { value } = answer.body as {
    value: { brokerProperties: { lockToken: string }; event: { id: string } }[];
  };
  for (const { event } of value) {
    ledger.received.set(event.id, (ledger.received.get(event.id) ?? 0) + 1);
    if (ledger.acknowledged.has(event.id)) ledger.returned.push(event.id);
  }
  if (Math.random() < forgotten) {
    ledger.forgets += 1;
    return value.length;
  }
  const lockTokens = value.map(({ brokerProperties }) => brokerProperties.lockToken);
  const body = JSON.stringify({ lockTokens });
  const told = await attempt(() => broker.post(`${subscription}:acknowledge`, body));
  const done = new Set<string>(told?.body?.succeededLockTokens);
  for (const { brokerProperties, event } of value) {
    if (done.has(brokerProperties.lockToken)) ledger.acknowledged.add(event.id);
    else if (told === null) ledger.uncertain.add(event.id);
  }
  return value.length;
}

test(`nothing acknowledged comes back and nothing else is lost over ${kills} kills (N-45)`, async (t) => {
  const queue = { deliveryConfiguration: { deliveryMode: "Queue" } };
  const broker = await openNamespaceBroker(
    t,
    { orders: { subscriptions: { all: queue } } },
    { options: ["--log-level", "warn"] },
  );
  const ledger = new Ledger();
  const state = { isUp: true, isOver: false };
  const whileUp = async (act: (count: number) => Promise<unknown>) => {
    for (let count = 0; !state.isOver; count += 1) {
      if (state.isUp) await act(count);
      else await new Promise((resolve) => setImmediate(resolve));
    }
  };
  const crowd = [
    ...Array.from({ length: publishers }, (_, number) =>
      whileUp((count) => publishOne(broker, ledger, `${number}-${count}`)),
    ),
    ...Array.from({ length: receivers }, () => whileUp(() => receiveSome(broker, ledger))),
  ];
  for (let kill = 1; kill <= kills; kill += 1) {
    const wanted = ledger.accepted.size + 30 + Math.floor(Math.random() * 100);
    while (ledger.accepted.size < wanted) await new Promise((resolve) => setImmediate(resolve));
    state.isUp = false;
    await broker.restart();
    // The locks of those who forgot, and of those whose answer was lost, end.
    await broker.advance("PT60S");
    state.isUp = true;
  }
  state.isOver = true;
  const ended = Promise.all(crowd);
  // Whoever waits for an event gives up.
  await broker.advance("PT10S");
  await ended;
  while (!ledger.isSettled) {
    await broker.advance("PT60S");
    while ((await receiveNow(broker, ledger)) > 0);
  }
  const twice = [...ledger.received.values()].filter((count) => count > 1).length;
  t.diagnostic(
    `accepted ${ledger.accepted.size}, acknowledged ${ledger.acknowledged.size}, received more ` +
      `than once ${twice}, answers lost ${ledger.uncertain.size}, forgotten ${ledger.forgets}, ` +
      `came back ${ledger.returned.length}`,
  );
  assert.deepEqual(ledger.returned, []);
  const never = [...ledger.accepted].filter((id) => !ledger.received.has(id));
  assert.deepEqual(never, []);
  assert.ok(ledger.accepted.size > kills * 30);
});

/** What is there, without waiting for more. */
async function receiveNow(broker: NamespaceBroker, ledger: Ledger): Promise<number> {
  const receiving = receiveSome(broker, ledger);
  const moved = broker.advance("PT10S");
  const [count] = await Promise.all([receiving, moved]);
  return count;
}
