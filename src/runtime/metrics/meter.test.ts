import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { promtool } from "../../../test/fixtures/promtool.ts";
import type { Sample } from "../../core/ports.ts";
import { families } from "./families.ts";
import { histogramSetsMax, labelSetsMax, openMeter, textOf, withoutNames } from "./meter.ts";

type Meter = ReturnType<typeof openMeter>;

const textIn = (meter: Meter, samples: readonly Sample[] = []) => textOf(meter.read(samples));

/** Without the lines that describe metrics, which are always the same. */
const linesIn = (meter: Meter, samples: readonly Sample[] = []) =>
  textIn(meter, samples)
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"));

test("counters are told in Prometheus' text form, in a fixed order", () => {
  const meter = openMeter();
  meter.count("posthorn_store_failures_total", { verb: "settle" }, 3);
  meter.count("posthorn_delivery_attempts_total", { topic: "orders", outcome: "Delivered" });
  meter.count("posthorn_delivery_attempts_total", { outcome: "Delivered", topic: "orders" }, 2);
  meter.count("posthorn_delivery_attempts_total", { topic: "orders", outcome: "Busy" });
  const text = textIn(meter);
  assert.equal(
    text.slice(text.indexOf("# HELP posthorn_delivery_attempts_total")).split("\n", 4).join("\n"),
    [
      "# HELP posthorn_delivery_attempts_total Attempts, to dead-letter stores too, by outcome.",
      "# TYPE posthorn_delivery_attempts_total counter",
      'posthorn_delivery_attempts_total{outcome="Busy",topic="orders"} 1',
      'posthorn_delivery_attempts_total{outcome="Delivered",topic="orders"} 3',
    ].join("\n"),
  );
  assert.match(text, /^posthorn_store_failures_total\{verb="settle"\} 3$/m);
  const names = [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name);
  assert.deepEqual(names, names.toSorted());
});

