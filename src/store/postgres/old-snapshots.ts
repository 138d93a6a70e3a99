// Warns of a transaction that has been open for long, anywhere in the database: while it is,
// nothing finished since can be cleaned up, and claims become slower.

import type { Log } from "../../core/ports.ts";
import type { Session } from "./database.ts";

const minutesMax = 15;
const oldest = {
  name: "oldest_snapshot",
  text: `
  select extract(epoch from max(clock_timestamp() - xact_start))::int8 from pg_stat_activity
  where backend_xmin is not null`,
};

/** Said once for each. */
export class OldSnapshots {
  readonly #database: Session;
  readonly #log: Log;
  #hasWarned = false;

  constructor(database: Session, log: Log) {
    this.#database = database;
    this.#log = log;
  }

  async look(): Promise<void> {
    const [row] = await this.#database.query(oldest);
    const minutes = Math.floor((row?.[0] ?? 0) / 60);
    if (minutes < minutesMax) this.#hasWarned = false;
    else if (!this.#hasWarned) {
      this.#hasWarned = true;
      const remedy = "see pg_stat_activity: end it, or run it on a standby";
      this.#log.fact("warn", "database.oldSnapshot", { minutes, remedy });
    }
  }
}
