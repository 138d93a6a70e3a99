// The tables of the stories, as a list of migration steps; steps are never edited.
//
// Stories are in a file of their own, beside the store's: they must not slow deliveries, and what
// they lose in a crash is not an event (decision 0015).

export const storyMigrations: readonly string[] = [
  `
  -- One row: whether the last who had it open closed it, and so has written all it knew.
  CREATE TABLE closings (is_closed INTEGER NOT NULL);
  INSERT INTO closings VALUES (0);

  -- states: the fates of its deliveries, as |12:w:billing|13:d:shop|.
  -- rank: 0 settled, 1 given up, 2 open. store_number: null when it was not stored.
  -- story: as JSON, what was known when it was first written; the rest is in parts.
  CREATE TABLE entries (
    number INTEGER PRIMARY KEY,
    event TEXT NOT NULL,
    id TEXT NOT NULL,
    topic TEXT NOT NULL,
    domain_topic TEXT,
    subject TEXT NOT NULL,
    type TEXT NOT NULL,
    accepted_at INTEGER NOT NULL,
    store_number INTEGER,
    rank INTEGER NOT NULL,
    states TEXT NOT NULL,
    story TEXT NOT NULL
  );
  CREATE INDEX entries_time ON entries (accepted_at, number);
  -- Most are settled when they are first written, and never come into these.
  CREATE INDEX entries_unsettled ON entries (accepted_at, number) WHERE rank > 0;
  CREATE INDEX entries_given_up ON entries (accepted_at, number) WHERE rank = 1;
  CREATE INDEX entries_event ON entries (event) WHERE rank > 0;

  -- Both ids of each event, hashed. Ids are random, and a plain index of them would touch as many
  -- pages as there are events in a batch. So they are filed in bins of consecutive entries: what
  -- is written goes into the last one, and what is looked for is looked for in each.
  CREATE TABLE ids (
    bin INTEGER NOT NULL,
    hash INTEGER NOT NULL,
    entry INTEGER NOT NULL,
    PRIMARY KEY (bin, hash, entry)
  ) WITHOUT ROWID;

  -- What was noted later, as it came.
  CREATE TABLE parts (
    entry INTEGER NOT NULL,
    part INTEGER NOT NULL,
    story TEXT NOT NULL,
    PRIMARY KEY (entry, part)
  ) WITHOUT ROWID;

  -- Of what someone did not want: the event itself, and who was asked.
  CREATE TABLE texts (entry INTEGER PRIMARY KEY, roll INTEGER NOT NULL, text TEXT);
  CREATE TABLE rolls (number INTEGER PRIMARY KEY, texts INTEGER NOT NULL, members TEXT NOT NULL);
  `,
  `
  -- Events that were delivered to all who wanted them by the time they were first written, which
  -- are most: many in one row, and nothing of them changes any more. Columns in the order in which
  -- they are read, as what is long is in pages of its own: to find an id, to list, to tell.
  -- number: of its last entry. gone: the places of those that got a row in entries after all.
  -- rolls: of each the number and how many texts. ids: both hashes of each, as 32 bits.
  CREATE TABLE sheets (
    number INTEGER PRIMARY KEY,
    first_at INTEGER NOT NULL,
    last_at INTEGER NOT NULL,
    size INTEGER NOT NULL,
    gone TEXT NOT NULL,
    rolls TEXT NOT NULL,
    ids BLOB NOT NULL,
    heads TEXT NOT NULL,
    seats TEXT NOT NULL,
    stories TEXT NOT NULL,
    texts BLOB NOT NULL
  );
  CREATE INDEX sheets_time ON sheets (last_at, number);
  -- The store's events up to this number are written; null: not known.
  ALTER TABLE closings ADD COLUMN stored_through INTEGER;
  `,
  `
  -- Who was asked, in blocks that many rolls share. rolls.blocks: their numbers, as JSON.
  CREATE TABLE blocks (number INTEGER PRIMARY KEY, members TEXT NOT NULL);
  INSERT INTO blocks SELECT number, members FROM rolls;
  ALTER TABLE rolls ADD COLUMN blocks TEXT NOT NULL DEFAULT '[]';
  UPDATE rolls SET blocks = json_array(number);
  ALTER TABLE rolls DROP COLUMN members;
  `,
  `
  -- From here on, in the stories of a sheet, a number is the place of one that is the same.
  `,
  `
  -- From here on, heads, stories and texts of a sheet are blobs, compressed with Zstandard.
  `,
  `
  -- Ids are random: with a million open entries each new one touched another page of this. An open
  -- entry is found by its time and its bin, like any other.
  DROP INDEX entries_event;
  `,
];
