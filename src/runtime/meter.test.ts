import assert from "node:assert/strict";
import { test } from "node:test";
import { labelSetsMax, openMeter } from "./meter.ts";

test("counters are told in Prometheus' text form, in a fixed order", () => {
  const meter = openMeter();
  meter.count("posthorn_events_published_total", {}, 3);
  meter.count("posthorn_dead_lettered_total", { topic: "orders", reason: "TimeToLiveExceeded" });
  meter.count("posthorn_attempts_total", { topic: "orders", outcome: "accepted" });
  meter.count("posthorn_attempts_total", { outcome: "accepted", topic: "orders" }, 2);
  meter.count("posthorn_attempts_total", { topic: "orders", outcome: "TimedOut" });
  assert.equal(
    meter.text(),
    [
      "# TYPE posthorn_attempts_total counter",
      'posthorn_attempts_total{outcome="TimedOut",topic="orders"} 1',
      'posthorn_attempts_total{outcome="accepted",topic="orders"} 3',
      "# TYPE posthorn_dead_lettered_total counter",
      'posthorn_dead_lettered_total{reason="TimeToLiveExceeded",topic="orders"} 1',
      "# TYPE posthorn_events_published_total counter",
      "posthorn_events_published_total 3",
      "",
    ].join("\n"),
  );
});

test("a meter that has counted nothing tells nothing", () => {
  assert.equal(openMeter().text(), "");
});

test("label values cannot break out of their line", () => {
  const meter = openMeter();
  meter.count("posthorn_facts_total", { name: 'a "b" \\ c\nd' });
  assert.match(meter.text(), /^posthorn_facts_total\{name="a \\"b\\" \\\\ c\\nd"\} 1$/m);
});

test("sets of labels beyond the limit are gathered under `other`, and no count is lost", () => {
  const meter = openMeter();
  const sets = labelSetsMax + 500;
  for (let round = 0; round < 3; round++) {
    for (let set = 0; set < sets; set++)
      meter.count("posthorn_dropped_total", { subscription: `s${set}` });
  }
  const values = meter.text().match(/ \d+$/gm) ?? [];
  assert.equal(values.length, labelSetsMax + 1);
  assert.equal(
    values.reduce((sum, value) => sum + Number(value), 0),
    3 * sets,
  );
  assert.match(meter.text(), /\{subscription="other"\} 1500$/m);
  assert.match(meter.text(), /\{subscription="s0"\} 3$/m);
});
