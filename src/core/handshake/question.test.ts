import assert from "node:assert/strict";
import { test } from "node:test";
import { plainSubscription, type SubscriptionTerms } from "../subscription.ts";
import {
  deletionNoticeOf,
  type EndpointAnswer,
  type Finding,
  judge,
  type Occasion,
  type Question,
  questionOf,
  rateIn,
  validationUrlOf,
  wordsOfAnswer,
} from "./question.ts";

const now = Date.UTC(2022, 9, 28, 4, 23, 35, 198);
const code = "512D38B6-C7B8-40C8-89FE-F46F9E9622B6";
const topicId = "/subscriptions/s/resourceGroups/rg/providers/Microsoft.EventGrid/topics/orders";
const validationUrl = "http://broker.test/eventsubscriptions/billing/validate?id=1";

const terms: SubscriptionTerms = {
  ...plainSubscription,
  destination: { kind: "webhook", url: "https://endpoint.test/hook?code=secret" },
};

const occasion = (over: Partial<SubscriptionTerms> = {}): Occasion => ({
  name: "billing",
  terms: { ...terms, ...over },
  url: "https://endpoint.test/hook?code=secret",
  topicId,
  eventId: "event-1",
  now,
});

const ask = (over: Partial<SubscriptionTerms> = {}): Question =>
  questionOf(occasion(over), { code, validationUrl });

const inCloudEvents = { deliverySchema: "CloudEventSchemaV1_0" } as const;

const answered = (
  status: number,
  body = "",
  headers: Extract<EndpointAnswer, { kind: "answered" }>["headers"] = {},
): EndpointAnswer => ({ kind: "answered", status, headers, body });

const judged = (answer: EndpointAnswer, over: Partial<SubscriptionTerms> = {}): Finding =>
  judge(ask(over), code, answer);

test("the validation URL has the service's layout, with the code as id", () => {
  const handshake = {
    ...{ code, startedAt: now, until: now + 1, pending: null },
    ...{ exchanges: [], allowedRate: null },
  };
  assert.equal(
    validationUrlOf({ id: 7, name: "billing" }, handshake, {
      baseUrl: "https://broker.test:553",
      apiVersion: "2020-06-01",
    }),
    "https://broker.test:553/eventsubscriptions/billing/validate" +
      `?id=${code}&t=2022-10-28T04:23:35.198Z&apiVersion=2020-06-01&token=7`,
  );
});

test("an Event Grid endpoint is asked by an event that holds a code and a URL", () => {
  for (const deliverySchema of ["EventGridSchema", "CustomInputSchema"] as const) {
    const { method, url, headers, body } = ask({ deliverySchema });
    assert.equal(method, "POST");
    assert.equal(url, "https://endpoint.test/hook?code=secret");
    assert.deepEqual(headers, {
      "content-type": "application/json; charset=utf-8",
      "aeg-event-type": "SubscriptionValidation",
      "aeg-subscription-name": "BILLING",
      "aeg-delivery-count": "0",
      "aeg-metadata-version": "1",
      "aeg-data-version": "1",
    });
    assert.equal(
      body,
      `[{"id":"event-1","topic":"${topicId}","subject":"",` +
        `"data":{"validationCode":"${code}","validationUrl":"${validationUrl}"},` +
        '"eventType":"Microsoft.EventGrid.SubscriptionValidationEvent",' +
        '"eventTime":"2022-10-28T04:23:35.198Z","metadataVersion":"1","dataVersion":"1"}]',
    );
  }
});

test("a CloudEvents endpoint is asked by OPTIONS, with origin, callback and rate", () => {
  assert.deepEqual(ask(inCloudEvents), {
    method: "OPTIONS",
    url: "https://endpoint.test/hook?code=secret",
    headers: {
      "webhook-request-origin": "eventgrid.azure.net",
      "webhook-request-callback": validationUrl,
      "webhook-request-rate": "600000",
    },
    body: null,
  });
});

test("the subscription's own headers go with the question, those of events do not (C-1)", () => {
  const headers = [
    { name: "Authorization", kind: "static", value: "Basic abc", isSecret: true },
    { name: "AEG-Event-Type", kind: "static", value: "Notification", isSecret: false },
    { name: "x-key", kind: "dynamic", sourceField: "data.key" },
  ] as const;
  const posted = ask({ headers });
  assert.equal(posted.headers.Authorization, "Basic abc");
  assert.equal(posted.headers["aeg-event-type"], "SubscriptionValidation");
  assert.ok(!("x-key" in posted.headers));
  assert.equal(ask({ ...inCloudEvents, headers }).headers.Authorization, "Basic abc");
});

test("an endpoint agrees by saying the code back with a 200, whatever the letter case", () => {
  for (const body of [
    `{"validationResponse":"${code}"}`,
    `{"ValidationResponse":"${code}"}`,
    `\uFEFF { "other": 1, "VALIDATIONRESPONSE": "${code.toLowerCase()}" }`,
  ]) {
    const finding = judged(answered(200, body));
    assert.deepEqual(
      [finding.kind, "allowedRate" in finding && finding.allowedRate],
      ["agreed", null],
    );
  }
});

