// What an event costs among thousands of subscriptions of which one wants it, beside one alone: the
// whole event in brokers, from publish to delivery, and finding the subscription alone. The latter
// is done in this process: processor time of this thread, in rounds that take turns, so that the
// ratios mean something on a busy machine, also beside asking a thousand filters in turn. Parsing
// the event is not part of it.

import type { EventFields } from "../src/core/event.ts";
import { clausesOf, holdAll } from "../src/core/routing/filter/clause.ts";
import { openEventValues } from "../src/core/routing/filter/event-values.ts";
import { type Filter, filterForAll } from "../src/core/routing/filter.ts";
import { Directory, type DirectoryEntry } from "../src/core/routing/route.ts";
import { plainSubscription, type Subscription } from "../src/core/subscription.ts";
import { plainTopic, type Topic } from "../src/core/topic.ts";
import { median } from "./measure.ts";
import { type Result, renderTable } from "./report.ts";
import { Course, type RoundOptions, resultsOf } from "./rounds.ts";
import { key, makeDataFolder, startBrokerWith, subscriptionTo } from "./servers.ts";

const SUBSCRIPTIONS = [1000, 5000] as const;
const ROUNDS = 15;
/** In each case, so that the processor's caches hold as much: a publish has just read its own. */
const EVENTS = 240;
/** Long enough that a look at the clock does not count. */
const ROUND_MICROS = 20_000;

type Wish = (index: number) => Partial<Filter>;

const ofType: Wish = (index) => ({ includedEventTypes: [`Shop.Order.Type${index}`] });
const ofPrefix: Wish = (index) => ({ subjectBeginsWith: `/shops/${index}/` });
const ofCustomer: Wish = (index) => ({
  advanced: [{ operatorType: "StringIn", key: "data.customer", values: [`customer-${index}`] }],
});

const ofEnd: Wish = (index) => ({ subjectEndsWith: `/${index}.pdf` });
const ofTotal: Wish = (index) => ({
  includedEventTypes: ["Shop.Order.Placed", `Shop.Order.Type${index}`],
  advanced: [
    { operatorType: "NumberIn", key: "data.total", values: [index, -index] },
    { operatorType: "StringNotContains", key: "data.customer", values: ["nobody"] },
  ],
});
const ofMany: Wish = (index) => ({
  ...ofPrefix(index),
  includedEventTypes: ["Shop.Order.Placed", `Shop.Order.Type${index}`],
  advanced: [
    ...(ofCustomer(index).advanced ?? []),
    { operatorType: "NumberInRange", key: "data.total", values: [[0, 1_000_000]] },
  ],
});
const mixed = [ofType, ofPrefix, ofCustomer, ofEnd, ofTotal, ofMany];

/** Each scenario gives every subscription something that only one event has. */
const SCENARIOS: Readonly<Record<string, readonly Wish[]>> = {
  "own event type": [ofType],
  "own subject prefix": [ofPrefix],
  "own subject end": [ofEnd],
  "own StringIn value": [ofCustomer],
  "type, NumberIn and a not": [ofTotal],
  "all of it, and a range": [ofMany],
  "one of the six in turn": mixed,
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
  const subject = `/shops/${index}/orders/${index}.pdf`;
  const eventType = `Shop.Order.Type${index}`;
  const parsed = {
    id,
    subject,
    eventType,
    eventTime: "2030-01-01T00:00:00Z",
    dataVersion: "1",
    data: { customer: `customer-${index}`, total: index, items: ["a", "b", "c"], paid: true },
  };
  const schema = "EventGridSchema";
  return { id, subject, eventType, topic: "orders", dataVersion: "1", schema, parsed };
}

function nowMicros(): number {
  const { user, system } = process.threadCpuUsage();
  return user + system;
}

/** Microseconds per event. `match` must find one subscription for each. */
function time(match: (event: EventFields) => number, events: readonly EventFields[]): number {
  const from = nowMicros();
  let found = 0;
  let asked = 0;
  do {
    for (const event of events) found += match(event);
    asked += events.length;
  } while (nowMicros() - from < ROUND_MICROS);
  if (found !== asked) throw new Error(`${asked} events found ${found} subscriptions`);
  return (nowMicros() - from) / asked;
}

function entryOf(subscriptions: readonly Subscription[]): DirectoryEntry {
  return new Directory({ topics: [topic], subscriptions }).entry("orders") as DirectoryEntry;
}

/** Ways to match, each timed in turn; the median of each. */
function race<Name extends string>(ways: Readonly<Record<Name, () => number>>) {
  const names = Object.keys(ways) as Name[];
  const rounds = Array.from({ length: ROUNDS }, () =>
    Object.fromEntries(names.map((name) => [name, ways[name]()])),
  );
  return Object.fromEntries(
    names.map((name) => [name, median(rounds.map((round) => round[name] ?? Number.NaN))]),
  ) as Record<Name, number>;
}

