import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "node:test";
import { plainRequest } from "../../test/fixtures/request.ts";
import type { Clock } from "../core/ports.ts";
import { Refusal, type RefusalCode } from "../core/refusal.ts";
import type { Request } from "../core/request.ts";
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

const now = Date.UTC(2030, 0, 1);
const clock: Clock = { now: () => now, after: () => () => {} };

function admit(asked: Request, to: Topic = topic): string {
  const credential = authorize(to, asked, { clock });
  assert.ok(typeof credential === "string", "a key or a signature is checked at once");
  return credential;
}

function refusal(asked: Request, code: RefusalCode, to: Topic = topic): string {
  try {
    admit(asked, to);
  } catch (error) {
    assert.ok(error instanceof Refusal, String(error));
    assert.equal(error.code, code);
    return error.message;
  }
  return assert.fail("the request was let in");
}

/** As the JavaScript client makes them. */
function sas({
  key = topic.key1,
  resource = "https://orders.example:5888/api/events?apiVersion=2018-01-01",
  expiry = "1/1/2030 1:00:00 AM",
} = {}): string {
  const signed = `r=${encodeURIComponent(resource)}&e=${encodeURIComponent(expiry)}`;
  const mac = createHmac("sha256", Buffer.from(key, "base64")).update(signed).digest("base64");
  return `${signed}&s=${encodeURIComponent(mac)}`;
}

async function bearerRefusal(
  asked: Request,
  whyNoBearer?: (token: string) => Promise<string | null>,
  to: Topic = topic,
): Promise<string | null> {
  try {
    await authorize(to, asked, whyNoBearer === undefined ? { clock } : { clock, whyNoBearer });
    return null;
  } catch (error) {
    assert.ok(error instanceof Refusal, String(error));
    assert.equal(error.code, "Unauthorized");
    return error.message;
  }
}

test("either key opens the topic, as a header or as a query parameter in any letter case", () => {
  for (const key of [topic.key1, topic.key2]) {
    admit(request({ "aeg-sas-key": key }));
    admit(request({}, { "aeg-sas-key": key }));
    admit(request({}, { "api-version": "2018-01-01", "AEG-SAS-Key": key }));
  }
});

test("of a key that is given twice the first counts", () => {
  admit(request({ "aeg-sas-key": [topic.key1, "wrong"] }));
  refusal(request({ "aeg-sas-key": ["wrong", topic.key1] }), "Unauthorized");
});

test("a plus sign that was not encoded in the query, and so became a blank, is understood", () => {
  admit(request({}, { "aeg-sas-key": topic.key2.replaceAll("+", " ") }));
});

test("a changed key counts from the first request after the change", () => {
  const changed = { ...topic, key1: "bmV3", revision: 2 };
  admit(request({ "aeg-sas-key": "bmV3" }), changed);
  refusal(request({ "aeg-sas-key": topic.key1 }), "Unauthorized", changed);
});

test("a head that comes again and was good is good for its topic as it was, and no other", () => {
  const memory = { about: null, value: null };
  const asked = { ...request({ "aeg-sas-key": topic.key2 }), memory };
  const changed = { ...topic, key2: "bmV3", revision: 2 };
  assert.equal(admit(asked), "key2");
  assert.equal(admit(asked), "key2");
  refusal(asked, "Unauthorized", changed);
  refusal(asked, "Unauthorized", changed);
  refusal(asked, "Unauthorized", { ...topic, disableLocalAuth: true });
  assert.equal(admit(asked), "key2");
});

test("a head that comes again with a wrong key is refused each time", () => {
  const memory = { about: null, value: null };
  const asked = { ...request({ "aeg-sas-key": "s3cret" }), memory };
  refusal(asked, "Unauthorized");
  refusal(asked, "Unauthorized");
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
    [request({ authorization: "Basic s3cret" }), /^Request has an unsupported Authorization sch/],
    [request({ authorization: "s3cret" }), /^Request has an unsupported Authorization scheme \(/],
    [request({ "aeg-sas-token": "r=s3cret" }), /^The SAS token is malformed: it must be r=<reso/],
    [request({ authorization: "SharedAccessSignature s3cret" }), /^The SAS token is malformed/],
    [request({ authorization: "SharedAccessSignature" }), /^The SAS token is malformed/],
  ];
  for (const [asked, words] of cases) {
    const message = refusal(asked, "Unauthorized");
    assert.match(message, words);
    assert.doesNotMatch(message, /s3cret/i);
  }
});

test("a key given beside a credential of another kind is what counts", () => {
  admit(request({ authorization: "Bearer x", "aeg-sas-key": topic.key1 }));
  refusal(request({ "aeg-sas-token": sas(), "aeg-sas-key": "wrong" }), "Unauthorized");
});

test("keys of any length and script are told apart to the last sign", () => {
  const long = "x".repeat(256);
  const keys = [
    "a",
    "ab",
    "ab\u0000",
    "schlüssel",
    "schl\ufffdssel",
    long,
    `${long}y`,
    "0".repeat(900),
  ];
  for (const key1 of keys) {
    for (const value of keys) {
      const asked = request({}, { "aeg-sas-key": value });
      const isLet = value === key1 && value.length <= 256;
      const to = { ...topic, key1 };
      if (isLet) admit(asked, to);
      else refusal(asked, "Unauthorized", to);
    }
  }
});

