import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { figuresContract } from "../../../../test/contract/figures.ts";
import { startAt } from "../../../../test/contract/fixture.ts";
import { openPostgres, postgresHarness } from "../../../../test/contract/postgres.ts";
import { wholeBroker } from "../../../core/figures/figures.ts";
import { emptySums, packSums } from "../../../core/figures/sums.ts";
import type { Database, Session } from "../database.ts";
import type { PostgresStore } from "../store.ts";
import { PostgresFigures } from "./figures.ts";

const open = postgresHarness();

const figuresOf = ({ database }: { readonly database: Database }) =>
  new PostgresFigures({ database, isSweeper: () => true });

figuresContract("figures in PostgreSQL", async (t, limits) => {
  const { store, url, close } = await open();
  const others: PostgresStore[] = [];
  t.after(async () => {
    for (const other of others) await other.close();
    await close();
  });
  const { database } = store;
  const bound = limits && { minutesMax: limits.rowsMax };
  return {
    figures: new PostgresFigures({ database, isSweeper: () => true, ...bound }),
    // Another broker, which is what a restart is.
    async reopen() {
      const other = await openPostgres(url);
      others.push(other);
      return figuresOf(other);
    },
  };
});

suite("figures of several brokers", () => {
  const minute = 60_000;
  const at = Math.floor(startAt / minute) * minute;
  const row = (delivered: number) => ({
    ...{ scope: wholeBroker, at },
    packed: packSums({ ...emptySums(), delivered }),
  });
  const delivered = async (figures: PostgresFigures, stepMs = minute) => {
    const range = { from: at, to: at + stepMs, stepMs };
    const [series] = await figures.read({ selection: { kind: "broker" }, range, scopesMax: 1 });
    return series?.total.delivered;
  };

  test("they add up at every broker, and stay when one is gone", async (t) => {
    const { store, url, close } = await open();
    const other = await openPostgres(url);
    t.after(close);
    const [here, there] = [figuresOf(store), figuresOf(other)];
    await here.add([row(3)], at);
    await there.add([row(4)], at);
    await here.add([row(1)], at);
    assert.deepEqual([await delivered(here), await delivered(there)], [8, 8]);
    await other.close();
    await here.add([row(2)], at + 10_000);
    assert.equal(await delivered(here), 10);
  });

  test("a write whose answer is lost is not counted twice", async (t) => {
    const { store, close } = await open();
    t.after(close);
    const { database } = store;
    let isLost = false;
    const flaky = {
      query: (...query: Parameters<Session["query"]>) => database.query(...query),
      async transaction<T>(work: (session: Session) => Promise<T>) {
        const answer = await database.transaction(work);
        if (isLost) throw new Error("connection lost");
        return answer;
      },
    };
    const figures = figuresOf({ database: flaky as unknown as Database });
    await figures.add([row(1)], at);
    isLost = true;
    await assert.rejects(figures.add([row(2)], at));
    isLost = false;
    await figures.add([row(2)], at);
    assert.equal(await delivered(figures), 3);
  });

  test("what comes late is added to what was written long ago", async (t) => {
    const { store, close } = await open();
    t.after(close);
    const figures = figuresOf(store);
    await figures.add([row(1)], at);
    await figures.add([], at + 1);
    const later = at + 4 * 60 * minute;
    await figures.add([{ ...row(5), at: later }], later);
    await figures.add([row(2)], later);
    assert.deepEqual([await delivered(figures), await delivered(figures, 60 * minute)], [3, 3]);
  });

  test("only the one who sweeps removes what is old", async (t) => {
    const { store, close } = await open();
    t.after(close);
    const { database } = store;
    const idle = new PostgresFigures({ database, isSweeper: () => false });
    await idle.add([row(1)], at);
    await idle.add([], at + 8 * 24 * 60 * minute);
    assert.equal(await delivered(idle), 1);
    await figuresOf(store).add([], at + 8 * 24 * 60 * minute);
    assert.equal(await delivered(idle), undefined);
  });
});
