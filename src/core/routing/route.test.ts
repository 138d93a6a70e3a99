import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { cloudEventFields, eventGridFields } from "../../../test/fixtures/event-fields.ts";
import type { EventFields } from "../event.ts";
import type { Catalog } from "../registry.ts";
import { plainSubscription, type Subscription } from "../subscription.ts";
import { plainTopic, type Topic } from "../topic.ts";
import { type AdvancedFilter, compileFilter, type Filter, filterForAll } from "./filter.ts";
import { Directory, type DirectoryEntry } from "./route.ts";
import { routingMark } from "./routing-mark.ts";

function topic(name: string): Topic {
  return { ...plainTopic, name, key1: "one", key2: "two", origin: "api", revision: 1 };
}

type Draft = Partial<Filter> & {
  readonly topic?: string;
  readonly domainTopic?: string | null;
  readonly isActive?: boolean;
};

function subscription(
  id: number,
  { topic = "orders", domainTopic = null, isActive = true, ...filter }: Draft = {},
): Subscription {
  return {
    ...plainSubscription,
    id,
    topic,
    domainTopic,
    isActive,
    name: `subscription-${id}`,
    destination: { kind: "webhook", url: "https://subscriber.example/hook" },
    filter: { ...filterForAll, ...filter },
    origin: "api",
    revision: 1,
  };
}

function fields(eventType: string, subject = "subject"): EventFields {
  return eventGridFields({ subject, eventType });
}

test("an event goes to every subscription of its topic that matches, and to no other (D-2)", () => {
  const directory = new Directory({
    topics: [topic("orders"), topic("stock")],
    subscriptions: [
      subscription(1),
      subscription(2, { includedEventTypes: ["Placed"] }),
      subscription(3, { includedEventTypes: ["Paid", "Placed"], subjectBeginsWith: "/eu" }),
      subscription(4, { subjectBeginsWith: "/eu" }),
      subscription(5, { topic: "stock" }),
    ],
  });
  const routed = (...event: Parameters<typeof fields>) =>
    [...(directory.entry("orders")?.route(fields(...event)) ?? [])].sort();
  assert.deepEqual(routed("Placed"), [1, 2]);
  assert.deepEqual(routed("Placed", "/eu/7"), [1, 2, 3, 4]);
  assert.deepEqual(routed("Paid", "/eu/7"), [1, 3, 4]);
  assert.deepEqual(routed("Cancelled"), [1]);
  assert.deepEqual(directory.entry("stock")?.route(fields("Placed", "/eu/7")), [5]);
});

test("topics are found without regard to letter case, subscriptions by their id", () => {
  const orders = topic("Orders");
  const first = subscription(7, { topic: "ORDERS" });
  const directory = new Directory({ topics: [orders], subscriptions: [first] });
  const entry = directory.entry("oRDERS");
  assert.equal(entry?.topic, orders);
  assert.equal(directory.entry("order"), undefined);
  assert.equal(entry?.subscription(7), first);
  assert.equal(entry?.subscription(8), undefined);
  assert.deepEqual(directory.entry("orders")?.route(fields("Placed")), [7]);
});

test("nobody gets what is published to a topic that is not there", () => {
  const directory = new Directory({
    topics: [],
    subscriptions: [subscription(1, { topic: "gone" })],
  });
  assert.equal(directory.entry("gone"), undefined);
  assert.equal(directory.entry("orders"), undefined);
});

test("a subscription that is not in force is known, and gets nothing", () => {
  const directory = new Directory({
    topics: [topic("orders")],
    subscriptions: [subscription(1, { isActive: false }), subscription(2)],
  });
  assert.deepEqual(directory.entry("orders")?.route(fields("Placed")), [2]);
  assert.equal(directory.entry("orders")?.subscription(1)?.id, 1);
});

test("a change touches the entry of its topic alone, and none that is in use", () => {
  const [orders, stock] = [topic("orders"), topic("stock")];
  const one = subscription(1);
  const directory = new Directory({ topics: [orders, stock], subscriptions: [one] });
  const before = [directory.entry("orders"), directory.entry("stock")];
  directory.put(subscription(2));
  directory.remove(one);
  assert.deepEqual(directory.entry("orders")?.route(fields("Placed")), [2]);
  assert.deepEqual(before[0]?.route(fields("Placed")), [1], "as a publish under way has found it");
  assert.equal(directory.entry("stock"), before[1]);
});

test("a topic may come and go before its subscriptions do, and after them", () => {
  const directory = new Directory({ topics: [], subscriptions: [subscription(1)] });
  assert.equal(directory.entry("orders"), undefined);
  directory.putTopic(topic("Orders"));
  assert.deepEqual(directory.entry("orders")?.route(fields("Placed")), [1]);
  directory.removeTopic(topic("ORDERS"));
  assert.equal(directory.entry("orders"), undefined);
  directory.remove(subscription(1));
  directory.putTopic(topic("orders"));
  assert.deepEqual(directory.entry("orders")?.route(fields("Placed")), []);
});