test("a 200 without a code leaves it to a person", () => {
  for (const body of ["", "OK", "[]", "null", "{}", '{"validationCode":"x"}', "{"]) {
    assert.equal(judged(answered(200, body)).kind, "heard", body);
  }
});

test("any other status is a failure, a 202 too, even with the code", () => {
  for (const status of [201, 202, 204, 301, 400, 404, 408, 429, 500, 503]) {
    const finding = judged(answered(status, `{"validationResponse":"${code}"}`));
    assert.deepEqual(finding, {
      kind: "failed",
      why: `Http POST request failed with response code ${status}.`,
      ...((status === 400 || status === 404) && { isRefusal: true }),
    });
  }
});

test("another code is a failure, and so is a code that is no text", () => {
  for (const said of ['"wrong"', "1", "null", '""', "{}"]) {
    assert.equal(judged(answered(200, `{"validationResponse":${said}}`)).kind, "failed", said);
  }
});

test("no answer is a failure that says why", () => {
  const finding = judged({ kind: "noReply", why: "No answer came in time." });
  assert.deepEqual(finding, {
    kind: "failed",
    why: "The HTTP POST request got no answer: No answer came in time.",
  });
});

test("a CloudEvents endpoint agrees by its header, never by its status alone", () => {
  const cases: readonly (readonly [number, string | undefined, Finding["kind"]])[] = [
    [200, "eventgrid.azure.net", "agreed"],
    [200, "EventGrid.Azure.Net", "agreed"],
    [204, "*", "agreed"],
    [405, "*", "agreed"],
    [200, "one.test, eventgrid.azure.net", "agreed"],
    [200, "one.test", "failed"],
    [200, undefined, "heard"],
    [204, "", "heard"],
    [404, undefined, "failed"],
    [405, undefined, "failed"],
    [500, undefined, "failed"],
  ];
  for (const [status, origin, kind] of cases) {
    const answer = answered(status, "", { "webhook-allowed-origin": origin });
    assert.equal(judged(answer, inCloudEvents).kind, kind, `${status} ${origin}`);
  }
  const body = `{"validationResponse":"${code}"}`;
  assert.equal(judged(answered(200, body), inCloudEvents).kind, "heard");
});

test("an allowed rate is a number of requests a minute; anything else sets no limit", () => {
  const finding = judged(
    answered(200, "", { "webhook-allowed-origin": "*", "webhook-allowed-rate": "120" }),
    inCloudEvents,
  );
  assert.equal(finding.kind === "agreed" && finding.allowedRate, 120);
  assert.equal(rateIn(" 7 "), 7);
  for (const none of ["*", "", "0", "-1", "1.5", "many", "1e3", "99999999999", undefined]) {
    assert.equal(rateIn(none), null, String(none));
  }
  assert.equal(rateIn(["3"]), 3);
});

test("a deletion is told by an event that names the subscription", () => {
  const armId = `${topicId}/providers/Microsoft.EventGrid/eventSubscriptions/billing`;
  const told = deletionNoticeOf(occasion(), armId);
  assert.equal(told.method, "POST");
  assert.equal(told.headers["aeg-event-type"], "SubscriptionDeletion");
  assert.equal(
    told.body,
    `[{"id":"event-1","topic":"${topicId}","subject":"",` +
      `"data":{"eventSubscriptionId":"${armId}"},` +
      '"eventType":"Microsoft.EventGrid.SubscriptionDeletedEvent",' +
      '"eventTime":"2022-10-28T04:23:35.198Z","metadataVersion":"1","dataVersion":"1"}]',
  );
  const inOther = deletionNoticeOf(occasion(inCloudEvents), armId);
  assert.equal(inOther.headers["content-type"], "application/cloudevents+json; charset=utf-8");
  assert.equal(told.headers["aeg-data-version"], "1");
  assert.equal("aeg-data-version" in inOther.headers, false, "a CloudEvent has none");
  assert.deepEqual(JSON.parse(inOther.body ?? ""), {
    specversion: "1.0",
    id: "event-1",
    source: topicId,
    type: "Microsoft.EventGrid.SubscriptionDeletedEvent",
    time: "2022-10-28T04:23:35.198Z",
    datacontenttype: "application/json",
    data: { eventSubscriptionId: armId },
  });
});

test("an answer is kept as its status and the beginning of what it said", () => {
  assert.equal(wordsOfAnswer(answered(200)), "200");
  assert.equal(wordsOfAnswer(answered(200, " a\n b ")), "200 a b");
  assert.equal(wordsOfAnswer(answered(404, "x".repeat(300))), `404 ${"x".repeat(200)}…`);
  assert.equal(wordsOfAnswer({ kind: "noReply", why: "No answer." }), "No answer.");
});
