import assert from "node:assert/strict";
import { test } from "node:test";
import { Refusal } from "../refusal.ts";
import { hopsIn, hopsMax, isPublishPath, leadsToItself } from "./hops.ts";

test("hops are counted up to a limit, and whatever is no count is none", () => {
  for (const [header, hops] of [
    [undefined, 0],
    ["0", 0],
    ["3", 3],
    [String(hopsMax), hopsMax],
    ["-1", 0],
    ["1.5", 0],
    ["many", 0],
    [["1", "2"], 0],
  ] as const) {
    assert.equal(hopsIn(header), hops, String(header));
  }
  for (const header of [String(hopsMax + 1), "999"]) {
    assert.throws(
      () => hopsIn(header),
      (error) => error instanceof Refusal && error.code === "EventLoop",
    );
  }
});

test("only what is a publish route is told of hops", () => {
  for (const path of [
    "/api/events",
    "/topics/a/api/events?api-version=2018-01-01",
    "/topics/a/Events/",
    "/topics/a/api/events//?x=%zz",
    "/topics/a/api/event%73",
    "/namespaces/n/topics/a:publish?api-version=2024-06-01",
    "/topics/a%3apublish",
  ]) {
    assert.ok(isPublishPath(path), path);
  }
  for (const path of ["/hook", "/events/hook", "/api/myevents", "/a:republish", "/%zz/events"])
    assert.ok(!isPublishPath(path));
});

test("a subscription that publishes to its own topic is known by its URL", () => {
  const leads = (url: string, topic = "orders") =>
    leadsToItself({ topic, destination: { kind: "webhook", url } });
  assert.ok(leads("http://127.0.0.1:5888/topics/Orders/api/events?api-version=2018-01-01"));
  assert.ok(leads("https://broker.test/topics/orders/events"));
  assert.ok(!leads("https://broker.test/topics/other/api/events"));
  assert.ok(!leads("https://broker.test/hook"));
  assert.ok(leads("https://broker.test/namespaces/Shop/topics/orders:publish?x", "shop/orders"));
  assert.ok(leads("https://shop.broker.test/topics/order%73:publish", "shop/orders"));
  assert.ok(!leads("https://broker.test/namespaces/other/topics/orders:publish", "shop/orders"));
  assert.ok(!leads("https://broker.test/topics/orders:publish"));
});
