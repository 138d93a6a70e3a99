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
  ]) {
    assert.ok(isPublishPath(path), path);
  }
  for (const path of ["/hook", "/events/hook", "/api/myevents"]) assert.ok(!isPublishPath(path));
});

test("a subscription that publishes to its own topic is known by its URL", () => {
  const leads = (url: string) =>
    leadsToItself({ topic: "orders", destination: { kind: "webhook", url } });
  assert.ok(leads("http://127.0.0.1:5888/topics/Orders/api/events?api-version=2018-01-01"));
  assert.ok(leads("https://broker.test/topics/orders/events"));
  assert.ok(!leads("https://broker.test/topics/other/api/events"));
  assert.ok(!leads("https://broker.test/hook"));
});
