import assert from "node:assert/strict";
import { test } from "node:test";
import { plainRetention } from "../../../test/contract/chronicle.ts";
import { startAt, subscriptionDraft, topicDraft } from "../../../test/contract/fixture.ts";
import { plainRequest } from "../../../test/fixtures/request.ts";
import {
  accepted,
  attempted,
  busy,
  deliveryOf,
  eventNamed,
  ok,
} from "../../../test/fixtures/story-notes.ts";
import type { EndpointView, EventSummary, Page, Story } from "../../core/api/views.ts";
import { Refusal } from "../../core/refusal.ts";
import type { Request } from "../../core/request.ts";
import { Members } from "../../core/routing/members.ts";
import { endpointOf, type SubscriptionDraft } from "../../core/subscription.ts";
import { postOf } from "../../egress/http/message.ts";
import { MemoryStore } from "../../store/memory.ts";
import { MemoryChronicle } from "../../store/story/memory.ts";
import { eventHandlers } from "./events.ts";
import { apiRoutes } from "./serve.ts";

/** The model of store and chronicle, with one event `a` that waits for `warehouse`. */
async function openRoutes(
  draft: Partial<SubscriptionDraft> = {},
  health?: Partial<EndpointView["health"]>,
) {
  const store = new MemoryStore();
  await store.putTopic(topicDraft());
  const subscription = await store.putSubscription(subscriptionDraft(draft));
  const catalog = await store.catalog();
  const clock = { now: () => startAt, after: () => () => {} };
  const retention = plainRetention;
  const chronicle = new MemoryChronicle({ clock, retention, onCut: () => {} });
  const event = eventNamed("a");
  const [number = 0] = await store.append([{ event, to: [subscription.id] }], startAt);
  const roll = new Members([subscription]);
  chronicle.note(accepted("a", { event, number, to: [subscription.id], roll }));
  const own = { kind: "healthy", words: "fine", failures: 0, until: null, ...health } as const;
  const endpoint = {
    endpoint: endpointOf(subscription.destination),
    subscriptions: [{ ...subscription, health: own }],
  } as unknown as EndpointView;
  const ledger = {
    counts: () => store.counts(),
    waiting: (...asked: Parameters<MemoryStore["waiting"]>) => store.waiting(...asked),
    look: (...asked: Parameters<MemoryStore["look"]>) => store.look(...asked),
  };
  const handlers = eventHandlers({
    ...{ chronicle, retention, ledger, catalog: () => catalog, clock },
    ...{ profile: "azure", defaults: {}, endpoints: async () => [endpoint], postOf },
  });
  const [list, one] = apiRoutes(handlers);
  const ask = async (route: typeof list, request: Partial<Request>) => {
    const reply = await route?.handle({ ...plainRequest, ...request });
    return JSON.parse(reply?.body ?? "");
  };
  return {
    ...{ store, chronicle, subscription, ledger, number },
    search: (query: Request["query"]): Promise<Page<EventSummary>> => ask(list, { query }),
    tell: (id: string): Promise<Story> => ask(one, { params: { id } }),
  };
}

test("what waits is told with what is left to it, and what holds it back", async () => {
  const { tell } = await openRoutes({
    retryPolicy: { maxDeliveryAttempts: 5, eventTimeToLiveMs: 1 },
  });
  const [delivery] = (await tell("a")).deliveryStories;
  assert.deepEqual(
    [delivery?.state, delivery?.attemptsLeft, delivery?.expiresAt, delivery?.held],
    ["waiting", 5, "2021-07-01T12:00:00.001Z", null],
  );
});

test("a pause holds an event back and lets it live on; an unhealthy endpoint holds it, too", async () => {
  const since = startAt - 60_000;
  const paused = await openRoutes({ flow: { kind: "paused", since } });
  const [delivery] = (await paused.tell("id-a")).deliveryStories;
  assert.equal(delivery?.held, "The subscription is paused since 2021-07-01T11:59:00.000Z.");
  for (const kind of ["unhealthy", "probing", "closed"] as const) {
    const sick = await openRoutes({}, { kind, words: `It is ${kind}.` });
    assert.equal((await sick.tell("a")).deliveryStories[0]?.held, `It is ${kind}.`);
  }
  const better = await openRoutes({}, { kind: "recovering" });
  assert.equal((await better.tell("a")).deliveryStories[0]?.held, null);
});

test("what ends while it is looked at is told as it ended", async () => {
  const { chronicle, subscription, ledger, search, tell } = await openRoutes();
  let looks = 0;
  ledger.look = async () => {
    looks += 1;
    if (looks === 1) chronicle.note({ ...attempted("a", ok), subscription });
    return [null];
  };
  const { value } = await search({});
  assert.deepEqual(value[0]?.deliveries, [{ subscription: "warehouse", state: "delivered" }]);
  assert.equal((await tell("a")).deliveries[0]?.state, "delivered");
});

test("what waits in neither ended without a note", async () => {
  const { ledger, search, tell } = await openRoutes();
  ledger.look = async () => [null];
  assert.equal((await search({})).value[0]?.deliveries[0]?.state, "unknown");
  const story = await tell("a");
  assert.equal(story.deliveries[0]?.state, "unknown");
  assert.match(story.cut ?? "", /the end of a delivery was not noted/);
});

test("another event with the same number, of a restored store, is not mistaken for it", async () => {
  const { ledger, tell, subscription, number } = await openRoutes();
  const other = deliveryOf("other", { id: { event: number, subscription: subscription.id } });
  ledger.look = async () => [other];
  assert.equal((await tell("a")).deliveries[0]?.state, "unknown");
});

test("many events are looked up at once, in as few questions as the store allows", async () => {
  const { store, chronicle, subscription, ledger, search } = await openRoutes();
  const roll = new Members([subscription]);
  for (let index = 0; index < 400; index++) {
    const event = eventNamed(`e${index}`);
    const [number = 0] = await store.append([{ event, to: [subscription.id] }], startAt);
    chronicle.note(accepted(`e${index}`, { event, number, to: [subscription.id], roll }));
    chronicle.note({ ...attempted(`e${index}`, busy), subscription });
  }
  const asked: number[] = [];
  const { look } = ledger;
  ledger.look = (ids) => {
    asked.push(ids.length);
    return look(ids);
  };
  const { value } = await search({ limit: "500", state: "waiting" });
  assert.equal(value.length, 401);
  assert.deepEqual(asked, [401]);
});

test("a question that is left empty is not asked, and one that is unknown is refused", async () => {
  const { search, tell } = await openRoutes();
  const empty = { id: "", subject: "", type: "", topic: "", subscription: "", state: "", from: "" };
  assert.equal((await search({ ...empty, to: "", after: "" })).value.length, 1);
  const refused = (asked: Promise<unknown>, words: RegExp, code: Refusal["code"]) =>
    assert.rejects(asked, (error) => {
      assert.ok(error instanceof Refusal);
      assert.match(error.message, words);
      return error.code === code;
    });
  await refused(search({ stat: "waiting" }), /did you mean state/, "InvalidSetting");
  await refused(search({ limit: "501" }), /from 1 to 500/, "InvalidSetting");
  await refused(tell("b"), /stories are kept since 2021-06-24T12:00:00.000Z/, "NotFound");
});