test("a type listed twice, in other letters, brings the event once", () => {
  const directory = new Directory({
    topics: [topic("orders")],
    subscriptions: [subscription(1, { includedEventTypes: ["Paid", "PAID", "paid"] })],
  });
  assert.deepEqual(directory.entry("orders")?.route(fields("pAID")), [1]);
});

/** Evaluates every filter in turn, as the rules say. */
function naiveRoute(catalog: Catalog, topicName: string, event: EventFields): number[] {
  const same = (one: string, other: string) => one.toLowerCase() === other.toLowerCase();
  return catalog.subscriptions
    .filter(({ topic, filter }) => {
      const types = filter.includedEventTypes ?? [];
      const lower = (text: string) => (filter.isSubjectCaseSensitive ? text : text.toLowerCase());
      return (
        same(topic, topicName) &&
        (types.length === 0 || types.some((type) => same(type, event.eventType))) &&
        lower(event.subject).startsWith(lower(filter.subjectBeginsWith)) &&
        lower(event.subject).endsWith(lower(filter.subjectEndsWith))
      );
    })
    .map(({ id }) => id);
}

test("the directory routes as asking every filter in turn would (D-2)", () => {
  const types = fc.constantFrom("Paid", "paid", "Placed", "PLACED", "Sent");
  const parts = fc.constantFrom("", "a", "A", "b", "ab", "aB");
  const topics = fc.constantFrom("orders", "Orders", "stock");
  const drafts = fc.record({
    topic: topics,
    includedEventTypes: fc.option(fc.array(types, { maxLength: 3 })),
    subjectBeginsWith: parts,
    subjectEndsWith: parts,
    isSubjectCaseSensitive: fc.boolean(),
  });
  const events = fc.record({
    topic: topics,
    eventType: types,
    subject: fc.string({ unit: fc.constantFrom("a", "A", "b", "B"), maxLength: 4 }),
  });
  fc.assert(
    fc.property(
      fc.array(drafts, { maxLength: 20 }),
      fc.array(events),
      (subscriptions, published) => {
        const catalog: Catalog = {
          topics: [topic("orders"), topic("stock")],
          subscriptions: subscriptions.map((draft, index) => subscription(index + 1, draft)),
        };
        const directory = new Directory(catalog);
        for (const { topic: name, eventType, subject } of published) {
          const routed = [...(directory.entry(name)?.route(fields(eventType, subject)) ?? [])];
          assert.deepEqual(
            routed.sort((one, other) => one - other),
            naiveRoute(catalog, name, fields(eventType, subject)),
          );
        }
      },
    ),
  );
});

test("a subscription of one topic within a domain gets that topic's events alone", () => {
  const directory = new Directory({
    topics: [topic("domain"), topic("stock")],
    subscriptions: [
      subscription(1, { topic: "domain" }),
      subscription(2, { topic: "Domain", domainTopic: "Berlin" }),
      subscription(3, { topic: "domain", domainTopic: "paris", includedEventTypes: ["Paid"] }),
      subscription(4, { topic: "stock", domainTopic: "berlin" }),
    ],
  });
  const routed = (domainTopic?: string | null) =>
    directory.entry("DOMAIN")?.route(fields("Placed"), domainTopic);
  assert.deepEqual(routed("berlin"), [1, 2]);
  assert.deepEqual(routed("BERLIN"), [1, 2]);
  assert.deepEqual(routed("paris"), [1]);
  assert.deepEqual(directory.entry("domain")?.route(fields("paid"), "Paris"), [1, 3]);
  assert.deepEqual(routed("madrid"), [1]);
  assert.deepEqual(routed(null), [1]);
  assert.deepEqual(routed(), [1]);
  assert.deepEqual(directory.entry("stock")?.route(fields("Placed"), "berlin"), [4]);
  assert.deepEqual(directory.entry("stock")?.route(fields("Placed")), []);
});

test("several values that lead to one subscription bring it the event once", () => {
  const advanced: AdvancedFilter[] = [
    { operatorType: "StringIn", key: "data.tags", values: ["red", "blue"] },
  ];
  const beginnings: AdvancedFilter[] = [
    { operatorType: "StringBeginsWith", key: "Subject", values: ["/a", "/a/b", "/A"] },
  ];
  const directory = new Directory({
    topics: [topic("orders")],
    subscriptions: [
      subscription(1, { advanced, onArrays: true }),
      subscription(2, { advanced }),
      subscription(3, { advanced: beginnings }),
    ],
  });
  const event = eventGridFields({ subject: "/a/b/c", data: { tags: ["blue", "red", "red"] } });
  assert.deepEqual([...(directory.entry("orders")?.route(event) ?? [])].sort(), [1, 3]);
});

