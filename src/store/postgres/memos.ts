// Small records: the port Memos, and how often dead letters have been redriven (the port Redriven).

import type { RedrivenNote } from "../../core/deadletter/letter-store.ts";
import { redriveLimits } from "../../core/deadletter/redrive.ts";
import type { Memo } from "../../core/steering.ts";
import { int4Array, textArray } from "./binary.ts";
import type { Session } from "./database.ts";

const read = {
  name: "memos",
  text: `select key, record from memos where kind = $1 order by key collate "C"`,
};
const put = {
  name: "put_memo",
  text: `
  insert into memos values ($1, $2, $3)
  on conflict (kind, key) do update set record = excluded.record`,
};
const keep = {
  name: "keep_memo",
  text: `
  insert into memos values ($1, $2, $3)
  on conflict (kind, key) do update set record = memos.record returning record`,
};
const remove = { name: "remove_memo", text: "delete from memos where kind = $1 and key = $2" };

export async function readMemos(database: Session, kind: string): Promise<readonly Memo[]> {
  const rows = await database.query(read, [kind]);
  return rows.map(([key, record]) => ({ key, record: JSON.parse(record) as object }));
}

export async function putMemo(
  database: Session,
  [kind, key]: readonly [string, string],
  record: object | null,
): Promise<void> {
  if (record === null) await database.query(remove, [kind, key]);
  else await database.query(put, [kind, key, JSON.stringify(record)]);
}

/** Unless there is one: the answer is what is there. */
export async function keepMemo(
  database: Session,
  [kind, key]: readonly [string, string],
  record: object,
): Promise<object> {
  const [row] = await database.query(keep, [kind, key, JSON.stringify(record)]);
  return JSON.parse(row?.[0] as string) as object;
}

const times = {
  name: "redriven",
  text: `
  select x.place, r.times from unnest($1::text[]) with ordinality x(key, place)
  join redriven r on r.key = x.key`,
};
const note = {
  name: "note_redriven",
  text: `
  with x as materialized (
    select * from unnest($1::text[], $2::int4[], $3::int4[]) x(key, more, least)
  ), known as (
    update redriven r set times = greatest(r.times + x.more, x.least),
      number = nextval('redriven_numbers')
    from x where r.key = x.key returning r.key
  )
  insert into redriven (key, times, number)
  select x.key, x.least, nextval('redriven_numbers') from x
  where x.key not in (select key from known)
  on conflict (key) do update
  set times = greatest(redriven.times + 1, excluded.times), number = excluded.number`,
};
const forget = {
  name: "forget_redriven",
  text: "delete from redriven where number <= (select max(number) from redriven) - $1::int8",
};

export async function readRedriven(database: Session, keys: readonly string[]): Promise<number[]> {
  const found = keys.map(() => 0);
  for (const [place, count] of await database.query(times, [textArray(keys)])) {
    found[place - 1] = count;
  }
  return found;
}

export async function noteRedriven(
  database: Session,
  notes: readonly RedrivenNote[],
): Promise<void> {
  /** By key: how many notes, and what they come to for one that was not known. */
  const sums = new Map<string, { more: number; least: number }>();
  for (const { key, times: known } of notes) {
    const { more, least } = sums.get(key) ?? { more: 0, least: 0 };
    sums.set(key, { more: more + 1, least: Math.max(least + 1, known) });
  }
  const keys = [...sums.keys()].toSorted();
  const of = (member: "more" | "least") => keys.map((key) => sums.get(key)?.[member] ?? 0);
  await database.query(note, [textArray(keys), int4Array(of("more")), int4Array(of("least"))]);
  await database.query(forget, [redriveLimits.rememberedMax]);
}
