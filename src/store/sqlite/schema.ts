// The embedded store's tables, as a list of migration steps. A data folder is migrated by running
// the steps it has not had yet, each step in a transaction of its own; steps are never edited.

export const migrations: readonly string[] = [
  `
  -- One row: how often this store has been opened. Numbers given out since an opening start above
  -- every number given out before, so that none is ever used twice.
  CREATE TABLE openings (count INTEGER NOT NULL);
  INSERT INTO openings VALUES (0);

  CREATE TABLE topics (
    name TEXT PRIMARY KEY COLLATE NOCASE,
    revision INTEGER NOT NULL,
    record TEXT NOT NULL
  ) WITHOUT ROWID;

  CREATE TABLE subscriptions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    topic TEXT NOT NULL COLLATE NOCASE,
    name TEXT NOT NULL COLLATE NOCASE,
    revision INTEGER NOT NULL,
    record TEXT NOT NULL,
    UNIQUE (topic, name)
  );

  -- Subscriptions that are gone but whose deliveries are still being dropped.
  CREATE TABLE removals (subscription INTEGER PRIMARY KEY, dropped INTEGER NOT NULL);

  -- An event is kept once, whatever the number of its deliveries, and goes with the last of them.
  CREATE TABLE events (
    number INTEGER PRIMARY KEY,
    system_id TEXT NOT NULL,
    topic TEXT NOT NULL,
    published_at INTEGER NOT NULL,
    schema TEXT NOT NULL,
    data_version TEXT NOT NULL,
    text TEXT NOT NULL
  );

  -- stage: 0 deliver, 1 dead letter. fence: the lease of the latest settlement.
  -- last_at, last_outcome, last_status: the last send, null before the first.
  CREATE TABLE deliveries (
    event INTEGER NOT NULL,
    subscription INTEGER NOT NULL,
    stage INTEGER NOT NULL,
    due_at INTEGER NOT NULL,
    since INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    fence INTEGER NOT NULL,
    last_at INTEGER,
    last_outcome TEXT,
    last_status INTEGER,
    reason TEXT,
    PRIMARY KEY (event, subscription)
  ) WITHOUT ROWID;

  CREATE INDEX deliveries_due ON deliveries (subscription, stage, due_at, event);

  -- What has been tried before is due later than it is old, so that what has expired behind a sick
  -- endpoint cannot be found by its due time. What is new can, and costs nothing here.
  CREATE INDEX deliveries_since ON deliveries (subscription, stage, since, event)
    WHERE attempts > 0 OR due_at > since;

  -- Kept in step with the deliveries by every transaction, so that counting is looking.
  CREATE TABLE counts (
    subscription INTEGER NOT NULL,
    stage INTEGER NOT NULL,
    waiting INTEGER NOT NULL,
    PRIMARY KEY (subscription, stage)
  ) WITHOUT ROWID;
  `,
  `
  -- Of an event in a custom schema: what it is as an Event Grid event, without its data.
  ALTER TABLE events ADD COLUMN envelope TEXT;
  `,
  `
  -- Which send the last one was. Of what was given up before, no more is known than that one was.
  ALTER TABLE deliveries ADD COLUMN last_number INTEGER;
  UPDATE deliveries SET last_number = max(attempts, 1) WHERE last_at IS NOT NULL;
  `,
  `
  -- The trace context that an event was published with; null without one.
  ALTER TABLE events ADD COLUMN trace_parent TEXT;
  ALTER TABLE events ADD COLUMN trace_state TEXT;
  `,
  `
  -- What is remembered beside topics and subscriptions: few, small, and each of a kind.
  CREATE TABLE notes (
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    record TEXT NOT NULL,
    PRIMARY KEY (kind, key)
  ) WITHOUT ROWID;
  `,
  `
  -- How often a dead letter has been sent again. A note is a new row, so that the oldest numbers
  -- are those noted longest ago.
  CREATE TABLE redriven (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    key TEXT NOT NULL UNIQUE,
    times INTEGER NOT NULL
  );
  `,
  `
  -- How often brokers had passed an event on before it was published here.
  ALTER TABLE events ADD COLUMN hops INTEGER NOT NULL DEFAULT 0;
  `,
  `
  -- Deleted subscriptions whose dead letters are yet to be written, as they were.
  CREATE TABLE retired (id INTEGER PRIMARY KEY, revision INTEGER NOT NULL, record TEXT NOT NULL);
  `,
  `
  -- What receivers of a pull queue have got for the last time: few, and each to be ended when its
  -- lock is over.
  CREATE INDEX deliveries_last ON deliveries (subscription, due_at, event)
    WHERE stage = 0 AND reason IS NOT NULL;
  `,
  `
  -- One row: the last epoch of the journal that is in this file (journal.ts).
  CREATE TABLE journal (epoch INTEGER NOT NULL);
  INSERT INTO journal VALUES (0);
  `,
];