/** How many members of `data` a filter looks for while the event is routed. */
function countLooks(subscriptions: readonly Subscription[], event: EventFields): number {
  let looks = 0;
  const data = new Proxy(event.parsed.data as object, {
    getOwnPropertyDescriptor(target, name) {
      looks += 1;
      return Reflect.getOwnPropertyDescriptor(target, name);
    },
  });
  const directory = new Directory({ topics: [topic("orders")], subscriptions });
  const found = directory.entry("orders")?.route({ ...event, parsed: { ...event.parsed, data } });
  assert.deepEqual(found, [500]);
  return looks;
}

test("an event is compared with the few that may want it, however many there are", () => {
  const event = eventGridFields({
    eventType: "type-500",
    subject: "/500/x",
    data: { customer: "500", total: 500, paid: true, path: "/".repeat(1000), own500: 1 },
  });
  const wishes: Record<string, (own: number) => Partial<Filter>> = {
    "event type": (own) => ({ includedEventTypes: ["other", `type-${own}`] }),
    "beginning of the subject": (own) => ({ subjectBeginsWith: `/${own}/` }),
    text: (own) => ({
      includedEventTypes: ["type-500"],
      subjectBeginsWith: "/",
      advanced: [{ operatorType: "StringIn", key: "data.customer", values: [`${own}`, `-${own}`] }],
    }),
    number: (own) => ({
      includedEventTypes: ["type-500"],
      advanced: [{ operatorType: "NumberIn", key: "data.total", values: [own] }],
    }),
    "text rather than truth": (own) => ({
      advanced: [
        { operatorType: "StringIn", key: "data.customer", values: [`${own}`] },
        { operatorType: "BoolEquals", key: "data.paid", value: true },
      ],
    }),
    "text rather than beginnings that many share": (own) => ({
      advanced: [
        { operatorType: "StringBeginsWith", key: "data.path", values: ["/".repeat(own)] },
        { operatorType: "StringIn", key: "data.customer", values: [`${own}`] },
      ],
    }),
    "end of the subject": (own) => ({ subjectEndsWith: `${own}/X` }),
    "end of a text": (own) => ({
      subjectEndsWith: "/x",
      advanced: [{ operatorType: "StringEndsWith", key: "data.customer", values: [`${own}`] }],
    }),
    "beginning of a text": (own) => ({
      advanced: [{ operatorType: "StringBeginsWith", key: "data.customer", values: [`${own}`] }],
    }),
  };
  for (const [by, wish] of Object.entries(wishes)) {
    const subscriptions = Array.from({ length: 900 }, (_, index) => {
      const own = index + 100;
      const { advanced = [], ...rest } = wish(own);
      const asked: AdvancedFilter = { operatorType: "IsNotNull", key: `data.own${own}` };
      return subscription(own, { ...rest, advanced: [asked, ...advanced] });
    });
    const looks = countLooks(subscriptions, event);
    assert.ok(looks >= 1 && looks <= 4, `found by ${by}, ${looks} members were looked for`);
  }
});

const values = fc.constantFrom<unknown>(null, 0, 1, 2, true, false, "", "a", "A", "ab", "1", {});
const keys = fc.constantFrom("data.k", "data.o.k", "Data.k", "Subject", "type", "ext", "source");
const texts = fc.array(fc.constantFrom("", "a", "A", "ab", "B", "1", "/s"), { maxLength: 3 });
const numbers = fc.array(fc.constantFrom(-1, 0, 1, 2), { maxLength: 3 });

const advancedFilters: fc.Arbitrary<AdvancedFilter> = fc.oneof(
  fc.record({
    operatorType: fc.constantFrom(
      "StringIn" as const,
      "StringBeginsWith" as const,
      "StringNotIn" as const,
      "StringEndsWith" as const,
      "StringContains" as const,
      "StringNotBeginsWith" as const,
      "StringNotEndsWith" as const,
    ),
    key: keys,
    values: texts,
  }),
  fc.record({
    operatorType: fc.constantFrom("NumberIn" as const, "NumberNotIn" as const),
    key: keys,
    values: numbers,
  }),
  fc.record({
    operatorType: fc.constant("BoolEquals" as const),
    key: keys,
    value: fc.boolean(),
  }),
  fc.record({ operatorType: fc.constant("IsNullOrUndefined" as const), key: keys }),
);

