import assert from "node:assert/strict";
import { test } from "node:test";
import { Refusal, type RefusalCode } from "../../core/refusal.ts";
import { replyToFault, replyToRefusal } from "./error-reply.ts";

/** From Event Grid's recorded answers: status, `error.code`, `error.details[0].code`. */
const table: Readonly<Record<RefusalCode, readonly [number, string, string]>> = {
  InputJsonInvalid: [400, "BadRequest", "InputJsonInvalid"],
  InvalidCloudEventHeader: [400, "BadRequest", "InvalidCloudEventHeader"],
  InvalidApiVersion: [400, "BadRequest", "InvalidApiVersion"],
  InvalidContentType: [415, "UnsupportedMediaType", "InvalidContentType"],
  InvalidContentEncoding: [415, "UnsupportedMediaType", "InvalidContentEncoding"],
  InvalidSetting: [400, "BadRequest", "InvalidSetting"],
  EventLoop: [400, "BadRequest", "EventLoop"],
  InvalidSas: [400, "BadRequest", "InvalidSas"],
  Unauthorized: [401, "Unauthorized", "Unauthorized"],
  Forbidden: [403, "Forbidden", "Forbidden"],
  NotFound: [404, "NotFound", "ResourceNotFound"],
  MethodNotAllowed: [405, "MethodNotAllowed", "MethodNotAllowed"],
  Conflict: [409, "Conflict", "Conflict"],
  PreconditionFailed: [412, "PreconditionFailed", "PreconditionFailed"],
  PayloadTooLarge: [413, "RequestEntityTooLarge", "PayloadTooLarge"],
  TooManyRequests: [429, "TooManyRequests", "TooManyRequests"],
  Unavailable: [503, "ServiceUnavailable", "ServiceUnavailable"],
};

test("each refusal has the status and the body that Event Grid gives it", () => {
  for (const [refusal, [status, code, detail]] of Object.entries(table)) {
    const message = 'the reason, with "quotes"';
    const reply = replyToRefusal(new Refusal(refusal as RefusalCode, message));
    assert.equal(reply.status, status);
    assert.equal(reply.headers?.["content-type"], "application/json; charset=utf-8");
    assert.deepEqual(JSON.parse(reply.body ?? ""), {
      error: { code, message, details: [{ code: detail, message }] },
    });
  }
});

test("Retry-After is in whole seconds, at least one, and comes with 429 and 503 alone", () => {
  const retryAfter = (code: RefusalCode, retryAfterMs?: number) =>
    replyToRefusal(new Refusal(code, "", retryAfterMs === undefined ? {} : { retryAfterMs }))
      .headers?.["retry-after"];
  for (const code of ["TooManyRequests", "Unavailable"] as const) {
    assert.equal(retryAfter(code), "1");
    assert.equal(retryAfter(code, 0), "1");
    assert.equal(retryAfter(code, 1000), "1");
    assert.equal(retryAfter(code, 1001), "2");
  }
  for (const code of Object.keys(table) as RefusalCode[]) {
    if (table[code][0] !== 429 && table[code][0] !== 503) {
      assert.equal(retryAfter(code, 5000), undefined);
    }
  }
});

test("a fault of ours is a 500 that tells nothing of itself", () => {
  const reply = replyToFault("internal");
  assert.equal(reply.status, 500);
  assert.equal(JSON.parse(reply.body ?? "").error.code, "InternalServerError");
});
