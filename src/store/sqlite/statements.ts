// Every SQL statement of the embedded store, by name. Each transition of a delivery is one
// statement, so that a crash leaves no state in between. Each lookup uses an index: no scan, and
// except for one no sort.

import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import type { AddEvents } from "./fresh.ts";

const columns = `d.event, d.subscription, d.stage, d.due_at, d.since, d.attempts,
  d.last_at, d.last_number, d.last_outcome, d.last_status, d.reason,
  e.system_id, e.topic, e.published_at, e.schema, e.data_version, e.text, e.envelope,
  e.trace_parent, e.trace_state, e.hops`;

/** Rows of one INSERT: one with many costs less than many with one. */
const rowsPerInsert = 10;

function insertOf(rows: number, into: string, values: string): string {
  return `INSERT INTO ${into} VALUES ${Array.from({ length: rows }, () => values).join(", ")}`;
}

/** Adds rows of so many values each, many at a time. */
function adderOf(database: DatabaseSync, into: string, values: string) {
  const many = database.prepare(insertOf(rowsPerInsert, into, values));
  const one = database.prepare(insertOf(1, into, values));
  return (rows: readonly (readonly SQLInputValue[])[]): void => {
    let at = 0;
    for (; at + rowsPerInsert <= rows.length; at += rowsPerInsert) {
      many.run(...rows.slice(at, at + rowsPerInsert).flat());
    }
    for (; at < rows.length; at += 1) one.run(...(rows[at] as readonly SQLInputValue[]));
  };
}

export function prepareAdding(database: DatabaseSync): AddEvents {
  const marks = `(${Array.from({ length: 11 }, () => "?").join(", ")})`;
  const addEvents = adderOf(database, "events", marks);
  const names = "(event, subscription, stage, due_at, since, attempts, fence)";
  const addDeliveries = adderOf(database, `deliveries ${names}`, "(?, ?, 0, ?, ?, 0, 0)");
  return (fresh) => {
    const added = fresh.map(({ routed, ...rest }) => ({ ...rest, event: routed.event }));
    addEvents(
      added.map(({ number, event }) => [
        number,
        event.systemId,
        event.topic,
        event.publishedAt,
        event.schema,
        event.dataVersion,
        event.text,
        event.envelope,
        event.trace?.parent ?? null,
        event.trace?.state ?? null,
        event.hops,
      ]),
    );
    addDeliveries(
      added.flatMap(({ number, event, dueAt, to }) =>
        to.map((subscription) => [number, subscription, dueAt, event.publishedAt]),
      ),
    );
  };
}