const types = fc.constantFrom("Paid", "paid", "Placed", "Sent");
const drafts = fc.record({
  domainTopic: fc.constantFrom(null, null, "one", "Two"),
  isActive: fc.constantFrom(true, true, true, false),
  includedEventTypes: fc.option(fc.array(types, { maxLength: 2 }), { freq: 1 }),
  subjectBeginsWith: fc.constantFrom("", "", "a", "A", "ab"),
  subjectEndsWith: fc.constantFrom("", "", "", "b", "BC"),
  isSubjectCaseSensitive: fc.boolean(),
  onArrays: fc.boolean(),
  advanced: fc.array(advancedFilters, { maxLength: 3 }),
});
const member = fc.oneof(values, fc.array(values, { maxLength: 3 }));
const data = fc.record({ k: member, o: fc.record({ k: member }) }, { requiredKeys: [] });
const subject = fc.constantFrom("", "a", "Ab", "abc", "b");
const anyEvent = fc.oneof(
  fc.record({ eventType: types, subject, data }).map(eventGridFields),
  fc.record({ type: types, subject, data, ext: values }).map(cloudEventFields),
);
const domainTopics = fc.constantFrom(null, "ONE", "two", "three");
const anyPublished = fc.array(fc.tuple(anyEvent, domainTopics), { maxLength: 10 });

/** Evaluates every filter in turn; in the order of their ids. */
function askInTurn(
  all: Iterable<Subscription>,
  event: EventFields,
  domainTopic: string | null,
): number[] {
  const asked = [...all].filter(
    (each) =>
      each.isActive &&
      (each.domainTopic === null ||
        each.domainTopic.toLowerCase() === domainTopic?.toLowerCase()) &&
      compileFilter(each.filter)(event),
  );
  return inOrder(asked.map(({ id }) => id));
}

function inOrder(ids: readonly number[] = []): number[] {
  return [...ids].sort((one, other) => one - other);
}

test("found by its values or asked in turn, a filter gives the same answer (D-2)", () => {
  fc.assert(
    fc.property(fc.array(drafts, { maxLength: 30 }), anyPublished, (subscriptions, published) => {
      const all = subscriptions.map((draft, index) => subscription(index + 1, draft));
      const directory = new Directory({ topics: [topic("orders")], subscriptions: all });
      for (const [fields, domainTopic] of published) {
        const routed = directory.entry("orders")?.route(fields, domainTopic);
        assert.deepEqual(inOrder(routed), askInTurn(all, fields, domainTopic));
      }
    }),
    { numRuns: 300 },
  );
});

test("and so it does whatever was changed, in an entry of now and in those of before (D-2)", () => {
  const change = fc.record({
    kind: fc.constantFrom("put", "put", "put", "remove", "expire"),
    id: fc.integer({ min: 1, max: 12 }),
    draft: drafts,
    published: anyPublished,
  });
  fc.assert(
    fc.property(fc.array(change, { maxLength: 30 }), (changes) => {
      const orders = topic("orders");
      const directory = new Directory({ topics: [orders], subscriptions: [] });
      const inForce = new Map<number, Subscription>();
      const expired = new Map<number, Subscription>();
      const entries: [DirectoryEntry | undefined, readonly Subscription[]][] = [];
      for (const [place, { kind, id, draft, published }] of changes.entries()) {
        const one = { ...subscription(id, draft), revision: place };
        const known = inForce.get(id) ?? expired.get(id) ?? one;
        inForce.delete(id);
        expired.delete(id);
        if (kind === "put") {
          directory.put(one);
          inForce.set(id, one);
        } else if (kind === "remove") directory.remove(known);
        else {
          directory.expire(known);
          expired.set(id, known);
        }
        const all = [...inForce.values()];
        const entry = directory.entry("orders");
        entries.push([entry, all]);
        const terms = [...all, ...expired.values()];
        assert.equal(entry?.by.mark, routingMark(orders.revision, terms));
        for (const [then, were] of [entries.at(-1), entries[place >> 1], entries[0]].flatMap(
          (each) => (each === undefined ? [] : [each]),
        )) {
          for (const [fields, domainTopic] of published) {
            const expected = askInTurn(were, fields, domainTopic);
            assert.deepEqual(inOrder(then?.route(fields, domainTopic)), expected);
          }
          for (const domainTopic of [null, "ONE"]) {
            const roll = then?.roll(domainTopic);
            const considered = were.filter((each) =>
              [null, domainTopic].includes(each.domainTopic?.toUpperCase() ?? null),
            );
            const members = roll?.blocks.flatMap((block) => [...block.keys()]);
            assert.deepEqual(inOrder(members), inOrder(considered.map((each) => each.id)));
            assert.equal(roll?.size, considered.length);
            for (const each of considered) assert.equal(roll?.get(each.id), each);
          }
          for (const each of were) assert.equal(then?.subscription(each.id), each);
        }
      }
    }),
    { numRuns: 200 },
  );
});
