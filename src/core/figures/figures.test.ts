import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { startAt } from "../../../test/contract/fixture.ts";
import {
  accepted,
  attempted,
  billing,
  busy,
  deliveryOf,
  ended,
  ok,
  warehouse,
} from "../../../test/fixtures/story-notes.ts";
import { isSelected, pointOf, type Scope, SeriesFold, scopeKey } from "./figures.ts";
import { bucketCount, bucketOf, emptyHistogram, middleOf, quantileOf } from "./histogram.ts";
import { chartRange, countOf, levelFor, levels, startOf } from "./steps.ts";
import { addPacked, addSums, emptySums, packSums, type Sums } from "./sums.ts";
import { Tally } from "./tally.ts";

const minute = 60_000;
const hour = 60 * minute;

test("a duration is counted in a bucket whose middle is near it", () => {
  const table: [ms: number, bucket: number, middle: number][] = [
    [-5, 0, 0],
    [0, 0, 0],
    [0.9, 0, 0],
    [7, 7, 7],
    [8, 8, 8],
    [15, 15, 15],
    [16, 16, 16],
    [17, 16, 16],
    [18, 17, 18],
    [1_000, 63, 991],
    [2 ** 40, bucketCount - 1, middleOf(bucketCount - 1)],
  ];
  for (const [ms, bucket, middle] of table) {
    assert.deepEqual([bucketOf(ms), middleOf(bucketOf(ms))], [bucket, middle], `${ms} ms`);
  }
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 2 ** 31 - 1 }), (ms) => {
      assert.ok(Math.abs(middleOf(bucketOf(ms)) - ms) <= ms / 16);
      assert.ok(bucketOf(ms) <= bucketOf(ms + 1));
    }),
  );
});

test("a share of all durations is the smallest value that so many do not exceed", () => {
  const table: [durations: number[], p50: number | null, p95: number | null][] = [
    [[], null, null],
    [[3], 3, 3],
    [[1, 2], 1, 2],
    [[1, 2, 3, 4], 2, 4],
    [[...new Array(95).fill(1), ...new Array(5).fill(7)], 1, 1],
    [[...new Array(94).fill(1), ...new Array(6).fill(7)], 1, 7],
  ];
  for (const [durations, p50, p95] of table) {
    const histogram = emptyHistogram();
    for (const ms of durations) histogram[bucketOf(ms)] = (histogram[bucketOf(ms)] ?? 0) + 1;
    assert.deepEqual([quantileOf(histogram, 0.5), quantileOf(histogram, 0.95)], [p50, p95]);
  }
});

const anySums: fc.Arbitrary<Sums> = fc
  .record({
    published: fc.maxSafeNat().map((n) => n % 2 ** 45),
    delivered: fc.nat(),
    failed: fc.nat(300),
    deadLettered: fc.nat(1),
    dropped: fc.constant(0),
    waiting: fc.option(fc.nat()),
    delivery: fc.array(fc.tuple(fc.nat(bucketCount - 1), fc.nat(1_000))),
    answer: fc.array(fc.tuple(fc.nat(bucketCount - 1), fc.nat(1_000))),
  })
  .map(({ delivery, answer, ...rest }) => {
    const sums = { ...emptySums(), ...rest };
    for (const [bucket, count] of delivery) sums.delivery[bucket] = count;
    for (const [bucket, count] of answer) sums.answer[bucket] = count;
    return sums;
  });

test("sums are packed and unpacked, and adding packed ones is adding them", () => {
  fc.assert(
    fc.property(anySums, anySums, (one, other) => {
      const unpacked = emptySums();
      addPacked(unpacked, packSums(one));
      assert.deepEqual(unpacked, one);
      addPacked(unpacked, packSums(other));
      const added = structuredClone(one);
      addSums(added, other);
      assert.deepEqual(unpacked, added);
    }),
  );
  assert.equal(packSums(emptySums()).length, 9, "a quiet minute takes few bytes");
  const unknown = emptySums();
  addPacked(unknown, Uint8Array.of(9, 1, 2, 3));
  assert.deepEqual(unknown, emptySums());
});

