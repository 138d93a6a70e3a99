// The tables of the stories. Every broker writes its own batches; what two of them know of one
// event meets in its row, whoever comes first.
//
// Their size is bounded, and known without a row that everybody writes: each batch adds a row with
// what it added, and whoever removes old stories folds them into one.

export const storyTables = `
  create sequence story_numbers;
  -- states and rank as in the embedded stories: |12:w:billing|13:d:shop|; 0 settled, 1 given up,
  -- 2 open. story: what was known when it was first written; the rest is in parts.
  create table story_entries (
    event text primary key,
    number int8 not null default nextval('story_numbers'),
    accepted_at int8 not null,
    store_number int8,
    rank int2 not null,
    bytes int4 not null,
    id text not null,
    topic text not null,
    domain_topic text,
    subject text not null,
    type text not null,
    states text not null,
    story text not null,
    text text,
    roll text
  ) with (fillfactor = 85);
  create index story_entries_time on story_entries (accepted_at, number);
  create index story_entries_settled on story_entries (accepted_at, number) where rank = 0;
  create index story_entries_given_up on story_entries (accepted_at, number) where rank = 1;
  create index story_entries_unsettled on story_entries (accepted_at, number) where rank > 0;
  create index story_entries_id on story_entries using hash (id);
  create table story_parts (
    event text not null,
    number int8 not null default nextval('story_numbers'),
    story text not null,
    primary key (event, number)
  );
  -- Who was asked, by the hash of it.
  create table story_rolls (
    roll text primary key,
    used_at timestamptz not null default clock_timestamp(),
    members text not null
  );
  create table story_sizes (number int8 primary key default nextval('story_numbers'), bytes int8 not null);
  -- One row: which broker removes old stories, and until when.
  create table story_keeper (
    one boolean primary key default true check (one),
    broker text not null,
    until timestamptz not null
  );
  insert into story_keeper values (true, '', '-infinity');
`;

/**
 * A roll is the hashes of its blocks, as JSON, which are rows beside it; null: a block, or a roll
 * of an earlier release, which has its members itself. An earlier release sees no members.
 */
export const storyBlocks = "alter table story_rolls add column blocks text";
