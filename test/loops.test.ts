// A topic that is subscribed to itself, through the whole program.

import assert from "node:assert/strict";
import { test } from "node:test";
import { hopsMax } from "../src/core/routing/hops.ts";
import { openStill } from "./fixtures/virtual-broker.ts";

test("an event that goes in a circle is stopped at the limit, and said why", async (t) => {
  const still = await openStill(t, {});
  const endpointUrl = `${still.program.url}/topics/orders/api/events?aeg-sas-key=still-key`;
  const destination = { endpointType: "WebHook", properties: { endpointUrl } };
  await still.arm("PUT", "/again", { properties: { destination } });
  const gaveUp = () => still.program.facts.filter(({ outcome }) => outcome === "BadRequest");
  await still.publish("round");
  for (let left = 1; left > 0; ) {
    await still.advance("PT1S");
    ({ waiting: left } = (await still.api("GET", "/overview")) as { waiting: number });
  }
  const { value } = (await still.api("GET", "/events?limit=100")) as { value: unknown[] };
  assert.equal(value.length, hopsMax + 1, "the event, and each time it was passed on");
  await still.program.until(() => gaveUp().length > 0);
  const { facts } = still.program;
  assert.ok(facts.some(({ fact }) => fact === "subscription.loops"));
  assert.equal(gaveUp().length, 1);
});
