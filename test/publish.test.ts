// The way in as a publisher sees it: the real routes behind the real listener, on the model store.

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { listen } from "../src/runtime/http/listener.ts";
import { eventText, key, openPublishRoutes } from "./fixtures/publish-routes.ts";

async function open(t: TestContext) {
  const ingress = await openPublishRoutes();
  const subscription = await ingress.subscribe();
  let made = 0;
  const listener = await listen(ingress.routes, {
    host: "127.0.0.1",
    port: 0,
    log: { fact: () => {} },
    ids: { next: () => `request-${++made}` },
    bodyBytesMax: 1_048_576,
  });
  t.after(() => listener.close());
  return { ingress, subscription, url: `${listener.url}/topics/orders/api/events` };
}

async function codesOf(answer: Response): Promise<readonly [number, string, string]> {
  const { error } = (await answer.json()) as {
    error: { code: string; details: { code: string }[] };
  };
  return [answer.status, error.code, error.details[0]?.code ?? ""];
}

test("a publish as curl sends it, as a form and without a version, is an empty 200", async (t) => {
  const { ingress, subscription, url } = await open(t);
  const answer = await fetch(url, {
    method: "POST",
    headers: { "aeg-sas-key": key, "content-type": "application/x-www-form-urlencoded" },
    body: `[${eventText()}]`,
  });
  assert.equal(answer.status, 200);
  assert.equal(await answer.text(), "");
  assert.equal(answer.headers.get("api-supported-versions"), "2018-01-01");
  assert.equal(answer.headers.get("x-ms-request-id"), "request-1");
  assert.equal((await ingress.waiting(subscription)).length, 1);
});

test("the key may stand in the query, also with its signs unencoded", async (t) => {
  const { url } = await open(t);
  for (const given of [encodeURIComponent(key), key]) {
    const target = `${url}?api-version=2018-01-01&AEG-SAS-KEY=${given}`;
    assert.equal((await fetch(target, { method: "POST", body: eventText() })).status, 200);
  }
});

test("refusals have the service's status, code and detail", async (t) => {
  const { ingress, subscription, url } = await open(t);
  const post = (body: string, headers: Record<string, string> = { "aeg-sas-key": key }) =>
    fetch(url, { method: "POST", headers, body });
  const cases: readonly (readonly [Response, number, string, string])[] = [
    [await post("{"), 400, "BadRequest", "InputJsonInvalid"],
    [await post(eventText(), { "aeg-sas-key": "" }), 400, "BadRequest", "InvalidSas"],
    [await post(eventText(), {}), 401, "Unauthorized", "Unauthorized"],
    [await post(eventText({ topic: "/else/where" })), 401, "Unauthorized", "Unauthorized"],
    [
      await fetch(url.replace("orders", "nowhere"), { method: "POST" }),
      ...([404, "NotFound", "ResourceNotFound"] as const),
    ],
    [await fetch(url), 405, "MethodNotAllowed", "MethodNotAllowed"],
    [await post(" ".repeat(1_048_577)), 413, "RequestEntityTooLarge", "PayloadTooLarge"],
  ];
  for (const [answer, ...codes] of cases) {
    assert.equal(answer.headers.get("api-supported-versions"), "2018-01-01");
    assert.deepEqual(await codesOf(answer), codes);
  }
  assert.deepEqual(await ingress.waiting(subscription), []);
});

test("OPTIONS shows what may be posted, and other methods get the same", async (t) => {
  const { url } = await open(t);
  const told = await fetch(url, { method: "OPTIONS" });
  assert.equal(told.status, 200);
  assert.equal(told.headers.get("allow"), "POST, OPTIONS");
  assert.equal(told.headers.get("aeg-input-event-schema"), "EventGridEvent");
  assert.equal((await fetch(url, { method: "DELETE" })).headers.get("allow"), "OPTIONS, POST");
  assert.equal((await fetch(url, { method: "HEAD" })).status, 404);
});
