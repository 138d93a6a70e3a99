import assert from "node:assert/strict";
import { test } from "node:test";
import { startPostgres } from "../../../test/fixtures/postgres.ts";
import { parseTarget, type Target } from "../../core/text/connection-string.ts";
import { int8Array, textArray } from "./binary.ts";
import { Connection, codeOf } from "./connection.ts";

const clock = { now: () => Date.now(), after: () => () => {} };

test("a named statement is prepared once, and answers the same the second time", async (t) => {
  const postgres = await startPostgres(t);
  const target = parseTarget(await postgres.newDatabase(), null) as Target;
  const connection = await Connection.open({ target, clock, name: "test", onEnd: () => {} });
  t.after(() => connection.close());
  const rows = {
    name: "rows",
    text: `select x, 'é' || t, x > 1, null::int8, array[x, 7], $3::text
      from unnest($1::int8[], $2::text[]) u(x, t)`,
  };
  for (const last of [null, "z"]) {
    assert.deepEqual(
      await connection.query(rows, [int8Array([1, 2]), textArray(["a", null]), last]),
      [
        [1, "éa", false, null, [1, 7], last],
        [2, null, true, null, [2, 7], last],
      ],
    );
  }
  const table = { name: "table", text: "create temporary table if not exists one (id int8)" };
  for (const _ of [1, 2]) assert.deepEqual(await connection.query(table), []);
  const divide = { name: "divide", text: "select 12 / $1::int8" };
  for (const _ of [1, 2]) {
    await assert.rejects(connection.query(divide, [0]), (error) => codeOf(error) === "22012");
    assert.deepEqual(await connection.query(divide, [3]), [[4]]);
  }
  const wrong = { name: "wrong", text: "select nothing" };
  for (const _ of [1, 2]) {
    await assert.rejects(connection.query(wrong), (error) => codeOf(error) === "42703");
  }
  await assert.rejects(connection.query({ ...divide, text: "select 1" }), /Two statements/);
  assert.deepEqual(await connection.query(divide, [4]), [[3]]);
  const [prepared] = await connection.query({
    text: "select count(*) from pg_prepared_statements",
  });
  assert.deepEqual(prepared, [3]);
});
