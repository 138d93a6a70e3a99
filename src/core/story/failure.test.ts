import assert from "node:assert/strict";
import { test } from "node:test";
import { makeEvent, startAt } from "../../../test/contract/fixture.ts";
import { parcelOf } from "../../../test/contract/sink.ts";
import { plainTopic, type Topic, topicArmId } from "../topic.ts";
import { deliveryFailure, publishFailure } from "./failure.ts";
import type { AttemptedNote, EndedNote } from "./note.ts";

const topic: Topic = {
  ...plainTopic,
  ...{ name: "orders", key1: "a", key2: "b", origin: "api", revision: 1 },
};

const text = JSON.stringify({
  id: "1807",
  topic: "/t",
  subject: "s",
  data: { secret: "hush" },
  eventType: "recordInserted",
  eventTime: "2017-08-10T21:03:07Z",
});

const { subscription, deliveries } = parcelOf([text], { attempts: 2 });
const [delivery] = deliveries as [(typeof deliveries)[number]];

const attempted: AttemptedNote = {
  kind: "attempted",
  subscription: {
    ...subscription,
    destination: { kind: "webhook", url: "https://example.test/hook?code=hush" },
  },
  delivery,
  number: 3,
  startedAt: startAt,
  endedAt: startAt + 2_635,
  outcome: { kind: "answered", status: 404, excerpt: "no\n  such page" },
  outcomeName: "NotFound",
  isLate: false,
  decision: {
    kind: "drop",
    reason: "MaxDeliveryAttemptsExceeded",
    end: {
      saw: "404",
      attempts: 3,
      attemptsMax: 3,
      aliveMs: 60_000,
      heldMs: 0,
      limitMs: 86_400_000,
    },
  },
  counts: true,
  batch: 1,
  health: "healthy",
};

/** The message as a table. */
function factsIn(message: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    message.split(/, (?=[a-zA-Z]+=)/).map((pair) => {
      const equals = pair.indexOf("=");
      return [pair.slice(0, equals), pair.slice(equals + 1)];
    }),
  );
}

test("an attempt that failed is shown as in the service's diagnostic logs", () => {
  const { message, ...around } = deliveryFailure(attempted, topic);
  assert.deepEqual(around, {
    time: new Date(startAt + 2_635).toISOString(),
    resourceId: topicArmId(topic).toUpperCase(),
    eventSubscriptionName: "WAREHOUSE",
    category: "DeliveryFailures",
    operationName: "Deliver",
  });
  const facts = factsIn(message);
  assert.deepEqual(Object.keys(facts), [
    ...["outcome", "latencyInMs", "id", "systemId", "state", "deliveryTime", "deliveryCount"],
    ...["probationCount", "deliverySchema", "eventSubscriptionDeliverySchema"],
    ...["requestExpiration", "delivered", "publishTime", "eventTime", "eventType"],
    ...["filteringState", "inputSchema", "publisher", "size", "url", "deliveryResponse"],
  ]);
  const { outcome, latencyInMs, id, deliveryCount, eventTime, eventType, url } = facts;
  assert.deepEqual(
    { outcome, latencyInMs, id, deliveryCount, eventTime, eventType, url },
    {
      outcome: "NotFound",
      latencyInMs: "2635",
      id: "1807",
      deliveryCount: "2",
      eventTime: "8/10/2017 9:03:07 PM",
      eventType: "recordInserted",
      url: "https://example.test/hook",
    },
  );
  assert.match(facts.deliveryResponse ?? "", /^404: no such page \(.*MaxDeliveryAttempts/);
  assert.equal(message.includes("hush"), false, "neither bodies nor queries");
});

test("what was given up before its attempt is told as aborted, with the reason", () => {
  const ended: EndedNote = {
    kind: "ended",
    at: startAt,
    subscription,
    delivery: { ...delivery, event: makeEvent("e", { text: '{"specversion":"1.0","id":"c"}' }) },
    decision: "drop",
    reason: "TimeToLiveExceeded",
    words: "TimeToLiveExceeded: it lived a day",
    nextDueAt: null,
  };
  const { outcome, id, eventTime, deliveryResponse } = factsIn(
    deliveryFailure(ended, topic).message,
  );
  assert.deepEqual([outcome, id, eventTime], ["Aborted", "c", "1/1/0001 12:00:00 AM"]);
  assert.equal(deliveryResponse, "TimeToLiveExceeded: it lived a day");
});

test("a refused publish is told with its code and its reason, on one line", () => {
  const refused = { at: startAt, code: "Unauthorized", reason: "No key,\nno entry." };
  const { message, category, operationName, resourceId } = publishFailure({ ...refused, topic });
  assert.deepEqual([category, operationName], ["PublishFailures", "Post"]);
  assert.match(resourceId, /\/TOPICS\/ORDERS$/);
  assert.match(message, /errorType=Unauthorized, errorMessage=No key, no entry\.$/);
  assert.match(message, /requestUri=\/topics\/orders\/api\/events/);
  assert.equal(publishFailure({ ...refused, topic: null }).resourceId, "");
});

test("noon and midnight are told as Americans tell them", () => {
  const at = (hour: number) => {
    const endedAt = Date.UTC(2030, 0, 1, hour, 5, 9);
    const note = { ...attempted, startedAt: endedAt, endedAt };
    return factsIn(deliveryFailure(note, topic).message).deliveryTime;
  };
  assert.equal(at(0), "1/1/2030 12:05:09 AM");
  assert.equal(at(12), "1/1/2030 12:05:09 PM");
  assert.equal(at(23), "1/1/2030 11:05:09 PM");
});
