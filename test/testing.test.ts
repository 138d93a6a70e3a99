// The test kit as its users use it. test/package.test.ts shows that it works from the installed
// package.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { describe, test } from "node:test";
import { promisify } from "node:util";
import { startPosthorn } from "../src/testing/grid.ts";
import type { GridOptions, Posthorn } from "../src/testing/kit.ts";

/** What these tests expect is waited for, also on a busy machine. */
function start(options: GridOptions = {}): Promise<Posthorn> {
  const settings = { "clock-patience": "PT30S" };
  return startPosthorn({ patienceMs: 30_000, settings, ...options });
}

/** Where something must be seen not to come, while other things do. */
const shorter = 5_000;

for (const store of ["memory", "disk"] as const) {
  describe(`a grid on ${store}`, () => {
    test("delivers what is published, and tells when it has", async () => {
      await using grid = await start({ store });
      const endpoint = await grid.endpoint();
      await grid.topic("orders");
      await grid.subscribe("orders", "billing", endpoint);
      const [id = ""] = await grid.publish("orders", { data: { price: 7 } });
      await grid.delivered(id);
      assert.deepEqual(
        endpoint.events.map((event) => [event.id, event.data]),
        [[id, { price: 7 }]],
      );
      assert.equal(endpoint.arrivals[0]?.headers["aeg-event-type"], "Notification");
    });

    test("retries when time is moved, and not before", async () => {
      await using grid = await start({ store, seed: 7 });
      const endpoint = await grid.endpoint();
      endpoint.answers(503, "drop");
      await grid.topic("orders");
      await grid.subscribe("orders", "billing", endpoint);
      const [id = ""] = await grid.publish("orders", {});
      await grid.attempted(id, 1);
      assert.equal((await grid.advance("PT29S")).attempts, 0);
      assert.equal((await grid.advance("PT5S")).attempts, 1);
      await grid.attempted(id, 2);
      assert.equal((await grid.advance("PT1M")).delivered, 1);
      await grid.delivered(id);
      const [delivery] = (await grid.story(id)).deliveryStories;
      assert.deepEqual(
        delivery?.attempts.map(({ outcome }) => outcome),
        ["Busy", "SocketError", "Delivered"],
      );
    });

    test("keeps what it gives up on, as records", async () => {
      await using grid = await start({ store });
      const endpoint = await grid.endpoint();
      endpoint.otherwise(400);
      await grid.topic("orders");
      await grid.subscribe("orders", "billing", endpoint, { deadLetter: true });
      const [id = ""] = await grid.publish("orders", { subject: "/orders/1" });
      await grid.attempted(id, 1);
      assert.equal((await grid.advance("PT10M")).deadLettered, 1);
      await grid.deadLettered(id, { to: "billing" });
      const [record] = await grid.deadLetters();
      assert.equal(record?.id, id);
      assert.equal(record.deadLetterReason, "UndeliverableDueToHttpBadRequest");
    });
  });
}

test("a grid on disk has what waits after a restart", async () => {
  await using grid = await start({ store: "disk" });
  const endpoint = await grid.endpoint();
  endpoint.answers(500);
  await grid.topic("orders");
  await grid.subscribe("orders", "billing", endpoint);
  const [id = ""] = await grid.publish("orders", {});
  await grid.attempted(id, 1);
  await grid.restart();
  assert.equal((await grid.overview()).waiting, 1);
  await grid.advance("PT1M");
  await grid.delivered(id);
});

test("an event without a dead-letter destination is dropped, and that can be waited for", async () => {
  await using grid = await start();
  const endpoint = await grid.endpoint();
  endpoint.otherwise(413);
  await grid.topic("orders");
  await grid.subscribe("orders", "billing", endpoint);
  const [id = ""] = await grid.publish("orders", {});
  await grid.dropped(id);
});

test("time goes on over a restart", async () => {
  await using grid = await start({ store: "disk", startAt: "2030-01-01T00:00:00Z" });
  await grid.advance("PT1H");
  await grid.restart();
  assert.equal(await grid.now(), "2030-01-01T01:00:00.000Z");
});

test("a setting that cannot be is refused in one line", async () => {
  await assert.rejects(
    start({ profile: "azzure" }),
    /^Refusal: profile must be .* and is "azzure" \(option --profile\)$/,
  );
});