test("what has not happened yet is described all the same, without a number", () => {
  assert.deepEqual(linesIn(openMeter()), []);
  const described = textIn(openMeter()).match(/^# TYPE/gm) ?? [];
  assert.equal(described.length, families.length);
});

test("label values cannot break out of their line", () => {
  const meter = openMeter();
  meter.count("posthorn_dropped_events_total", { reason: 'a "b" \\ c\nd' });
  assert.match(
    textIn(meter),
    /^posthorn_dropped_events_total\{reason="a \\"b\\" \\\\ c\\nd"\} 1$/m,
  );
});

test("Event Grid's metrics are told from our counts, under its names", () => {
  const meter = openMeter();
  const names = { topic: "orders", subscription: "billing" };
  meter.count("posthorn_delivered_events_total", names, 2);
  meter.count("posthorn_dropped_events_total", { ...names, reason: "TimeToLiveExceeded" });
  meter.count("posthorn_publish_refused_total", { topic: "orders", code: "PayloadTooLarge" });
  meter.count("posthorn_publish_refused_total", { topic: "orders", code: "Unavailable" });
  assert.deepEqual(
    linesIn(meter).filter((line) => line.startsWith("eventgrid_")),
    [
      'eventgrid_delivery_success_count_total{event_subscription_name="billing",topic="orders"} 2',
      'eventgrid_dropped_event_count_total{drop_reason="TimeToLiveExceeded",' +
        'event_subscription_name="billing",topic="orders"} 1',
      'eventgrid_publish_fail_count_total{error="PayloadTooLarge",error_type="ClientError",' +
        'topic="orders"} 1',
      'eventgrid_publish_fail_count_total{error="Unavailable",error_type="ServerError",' +
        'topic="orders"} 1',
    ],
  );
});

test("measurements are told in buckets, each with all that is below it", () => {
  const meter = openMeter();
  for (const value of [0, 1, 1.5, 3, 7, 2_000]) {
    meter.observe("posthorn_store_round_operations", {}, value);
  }
  const lines = linesIn(meter);
  const bucket = (le: string) =>
    lines.find((line) => line.startsWith(`posthorn_store_round_operations_bucket{le="${le}"}`));
  assert.match(bucket("1") ?? "", / 2$/);
  assert.match(bucket("2") ?? "", / 3$/);
  assert.match(bucket("5") ?? "", / 4$/);
  assert.match(bucket("1000") ?? "", / 5$/);
  assert.match(bucket("+Inf") ?? "", / 6$/);
  assert.deepEqual(lines.slice(-2), [
    "posthorn_store_round_operations_sum 2012.5",
    "posthorn_store_round_operations_count 6",
  ]);
});

test("a summary is told as a sum and a count", () => {
  const meter = openMeter();
  const name = "eventgrid_destination_processing_duration_seconds";
  meter.observe(name, { topic: "orders" }, 0.5);
  meter.observe(name, { topic: "orders" }, 0.25);
  assert.deepEqual(linesIn(meter), [
    `${name}_sum{topic="orders"} 0.75`,
    `${name}_count{topic="orders"} 2`,
  ]);
});

test("sets of labels beyond the limit are gathered under `other`, and no count is lost", () => {
  const meter = openMeter();
  const sets = labelSetsMax + 500;
  for (let round = 0; round < 3; round++) {
    for (let set = 0; set < sets; set++)
      meter.count("posthorn_halved_batches_total", { subscription: `s${set}` });
  }
  const values = linesIn(meter).map((line) => line.slice(line.lastIndexOf(" ")));
  assert.equal(values.length, labelSetsMax + 1);
  assert.equal(
    values.reduce((sum, value) => sum + Number(value), 0),
    3 * sets,
  );
  assert.match(textIn(meter), /\{subscription="other"\} 1500$/m);
  assert.match(textIn(meter), /\{subscription="s0"\} 3$/m);
});

test("histograms, which are long, are kept for fewer sets", () => {
  const meter = openMeter();
  for (let set = 0; set < histogramSetsMax + 5; set++) {
    meter.observe("posthorn_delivery_latency_seconds", { topic: `t${set}` }, 1);
  }
  const counts = linesIn(meter).filter((line) => line.includes("_seconds_count"));
  assert.equal(counts.length, histogramSetsMax + 1);
  assert.ok(counts.includes('posthorn_delivery_latency_seconds_count{topic="other"} 5'));
});

test("what is looked at is told as it is now; beyond the limit as a sum, or as the largest", () => {
  const meter = openMeter();
  const sample = (name: string, value: number, topic: string) => ({
    name,
    labels: { topic },
    value,
  });
  assert.deepEqual(linesIn(meter, [sample("posthorn_waiting_events", 7, "a")]), [
    'posthorn_waiting_events{topic="a"} 7',
  ]);
  const many = Array.from({ length: labelSetsMax + 3 }, (_, index) => [
    sample("posthorn_waiting_events", 1, `t${index}`),
    sample("posthorn_oldest_waiting_seconds", index, `t${index}`),
  ]).flat();
  const lines = linesIn(meter, many);
  assert.ok(lines.includes('posthorn_waiting_events{topic="other"} 3'));
  assert.ok(lines.includes(`posthorn_oldest_waiting_seconds{topic="other"} ${labelSetsMax + 2}`));
  assert.deepEqual(linesIn(meter), [], "nothing of a look is kept");
});

test("every metric that is counted anywhere is described, and no other", () => {
  const files = globSync("src/**/*.ts", { cwd: new URL("../../..", import.meta.url).pathname })
    .filter((path) => !path.endsWith(".test.ts") && path !== "src/runtime/metrics/families.ts")
    .map((path) => readFileSync(new URL(`../../../${path}`, import.meta.url), "utf8"));
  const form =
    /\b(?:posthorn|eventgrid|process|nodejs)_[a-z0-9]+_[a-z0-9_]+\b|\bposthorn_(?:topics|subscriptions|ready)\b/g;
  const used = new Set(files.flatMap((text) => text.match(form) ?? []));
  const isRetold = (name: string) => families.find((one) => one.name === name)?.from !== undefined;
  const described = families.map(({ name }) => name);
  assert.deepEqual(
    [...used].filter((name) => !described.includes(name)),
    [],
  );
  assert.deepEqual(
    described.filter((name) => !used.has(name) && !isRetold(name)),
    [],
  );
});

test("promtool finds nothing wrong with any of them", async () => {
  const meter = openMeter();
  const labels = { topic: "a b", subscription: "s", reason: "r", outcome: "o" };
  const samples: Sample[] = [];
  for (const { name, kind, from } of families) {
    if (from !== undefined) continue;
    if (kind === "gauge") samples.push({ name, labels, value: 1.5 });
    else if (kind === "counter") meter.count(name, labels);
    else meter.observe(name, labels, 0.01);
  }
  const { isFine, said } = await promtool(["check", "metrics"], textIn(meter, samples));
  assert.ok(isFine, said);
  assert.equal(said, "");
  const bad = await promtool(["check", "metrics"], "posthornBad 1\n");
  assert.equal(bad.isFine, false, "it would find something");
});

test("without names, what belongs together is summed up, or the largest of it shown", () => {
  const meter = openMeter();
  for (const topic of ["a", "b"]) {
    meter.count("posthorn_publish_refused_total", { topic, code: "NotFound" }, 2);
    meter.observe("eventgrid_publish_success_latency_seconds", { topic }, 0.004);
  }
  meter.count("posthorn_publish_refused_total", { topic: "a", code: "Forbidden" });
  const named = { topic: "a", domain_topic: "d", subscription: "s", stage: "deliver" };
  const other = { ...named, subscription: "t" };
  const readings = meter.read([
    { name: "posthorn_waiting_events", labels: named, value: 3 },
    { name: "posthorn_waiting_events", labels: other, value: 4 },
    { name: "posthorn_oldest_waiting_seconds", labels: named, value: 3 },
    { name: "posthorn_oldest_waiting_seconds", labels: other, value: 4 },
  ]);
  const text = textOf(readings.map(withoutNames));
  for (const line of [
    'posthorn_publish_refused_total{code="NotFound"} 4',
    'posthorn_publish_refused_total{code="Forbidden"} 1',
    'posthorn_waiting_events{stage="deliver"} 7',
    'posthorn_oldest_waiting_seconds{stage="deliver"} 4',
    "eventgrid_publish_success_latency_seconds_count 2",
    'eventgrid_publish_success_latency_seconds_bucket{le="0.005"} 2',
  ]) {
    assert.ok(text.includes(`${line}\n`), line);
  }
  assert.doesNotMatch(text, /topic=|subscription=|subscription_name=/);
});
