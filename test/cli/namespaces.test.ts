// The words of `az eventgrid namespace`, and fetching by hand, against a real broker.

import assert from "node:assert/strict";
import { test } from "node:test";
import { openCommandLine } from "../fixtures/command-line.ts";

const quiet = ["--store", "memory", "--handshake", "off"];
const provider =
  "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/rg1/providers/Microsoft.EventGrid";

type Json = Readonly<Record<string, unknown>>;

test("namespaces, topics and event subscriptions are made, shown, changed and removed as by az", async (t) => {
  const cli = await openCommandLine(t, quiet);
  const made = (await cli.json(
    "eventgrid namespace create -g rg1 -n shop -l eastus --tags a=b",
  )) as Json;
  assert.partialDeepStrictEqual(made, {
    id: `${provider}/namespaces/shop`,
    location: "eastus",
    provisioningState: "Succeeded",
    resourceGroup: "rg1",
    tags: { a: "b" },
    sku: { name: "Standard", capacity: 1 },
  });
  await cli.json("namespace update -g rg1 -n shop --sku {capacity:2}");
  assert.deepEqual(((await cli.json("namespace show -g rg1 -n shop")) as Json).sku, {
    name: "Standard",
    capacity: 2,
  });
  assert.equal(((await cli.json("namespace list -g rg1")) as Json[]).length, 1);
  const keys = (await cli.json("namespace list-key -g rg1 -n shop")) as Json;
  const renewed = (await cli.json(
    "namespace regenerate-key -g rg1 -n shop --key-name key1",
  )) as Json;
  assert.notEqual(renewed.key1, keys.key1);

  const within = "-g rg1 --namespace-name shop";
  const topic = (await cli.json(
    `namespace topic create ${within} -n orders --event-retention-in-days 2`,
  )) as Json;
  assert.equal(topic.eventRetentionInDays, 2);
  await cli.json(`namespace topic update ${within} -n orders --event-retention-in-days 3`);
  const topics = (await cli.json(`namespace topic list ${within}`)) as Json[];
  assert.deepEqual(
    topics.map(({ name, eventRetentionInDays }) => [name, eventRetentionInDays]),
    [["orders", 3]],
  );

  const noun = "namespace topic event-subscription";
  const at = `${within} --topic-name orders`;
  const short = "{deliveryMode:Queue,queue:{maxDeliveryCount:4,eventTimeToLive:P1D}}";
  const queue = (await cli.json(
    `${noun} create ${at} -n billing --delivery-configuration ${short}`,
  )) as Json;
  assert.deepEqual(queue.deliveryConfiguration, {
    deliveryMode: "Queue",
    queue: { receiveLockDurationInSeconds: 60, maxDeliveryCount: 4, eventTimeToLive: "P1D" },
  });
  await cli.json(`${noun} update ${at} -n billing --receive-lock-duration 90`);
  assert.partialDeepStrictEqual(await cli.json(`${noun} show ${at} -n billing`), {
    deliveryConfiguration: { queue: { receiveLockDurationInSeconds: 90, maxDeliveryCount: 4 } },
  });
  const push = (await cli.json(
    `${noun} create ${at} -n hook --endpoint http://127.0.0.1:9/ --included-event-types a b`,
  )) as Json;
  assert.partialDeepStrictEqual(push, {
    deliveryConfiguration: { deliveryMode: "Push" },
    filtersConfiguration: { includedEventTypes: ["a", "b"] },
  });
  assert.equal(((await cli.json(`${noun} list ${at}`)) as Json[]).length, 2);
  const table = await cli.run(`${noun} list ${at} -o table`);
  assert.match(table.out, /billing\s+Succeeded\s+Queue/);
  assert.equal((await cli.run(`${noun} delete ${at} -n hook`)).code, 0);
  assert.equal((await cli.run("namespace delete -g rg1 -n shop")).code, 0);
  assert.equal((await cli.run(`${noun} show ${at} -n billing`)).code, 3);
});

test("events are received, acknowledged, released and rejected by hand", async (t) => {
  const cli = await openCommandLine(t, quiet);
  await cli.json("namespace create -n shop");
  await cli.json("namespace topic create --namespace-name shop -n orders");
  const noun = "namespace topic event-subscription";
  const at = "--namespace-name shop --topic-name orders -n all";
  await cli.json(`${noun} create ${at}`);
  const { key1 } = (await cli.json("namespace list-key -n shop")) as { key1: string };
  const events = ["a", "b", "c"].map((id) => ({ id, source: "/s", type: "t", specversion: "1.0" }));
  const sent = await fetch(`${cli.broker.url}/topics/orders:publish?api-version=2024-06-01`, {
    method: "POST",
    headers: {
      authorization: `SharedAccessKey ${key1}`,
      "content-type": "application/cloudevents-batch+json",
    },
    body: JSON.stringify(events),
  });
  assert.equal(sent.status, 200);
  interface Received {
    readonly brokerProperties: { readonly lockToken: string; readonly deliveryCount: number };
    readonly event: { readonly id: string };
  }
  const receive = async (more = "") =>
    (await cli.json(`${noun} receive ${at} ${more}`)) as Received[];
  const first = await receive("--max-events 2");
  assert.deepEqual(
    first.map(({ event }) => event.id),
    ["a", "b"],
  );
  const [a = "", b = ""] = first.map(({ brokerProperties }) => brokerProperties.lockToken);
  const released = await cli.json(`${noun} release ${at} --lock-tokens ${a}`);
  assert.deepEqual(released, { failedLockTokens: [], succeededLockTokens: [a] });
  await cli.json(`${noun} reject ${at} --lock-tokens ${b}`);
  const rest = await receive("--max-events 10 --acknowledge");
  assert.deepEqual(
    rest.map(({ event, brokerProperties }) => [event.id, brokerProperties.deliveryCount]),
    [
      ["a", 2],
      ["c", 1],
    ],
  );
  const none = await cli.run(`${noun} receive --namespace-name shop --topic-name orders -n none`);
  assert.equal(none.code, 1);
  assert.match(none.err, /has no event subscription "none"/);
});
