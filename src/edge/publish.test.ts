import assert from "node:assert/strict";
import { test } from "node:test";
import {
  eventText,
  key,
  moduleKey,
  openPublishRoutes,
  type PublishRoutes,
} from "../../test/fixtures/publish-routes.ts";
import type { Request } from "../core/request.ts";
import { noMapping } from "../core/schema/mapping.ts";

const version = { "api-version": "2019-01-01-preview" };

async function post(
  ingress: PublishRoutes,
  body: string,
  request: Partial<Request> = {},
  eventId?: string,
) {
  const path = `/topics/:topic/events${eventId === undefined ? "" : "/:eventId"}`;
  const {
    status,
    headers,
    body: text,
  } = await ingress.ask("POST", path, {
    params: { topic: "orders", ...(eventId !== undefined && { eventId }) },
    query: version,
    headers: { "aeg-sas-key": moduleKey },
    body: Buffer.from(body),
    ...request,
  });
  return { status, headers, text, error: text === undefined ? null : JSON.parse(text).error };
}

test("an event published by the module's route carries the topic's name", async () => {
  const ingress = await openPublishRoutes();
  const subscription = await ingress.subscribe();
  for (const event of [eventText(), eventText({ topic: "orders" })]) {
    assert.deepEqual(await post(ingress, `[${event}]`), {
      ...{ status: 200, headers: undefined, text: undefined, error: null },
    });
  }
  for (const { text } of await ingress.waiting(subscription)) {
    assert.equal(JSON.parse(text).topic, "orders");
  }
  const { status, error } = await post(ingress, `[${eventText({ topic: "others" })}]`);
  assert.deepEqual([status, error.code, error.details.code], [401, "Unauthorized", "UnAuthorized"]);
});

test("the module asks for a data version and for any text as a time", async () => {
  const ingress = await openPublishRoutes();
  const subscription = await ingress.subscribe();
  assert.equal((await post(ingress, `[${eventText({ eventTime: "yesterday" })}]`)).status, 200);
  const [kept] = await ingress.waiting(subscription);
  assert.equal(JSON.parse(kept?.text ?? "").eventTime, "yesterday");
  for (const member of ["dataVersion", "eventTime", "id", "subject", "eventType"]) {
    const { status, error } = await post(ingress, `[${eventText({ [member]: undefined })}]`);
    assert.deepEqual(
      [status, error.code, error.details.code],
      [400, "BadRequest", "InputJsonInvalid"],
    );
    assert.match(error.details.message, new RegExp(`requires '${member}' property`));
  }
});

test("custom events and CloudEvents are taken as they are", async () => {
  const mapping = {
    ...noMapping,
    eventType: { sourceField: null, defaultValue: "custom" },
    subject: { sourceField: null, defaultValue: "custom" },
    dataVersion: { sourceField: null, defaultValue: "1" },
  };
  const custom = await openPublishRoutes({ topic: { inputSchema: "CustomEventSchema", mapping } });
  const listener = await custom.subscribe({ deliverySchema: "CustomInputSchema" });
  assert.equal((await post(custom, '[{"a": 1.0}]')).status, 200);
  assert.equal((await post(custom, '{"a": 2.0}', {}, "any")).status, 200);
  const texts = (await custom.waiting(listener)).map(({ text }) => text);
  assert.deepEqual(texts, ['{"a": 1.0}', '{"a": 2.0}']);

  const clouds = await openPublishRoutes({ topic: { inputSchema: "CloudEventSchemaV1_0" } });
  const watcher = await clouds.subscribe({ deliverySchema: "CloudEventSchemaV1_0" });
  const binary = {
    ...{ "aeg-sas-key": moduleKey, "content-type": "application/json", "ce-specversion": "1.0" },
    ...{ "ce-id": "7", "ce-source": "here", "ce-type": "t" },
  };
  assert.equal((await post(clouds, '{"b": 1}', { headers: binary }, "7")).status, 200);
  assert.equal((await clouds.waiting(watcher)).length, 1);
});

test("an event's id is the one in the path, and it comes alone", async () => {
  const ingress = await openPublishRoutes();
  assert.equal((await post(ingress, eventText(), {}, "1807")).status, 200);
  assert.equal((await post(ingress, `[${eventText()}]`, {}, "1807")).status, 200);
  const other = await post(ingress, eventText(), {}, "1808");
  assert.match(other.error.details.message, /id must be "1808", as in the path/);
  const two = await post(ingress, `[${eventText()},${eventText()}]`, {}, "1807");
  assert.match(two.error.details.message, /must have one event, and has 2/);
});

test("the module's keys open every topic, the topic's own this one, and no other", async () => {
  const ingress = await openPublishRoutes();
  const status = async (request: Partial<Request>) =>
    (await post(ingress, `[${eventText()}]`, request)).status;
  assert.equal(await status({ headers: { "aeg-sas-key": moduleKey } }), 200);
  assert.equal(await status({ headers: { "aeg-sas-key": key } }), 200);
  assert.equal(await status({ headers: {}, query: { ...version, "aeg-sas-key": moduleKey } }), 200);
  assert.equal(await status({ headers: { "aeg-sas-key": "other" } }), 401);
  assert.equal(await status({ headers: {} }), 401);
  const byService = ingress.publish(eventText(), { headers: { "aeg-sas-key": moduleKey } });
  await assert.rejects(byService, /not authorized/);
  const closed = await openPublishRoutes({ topic: { disableLocalAuth: true } });
  const { status: refused } = await post(closed, `[${eventText()}]`);
  assert.equal(refused, 401);
});

test("refusals of the module's route have its shape, and no other version will do", async () => {
  const ingress = await openPublishRoutes();
  const table: [Partial<Request>, number, string, RegExp][] = [
    [
      { query: {} },
      400,
      "InvalidApiVersion",
      /^api-version must be 2019-01-01-preview, and is missing/,
    ],
    [{ query: { "api-version": "2018-01-01" } }, 400, "InvalidApiVersion", /is "2018-01-01"\.$/],
    [{ params: { topic: "none" } }, 404, "NotFound", /^There is no topic "none"\.$/],
    [{ body: Buffer.from("[{") }, 400, "InputJsonInvalid", /not valid JSON/],
  ];
  for (const [request, status, code, words] of table) {
    const { text, ...told } = await post(ingress, "[]", request);
    assert.deepEqual([told.status, told.error.details.code], [status, code]);
    assert.match(told.error.details.message, words);
    assert.deepEqual(Object.keys(JSON.parse(text ?? "")), ["error"]);
    assert.deepEqual(Object.keys(told.error), ["code", "details"]);
  }
  assert.equal(
    (await post(ingress, "[]", { query: { "API-Version": "2019-01-01-preview" } })).status,
    200,
  );
  const stopped = await openPublishRoutes({ isOpen: () => false });
  const { status, headers } = await post(stopped, "[]");
  assert.deepEqual([status, headers?.["retry-after"]], [503, "5"]);
});
