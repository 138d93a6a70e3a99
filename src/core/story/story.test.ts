import assert from "node:assert/strict";
import { test } from "node:test";
import { startAt } from "../../../test/contract/fixture.ts";
import {
  accepted,
  attempted,
  busy,
  deliveryOf,
  ended,
  eventNamed,
  ok,
  subscriptionOf,
  warehouse,
} from "../../../test/fixtures/story-notes.ts";
import type { Seen } from "../ledger.ts";
import { filterForAll } from "../routing/filter.ts";
import { type DeliveryNotes, type Entry, membersOf, particularsOf, seatOf } from "./chronicle.ts";
import { type KeptNote, keepAttempt, keepEnd } from "./note.ts";
import { attemptOfNote, type Live, storyOf, summaryOfListed, summaryOfNote } from "./story.ts";

const event = eventNamed("a");
const nothingLive: ReadonlyMap<number, Live> = new Map();

function entryWith(over: Partial<Entry> = {}): Entry {
  return {
    ...{ event: "a", id: "id-a", topic: "orders", domainTopic: null, subject: "/shop/a" },
    ...{ type: "sold", acceptedAt: startAt, number: 1 },
    ...particularsOf(event, "key2"),
    ...{ passages: [], text: null, roll: null, ...over },
  };
}

function passageWith(state: DeliveryNotes["state"], ...notes: readonly KeptNote[]): DeliveryNotes {
  return { ...seatOf(warehouse), state, notes };
}

function liveWith(over: Partial<Live> = {}): ReadonlyMap<number, Live> {
  const { lease, leasedUntil, ...waiting } = deliveryOf("a", { dueAt: startAt + 30_000 });
  const live: Live = {
    ...{ waiting, isSubscribed: true, held: null, expiresAt: startAt + 60_000, attemptsMax: 30 },
    ...over,
  };
  return new Map([[warehouse.id, live]]);
}

const last = { at: startAt + 5, number: 2, outcome: "Busy", status: 503 };
const seen = (over: Partial<Seen>) => ({ waiting: deliveryOf("a", over) satisfies Seen });

test("what waits is told as the store has it, with what is left to it", () => {
  const kept = keepAttempt(attempted("a", busy));
  const entry = entryWith({ passages: [passageWith("waiting", kept)] });
  const held = "The subscription is paused since 2030-01-01T00:00:00.000Z.";
  const story = storyOf(entry, liveWith({ ...seen({ attempts: 1, dueAt: startAt }), held }));
  const [delivery] = story.deliveryStories;
  assert.deepEqual(story.deliveries, [{ subscription: "warehouse", state: "waiting" }]);
  assert.equal(story.body, event.text);
  assert.equal(delivery?.nextDueAt, "2021-07-01T12:00:00.000Z");
  assert.equal(delivery?.expiresAt, "2021-07-01T12:01:00.000Z");
  assert.equal(delivery?.attemptsLeft, 29);
  assert.equal(delivery?.held, held);
  assert.equal(delivery?.endedAt, null);
  assert.equal(story.cut, null);
});

test("without a word from the store a story is what was noted", () => {
  const delivered = keepAttempt(attempted("a", ok));
  const entry = entryWith({ passages: [passageWith("delivered", delivered)] });
  const [delivery] = storyOf(entry, new Map()).deliveryStories;
  assert.equal(delivery?.state, "delivered");
  assert.notEqual(delivery?.endedAt, null);
  assert.equal(delivery?.attemptsLeft, null);
});

test("nothing is left to what has had all its attempts", () => {
  const entry = entryWith({ passages: [passageWith("waiting")] });
  const [delivery] = storyOf(entry, liveWith(seen({ attempts: 30 }))).deliveryStories;
  assert.equal(delivery?.attemptsLeft, 0);
});

