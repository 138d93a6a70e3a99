// In this process: what it costs to find the subscriptions for one event among a
// thousand, beside finding it when there is one, and beside asking a thousand filters in turn. All
// in one run, in rounds that take turns, so that the ratios mean something on a busy machine.
// Parsing the event is not part of it.

import type { EventFields } from "../src/core/event.ts";
import { clausesOf, holdAll } from "../src/core/routing/filter/clause.ts";
import { openEventValues } from "../src/core/routing/filter/event-values.ts";
import { type Filter, filterForAll } from "../src/core/routing/filter.ts";
import { Directory, type DirectoryEntry } from "../src/core/routing/route.ts";
import { plainSubscription, type Subscription } from "../src/core/subscription.ts";
import { plainTopic, type Topic } from "../src/core/topic.ts";
import { median } from "./measure.ts";

const SUBSCRIPTIONS = 1000;
const ROUNDS = 15;
/** Long enough that a look at the clock does not count. */
const ROUND_MS = 20;

type Wish = (index: number) => Partial<Filter>;

const ofType: Wish = (index) => ({ includedEventTypes: [`Shop.Order.Type${index}`] });
const ofPrefix: Wish = (index) => ({ subjectBeginsWith: `/shops/${index}/` });
const ofCustomer: Wish = (index) => ({
  advanced: [{ operatorType: "StringIn", key: "data.customer", values: [`customer-${index}`] }],
});

/** Each scenario gives every subscription something that only one event in a thousand has. */
const SCENARIOS: Readonly<Record<string, Wish>> = {
  "own event type": ofType,
  "own subject prefix": ofPrefix,
  "own StringIn value": ofCustomer,
  "one of the three in turn": (index) => ([ofType, ofPrefix, ofCustomer][index % 3] as Wish)(index),
  "all of it, and a range": (index) => ({
    ...ofPrefix(index),
    includedEventTypes: ["Shop.Order.Placed", `Shop.Order.Type${index}`],
    advanced: [
      ...(ofCustomer(index).advanced ?? []),
      { operatorType: "NumberInRange", key: "data.total", values: [[0, 1_000_000]] },
    ],
  }),
};

const written = { origin: "api", revision: 1 } as const;
const topic: Topic = { ...plainTopic, ...written, name: "orders", key1: "", key2: "" };

function subscriptionOf(wish: Wish, index: number): Subscription {
  return {
    ...plainSubscription,
    ...written,
    id: index + 1,
    topic: "orders",
    name: `wish-${index}`,
    destination: { kind: "webhook", url: "http://endpoint.test/hook" },
    filter: { ...filterForAll, ...wish(index) },
  };
}

function eventOf(index: number): EventFields {
  const id = `${index}`;
  const subject = `/shops/${index}/orders/4711`;
  const eventType = `Shop.Order.Type${index}`;
  const parsed = {
    id,
    subject,
    eventType,
    eventTime: "2030-01-01T00:00:00Z",
    dataVersion: "1",
    data: { customer: `customer-${index}`, total: 99.5, items: ["a", "b", "c"], paid: true },
  };
  const schema = "EventGridSchema";
  return { id, subject, eventType, topic: "orders", dataVersion: "1", schema, parsed };
}

/** Microseconds per event. `match` must find one subscription for each. */
function time(match: (event: EventFields) => number, events: readonly EventFields[]): number {
  const from = performance.now();
  let found = 0;
  let asked = 0;
  do {
    for (const event of events) found += match(event);
    asked += events.length;
  } while (performance.now() - from < ROUND_MS);
  if (found !== asked) throw new Error(`${asked} events found ${found} subscriptions`);
  return ((performance.now() - from) * 1000) / asked;
}

function measure(wish: Wish): { one: number; indexed: number; naive: number } {
  const all = Array.from({ length: SUBSCRIPTIONS }, (_, index) => subscriptionOf(wish, index));
  const events = all.map((_, index) => eventOf(index));
  // As many events as there are in the other case, all for the one subscription there is.
  const sameEvents = all.map(() => eventOf(0));
  const entryOf = (subscriptions: readonly Subscription[]) =>
    new Directory({ topics: [topic], subscriptions }).entry("orders") as DirectoryEntry;
  const alone = entryOf(all.slice(0, 1));
  const directory = entryOf(all);
  const filters = all.map(({ filter }) => holdAll(clausesOf(filter)));
  const askAll = (event: EventFields) => {
    const values = openEventValues(event);
    return filters.filter((matches) => matches(values)).length;
  };
  const ways = {
    one: () => time((event) => alone.route(event).length, sameEvents),
    indexed: () => time((event) => directory.route(event).length, events),
    naive: () => time(askAll, events.slice(0, 100)),
  };
  const rounds = Array.from({ length: ROUNDS }, () => ({
    one: ways.one(),
    indexed: ways.indexed(),
    naive: ways.naive(),
  }));
  const middle = (way: keyof typeof ways) => median(rounds.map((round) => round[way]));
  return { one: middle("one"), indexed: middle("indexed"), naive: middle("naive") };
}

/** A table for people. */
export function runMatching(): string {
  const rows = Object.entries(SCENARIOS).map(([name, wish]) => {
    const { one, indexed, naive } = measure(wish);
    const cells = [
      name.padEnd(24),
      one.toFixed(2).padStart(7),
      indexed.toFixed(2).padStart(4),
      `${(indexed / one).toFixed(1)}x`.padStart(5),
      naive.toFixed(1).padStart(18),
      `1/${(naive / indexed).toFixed(0)}`.padStart(13),
    ];
    return `| ${cells.join(" | ")} |`;
  });
  const count = SUBSCRIPTIONS;
  return `Microseconds to match one event; ${count} subscriptions, one of which wants it.

| each subscription has    | 1 alone | ${count} | ratio | ${count} asked in turn | ratio to that |
| ------------------------ | ------: | ---: | ----: | -----------------: | ------------: |
${rows.join("\n")}`;
}
