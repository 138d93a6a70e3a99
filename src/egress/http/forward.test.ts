import assert from "node:assert/strict";
import { test } from "node:test";
import { makeEvent, subscriptionDraft } from "../../../test/contract/fixture.ts";
import type { Delivery } from "../../core/delivery/delivery.ts";
import type { Parcel } from "../../core/delivery/sink.ts";
import type { DeliverySchema } from "../../core/event.ts";
import { withTopic } from "./forward.ts";
import { postOf } from "./message.ts";

const text =
  '{"id":"1","topic":"edge","subject":"s","data":{"topic":1.0},"eventType":"t","dataVersion":"1"}';

test("a forwarded event has the topic that is given, or none, and else stays as it was", () => {
  assert.equal(
    withTopic(text, { sasKey: "k", topicName: null }),
    '{"id":"1","subject":"s","data":{"topic":1.0},"eventType":"t","dataVersion":"1"}',
  );
  assert.equal(
    withTopic(text, { sasKey: "k", topicName: 'a "b"' }),
    '{"id":"1","subject":"s","data":{"topic":1.0},"eventType":"t","dataVersion":"1","topic":"a \\"b\\""}',
  );
});

test("what is forwarded is a publish: with the topic's key, and nothing for subscribers", () => {
  const parcel = (deliverySchema: DeliverySchema, batched: boolean): Parcel => ({
    subscription: {
      ...subscriptionDraft({}),
      ...{ id: 1, revision: 1, deliverySchema },
      batch: batched ? { maxEvents: 5, preferredBytes: 1024 } : null,
      destination: {
        kind: "webhook",
        url: "https://topic.test/api/events",
        forward: { sasKey: "hush", topicName: null },
      },
    },
    deliveries: [
      {
        event: makeEvent("e", {
          text,
          schema: deliverySchema === "EventGridSchema" ? deliverySchema : "CloudEventSchemaV1_0",
        }),
        attempts: 0,
      } as Delivery,
    ],
  });
  const grid = postOf(parcel("EventGridSchema", false), "/api/events");
  assert.equal(grid.headers["aeg-sas-key"], "hush");
  assert.deepEqual(
    Object.keys(grid.headers).filter((name) => name.startsWith("aeg-")),
    ["aeg-sas-key"],
  );
  assert.deepEqual(JSON.parse(grid.body)[0].topic, undefined);
  const clouds = postOf(parcel("CloudEventSchemaV1_0", true), "/api/events");
  assert.match(clouds.headers["content-type"] ?? "", /^application\/cloudevents-batch\+json/);
  assert.equal(clouds.body, `[${text}]`, "other schemas are forwarded unchanged");
});
