import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { figuresContract } from "../../../test/contract/figures.ts";
import { startAt } from "../../../test/contract/fixture.ts";
import { makeFolder } from "../../../test/fixtures/dead-letter-broker.ts";
import { accepted, attempted, ok, warehouse } from "../../../test/fixtures/story-notes.ts";
import type { Figures } from "../../core/figures/figures.ts";
import type { StoryNote } from "../../core/story/note.ts";
import { FigureEngine } from "./engine.ts";
import { FigureKeeper, type KeeperDeps } from "./keeper.ts";
import { MemoryFigures } from "./memory.ts";
import { openFiguresInline, openFigureThread } from "./thread.ts";

figuresContract("figures in memory", async (_t, limits) => {
  const figures = new MemoryFigures(limits);
  return { figures, reopen: async () => figures };
});

figuresContract("figures in a file", async (t, limits) => {
  const path = join(makeFolder(t), "figures.db");
  const bytesMax = limits && { bytesMax: limits.rowsMax * 80 };
  const open = () => openFiguresInline(new FigureEngine({ path, ...bytesMax }));
  let figures = open();
  t.after(() => figures.close());
  return {
    figures,
    async reopen() {
      await figures.close();
      figures = open();
      return figures;
    },
  };
});

test("on a thread it does the same, and moves a damaged file away", async (t) => {
  const path = join(makeFolder(t), "figures.db");
  writeFileSync(path, "no database at all, and long enough to be looked at".repeat(100));
  const { figures, setAside } = await openFigureThread({ path });
  t.after(() => figures.close());
  assert.equal(setAside, `${path}.damaged-1`);
  const range = { from: startAt, to: startAt + 60_000, stepMs: 60_000 };
  const query = { selection: { kind: "broker" }, range, scopesMax: 1 } as const;
  assert.deepEqual(await figures.read(query), []);
});

function openKeeper(figures: Figures) {
  let tell: (note: StoryNote) => void = () => {};
  let ring: () => void = () => {};
  let now = startAt;
  const facts: string[] = [];
  const keeper = new FigureKeeper({
    broker: "this",
    figures,
    chronicle: {
      listen(listener) {
        tell = listener;
        return () => {
          tell = () => {};
        };
      },
    },
    ledger: {
      counts: async () => [
        {
          ...{ subscription: warehouse.id, stage: "deliver" as const, waiting: 3 },
          ...{ oldestAt: startAt, nextDueAt: startAt },
        },
      ],
    },
    catalog: () => ({ subscriptions: [warehouse] }),
    clock: { now: () => now } as KeeperDeps["clock"],
    log: { fact: (level, name) => void facts.push(`${level} ${name}`) },
    every: (_ms, call) => {
      ring = call;
      return () => {};
    },
  });
  return {
    ...{ keeper, facts, note: (note: StoryNote) => tell(note), ring: () => ring() },
    pass(ms: number) {
      now += ms;
    },
    async delivered() {
      const from = Math.floor(startAt / 60_000) * 60_000;
      const range = { from, to: from + 3_600_000, stepMs: 60_000 };
      const query = { selection: { kind: "subscription" }, range, scopesMax: 9 } as const;
      const [series] = await keeper.read(query);
      return [series?.total.published, series?.total.delivered, series?.total.waiting];
    },
  };
}

test("readers see what was counted just now, and what waits", async () => {
  const { delivered, note, pass } = openKeeper(new MemoryFigures());
  note(accepted("a"));
  note(attempted("a", ok));
  assert.deepEqual(await delivered(), [1, 1, 3]);
  note(attempted("b", ok));
  assert.deepEqual(await delivered(), [1, 1, 3], "not more than once a second");
  pass(1_000);
  assert.deepEqual(await delivered(), [1, 2, 3]);
});

test("what a disk refuses is written when it takes it, and closing writes the rest", async () => {
  const kept = new MemoryFigures();
  let isBroken = true;
  const { delivered, note, pass, facts, keeper } = openKeeper({
    ...{ read: (query) => kept.read(query), close: () => kept.close() },
    async add(rows, now) {
      if (isBroken) throw new Error("disk full");
      await kept.add(rows, now);
    },
  });
  note(attempted("a", ok));
  for (const _ of [1, 2]) {
    assert.deepEqual(await delivered(), [undefined, undefined, undefined]);
    pass(1_000);
  }
  assert.deepEqual(facts, ["warn figures.unwritten", "debug figures.unwritten"]);
  isBroken = false;
  note(attempted("b", ok));
  await keeper.close();
  assert.deepEqual(await delivered(), [0, 2, 3]);
});