test("a dead letter that was written says where it lies", () => {
  const written = { container: "box", path: "A/1.json", url: "", etag: "", bytes: 1 };
  const resourceId = "/subscriptions/s/providers/Microsoft.Storage/storageAccounts/letters";
  const deadLetter = { kind: "blob", resourceId, container: "box" } as const;
  for (const [subscription, account] of [
    [warehouse, ""],
    [{ ...warehouse, deadLetter }, "letters"],
  ] as const) {
    const outcome = { kind: "answered", status: 201, written } as const;
    const kept = keepAttempt(attempted("a", outcome, { subscription }));
    const entry = entryWith({ passages: [passageWith("deadLettered", kept)] });
    const [delivery] = storyOf(entry, nothingLive).deliveryStories;
    assert.deepEqual(delivery?.deadLetter, { account, container: "box", blob: "A/1.json" });
  }
});

test("what people and rules did to a delivery is told beside its attempts", () => {
  const steered = { kind: "steered", at: startAt, words: "due now", nextDueAt: startAt } as const;
  const given = keepEnd(ended("a", { decision: "drop", reason: "TimeToLiveExceeded" }));
  const passage = passageWith("dropped", keepAttempt(attempted("a", busy)), steered, given);
  const [delivery] = storyOf(entryWith({ passages: [passage] }), nothingLive).deliveryStories;
  assert.deepEqual(
    delivery?.remarks.map(({ words }) => words),
    ["due now", given.words],
  );
  assert.equal(delivery?.attempts.length, 1);
});

test("an attempt whose note was lost is told from the store", () => {
  const entry = entryWith({
    passages: [passageWith("waiting", keepAttempt(attempted("a", busy)))],
  });
  const story = storyOf(entry, liveWith(seen({ attempts: 2, last })));
  const attempts = story.deliveryStories[0]?.attempts ?? [];
  assert.deepEqual(
    attempts.map(({ number, outcome, words }) => [
      number,
      outcome,
      /its note was lost/.test(words),
    ]),
    [
      [1, "Busy", false],
      [2, "Busy", true],
    ],
  );
  assert.equal(attempts[1]?.durationMs, 0, "how long it took is not known");
  const known = storyOf(entry, liveWith(seen({ attempts: 1, last: { ...last, number: 1 } })));
  assert.equal(known.deliveryStories[0]?.attempts.length, 1);
});

test("where notes and store disagree, the store is right", () => {
  const given = keepEnd(ended("a", { decision: "deadLetter", reason: "TimeToLiveExceeded" }));
  const cases: readonly (readonly [
    DeliveryNotes["state"],
    Partial<Live>,
    string,
    string | null,
  ])[] = [
    ["waiting", seen({ stage: "deadLetter", reason: "X" }), "deadLettering", "X"],
    ["delivered", seen({}), "waiting", null],
    ["waiting", { waiting: null }, "unknown", null],
    ["deadLettering", { waiting: null }, "unknown", "TimeToLiveExceeded"],
    ["waiting", { waiting: null, isSubscribed: false }, "dropped", "SubscriptionDeleted"],
    ["delivered", { waiting: null }, "delivered", null],
    ["dropped", { waiting: null, isSubscribed: false }, "dropped", "TimeToLiveExceeded"],
  ];
  for (const [state, live, shown, reason] of cases) {
    const notes = state === "deadLettering" || state === "dropped" ? [given] : [];
    const entry = entryWith({ passages: [passageWith(state, ...notes)] });
    const [delivery] = storyOf(entry, liveWith(live)).deliveryStories;
    assert.deepEqual([delivery?.state, delivery?.reason], [shown, reason], `${state} → ${shown}`);
    const isWaiting = live.waiting != null;
    assert.equal(delivery?.expiresAt !== null, isWaiting, "only what waits expires");
    const fates = [{ subscription: warehouse.id, name: "warehouse", state }];
    const listed = summaryOfListed({ ...entry, fates }, liveWith(live));
    assert.equal(listed.deliveries[0]?.state, shown);
  }
});

