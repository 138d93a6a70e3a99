// The contract of the registry: names, revisions, identity, and telling of changes.

import assert from "node:assert/strict";
import type { RecordNames } from "../../src/core/registry.ts";
import { countsOf, refusal, routedTo, startAt, subscriptionDraft, topicDraft } from "./fixture.ts";
import type { Cases } from "./store.ts";

export const registryCases: Cases = (on) => {
  on("topics and subscriptions come back as they were written", async ({ store, ids }) => {
    const topic = await store.putTopic(
      topicDraft({ name: "invoices", key1: "ä'\"", key2: "", profile: "iot-edge", origin: "file" }),
    );
    const draft = subscriptionDraft({
      topic: "invoices",
      name: "archive",
      filter: {
        includedEventTypes: ["a", "b"],
        subjectBeginsWith: "/x",
        subjectEndsWith: ".jpg",
        isSubjectCaseSensitive: true,
        advanced: [
          { operatorType: "NumberInRange", key: "data.size", values: [[-1.5, 1e300]] },
          { operatorType: "IsNotNull", key: "data.__proto__" },
        ],
        onArrays: true,
      },
      retryPolicy: { maxDeliveryAttempts: 3, eventTimeToLiveMs: 60_000 },
      batch: { maxEvents: 10, preferredBytes: 1024 },
      deadLetter: { kind: "blob", resourceId: "/subscriptions/1", container: "dead" },
      origin: "file",
    });
    const subscription = await store.putSubscription(draft);
    assert.deepEqual(
      { ...draft, id: subscription.id, revision: subscription.revision },
      subscription,
    );
    const catalog = await store.catalog();
    assert.deepEqual(
      catalog.topics.find((one) => one.name === "invoices"),
      topic,
    );
    assert.deepEqual(
      catalog.subscriptions.find((one) => one.id === subscription.id),
      subscription,
    );
    assert.equal(catalog.topics.length, 2);
    assert.equal(catalog.subscriptions.length, ids.length + 1);
  });

  on("names are compared without regard to letter case, and kept", async ({ store, ids: [id] }) => {
    const topic = await store.putTopic(topicDraft({ name: "ORDERS", key1: "new" }));
    assert.equal(topic.name, "orders");
    const draft = subscriptionDraft({ topic: "Orders", name: "WAREHOUSE" });
    const subscription = await store.putSubscription(draft);
    assert.equal(subscription.id, id);
    assert.equal(subscription.name, "warehouse");
    assert.equal(subscription.topic, "orders");
    const { topics, subscriptions } = await store.catalog();
    assert.deepEqual(topics, [topic]);
    assert.equal(subscriptions.length, 3);
  });

  on("a subscription keeps its id when it is written again", async ({ store, ids: [id] }) => {
    await store.append(routedTo([id], "one"), startAt);
    const batch = { maxEvents: 5, preferredBytes: 1024 };
    const after = await store.putSubscription(subscriptionDraft({ batch }));
    assert.equal(after.id, id);
    assert.deepEqual(after.batch, batch);
    assert.deepEqual(await countsOf(store), [{ subscription: id, stage: "deliver", waiting: 1 }]);
  });

  on("a subscription of an unknown topic is refused", async ({ store }) => {
    const draft = subscriptionDraft({ topic: "nowhere" });
    await assert.rejects(store.putSubscription(draft), refusal("NotFound"));
  });

  on("a write with another revision is refused", async ({ store, ids: [id] }) => {
    const first = await store.putTopic(topicDraft());
    const second = await store.putTopic(topicDraft({ key1: "second" }), first.revision);
    assert.ok(second.revision > first.revision);
    const stale = topicDraft({ key1: "stale" });
    await assert.rejects(store.putTopic(stale, first.revision), refusal("PreconditionFailed"));
    const unknown = topicDraft({ name: "unknown" });
    await assert.rejects(store.putTopic(unknown, 1), refusal("PreconditionFailed"));
    const { topics, subscriptions } = await store.catalog();
    assert.deepEqual(topics, [second]);

    const now = subscriptions.find((one) => one.id === id)?.revision as number;
    const later = await store.putSubscription(subscriptionDraft(), now);
    assert.ok(later.revision > now);
    const write = store.putSubscription(subscriptionDraft(), now);
    await assert.rejects(write, refusal("PreconditionFailed"));
  });

  on("a write with revision 0 is refused when there is a record", async ({ store }) => {
    await assert.rejects(store.putTopic(topicDraft(), 0), refusal("PreconditionFailed"));
    await assert.rejects(
      store.putSubscription(subscriptionDraft(), 0),
      refusal("PreconditionFailed"),
    );
    await store.putTopic(topicDraft({ name: "new" }), 0);
    await store.putSubscription(subscriptionDraft({ topic: "new" }), 0);
  });

  on("each topic of a domain has names of its own", async ({ store, ids }) => {
    const put = (domainTopic: string | null, name = "warehouse") =>
      store.putSubscription(subscriptionDraft({ domainTopic, name }));
    const one = await put("one");
    const two = await put("two");
    assert.equal(new Set([one.id, two.id, ids[0]]).size, 3);
    assert.equal((await put(null)).id, ids[0]);
    const again = await put("ONE", "WAREHOUSE");
    assert.deepEqual([again.id, again.name], [one.id, "warehouse"]);
  });

  on("a refused write leaves the others of its moment alone", async ({ store, ids: [id] }) => {
    const [append, refused, put] = await Promise.allSettled([
      store.append(routedTo([id], "one"), startAt),
      store.putTopic(topicDraft(), -1),
      store.putTopic(topicDraft({ name: "invoices" })),
    ]);
    assert.deepEqual(
      [append.status, refused.status, put.status],
      ["fulfilled", "rejected", "fulfilled"],
    );
    assert.deepEqual(await countsOf(store), [{ subscription: id, stage: "deliver", waiting: 1 }]);
  });

  on("a record made anew is never at a revision it had before", async ({ store, ids: [id] }) => {
    const before = (await store.catalog()).subscriptions.find((one) => one.id === id);
    assert.ok(before);
    await store.removeSubscription(id);
    const after = await store.putSubscription(subscriptionDraft());
    assert.notEqual(after.id, id);
    assert.ok(after.revision > before.revision);

    const topic = (await store.catalog()).topics[0];
    await store.removeTopic("orders");
    const anew = await store.putTopic(topicDraft());
    assert.ok(topic && anew.revision > topic.revision);
  });

  on("removing what is not there is no error", async ({ store, ids: [, , last] }) => {
    assert.deepEqual(await store.removeTopic("nowhere"), []);
    assert.equal(await store.removeSubscription(last + 1000), false);
    assert.equal(await store.removeSubscription(last + 1000, 7), false);
    assert.equal((await store.catalog()).subscriptions.length, 3);
  });

  on("of several that remove a subscription, one is told that it did", async (scene) => {
    const { store } = scene;
    const [id, other] = scene.ids;
    const answers = await Promise.all([1, 2, 3].map(() => store.removeSubscription(id)));
    assert.deepEqual(answers.toSorted(), [false, false, true]);
    const { subscriptions } = await store.catalog();
    const read = subscriptions.find((one) => one.id === other)?.revision as number;
    const written = await store.putSubscription(subscriptionDraft({ name: "billing" }), read);
    await assert.rejects(store.removeSubscription(other, read), refusal("PreconditionFailed"));
    assert.equal(await store.removeSubscription(other, written.revision), true);
  });

  on("every change is told", async ({ store, ids: [id] }) => {
    const told: RecordNames[] = [];
    store.onChange((changed) => void told.push(changed ?? all));
    const tells = async <T>(change: Promise<T>, topics: string[], subscriptions: number[]) => {
      const answer = await change;
      const named = { topics: told.flatMap((names) => names.topics), subscriptions: idsIn(told) };
      told.length = 0;
      assert.deepEqual(
        named.topics.map((name) => name.toLowerCase()),
        topics,
      );
      assert.deepEqual(named.subscriptions, subscriptions);
      return answer;
    };
    const invoices = { topic: "invoices", name: "archive" };
    await tells(store.putTopic(topicDraft({ name: "invoices" })), ["invoices"], []);
    await tells(store.putTopic(topicDraft({ name: "INVOICES", key1: "b" })), ["invoices"], []);
    const archive = await store.putSubscription(subscriptionDraft(invoices));
    assert.deepEqual(idsIn(told.splice(0)), [archive.id]);
    await tells(store.putSubscription(subscriptionDraft(invoices)), [], [archive.id]);
    await tells(store.putSubscription(subscriptionDraft()), [], [id]);
    assert.equal(await tells(store.removeSubscription(id), [], [id]), true);
    const gone = await tells(store.removeTopic("INVOICES"), ["invoices"], [archive.id]);
    assert.deepEqual(gone, [archive.id]);
    assert.equal(await tells(store.removeSubscription(id), [], []), false);
    await tells(store.removeTopic("nowhere"), [], []);
    const refused = store.putTopic(topicDraft(), -1).catch(() => {});
    await tells(refused, [], []);
  });

  on("changes that are made at once are all told", async ({ store }) => {
    const told: RecordNames[] = [];
    store.onChange((changed) => void told.push(changed ?? all));
    const names = Array.from({ length: 50 }, (_, index) => `sub-${index}`);
    const put = await Promise.all(
      names.map((name) => store.putSubscription(subscriptionDraft({ name }))),
    );
    assert.deepEqual(
      idsIn(told),
      put.map(({ id }) => id),
    );
  });

  on("single records are read by their names", async ({ store, ids: [id, other] }) => {
    await store.putTopic(topicDraft({ name: "invoices" }));
    const { topics, subscriptions } = await store.catalog();
    const read = (...[names, ids]: [string[], number[]]) =>
      store.catalog({ topics: names, subscriptions: ids });
    assert.deepEqual(await read([], [other, id]), {
      topics: [],
      subscriptions: [other, id].map((wanted) => subscriptions.find((one) => one.id === wanted)),
    });
    assert.deepEqual(await read(["ORDERS", "nowhere"], [-1]), {
      topics: topics.filter(({ name }) => name === "orders"),
      subscriptions: [],
    });
    assert.deepEqual(await read([], []), { topics: [], subscriptions: [] });
    await store.removeTopic("orders");
    assert.deepEqual(await read(["orders"], [id]), { topics: [], subscriptions: [] });
  });
};

/** Stands for a notice that names nothing in particular. */
const all: RecordNames = { topics: ["everything"], subscriptions: [-1] };

function idsIn(told: readonly RecordNames[]): number[] {
  return told.flatMap(({ subscriptions }) => subscriptions);
}
