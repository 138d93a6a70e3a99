// A topic that is subscribed to itself, through the whole program.

import assert from "node:assert/strict";
import { test } from "node:test";
import { hopsMax } from "../src/core/routing/hops.ts";
import { openVirtualBroker } from "./fixtures/virtual-broker.ts";

test("an event that goes in a circle is stopped at the limit, and said why", async (t) => {
  const broker = await openVirtualBroker(t, {});
  const endpointUrl = `${broker.program.url}/topics/orders/api/events?aeg-sas-key=still-key`;
  const destination = { endpointType: "WebHook", properties: { endpointUrl } };
  await broker.arm("PUT", "/again", { properties: { destination } });
  const gaveUp = () => broker.program.facts.filter(({ outcome }) => outcome === "BadRequest");
  await broker.publish("round");
  for (let left = 1; left > 0; ) {
    await broker.advance("PT1S");
    ({ waiting: left } = (await broker.api("GET", "/overview")) as { waiting: number });
  }
  const { value } = (await broker.api("GET", "/events?limit=100")) as { value: unknown[] };
  assert.equal(value.length, hopsMax + 1, "the event, and each time it was passed on");
  await broker.program.until(() => gaveUp().length > 0);
  const { facts } = broker.program;
  assert.ok(facts.some(({ fact }) => fact === "subscription.loops"));
  assert.equal(gaveUp().length, 1);
});

const shop = "/subscriptions/s/resourceGroups/g/providers/Microsoft.EventGrid/namespaces/shop";

test("so is one of a namespace, however the URL is written", async (t) => {
  const { program, advance, api } = await openVirtualBroker(t, {}, ["--auth", "off"]);
  const send = async (method: string, path: string, body: object) => {
    const headers = { "content-type": "application/cloudevents+json" };
    const answer = await fetch(program.url + path, { method, headers, body: JSON.stringify(body) });
    assert.ok(answer.ok, `${path}: ${await answer.text()}`);
  };
  await send("PUT", shop, { location: "local", properties: {} });
  await send("PUT", `${shop}/topics/carts`, { properties: {} });
  const publish = "/namespaces/shop/topics/cart%73:publish?api-version=2024-06-01";
  const endpointUrl = `${program.url}${publish}`;
  const push = { destination: { endpointType: "WebHook", properties: { endpointUrl } } };
  const deliveryConfiguration = { deliveryMode: "Push", push };
  const again = { properties: { deliveryConfiguration } };
  await send("PUT", `${shop}/topics/carts/eventSubscriptions/again`, again);
  await program.told("subscription.loops");
  await send("POST", publish, { specversion: "1.0", id: "1", source: "/a", type: "T" });
  for (let left = 1; left > 0; ) {
    await advance("PT1S");
    ({ waiting: left } = (await api("GET", "/overview")) as { waiting: number });
  }
  const { value } = (await api("GET", "/events?limit=100")) as { value: unknown[] };
  assert.equal(value.length, hopsMax + 1);
});
