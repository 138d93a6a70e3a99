// What the server's settings mean for a 200: looked at when the store is opened, and by `doctor`.

import type { Connection, Row } from "./connection.ts";

export interface Finding {
  readonly check: string;
  readonly found: string;
  /**
   * `unsafe`: an event that was answered with 200 may be lost. `unusable`: a broker cannot work.
   */
  readonly state: "fine" | "warning" | "unsafe" | "unusable";
  readonly advice: string | null;
}

/** An older snapshot than this keeps the server from cleaning up. */
const snapshotMsMax = 15 * 60_000;

/** `other`: opens a second connection, where that is needed to tell. */
export async function lookAtServer(
  connection: Connection,
  other: () => Promise<Connection>,
): Promise<readonly Finding[]> {
  const [row] = await connection.query({
    text: `select current_setting('fsync'), current_setting('full_page_writes'),
      current_setting('synchronous_commit'), current_setting('synchronous_standby_names'),
      (select count(*) from pg_stat_replication where sync_state in ('sync', 'quorum')),
      pg_backend_pid(),
      (select max(extract(epoch from clock_timestamp() - xact_start)) * 1000
        from pg_stat_activity where backend_xmin is not null and pid <> pg_backend_pid())`,
  });
  const [fsync, pages, commit, standbys, synced, pid, snapshotMs] = row as Row;
  return [
    onOff("fsync", fsync, "after a power failure the database may be damaged, and all of it lost"),
    onOff("full_page_writes", pages, "after a power failure pages of it may be torn"),
    judgeCommit(commit),
    judgeStandbys(commit, standbys, synced),
    ...(pid === connection.processId ? [] : [await judgePooler(connection, other)]),
    ...judgeSnapshot(snapshotMs === null ? 0 : Number(snapshotMs)),
  ];
}

function onOff(name: string, value: string, meaning: string): Finding {
  const check = `database ${name}`;
  if (value === "on") return { check, state: "fine", found: "on", advice: null };
  const advice = `Set ${name} = on in postgresql.conf.`;
  return { check, state: "unsafe", found: `off: ${meaning}`, advice };
}

function judgeCommit(value: string): Finding {
  const check = "database synchronous_commit";
  if (value !== "off") {
    const words = value === "local" ? "local: standbys are not waited for" : value;
    return { check, state: "fine", found: words, advice: null };
  }
  const found = "off: what was answered with 200 in the last moments before a crash is lost";
  return { check, state: "unsafe", found, advice: "Set synchronous_commit = on." };
}

function judgeStandbys(commit: string, names: string, synced: number): Finding {
  const check = "database standbys";
  if (names === "" || commit === "local") {
    const found = "none is waited for: if the primary's disk is lost, so are the last events";
    const advice = "For failover without loss set synchronous_standby_names = 'ANY 1 (a, b)'.";
    return { check, state: "fine", found, advice };
  }
  if (synced > 0) {
    return { check, state: "fine", found: `${synced} have every answered event`, advice: null };
  }
  const found = "one is to be waited for, and none is there: writes will wait for it";
  return { check, state: "warning", found, advice: "Start it, or name several with ANY 1." };
}

const process = { text: "select pg_backend_pid()" };
const looksMax = 3;

/**
 * The process that answers is not the one that was connected to: something is in between. If two
 * connections that are open at the same time get the same process, sessions are shared.
 */
async function judgePooler(
  connection: Connection,
  open: () => Promise<Connection>,
): Promise<Finding> {
  const check = "database pooler";
  const other = await open();
  try {
    const seen = [new Set<number>(), new Set<number>()] as const;
    for (let look = 0; look < looksMax; look += 1) {
      for (const [index, each] of [connection, other].entries()) {
        seen[index]?.add((await each.query(process))[0]?.[0]);
      }
    }
    const isShared = seen.some(({ size }) => size > 1) || !seen[0].isDisjointFrom(seen[1]);
    if (isShared) {
      const found = "in between, and shares one session of the database between connections";
      const advice =
        "Set pool_mode = session for this database, or connect past the pooler: prepared " +
        "statements, settings and LISTEN belong to a session.";
      return { check, state: "unusable", found, advice };
    }
    return {
      check,
      state: "fine",
      found: "in between, with a session per connection",
      advice: null,
    };
  } finally {
    await other.close();
  }
}

function judgeSnapshot(ms: number): readonly Finding[] {
  if (ms <= snapshotMsMax) return [];
  const found = `a transaction has been open for ${Math.round(ms / 60_000)} minutes: nothing finished since then can be cleaned up, and claims become slower`;
  const advice = "See pg_stat_activity; end it, or run it on a standby.";
  return [{ check: "database snapshot", state: "warning", found, advice }];
}