test("after close no timer keeps the test's process alive", async () => {
  const kit = join(import.meta.dirname, "../src/testing/grid.ts");
  const script = `
    import { startPosthorn } from ${JSON.stringify(kit)};
    const grid = await startPosthorn();
    await grid.topic("orders");
    await grid.subscribe("orders", "billing", await grid.endpoint());
    const [id] = await grid.publish("orders", {});
    await grid.delivered(id);
    await grid.close();
    console.log(JSON.stringify(process.getActiveResourcesInfo()));
    process.exit();`;
  const { stdout } = await promisify(execFile)(process.execPath, [
    ...["--input-type=module", "--eval", script],
  ]);
  const alive = JSON.parse(stdout) as string[];
  assert.ok(!alive.includes("Timeout"), `still there: ${alive.join(", ")}`);
});

test("all is settled when each event has ended or waits for a later time", async () => {
  await using grid = await start();
  const endpoint = await grid.endpoint();
  endpoint.otherwise(503);
  await grid.topic("orders");
  await grid.subscribe("orders", "billing", endpoint);
  await grid.publish("orders", {}, {}, {});
  await grid.settled();
  assert.equal(endpoint.arrivals.length, 3);
  endpoint.otherwise(200);
  const { attempts } = await grid.advance("1h");
  assert.equal(attempts, 3);
  await endpoint.received({ count: 3 });
});

test("a topic of CloudEvents is published to in CloudEvents", async () => {
  await using grid = await start();
  const endpoint = await grid.endpoint();
  await grid.topic("orders", { inputSchema: "CloudEventSchemaV1_0" });
  await grid.subscribe("orders", "billing", endpoint);
  await grid.publish("orders", { type: "Order.Placed", source: "/shop", tenant: "a", data: [1] });
  const [event] = await endpoint.received({ type: "Order.Placed" });
  assert.deepEqual(
    [event?.specversion, event?.source, event?.tenant, event?.data],
    ["1.0", "/shop", "a", [1]],
  );
});

const template = {
  $schema: "https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#",
  contentVersion: "1.0.0.0",
  parameters: { hook: { type: "string" } },
  resources: [
    {
      ...{ type: "Microsoft.EventGrid/topics", apiVersion: "2022-06-15", name: "orders" },
      location: "local",
    },
    {
      type: "Microsoft.EventGrid/topics/eventSubscriptions",
      ...{ apiVersion: "2022-06-15", name: "orders/billing", dependsOn: ["orders"] },
      properties: {
        destination: {
          endpointType: "WebHook",
          properties: { endpointUrl: "[parameters('hook')]" },
        },
      },
    },
  ],
  outputs: { name: { type: "string", value: "orders" } },
};

test("resources come from a template or a file, at the start or later", async () => {
  await using grid = await start();
  const endpoint = await grid.endpoint();
  assert.deepEqual(await grid.deploy(template, { hook: endpoint.url }), { name: "orders" });
  await grid.publish("orders", {});
  await endpoint.received();
  const resources = join(import.meta.dirname, "../examples/first.json");
  await using other = await start({ resources });
  assert.deepEqual(
    (await other.subscriptions()).map(({ topic }) => topic),
    ["orders"],
  );
  const parameters = { hook: endpoint.url };
  await using third = await start({ resources: template, parameters });
  await third.publish("orders", { eventType: "Third" });
  await endpoint.received({ type: "Third" });
});

test("a refusal is in the broker's words, without resource paths", async () => {
  await using grid = await start();
  await assert.rejects(
    grid.topic("no spaces here"),
    (error: Error) => !error.message.includes("/subscriptions/") && /topics\//.test(error.message),
  );
  await assert.rejects(grid.publish("nothing", {}), /^Error: GET topics\/nothing: .*404/);
});

test("a pull queue is received from, on the clock of the test", async () => {
  await using grid = await start();
  const queue = await grid.queue("shop/orders", "billing", { queue: { maxDeliveryCount: 2 } });
  const [id] = await grid.publish("shop/orders", { data: { price: 7 } });
  const [first] = await queue.receive();
  assert.deepEqual([first?.event.id, first?.deliveryCount], [id, 1]);
  await grid.advance("60s");
  const [second] = await queue.receive();
  assert.ok(first && second);
  assert.equal(second.deliveryCount, 2);
  assert.deepEqual(await queue.acknowledge(first), []);
  assert.deepEqual(await queue.acknowledge(second), [second.lockToken]);
  await grid.delivered(id ?? "");
  await grid.reset();
  assert.deepEqual(await grid.subscriptions(), []);
});