function measure(wishes: readonly Wish[]) {
  const wish: Wish = (index) => (wishes[index % wishes.length] as Wish)(index);
  const [some, most] = SUBSCRIPTIONS;
  const all = Array.from({ length: most }, (_, index) => subscriptionOf(wish, index));
  // One alone of each kind.
  const alone = wishes.map((_, kind) => ({
    entry: entryOf([all[kind] as Subscription]),
    events: Array.from({ length: EVENTS }, () => eventOf(kind)),
  }));
  const among = (count: number) => {
    const entry = entryOf(all.slice(0, count));
    // Spread over all, and over all kinds.
    const step = Math.floor(count / EVENTS / wishes.length) * wishes.length + 1;
    const events = Array.from({ length: EVENTS }, (_, place) => eventOf((place * step) % count));
    return () => time((event) => entry.route(event).length, events);
  };
  const filters = all.slice(0, some).map(({ filter }) => holdAll(clausesOf(filter)));
  const asked = Array.from({ length: EVENTS }, (_, index) => eventOf(index));
  const askAll = (event: EventFields) => {
    const values = openEventValues(event);
    return filters.filter((matches) => matches(values)).length;
  };
  return race({
    one: () => {
      const each = alone.map(({ entry, events }) =>
        time((event) => entry.route(event).length, events),
      );
      return each.reduce((sum, micros) => sum + micros, 0) / each.length;
    },
    some: among(some),
    most: among(most),
    naive: () => time(askAll, asked),
  });
}

/** Tables for people. */
export async function runMatching(options: RoundOptions): Promise<string> {
  return `${renderTable(await runWhole(options))}\n\n${timeFinding()}`;
}

/** Brokers with one subscription and with thousands take turns. One gets every event. */
async function runWhole(options: RoundOptions): Promise<Result[]> {
  await using course = new Course();
  await using parts = new AsyncDisposableStack();
  const port = await course.receiverPort();
  const subscriptionOf = (index: number) => {
    const { advanced: advancedFilters, ...filter } = (mixed[index % mixed.length] as Wish)(index);
    const filters = { ...filter, ...(advancedFilters && { advancedFilters }) };
    return { ...subscriptionTo(`http://127.0.0.1:${port}/wish-${index}`), filter: filters };
  };
  const wanted = { includedEventTypes: ["Bench.OrderPlaced"] };
  const bench = { ...subscriptionTo(`http://127.0.0.1:${port}/hook`), filter: wanted };
  const contestants = [];
  for (const count of [1, ...SUBSCRIPTIONS]) {
    const wishes = Array.from({ length: count - 1 }, (_, i) => [`wish-${i}`, subscriptionOf(i)]);
    const subscriptions = { bench, ...Object.fromEntries(wishes) };
    const config = { topics: { orders: { key1: key, subscriptions } } };
    const words = ["--handshake", "off", "--endpoint-concurrency", String(options.sends)];
    const folder = parts.use(makeDataFolder());
    const server = parts.use(await startBrokerWith(folder.path, config, words));
    contestants.push({ server: { ...server, name: `${count} subscriptions` }, copies: 1 });
  }
  const load = { name: "as fast as it goes", perSecond: null, eventsPerRequest: 1 };
  for (const one of contestants) await course.warmUp(one, options, load);
  const rounds = [...(await course.compare(contestants, options, load))];
  const [alone, ...others] = rounds;
  if (alone === undefined) return [];
  const results = others.map((other) =>
    resultsOf("matching", load.name, new Map([alone, other]), other[0]),
  );
  return results.flatMap((rows, place) => rows.slice(place === 0 ? 0 : 1));
}

function timeFinding(): string {
  const rows = Object.entries(SCENARIOS).map(([name, wishes]) => {
    const { one, some, most, naive } = measure(wishes);
    const cells = [
      name.padEnd(24),
      one.toFixed(2).padStart(7),
      some.toFixed(2).padStart(4),
      `${(some / one).toFixed(1)}x`.padStart(5),
      most.toFixed(2).padStart(4),
      `${(most / one).toFixed(1)}x`.padStart(5),
      naive.toFixed(1).padStart(18),
    ];
    return `| ${cells.join(" | ")} |`;
  });
  const [some, most] = SUBSCRIPTIONS;
  return `Microseconds of processor time to match one event; of all subscriptions one wants it.

| each subscription has    | 1 alone | ${some} | ratio | ${most} | ratio | ${some} asked in turn |
| ------------------------ | ------: | ---: | ----: | ---: | ----: | -----------------: |
${rows.join("\n")}`;
}
