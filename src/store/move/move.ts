// Moves everything that is not yet delivered from the embedded store into PostgreSQL, or back:
// topics and subscriptions with their keys, waiting deliveries with their attempts and due times,
// closed endpoints, and how often dead letters were sent again. Both sides are locked meanwhile,
// and the other side has all of it or nothing. The side it came from is left as it was.
//
// Stories and figures stay behind: they tell of the past, and nothing depends on them.

import type { Database } from "../postgres/database.ts";
import { migrate } from "../postgres/migrate.ts";
import {
  addCatalog,
  addSmall,
  addWaiting,
  countCluster,
  inUseByUs,
  raiseNumbers,
  readCluster,
  refuseUnlessEmpty,
} from "./cluster-side.ts";
import { compareCounts, type MoveCounts } from "./counts.ts";
import {
  countEmbedded,
  draftEmbedded,
  openEmbedded,
  pagesOf,
  type SqlRecord,
} from "./embedded-side.ts";

export interface Place {
  readonly folder: string;
  readonly database: Database;
  /** Of the tables in the database. */
  readonly schema: string;
}

/** Refusals: InvalidSetting, Unavailable. */
export async function moveToCluster({ folder, database, schema }: Place): Promise<MoveCounts> {
  const from = openEmbedded(folder);
  try {
    await migrate(database, schema);
    return await inUseByUs(database, async (session) => {
      await refuseUnlessEmpty(session);
      const all = (table: Parameters<typeof pagesOf>[1]) => [...pagesOf(from, table)].flat();
      await addCatalog(session, all("topics"), all("subscriptions"));
      for (const table of ["retired", "removals", "notes", "redriven"] as const) {
        for (const page of pagesOf(from, table)) await addSmall(session, table, page);
      }
      const ofEvents = from.prepare(
        "SELECT * FROM deliveries WHERE event BETWEEN ? AND ? ORDER BY event, subscription",
      );
      for (const page of pagesOf(from, "events")) {
        const [first, last] = [page[0]?.number ?? 0, page.at(-1)?.number ?? 0];
        await addWaiting(session, page, ofEvents.all(first, last) as SqlRecord[]);
      }
      await raiseNumbers(session);
      const counts = await countCluster(session);
      compareCounts(countEmbedded(from), counts);
      return counts;
    });
  } finally {
    from.close();
  }
}

/** Refusals: InvalidSetting, Unavailable. */
export async function moveToFolder({ folder, database, schema }: Place): Promise<MoveCounts> {
  const into = draftEmbedded(folder);
  try {
    await migrate(database, schema);
    const counts = await inUseByUs(database, async (session) => {
      for await (const [table, rows] of readCluster(session)) {
        into.add(table, rows);
      }
      const found = await countCluster(session);
      compareCounts(found, into.counts());
      return found;
    });
    into.finish();
    return counts;
  } catch (error) {
    into.abandon();
    throw error;
  }
}