describe("what does not come is waited for", { concurrency: true }, () => {
  test("a wait that lasts too long says what is known", async () => {
    await using grid = await start({ patienceMs: shorter });
    const endpoint = await grid.endpoint();
    endpoint.otherwise(503);
    await grid.topic("orders");
    await grid.subscribe("orders", "billing", endpoint, {
      properties: { filter: { includedEventTypes: ["Order.Placed"] } },
    });
    const [placed = ""] = await grid.publish("orders", { eventType: "Order.Placed" });
    const [other = ""] = await grid.publish("orders", { eventType: "Other" });
    await grid.attempted(placed, 1);
    await Promise.all([
      assert.rejects(
        grid.delivered(placed),
        /billing: waiting after 1 attempt \(waited 5000 ms of real time\)$/,
      ),
      assert.rejects(grid.delivered(other), /no subscription wanted it \(/),
      assert.rejects(grid.delivered("nothing"), /it was not accepted \(/),
    ]);
  });

  test("an endpoint that does not agree gets no events, and its words are told", async () => {
    // It would be asked again for two minutes, of a clock that stands still.
    await using grid = await start({ patienceMs: shorter });
    const endpoint = await grid.endpoint();
    endpoint.agrees(false);
    await grid.topic("orders");
    await assert.rejects(
      grid.subscribe("orders", "billing", endpoint),
      /^Error: the subscription billing is Creating: its endpoint answered .*403/,
    );
  });

  test("what came is waited for without ids, and nothing else may have come", async () => {
    await using grid = await start({ patienceMs: shorter });
    const [billing, audit] = [await grid.endpoint(), await grid.endpoint()];
    await grid.topic("orders");
    await grid.subscribe("orders", "billing", billing);
    await grid.subscribe("orders", "audit", audit, {
      properties: { filter: { includedEventTypes: ["Order.Paid"] } },
    });
    await grid.publish("orders", { eventType: "Order.Placed", subject: "/orders/1" });
    await grid.publish("orders", { eventType: "Order.Paid", data: { amount: 7 } }, {});
    const placed = await grid.published({ type: "Order.Paid" });
    assert.deepEqual([placed.topic, placed.data], ["orders", { amount: 7 }]);
    const [first] = await billing.received({ type: "Order.Placed" });
    assert.equal(first?.subject, "/orders/1");
    const some = await billing.received({
      where: ({ eventType }) => eventType !== "Order.Placed",
      count: 2,
    });
    assert.equal(some.length, 2);
    await assert.rejects(
      grid.nothingElse(),
      /^Error: unexpected events came: Order\.Paid \([-0-9a-f]{36}\)$/,
      "that of the audit",
    );
    await audit.received();
    await grid.nothingElse();
    await Promise.all([
      assert.rejects(
        billing.received({ type: "Order.Lost", count: 2 }),
        /^Error: 0 of 2 events with type Order\.Lost came; accepted: Order\.Placed \(/,
      ),
      assert.rejects(
        grid.published({ type: "Order.Lost" }),
        /published were Order\.Placed, Order\.P/,
      ),
    ]);
  });

  test("a grid is used for many tests, and none sees another's", async () => {
    await using grid = await start({ patienceMs: shorter });
    const endpoint = await grid.endpoint();
    for (const type of ["First", "Second"]) {
      await grid.topic("orders");
      await grid.subscribe("orders", "billing", endpoint, { deadLetter: true });
      endpoint.answers(400);
      const [bad = ""] = await grid.publish("orders", { eventType: type });
      await grid.attempted(bad, 1);
      await grid.publish("orders", { eventType: type });
      await endpoint.received({ type });
      await grid.nothingElse();
      await grid.advance("10m");
      assert.equal((await grid.deadLetters()).length, 1);
      await grid.reset();
      assert.deepEqual(await grid.subscriptions(), []);
      assert.deepEqual([endpoint.events, await grid.deadLetters()], [[], []]);
      await assert.rejects(grid.published(), /nothing was/);
    }
  });
});