test("what is missing of a story is told in words", () => {
  const roll = membersOf([warehouse]);
  const words = (entry: Entry, live = nothingLive) => storyOf(entry, live).cut ?? "";
  assert.match(words(entryWith({ acceptedWith: "unknown" })), /acceptance was not recorded/);
  assert.match(words(entryWith({ roll })), /the event itself was not kept/);
  const open = entryWith({ passages: [passageWith("waiting")] });
  assert.match(words(open, liveWith({ waiting: null })), /the end of a delivery was not noted/);
  assert.equal(words(entryWith({ roll, text: event.text })), "");
});

test("who did not want it is told with the clause, in every schema", () => {
  const wants = (key: string, value: string) => ({
    ...filterForAll,
    advanced: [{ operatorType: "StringIn" as const, key, values: [value] }],
  });
  const why = (over: Partial<Entry>, filter = wants("data.color", "red")) => {
    const roll = membersOf([subscriptionOf(9, "red", { filter })]);
    return storyOf(entryWith({ roll, ...over }), nothingLive).unmatched;
  };
  const because = 'data.color is "green"';
  const clause = "data.color StringIn red";
  const expected = [{ subscription: "red", clause, because }];
  const grid = JSON.stringify({ id: "a", data: { color: "green" } });
  assert.deepEqual(why({ text: grid }), expected);
  assert.deepEqual(why({ schema: "CloudEventSchemaV1_0", text: grid }), expected);
  const custom = JSON.stringify({ color: "green" });
  const envelope = JSON.stringify({ id: "7", subject: "s", eventType: "e", topic: "t" });
  const schema = "CustomEventSchema" as const;
  assert.deepEqual(why({ schema, text: custom, envelope }), expected);
  assert.equal(
    why({ schema, text: custom, envelope }, wants("subject", "other"))[0]?.because,
    'subject is "s"',
  );
});

test("a subscription that was not in force says so instead of a clause", () => {
  const members = [
    subscriptionOf(8, "new", { isActive: false, state: "AwaitingManualAction" }),
    subscriptionOf(9, "inner", { domainTopic: "eu" }),
  ];
  const story = storyOf(entryWith({ roll: membersOf(members), text: event.text }), nothingLive);
  assert.deepEqual(story.unmatched, [
    {
      subscription: "new",
      clause: "provisioningState",
      because: "it was not active: AwaitingManualAction",
    },
    {
      subscription: "eu/inner",
      clause: "",
      because: "its filter matches; it was changed or removed meanwhile",
    },
  ]);
});

test("a send that another had taken the place of is told as such", () => {
  const view = attemptOfNote(attempted("a", busy, { counts: false }));
  assert.match(view.words, /^superseded by another send, so without effect: 503: at least 30 s/);
  assert.equal(view.nextDueAt, null);
});

test("an answer's first bytes are kept, and no more", () => {
  const excerpt = "x".repeat(600);
  const view = attemptOfNote(attempted("a", { kind: "answered", status: 200, excerpt }));
  assert.equal(view.excerpt, `${"x".repeat(512)}…`);
  assert.equal(view.words, "200: delivered with attempt 1");
  const silent = attemptOfNote(
    attempted("a", { kind: "noReply", why: "dns", detail: "getaddrinfo ENOTFOUND" }),
  );
  assert.deepEqual(
    [silent.status, silent.outcome, silent.detail, silent.excerpt],
    [null, "ResolutionError", "getaddrinfo ENOTFOUND", null],
  );
});

test("whoever watches sees what was accepted, and for whom", () => {
  assert.deepEqual(summaryOfNote(accepted("a")), {
    ...{ event: "a", id: "id-a", topic: "orders", subject: "/shop/a", type: "sold" },
    acceptedAt: "2021-07-01T12:00:00.000Z",
    deliveries: [{ subscription: "warehouse", state: "waiting" }],
  });
  assert.equal(attemptOfNote(attempted("a", ok)).decision, "delivered");
});
