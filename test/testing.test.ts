// The test kit as its users use it. test/package.test.ts shows that it works from the installed
// package.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { describe, test } from "node:test";
import { promisify } from "node:util";
import { startPosthorn } from "../src/testing/grid.ts";

for (const store of ["memory", "disk"] as const) {
  describe(`a grid on ${store}`, () => {
    test("delivers what is published, and tells when it has", async () => {
      await using grid = await startPosthorn({ store });
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
      await using grid = await startPosthorn({ store, seed: 7 });
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
      await using grid = await startPosthorn({ store });
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
  await using grid = await startPosthorn({ store: "disk" });
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
  await using grid = await startPosthorn();
  const endpoint = await grid.endpoint();
  endpoint.otherwise(413);
  await grid.topic("orders");
  await grid.subscribe("orders", "billing", endpoint);
  const [id = ""] = await grid.publish("orders", {});
  await grid.dropped(id);
});

test("a wait that lasts too long says what is known", async () => {
  await using grid = await startPosthorn({ patienceMs: 50 });
  const endpoint = await grid.endpoint();
  endpoint.otherwise(503);
  await grid.topic("orders");
  await grid.subscribe("orders", "billing", endpoint, {
    properties: { filter: { includedEventTypes: ["Order.Placed"] } },
  });
  const [placed = ""] = await grid.publish("orders", { eventType: "Order.Placed" });
  const [other = ""] = await grid.publish("orders", { eventType: "Other" });
  await grid.attempted(placed, 1);
  await assert.rejects(grid.delivered(placed), /billing: waiting after 1 attempt$/);
  await assert.rejects(grid.delivered(other), /no subscription wanted it$/);
  await assert.rejects(grid.delivered("nothing"), /it was not accepted$/);
});

test("an endpoint that does not agree gets no events, and its words are told", async () => {
  // It would be asked again for two minutes, of a clock that stands still.
  await using grid = await startPosthorn({ patienceMs: 200 });
  const endpoint = await grid.endpoint();
  endpoint.agrees(false);
  await grid.topic("orders");
  await assert.rejects(
    grid.subscribe("orders", "billing", endpoint),
    /^Error: the subscription billing is Creating: its endpoint answered .*403/,
  );
});

test("time goes on over a restart", async () => {
  await using grid = await startPosthorn({ store: "disk", startAt: "2030-01-01T00:00:00Z" });
  await grid.advance("PT1H");
  await grid.restart();
  assert.equal(await grid.now(), "2030-01-01T01:00:00.000Z");
});

test("a setting that cannot be is refused in one line", async () => {
  await assert.rejects(
    startPosthorn({ profile: "azzure" }),
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
