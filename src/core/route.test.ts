import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { EventFields } from "./event.ts";
import { type Filter, filterForAll } from "./filter.ts";
import type { Catalog } from "./ports.ts";
import { openDirectory } from "./route.ts";
import { plainSubscription, type Subscription } from "./subscription.ts";
import { plainTopic, type Topic } from "./topic.ts";

function topic(name: string): Topic {
  return { ...plainTopic, name, key1: "one", key2: "two", origin: "api", revision: 1 };
}

function subscription(
  id: number,
  { topic = "orders", ...filter }: Partial<Filter> & { readonly topic?: string } = {},
): Subscription {
  return {
    ...plainSubscription,
    id,
    topic,
    name: `subscription-${id}`,
    destination: { kind: "webhook", url: "https://subscriber.example/hook" },
    filter: { ...filterForAll, ...filter },
    origin: "api",
    revision: 1,
  };
}

function fields(eventType: string, subject = "subject"): EventFields {
  return {
    id: "1",
    subject,
    eventType,
    topic: "",
    dataVersion: "",
    schema: "EventGridSchema",
    parsed: {},
  };
}

test("an event goes to every subscription of its topic that matches, and to no other (D-2)", () => {
  const directory = openDirectory({
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
    [...directory.route("orders", fields(...event))].sort();
  assert.deepEqual(routed("Placed"), [1, 2]);
  assert.deepEqual(routed("Placed", "/eu/7"), [1, 2, 3, 4]);
  assert.deepEqual(routed("Paid", "/eu/7"), [1, 3, 4]);
  assert.deepEqual(routed("Cancelled"), [1]);
  assert.deepEqual(directory.route("stock", fields("Placed", "/eu/7")), [5]);
});

test("topics are found without regard to letter case, subscriptions by their id", () => {
  const orders = topic("Orders");
  const first = subscription(7, { topic: "ORDERS" });
  const directory = openDirectory({ topics: [orders], subscriptions: [first] });
  assert.equal(directory.topic("oRDERS"), orders);
  assert.equal(directory.topic("order"), undefined);
  assert.equal(directory.subscription(7), first);
  assert.equal(directory.subscription(8), undefined);
  assert.deepEqual(directory.route("orders", fields("Placed")), [7]);
});

test("nobody gets what is published to a topic that is not there", () => {
  const directory = openDirectory({
    topics: [],
    subscriptions: [subscription(1, { topic: "gone" })],
  });
  assert.deepEqual(directory.route("gone", fields("Placed")), []);
  assert.deepEqual(directory.route("orders", fields("Placed")), []);
});

test("a type listed twice, in other letters, brings the event once", () => {
  const directory = openDirectory({
    topics: [topic("orders")],
    subscriptions: [subscription(1, { includedEventTypes: ["Paid", "PAID", "paid"] })],
  });
  assert.deepEqual(directory.route("orders", fields("pAID")), [1]);
});

/** Asks every filter in turn, in the words of the rules. */
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
        const directory = openDirectory(catalog);
        for (const { topic: name, eventType, subject } of published) {
          const routed = [...directory.route(name, fields(eventType, subject))];
          assert.deepEqual(
            routed.sort((one, other) => one - other),
            naiveRoute(catalog, name, fields(eventType, subject)),
          );
        }
      },
    ),
  );
});
