// Removes old stories, a page at a time, and only at one broker: who does it has a row in the
// database for a while. What was delivered goes first, by age and for lack of space; what was given
// up goes for lack of space alone; what still waits stays.

import type { Instant } from "../../../core/ports.ts";
import type { Retention } from "../../../core/story/chronicle.ts";
import { textArray } from "../binary.ts";
import type { Statement } from "../connection.ts";
import type { Database, Session } from "../database.ts";
import { addSize, sentMs } from "./writer.ts";

const pageMax = 1_000;
const always = Number.MAX_SAFE_INTEGER;
const keepSeconds = 30;

const keep = {
  name: "story keep",
  text: `update story_keeper set broker = $1, until = clock_timestamp() + interval '${keepSeconds} s'
    where broker = $1 or until < clock_timestamp() returning broker`,
};
const foldSizes = {
  name: "story fold sizes",
  text: `with gone as (delete from story_sizes returning bytes)
    insert into story_sizes (bytes) select coalesce(sum(bytes), 0) from gone returning bytes`,
};
/** The oldest of a rank, up to a page and to this many bytes. */
const page = (rank: number) => ({
  name: `story remove ${rank}`,
  text: `delete from story_entries where event = any(array(
      select event from (
        select event, sum(bytes) over (order by accepted_at, number) - bytes as ahead from (
          select event, bytes, accepted_at, number from story_entries
          where rank = ${rank} and accepted_at < $1
          order by accepted_at, number limit $2 for update skip locked) oldest) summed
      where ahead < $3))
    returning event, bytes`,
});
const removeSettled = page(0);
const removeGivenUp = page(1);
const removeParts = {
  name: "story remove parts",
  text: "delete from story_parts where event = any($1::text[])",
};
const removeRolls = {
  name: "story remove rolls",
  text: `delete from story_rolls
    where used_at < clock_timestamp() - make_interval(secs => $1)`,
};

interface Swept {
  /** How many undeliverable events had to be removed. */
  readonly cut: number;
  readonly more: boolean;
}

export class StorySweeper {
  readonly #database: Database;
  readonly #broker: string;
  readonly #retention: Retention;

  constructor(database: Database, broker: string, retention: Retention) {
    this.#database = database;
    this.#broker = broker;
    this.#retention = retention;
  }

  async step(now: Instant): Promise<Swept> {
    const { keptMs, bytesMax } = this.#retention;
    const isOurs = (await this.#database.query(keep, [this.#broker])).length > 0;
    if (!isOurs) return { cut: 0, more: false };
    return await this.#database.transaction(async (session) => {
      const [size] = await session.query(foldSizes);
      let bytes = size?.[0] as number;
      const remove = async (statement: Statement, before: Instant, bytesWanted: number) => {
        const gone = await removePage(session, statement, [before, pageMax, bytesWanted]);
        bytes -= gone.bytes;
        return gone.count;
      };
      const old = await remove(removeSettled, now - keptMs, always);
      const settled = bytes > bytesMax ? await remove(removeSettled, always, bytes - bytesMax) : 0;
      const isFull = bytes > bytesMax && settled === 0;
      const cut = isFull ? await remove(removeGivenUp, always, bytes - bytesMax) : 0;
      if (old + settled + cut === 0) {
        await session.query(removeRolls, [(2 * (keptMs + sentMs)) / 1_000]);
      }
      return { cut, more: old === pageMax || (bytes > bytesMax && settled + cut > 0) };
    });
  }
}

async function removePage(session: Session, statement: Statement, values: readonly number[]) {
  const rows = await session.query(statement, values);
  const bytes = rows.reduce((sum, row) => sum + (row[1] as number), 0);
  if (rows.length === 0) return { count: 0, bytes };
  await session.query(removeParts, [textArray(rows.map((row) => row[0]))]);
  await session.query(addSize, [-bytes]);
  return { count: rows.length, bytes };
}