test("a chart has round steps, aligned, and no more points than asked for", () => {
  const now = Date.parse("2030-01-08T10:30:30Z");
  const iso = (at: number) => new Date(at).toISOString();
  const table: [backMs: number, points: number, stepMs: number, from: string, count: number][] = [
    [hour, 61, minute, "2030-01-08T09:30:00.000Z", 61],
    [hour, 60, 2 * minute, "2030-01-08T09:30:00.000Z", 31],
    [5 * minute, 60, minute, "2030-01-08T10:25:00.000Z", 6],
    [24 * hour, 100, 15 * minute, "2030-01-07T10:30:00.000Z", 97],
    [24 * hour, 24, 2 * hour, "2030-01-07T10:00:00.000Z", 13],
    [7 * 24 * hour, 200, hour, "2030-01-01T10:00:00.000Z", 169],
    [7 * 24 * hour, 1_500, 10 * minute, "2030-01-01T10:30:00.000Z", 1_009],
    [30 * 24 * hour, 1_500, hour, "2029-12-09T10:00:00.000Z", 721],
    [90 * 24 * hour, 1_500, hour, "2029-12-04T10:00:00.000Z", 841],
    [7 * 24 * hour, 1, 24 * hour, "2030-01-01T00:00:00.000Z", 8],
  ];
  for (const [backMs, points, stepMs, from, count] of table) {
    const range = chartRange({ from: now - backMs, to: now, points }, now);
    const seen = [range.stepMs, iso(range.from), countOf(range)];
    assert.deepEqual(seen, [stepMs, from, count], `${backMs / hour} h in ${points}`);
  }
  const future = chartRange({ from: now + hour, to: now, points: 10 }, now);
  assert.equal(countOf(future), 1, "a range that ends before it begins is its end");
});

test("every step of a chart is made of a level that is kept long enough", () => {
  const table: [stepMs: number, level: number][] = [
    [minute, 0],
    [10 * minute, 0],
    [15 * minute, 1],
    [30 * minute, 1],
    [hour, 2],
    [24 * hour, 2],
  ];
  for (const [stepMs, level] of table) assert.equal(levelFor(stepMs), levels[level]);
  for (const [index, { stepMs }] of levels.entries()) {
    const finer = levels[index - 1];
    assert.equal(finer === undefined ? 0 : stepMs % finer.stepMs, 0);
  }
});

test("names select scopes in any letter case, and endpoints exactly", () => {
  const billing: Scope = {
    kind: "subscription",
    name: "Billing",
    topic: "Orders",
    domainTopic: null,
  };
  const hook: Scope = { kind: "endpoint", name: "https://a/B", topic: null, domainTopic: null };
  assert.ok(isSelected(billing, { kind: "subscription" }));
  assert.ok(isSelected(billing, { kind: "subscription", topic: "ORDERS", name: "billing" }));
  assert.ok(!isSelected(billing, { kind: "subscription", topic: "order" }));
  assert.ok(!isSelected(billing, { kind: "subscription", domainTopic: "eu" }));
  assert.ok(!isSelected(billing, { kind: "topic" }));
  assert.ok(isSelected(hook, { kind: "endpoint", name: "https://a/B" }));
  assert.ok(!isSelected(hook, { kind: "endpoint", name: "https://a/b" }));
  assert.equal(scopeKey(billing), scopeKey({ ...billing, name: "BILLING" }));
});

test("rows become points, what lies outside is left out, and the total is of all", () => {
  const fold = new SeriesFold({ from: startAt, to: startAt + 4 * minute, stepMs: 2 * minute });
  const row = (delivered: number, ms: number, waiting: number) => {
    const sums = { ...emptySums(), delivered, waiting };
    sums.delivery[bucketOf(ms)] = delivered;
    return packSums(sums);
  };
  fold.add(startAt, row(1, 1, 5));
  fold.add(startAt + minute, row(3, 7, 2));
  fold.add(startAt + 4 * minute, row(100, 1, 1));
  const { points, total } = fold.end({ kind: "broker", name: "", topic: null, domainTopic: null });
  assert.deepEqual(
    points.map((point) => point && [point.delivered, point.waiting, point.deliveryP50Ms]),
    [[4, 5, 7], null],
  );
  assert.equal(total.delivered, 4);
});