test("a SAS token made with either key opens the topic, wherever it stands", () => {
  for (const key of [topic.key1, topic.key2]) {
    const token = sas({ key });
    admit(request({ "aeg-sas-token": token }));
    admit(request({}, { "Aeg-Sas-Token": token }));
    admit(request({ authorization: `SharedAccessSignature ${token}` }));
    admit(request({ authorization: `sharedaccesssignature  ${token} ` }));
  }
  const empty = "The value of aeg-sas-token is empty.";
  assert.equal(refusal(request({ "aeg-sas-token": "" }), "InvalidSas"), empty);
});

test("a SAS token made with another key is refused, and learns nothing else", () => {
  const words = "The signature of the SAS token was made with neither key of this topic.";
  const foreign = sas({
    key: "Zm9yZWlnbg==",
    expiry: "1/1/2020 1:00:00 AM",
    resource: "elsewhere",
  });
  assert.equal(refusal(request({ "aeg-sas-token": foreign }), "Unauthorized"), words);
});

test("a SAS token is good until the second it names, by the broker's clock", () => {
  admit(request({ "aeg-sas-token": sas({ expiry: "1/1/2030 12:00:01 AM" }) }));
  for (const expiry of ["1/1/2030 12:00:00 AM", "12/31/2029 11:59:59 PM"]) {
    assert.match(
      refusal(request({ "aeg-sas-token": sas({ expiry }) }), "Unauthorized"),
      /^The SAS token has expired: it was good until 20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.000Z\.$/,
    );
  }
});

test("a SAS token for another topic is refused even when both have one key", () => {
  const resource = "https://orders.example:5888/topics/returns/api/events";
  assert.equal(
    refusal(request({ "aeg-sas-token": sas({ resource }) }), "Unauthorized"),
    `The SAS token is for "${resource}", which is not this topic.`,
  );
  const byPath = { ...request({ host: "b" }), params: { topic: "orders" } };
  const own = sas({ resource: "https://b/topics/orders/api/events" });
  admit({ ...byPath, headers: { host: "b", "aeg-sas-token": own } });
  const wide = sas({ resource: "https://b/" });
  admit({ ...byPath, headers: { host: "b", "aeg-sas-token": wide } });
});

test("keys that are not base64 cannot sign, and the refusal says so", () => {
  const plain = { ...topic, key1: "local-key", key2: "other-key" };
  const token = sas({ key: "local-key" });
  assert.match(
    refusal(request({ "aeg-sas-token": token }), "Unauthorized", plain),
    /^SAS tokens are signed with a base64 key, and the keys of this topic are not base64: send one/,
  );
  admit(request({ "aeg-sas-key": "local-key" }), plain);
  const nothing = { ...topic, key1: "====", key2: "-" };
  refusal(request({ "aeg-sas-token": sas({ key: "" }) }), "Unauthorized", nothing);
  const mixed = { ...topic, key2: "local-key" };
  admit(request({ "aeg-sas-token": sas() }), mixed);
});

test("which key opened the topic is known, for the event's story", async () => {
  const { key1, key2 } = topic;
  assert.equal(admit(request({ "aeg-sas-key": key1 })), "key1");
  assert.equal(admit(request({}, { "aeg-sas-key": key2.replaceAll("+", " ") })), "key2");
  assert.equal(admit(request({ "aeg-sas-token": sas() })), "sas key1");
  const second = request({ authorization: `SharedAccessSignature ${sas({ key: key2 })}` });
  assert.equal(admit(second, { ...topic, key1: "local-key" }), "sas key2");
  const bearer = request({ authorization: "Bearer good" });
  const whyNoBearer = async () => null;
  assert.equal(await authorize(topic, bearer, { clock, whyNoBearer }), "bearer");
});

test("a bearer token is good when the check of tokens accepts it", async () => {
  const judge = async (token: string) => (token === "good" ? null : "The token is not good.");
  assert.equal(await bearerRefusal(request({ authorization: "Bearer good" }), judge), null);
  assert.equal(await bearerRefusal(request({ authorization: "bearer  good " }), judge), null);
  const bad = request({ authorization: "Bearer bad" });
  assert.equal(await bearerRefusal(bad, judge), "The token is not good.");
  const empty = request({ authorization: "Bearer" });
  assert.equal(await bearerRefusal(empty, judge), "The bearer token is empty.");
  assert.equal(await bearerRefusal(bad), "This broker takes no bearer tokens.");
});

test("with local authentication disabled only bearer tokens count", async () => {
  const strict = { ...topic, disableLocalAuth: true };
  const words = "Local authentication is disabled for this topic: send a bearer token.";
  const local = [
    ...[request({ "aeg-sas-key": topic.key1 }), request({}, { "aeg-sas-key": topic.key1 })],
    ...[request({ "aeg-sas-token": sas() }), request()],
    request({ authorization: `SharedAccessSignature ${sas()}` }),
  ];
  for (const asked of local) assert.equal(refusal(asked, "Unauthorized", strict), words);
  const both = request({ authorization: "Bearer good", "aeg-sas-key": "wrong" });
  assert.equal(await bearerRefusal(both, async () => null, strict), null);
  assert.equal(await bearerRefusal(both, async () => "No.", strict), "No.");
});