export function prepare(database: DatabaseSync) {
  const sql = (text: string) => database.prepare(text);
  return {
    beginRound: sql("SAVEPOINT round"),
    endRound: sql("RELEASE round"),
    // Deliveries.
    hasEvent: sql("SELECT 1 FROM events WHERE number = ?"),
    epoch: sql("SELECT epoch FROM journal"),
    putEpoch: sql("UPDATE journal SET epoch = ?"),
    due: sql(
      `SELECT ${columns} FROM deliveries d INDEXED BY deliveries_due
       CROSS JOIN events e ON e.number = d.event
       WHERE d.subscription = :subscription AND d.stage = :stage AND d.due_at <= :now
         AND (d.due_at, d.event) > (:fromDueAt, :fromEvent)
       ORDER BY d.due_at, d.event`,
    ),
    /**
     * What began at or before :since and is due: the untried ones by due time, the others by age.
     */
    dueAndOld: sql(
      `SELECT ${columns} FROM (
         SELECT * FROM (
           SELECT * FROM deliveries INDEXED BY deliveries_due
           WHERE subscription = :subscription AND stage = :stage
             AND due_at <= min(:now, :since) AND since <= :since
             AND attempts = 0 AND due_at <= since
           ORDER BY due_at, event LIMIT :limit)
         UNION ALL
         SELECT * FROM (
           SELECT * FROM deliveries INDEXED BY deliveries_since
           WHERE subscription = :subscription AND stage = :stage
             AND since <= :since AND due_at <= :now AND (attempts > 0 OR due_at > since)
           ORDER BY since, event LIMIT :limit)
       ) d CROSS JOIN events e ON e.number = d.event`,
    ),
    places: sql(
      `SELECT due_at, event FROM deliveries INDEXED BY deliveries_due
       WHERE subscription = :subscription AND stage = :stage
         AND (due_at, event) > (:fromDueAt, :fromEvent)
       ORDER BY due_at, event`,
    ),
    fence: sql("SELECT fence, stage, due_at FROM deliveries WHERE event = ? AND subscription = ?"),
    putFence: sql(
      "UPDATE deliveries SET fence = ? WHERE event = ? AND subscription = ? RETURNING due_at",
    ),
    putBack: sql(
      `UPDATE deliveries SET stage = ?, due_at = ?, since = ?, attempts = ?, fence = ?,
         last_at = ?, last_number = ?, last_outcome = ?, last_status = ?, reason = ?
       WHERE event = ? AND subscription = ?`,
    ),
    removeDelivery: sql("DELETE FROM deliveries WHERE event = ? AND subscription = ?"),
    removeEvent: sql(
      `DELETE FROM events WHERE number = ?
       AND NOT EXISTS (SELECT 1 FROM deliveries WHERE event = ?)`,
    ),

    // Pull.
    /** Untried ones that have expired are due before :from, and are not looked at. */
    available: sql(
      `SELECT ${columns} FROM deliveries d INDEXED BY deliveries_due
       CROSS JOIN events e ON e.number = d.event
       WHERE d.subscription = :subscription AND d.stage = 0 AND d.due_at <= :now
         AND d.due_at > :from AND d.since > :expiredSince AND d.reason IS NULL
       ORDER BY d.due_at, d.event`,
    ),
    nextAvailable: sql(
      `SELECT due_at FROM deliveries INDEXED BY deliveries_due
       WHERE subscription = :subscription AND stage = 0 AND due_at > :from
         AND since > :expiredSince AND reason IS NULL
       ORDER BY due_at LIMIT 1`,
    ),
    hand: sql(
      `UPDATE deliveries SET due_at = :until, attempts = :number, fence = :lease, last_at = :now,
         last_number = :number, last_outcome = :outcome, last_status = NULL, reason = :reason
       WHERE event = :event AND subscription = :subscription`,
    ),
    putReason: sql("UPDATE deliveries SET reason = ? WHERE event = ? AND subscription = ?"),
    /** Handed out for the last time, and no longer locked. */
    lapsed: sql(
      `SELECT ${columns} FROM deliveries d INDEXED BY deliveries_last
       CROSS JOIN events e ON e.number = d.event
       WHERE d.subscription = :subscription AND d.stage = 0 AND d.reason IS NOT NULL
         AND d.due_at <= :now
       ORDER BY d.due_at, d.event LIMIT :limit`,
    ),
    keepFrom: sql(
      "UPDATE deliveries SET due_at = ?, fence = ? WHERE event = ? AND subscription = ?",
    ),
    nextLapse: sql(
      `SELECT due_at FROM deliveries INDEXED BY deliveries_last
       WHERE subscription = ? AND stage = 0 AND reason IS NOT NULL AND due_at > ?
       ORDER BY due_at LIMIT 1`,
    ),
    nextExpired: sql(
      `SELECT min(due_at) AS due_at FROM deliveries INDEXED BY deliveries_since
       WHERE subscription = :subscription AND stage = 0 AND since <= :expiredSince
         AND (attempts > 0 OR due_at > since) AND due_at > :now`,
    ),
    oldestTriedAlive: sql(
      `SELECT since FROM deliveries INDEXED BY deliveries_since
       WHERE subscription = :subscription AND stage = 0 AND since > :expiredSince
         AND (attempts > 0 OR due_at > since) AND reason IS NULL
       ORDER BY since LIMIT 1`,
    ),
    oldestUntriedAlive: sql(
      `SELECT since FROM deliveries INDEXED BY deliveries_due
       WHERE subscription = :subscription AND stage = 0 AND due_at > :expiredSince
         AND since > :expiredSince AND attempts = 0 AND due_at <= since
       ORDER BY due_at LIMIT 1`,
    ),
    locked: sql(
      `SELECT count(*) AS count FROM deliveries INDEXED BY deliveries_due
       WHERE subscription = ? AND stage = 0 AND due_at > ?`,
    ),

    // Reading and counting.
    /** The one that sorts: an index would cost writes for what only people look at. */
    waitingFew: sql(
      `SELECT ${columns} FROM (
         SELECT event, subscription FROM deliveries INDEXED BY deliveries_due
         WHERE subscription = :subscription AND stage = :stage AND event > :after
         ORDER BY event LIMIT :limit
       ) place
       CROSS JOIN deliveries d ON d.event = place.event AND d.subscription = place.subscription
       CROSS JOIN events e ON e.number = d.event`,
    ),
    /** Goes through all deliveries in the order of events; the `+` keeps other indexes out. */
    waitingMany: sql(
      `SELECT ${columns} FROM deliveries d CROSS JOIN events e ON e.number = d.event
       WHERE +d.subscription = :subscription AND +d.stage = :stage AND d.event > :after
       ORDER BY d.event LIMIT :limit`,
    ),
    look: sql(
      `SELECT ${columns} FROM deliveries d CROSS JOIN events e ON e.number = d.event
       WHERE d.event = ? AND d.subscription = ?`,
    ),
    count: sql("SELECT waiting FROM counts WHERE subscription = ? AND stage = ?"),
    counts: sql("SELECT * FROM counts WHERE waiting > 0 ORDER BY subscription, stage"),
    nextDueAt: sql(
      `SELECT due_at FROM deliveries INDEXED BY deliveries_due
       WHERE subscription = ? AND stage = ? ORDER BY due_at LIMIT 1`,
    ),
    oldestTried: sql(
      `SELECT since FROM deliveries INDEXED BY deliveries_since
       WHERE subscription = ? AND stage = ? AND (attempts > 0 OR due_at > since)
       ORDER BY since LIMIT 1`,
    ),
    /**
     * Untried deliveries are due since they came, the others later: no other is found before
     * :before.
     */
    oldestUntried: sql(
      `SELECT since FROM deliveries INDEXED BY deliveries_due
       WHERE subscription = :subscription AND stage = :stage AND due_at < :before
         AND attempts = 0 AND due_at <= since
       ORDER BY due_at LIMIT 1`,
    ),
    addCount: sql(
      `INSERT INTO counts VALUES (?, ?, ?)
       ON CONFLICT DO UPDATE SET waiting = waiting + excluded.waiting`,
    ),

    // Steering.
    somePlaces: sql(
      `SELECT due_at, event FROM deliveries INDEXED BY deliveries_due
       WHERE subscription = :subscription AND stage = :stage
         AND (due_at, event) > (:fromDueAt, :fromEvent)
       ORDER BY due_at, event LIMIT :limit`,
    ),
    someLater: sql(
      `SELECT event FROM deliveries INDEXED BY deliveries_due
       WHERE subscription = ? AND stage = ? AND due_at > ? LIMIT ?`,
    ),
    putDueAt: sql("UPDATE deliveries SET due_at = ? WHERE event = ? AND subscription = ?"),
    /** Of this many events, which has this id; and the last of them. */
    findEvent: sql(
      `SELECT max(number) AS last, max(CASE WHEN system_id = :systemId THEN number END) AS found,
         count(*) AS seen
       FROM (SELECT number, system_id FROM events WHERE number > :after ORDER BY number
         LIMIT :limit)`,
    ),

    // Notes.
    notes: sql("SELECT key, record FROM notes WHERE kind = ? ORDER BY key"),
    putMemo: sql(
      `INSERT INTO notes VALUES (?, ?, ?)
       ON CONFLICT (kind, key) DO UPDATE SET record = excluded.record`,
    ),
    removeNote: sql("DELETE FROM notes WHERE kind = ? AND key = ?"),

    // Redrives.
    redriven: sql("SELECT times FROM redriven WHERE key = ?"),
    noteRedriven: sql("INSERT OR REPLACE INTO redriven (key, times) VALUES (?, ?)"),
    forgetRedriven: sql(
      "DELETE FROM redriven WHERE number <= (SELECT max(number) FROM redriven) - ?",
    ),

    // Topics and subscriptions.
    topics: sql("SELECT * FROM topics ORDER BY name"),
    topic: sql("SELECT * FROM topics WHERE name = ?"),
    putTopic: sql(
      `INSERT INTO topics VALUES (?, ?, ?)
       ON CONFLICT DO UPDATE SET revision = excluded.revision, record = excluded.record`,
    ),
    removeTopic: sql("DELETE FROM topics WHERE name = ?"),
    subscriptions: sql("SELECT * FROM subscriptions ORDER BY id"),
    subscriptionIds: sql("SELECT id FROM subscriptions"),
    idsOfTopic: sql("SELECT id FROM subscriptions WHERE topic = ?"),
    revisionsOfTopic: sql("SELECT id, revision FROM subscriptions WHERE topic = ?"),
    subscription: sql("SELECT * FROM subscriptions WHERE topic = ? AND name = ?"),
    subscriptionById: sql("SELECT * FROM subscriptions WHERE id = ?"),
    putSubscription: sql(
      `INSERT INTO subscriptions (topic, name, revision, record) VALUES (?, ?, ?, ?)
       ON CONFLICT (topic, name) DO UPDATE
         SET revision = excluded.revision, record = excluded.record
       RETURNING id`,
    ),
    removeSubscription: sql("DELETE FROM subscriptions WHERE id = ?"),

    // Cleaning up.
    addRemoval: sql("INSERT INTO removals VALUES (?, 0)"),
    firstRemoval: sql("SELECT * FROM removals LIMIT 1"),
    noteRemoval: sql("UPDATE removals SET dropped = ? WHERE subscription = ?"),
    removeRemoval: sql("DELETE FROM removals WHERE subscription = ?"),
    removeCounts: sql(
      `DELETE FROM counts WHERE subscription = ?1
       AND (stage = 0 OR NOT EXISTS (SELECT 1 FROM retired WHERE id = ?1))`,
    ),
    someOf: sql(
      `SELECT event FROM deliveries INDEXED BY deliveries_due
       WHERE subscription = ?1 AND stage <= ?2 LIMIT ?3`,
    ),
    retired: sql("SELECT * FROM retired ORDER BY id"),
    retiredById: sql("SELECT * FROM retired WHERE id = ?"),
    addRetired: sql(
      `INSERT INTO retired SELECT id, revision, record FROM subscriptions WHERE id = ?1 AND EXISTS
       (SELECT 1 FROM deliveries INDEXED BY deliveries_due WHERE subscription = ?1 AND stage = 1)`,
    ),
    forgetRetired: sql(
      `DELETE FROM retired WHERE id = ?1 AND NOT EXISTS
       (SELECT 1 FROM deliveries INDEXED BY deliveries_due WHERE subscription = ?1 AND stage = 1)`,
    ),
  };
}

export type Statements = ReturnType<typeof prepare>;
export type SqlRow = NonNullable<ReturnType<StatementSync["get"]>>;
