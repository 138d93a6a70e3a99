// The tables of the figures. Each broker writes rows of its own, so that nobody waits for another,
// and readers add them; what a broker that is gone has written stays.

export const figureTables = `
  -- number: a hash of the key, the same at every broker. used_at: as of some day.
  create table figure_scopes (
    number int8 primary key,
    key text not null,
    kind text not null,
    name text not null,
    topic text,
    domain_topic text,
    used_at int8 not null
  );
  -- level: the place in the list of steps (core/figures/steps.ts). packed: core/figures/sums.ts.
  -- writer: a start of a broker.
  create sequence figure_writers;
  create table figures (
    scope int8 not null,
    level int2 not null,
    at int8 not null,
    writer int8 not null,
    packed bytea not null,
    primary key (scope, level, at, writer)
  ) with (fillfactor = 80);
`;
