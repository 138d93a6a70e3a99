// What every body of the figures must do, whatever it is made of.

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import {
  type FigureRow,
  type Figures,
  type Scope,
  type Selection,
  wholeBroker,
} from "../../src/core/figures/figures.ts";
import { bucketOf } from "../../src/core/figures/histogram.ts";
import { levels, type Range } from "../../src/core/figures/steps.ts";
import { emptySums, packSums } from "../../src/core/figures/sums.ts";
import type { Scope as TestScope } from "../fixtures/webhook.ts";

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
const start = Date.parse("2030-01-01T00:00:00Z");

const billing: Scope = {
  kind: "subscription",
  name: "billing",
  topic: "orders",
  domainTopic: null,
};
const shop: Scope = { ...billing, name: "shop" };

function row(scope: Scope, at: number, delivered: number, ms = 5): FigureRow {
  const sums = { ...emptySums(), delivered, waiting: delivered * 10 };
  sums.delivery[bucketOf(ms)] = delivered;
  return { scope, at, packed: packSums(sums) };
}

export type OpenFigures = (
  t: TestScope,
  limits?: { readonly rowsMax: number },
) => Promise<{ readonly figures: Figures; reopen(): Promise<Figures> }>;

export function figuresContract(name: string, open: OpenFigures): void {
  const ask = async (figures: Figures, selection: Selection, range: Partial<Range> = {}) => {
    const whole = { from: start, to: start + hour, stepMs: minute, ...range };
    const series = await figures.read({ selection, range: whole, scopesMax: 100 });
    return series.map(({ scope, points, total }) => ({
      name: scope.name,
      total: total.delivered,
      points: points.flatMap((point, index) => (point === null ? [] : [[index, point.delivered]])),
    }));
  };

  suite(name, () => {
    test("what is added is read back, by scope and minute", async (t) => {
      const { figures } = await open(t);
      await figures.add(
        [row(billing, start, 1), row(billing, start + 2 * minute, 2), row(shop, start, 4)],
        start,
      );
      assert.deepEqual(await ask(figures, { kind: "subscription" }), [
        {
          name: "billing",
          total: 3,
          points: [
            [0, 1],
            [2, 2],
          ],
        },
        { name: "shop", total: 4, points: [[0, 4]] },
      ]);
      assert.deepEqual(await ask(figures, { kind: "subscription", name: "SHOP" }), [
        { name: "shop", total: 4, points: [[0, 4]] },
      ]);
      assert.deepEqual(await ask(figures, { kind: "broker" }), []);
    });

    test("rows of one minute add up, and of what waits the most is kept", async (t) => {
      const { figures } = await open(t);
      await figures.add([row(wholeBroker, start, 3, 4)], start);
      await figures.add([row(wholeBroker, start, 1, 2_000), row(wholeBroker, start, 1)], start);
      const range = { from: start, to: start + minute, stepMs: minute };
      const [series] = await figures.read({ selection: { kind: "broker" }, range, scopesMax: 1 });
      const [point] = series?.points ?? [];
      const { delivered, waiting, deliveryP50Ms } = point ?? {};
      assert.deepEqual([delivered, waiting, deliveryP50Ms], [5, 30, 4]);
      assert.equal(series?.total.deliveryP95Ms, point?.deliveryP95Ms);
      assert.ok(Math.abs((point?.deliveryP95Ms ?? 0) - 2_000) < 130);
    });

    test("quarters and hours are made of minutes", async (t) => {
      const { figures } = await open(t);
      const minutes = [0, 1, 14, 15, 59, 60];
      await figures.add(
        minutes.map((each) => row(billing, start + each * minute, 1)),
        start,
      );
      const read = async (stepMs: number) => {
        const range = { to: start + 2 * hour, stepMs };
        const [series] = await ask(figures, { kind: "subscription" }, range);
        return series?.points;
      };
      assert.deepEqual(await read(15 * minute), [
        [0, 3],
        [1, 1],
        [3, 1],
        [4, 1],
      ]);
      assert.deepEqual(await read(hour), [
        [0, 5],
        [1, 1],
      ]);
      assert.deepEqual(await read(5 * minute), [
        [0, 2],
        [2, 1],
        [3, 1],
        [11, 1],
        [12, 1],
      ]);
    });

    test("what is older than it is kept goes, the finest first", async (t) => {
      const { figures } = await open(t);
      await figures.add([row(billing, start, 1)], start);
      const later = start + levels[0].keptMs + day;
      await figures.add([row(shop, later, 1)], later);
      assert.deepEqual(await ask(figures, { kind: "subscription" }), []);
      const byHour = await ask(figures, { kind: "subscription" }, { stepMs: hour });
      assert.deepEqual(byHour, [{ name: "billing", total: 1, points: [[0, 1]] }]);
      const muchLater = start + 36 * day;
      await figures.add([row(shop, muchLater, 1)], muchLater);
      assert.deepEqual(await ask(figures, { kind: "subscription" }, { stepMs: hour }), []);
    });

    test("it is bounded: the oldest minutes make room", async (t) => {
      const { figures } = await open(t, { rowsMax: 200 });
      for (let each = 0; each < 2_000; each += 100) {
        const some = Array.from({ length: 100 }, (_, index) =>
          row(billing, start + (each + index) * minute, 1),
        );
        await figures.add(some, start + (each + 100) * minute + (each / 100) * hour);
      }
      const range = { to: start + 34 * hour };
      const [minutes] = await ask(figures, { kind: "subscription" }, range);
      assert.ok((minutes?.points.length ?? 0) < 1_900, `${minutes?.points.length} minutes`);
      const [hours] = await ask(figures, { kind: "subscription" }, { ...range, stepMs: hour });
      assert.equal(hours?.total, 2_000, "the hours made of them stay");
    });

    test("after a restart all is there", async (t) => {
      const { figures, reopen } = await open(t);
      await figures.add([row(billing, start, 7)], start);
      const again = await reopen();
      await again.add([row(billing, start, 1)], start);
      const [series] = await ask(again, { kind: "subscription" });
      assert.equal(series?.total, 8);
    });
  });
}
