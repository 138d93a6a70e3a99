import assert from "node:assert/strict";
import { test } from "node:test";
import { plainRequest } from "../../test/fixtures/request.ts";
import type { Request } from "../core/ports.ts";
import { Refusal, type RefusalCode } from "../core/refusal.ts";
import { plainTopic, type Topic } from "../core/topic.ts";
import { authorize } from "./auth.ts";

const topic: Topic = {
  ...plainTopic,
  name: "orders",
  key1: "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
  key2: "+/ZxcnNub3Q+YS9zZWNyZXQ=",
  origin: "file",
  revision: 1,
};

function request(
  headers: Request["headers"] = {},
  query: Readonly<Record<string, string>> = {},
): Request {
  const host = "orders.example:5888";
  return { ...plainRequest, query, headers: { host, ...headers } };
}

function refusal(asked: Request, code: RefusalCode): string {
  try {
    authorize(topic, asked);
  } catch (error) {
    assert.ok(error instanceof Refusal, String(error));
    assert.equal(error.code, code);
    return error.message;
  }
  return assert.fail("the request was let in");
}

test("either key opens the topic, as a header or as a query parameter in any letter case", () => {
  for (const key of [topic.key1, topic.key2]) {
    authorize(topic, request({ "aeg-sas-key": key }));
    authorize(topic, request({}, { "aeg-sas-key": key }));
    authorize(topic, request({}, { "api-version": "2018-01-01", "AEG-SAS-Key": key }));
  }
});

test("a plus sign that was not encoded in the query, and so became a blank, is understood", () => {
  authorize(topic, request({}, { "aeg-sas-key": topic.key2.replaceAll("+", " ") }));
});

test("a changed key counts from the first request after the change", () => {
  const changed = { ...topic, key1: "bmV3", revision: 2 };
  authorize(changed, request({ "aeg-sas-key": "bmV3" }));
  assert.throws(() => authorize(changed, request({ "aeg-sas-key": topic.key1 })), Refusal);
});

test("a wrong key is refused in the service's words, which name the host and not the key", () => {
  const words = "The request authorization key is not authorized for ORDERS.EXAMPLE:5888.";
  for (const key of ["s3cret", topic.key1.toLowerCase(), `${topic.key1} `, topic.key1.slice(1)]) {
    assert.equal(refusal(request({ "aeg-sas-key": key }), "Unauthorized"), words);
    assert.equal(refusal(request({}, { "aeg-sas-key": key }), "Unauthorized"), words);
  }
  assert.match(refusal(request({ host: undefined, "aeg-sas-key": "x" }), "Unauthorized"), /ORDERS/);
});

test("a wrong key in the header is not made good by a right one in the query", () => {
  const asked = request({ "aeg-sas-key": "wrong" }, { "aeg-sas-key": topic.key1 });
  assert.match(refusal(asked, "Unauthorized"), /is not authorized for/);
});

test("an empty key is a bad request", () => {
  const words = "The value of aeg-sas-key is empty.";
  assert.equal(refusal(request({ "aeg-sas-key": "" }), "InvalidSas"), words);
  assert.equal(refusal(request({}, { "aeg-sas-key": "" }), "InvalidSas"), words);
});

test("no credential at all is refused in the service's words", () => {
  assert.equal(
    refusal(request(), "Unauthorized"),
    "Request must contain one of the following authorization signature: " +
      "aeg-sas-token, aeg-sas-key.",
  );
});

test("a credential of another kind is refused by its name, and never repeated", () => {
  const cases: readonly (readonly [Request, RegExp])[] = [
    [request({ "aeg-sas-token": "r=s3cret" }), /does not support SAS tokens: send one of/],
    [request({}, { "Aeg-Sas-Token": "r=s3cret" }), /does not support SAS tokens/],
    [request({ authorization: "SharedAccessSignature r=s3cret" }), /does not support SAS tokens/],
    [request({ authorization: "bearer s3cret" }), /does not support bearer tokens: send one of/],
    [request({ authorization: "Basic s3cret" }), /^Request has an unsupported Authorization sch/],
    [request({ authorization: "s3cret" }), /^Request has an unsupported Authorization scheme \(/],
  ];
  for (const [asked, words] of cases) {
    const message = refusal(asked, "Unauthorized");
    assert.match(message, words);
    assert.doesNotMatch(message, /s3cret/i);
  }
});

test("a key given beside a credential of another kind is what counts", () => {
  authorize(topic, request({ authorization: "Bearer x", "aeg-sas-key": topic.key1 }));
});