function taken(tally: Tally, now = startAt, backlogs: Parameters<Tally["take"]>[1] = []) {
  const found: Record<string, unknown> = {};
  for (const { scope, at, packed } of tally.take(now, backlogs)) {
    const sums = emptySums();
    addPacked(sums, packed);
    const { published, delivered, failed, deadLettered, dropped, waiting } = pointOf(sums);
    const name = `${scope.kind} ${scope.name} +${(at - startOf(startAt, minute)) / minute}`;
    found[name] = [published, delivered, failed, deadLettered, dropped, waiting];
  }
  return found;
}

test("what is noted is counted for its subscription, endpoint, topic and broker", () => {
  const tally = new Tally("this");
  tally.note(accepted("a", { to: [warehouse.id, billing.id] }));
  tally.note(accepted("b", { to: [] }));
  tally.note(accepted("c", { acceptedWith: "redrive" }));
  tally.note(attempted("a", busy));
  tally.note(attempted("a", ok));
  tally.note(attempted("a", ok, { counts: false }));
  tally.note(attempted("a", ok, { delivery: deliveryOf("a", { stage: "deadLetter" }) }));
  tally.note(ended("a", { decision: "drop" }));
  tally.note(ended("a", { decision: "deadLetter" }));
  const rows = taken(tally, startAt, [
    { subscription: warehouse, waiting: 4 },
    { subscription: billing, waiting: 3 },
  ]);
  const { endpoint, ...others } = Object.groupBy(Object.keys(rows), (key) =>
    key.split(" ", 1).join(),
  );
  assert.deepEqual(Object.keys(others).toSorted(), ["broker", "member", "subscription", "topic"]);
  assert.equal(endpoint?.length, 1, "both send to one endpoint");
  assert.deepEqual(rows["subscription warehouse +0"], [1, 1, 1, 1, 1, 4]);
  assert.deepEqual(rows["subscription billing +0"], [1, 0, 0, 0, 0, 3]);
  assert.deepEqual(rows[endpoint?.[0] ?? ""], [2, 1, 1, 1, 1, 7]);
  assert.deepEqual(rows[`topic ${warehouse.topic} +0`], [2, 1, 1, 1, 1, 7]);
  assert.deepEqual(rows["broker  +0"], [2, 1, 1, 1, 1, 7]);
  assert.deepEqual(rows["member this +0"], [2, 1, 1, 1, 1, 0], "what waits is not its own");
});

test("each minute has rows of its own, and what is taken is not taken again", () => {
  const tally = new Tally("this");
  tally.note(accepted("a"));
  tally.note(accepted("b", { at: startAt + 3 * minute }));
  const rows = taken(tally, startAt + 3 * minute);
  assert.deepEqual(rows["subscription warehouse +0"], [1, 0, 0, 0, 0, null]);
  assert.deepEqual(rows["subscription warehouse +3"], [1, 0, 0, 0, 0, null]);
  const later = taken(tally, startAt + 4 * minute);
  assert.deepEqual(
    later,
    { "broker  +4": [0, 0, 0, 0, 0, 0], "member this +4": [0, 0, 0, 0, 0, 0] },
    "it runs, and nothing happens",
  );
});

test("a minute that a clock jumped over has the backlog that was seen before it", () => {
  const tally = new Tally("this");
  taken(tally, startAt, [{ subscription: warehouse, waiting: 4 }]);
  tally.note(accepted("a", { at: startAt + minute }));
  tally.note(accepted("b", { at: startAt + 2 * minute }));
  const rows = taken(tally, startAt + 2 * minute, [{ subscription: warehouse, waiting: 6 }]);
  assert.deepEqual(rows["subscription warehouse +1"], [1, 0, 0, 0, 0, 4]);
  assert.deepEqual(rows["broker  +1"], [1, 0, 0, 0, 0, 4]);
  assert.deepEqual(rows["broker  +2"], [1, 0, 0, 0, 0, 6]);
});
