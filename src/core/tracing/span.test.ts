import assert from "node:assert/strict";
import { test } from "node:test";
import { startAt } from "../../../test/contract/fixture.ts";
import { parcelOf } from "../../../test/contract/sink.ts";
import { attemptEnd, attemptSpan, publishSpan } from "./span.ts";
import type { Trace } from "./trace.ts";

const traceOf = (digit: string): Trace => ({
  parent: `00-${digit.repeat(32)}-${digit.repeat(16)}-01`,
  state: null,
});

const [one, two] = [traceOf("1"), traceOf("2")];

function spanOf(traces: readonly (Trace | null)[], url = "https://hooks.test/a?code=hush") {
  const parcel = parcelOf(traces.map(() => "{}"));
  return attemptSpan({
    subscription: { ...parcel.subscription, destination: { kind: "webhook", url } },
    deliveries: parcel.deliveries.map((each, index) => ({
      ...each,
      event: { ...each.event, trace: traces[index] ?? null },
    })),
    stage: "deliver",
    startedAt: startAt,
  });
}

test("an attempt is a child of what its events have in common, or linked to each", () => {
  const of = (...traces: (Trace | null)[]) => {
    const { parent, links } = spanOf(traces);
    return [parent, links];
  };
  assert.deepEqual(of(one), [one, []]);
  assert.deepEqual(of(one, { ...one }), [one, []]);
  assert.deepEqual(of(null), [null, []]);
  assert.deepEqual(of(one, two, one, null), [null, [one, two]]);
});

test("links are bounded", () => {
  const traces = Array.from({ length: 300 }, (_, index) => ({
    parent: `00-${String(index + 1).padStart(32, "0")}-1111111111111111-01`,
    state: null,
  }));
  assert.equal(spanOf(traces).links.length, 128);
});

test("an attempt is told in the words of the conventions, without the query of its URL", () => {
  const { name, kind, attributes } = spanOf([one]);
  assert.deepEqual([name, kind], ["deliver orders/warehouse", "client"]);
  assert.equal(attributes["url.full"], "https://hooks.test/a");
  assert.equal(attributes["server.address"], "hooks.test");
  assert.equal(attributes["server.port"], 443);
  assert.equal(attributes["messaging.message.id"], "event-1");
  assert.equal("messaging.message.id" in spanOf([one, two]).attributes, false);
  const local = spanOf([one], "http://[::1]:8080/").attributes;
  assert.deepEqual([local["server.address"], local["server.port"]], ["[::1]", 8080]);
});

test("an event of a domain is named by the domain and its topic there", () => {
  const [, inDomain] = [null, "eu"].map((domainTopic) => {
    const parcel = parcelOf(["{}"]);
    const subscription = { ...parcel.subscription, domainTopic };
    return attemptSpan({ ...parcel, subscription, stage: "deliver", startedAt: startAt });
  });
  assert.equal(spanOf([one]).attributes["messaging.destination.name"], "orders");
  assert.equal(inDomain?.attributes["messaging.destination.name"], "orders/eu");
});

test("an attempt ends with its status, and with the outcome's name when it failed", () => {
  const failed = attemptEnd({ kind: "answered", status: 503 }, "Busy", false);
  assert.deepEqual(failed, { error: "Busy", attributes: { "http.response.status_code": 503 } });
  const silent = attemptEnd({ kind: "noReply", why: "timeout" }, "TimedOut", false);
  assert.deepEqual(silent, { error: "TimedOut", attributes: {} });
  assert.equal(attemptEnd({ kind: "answered", status: 200 }, "Delivered", true).error, null);
});

test("a publish to a topic that does not exist is not named after it", () => {
  const draft = { startedAt: startAt, parent: one, links: [two, two] };
  const known = publishSpan({ ...draft, topic: "orders" });
  assert.deepEqual([known.name, known.kind, known.links], ["publish orders", "server", [two]]);
  const unknown = publishSpan({ ...draft, topic: null });
  assert.equal(unknown.name, "publish");
  assert.equal("messaging.destination.name" in unknown.attributes, false);
});
