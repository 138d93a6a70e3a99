// Trying things before they exist, through our own API: a URL, a filter, and where dead letters can
// go without a word in the file.

import assert from "node:assert/strict";
import { test } from "node:test";
import type {
  DeadLetterPage,
  DeadLetterStoreView,
  InboxView,
  TriedFilter,
  TriedUrl,
} from "../src/core/api/views.ts";
import { openReceiver } from "./fixtures/receiver.ts";
import { openVirtualBroker } from "./fixtures/virtual-broker.ts";

test("a URL is asked as a handshake would, and its answer is shown", async (t) => {
  const broker = await openVirtualBroker(t, {});
  const receiver = await openReceiver(t);
  const { url } = (await broker.api("POST", "/inboxes", { name: "test" })) as unknown as InboxView;
  const ask = async (body: object) =>
    (await broker.api("POST", "/try-url", body)) as unknown as TriedUrl;
  const agreed = await ask({ url });
  assert.deepEqual([agreed.verdict, agreed.answer?.status], ["agreed", 200]);
  assert.match(agreed.request.body ?? "", /validationCode/);
  const cloud = await ask({ url, deliverySchema: "CloudEventSchemaV1_0" });
  assert.deepEqual([cloud.verdict, cloud.request.method], ["agreed", "OPTIONS"]);
  const heard = await ask({ url: receiver.url });
  assert.deepEqual([heard.verdict, heard.answer?.status], ["heard", 200]);
  receiver.answer = () => 404;
  receiver.body = "not here";
  const failed = await ask({ url: receiver.url });
  assert.deepEqual([failed.verdict, failed.answer?.body], ["failed", "not here"]);
  const nobody = await ask({ url: "http://127.0.0.1:1/" });
  assert.deepEqual([nobody.verdict, nobody.answer], ["failed", null]);
  assert.match(nobody.words, /ECONNREFUSED/);
  await broker.api("POST", "/try-url", { url: "ftp://a.test" }, 400);
});

test("a filter is tried on the latest real events, and the types seen are listed", async (t) => {
  const receiver = await openReceiver(t);
  const destination = { endpointType: "WebHook", properties: { endpointUrl: receiver.url } };
  const broker = await openVirtualBroker(t, { billing: { destination } });
  await broker.publish("a", "b");
  await broker.publish("c");
  const tried = (await broker.api("POST", "/topics/orders/try-filter", {
    filter: { advancedFilters: [{ operatorType: "StringIn", key: "id", values: ["b"] }] },
  })) as unknown as TriedFilter;
  assert.deepEqual([tried.looked, tried.matched], [3, 1]);
  assert.deepEqual(
    tried.events.map(({ id, matches, isHeadOnly }) => [id, matches, isHeadOnly]).toSorted(),
    [
      ["a", false, false],
      ["b", true, false],
      ["c", false, false],
    ],
  );
  assert.match(tried.events[0]?.because ?? "", /^id is "c"/);
  const { value } = await broker.api("GET", "/topics/orders/event-types");
  assert.deepEqual(value, [{ type: "t", count: 3, lastAt: tried.events[0]?.acceptedAt }]);
  await broker.api("POST", "/topics/none/try-filter", { filter: {} }, 404);
  await broker.api("POST", "/topics/orders/try-filter", { filter: { no: 1 } }, 400);
});

test("dead letters can go to a folder of the broker without a word in the file", async (t) => {
  const receiver = await openReceiver(t);
  receiver.answer = () => 400;
  const broker = await openVirtualBroker(t, {});
  const stores = async () =>
    (await broker.api("GET", "/dead-letter-stores")).value as DeadLetterStoreView[];
  const [local] = await stores();
  assert.deepEqual([local?.name, local?.kind, local?.containers], ["local", "folder", []]);
  const properties = { resourceId: local?.armId, blobContainerName: "given-up" };
  await broker.arm("PUT", "/inner", {
    properties: {
      destination: { endpointType: "WebHook", properties: { endpointUrl: receiver.url } },
      deadLetterDestination: { endpointType: "StorageBlob", properties },
    },
  });
  await broker.publish("a");
  await broker.advance("PT1H");
  const { value } = (await broker.api("GET", "/dead-letters")) as unknown as DeadLetterPage;
  assert.deepEqual(
    value.map(({ eventId, account }) => [eventId, account]),
    [["a", "local"]],
  );
  assert.deepEqual((await stores())[0]?.containers, ["given-up"]);
});
