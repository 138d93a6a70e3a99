import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { Webhook, WebhookVerificationError } from "standardwebhooks";
import { startAt } from "../../../test/contract/fixture.ts";
import { parcelOf } from "../../../test/contract/sink.ts";
import { openSender, serve } from "../../../test/fixtures/webhook.ts";
import { rotateSecrets, type Signing } from "../../core/delivery/signing.ts";
import type { Parcel } from "../../core/delivery/sink.ts";
import type { Subscription } from "../../core/subscription.ts";
import { postOf } from "./message.ts";
import { sign } from "./signature.ts";

const secretOf = (fill: string) => `whsec_${Buffer.alloc(32, fill).toString("base64")}`;
const [first, second, third] = ["a", "b", "c"].map(secretOf) as [string, string, string];
const alone: Signing = [{ secret: first, expiresAt: null }];

function signed(terms: Partial<Subscription>, texts = ['{"id":"1","ü":1.0}'], now = startAt) {
  const { subscription, ...rest } = parcelOf(texts);
  const parcel: Parcel = { ...rest, subscription: { ...subscription, ...terms } };
  return sign(postOf(parcel, "/"), parcel, now);
}

/** The library reads the clock itself. */
function at(t: TestContext, now: number): void {
  t.mock.timers.reset();
  t.mock.timers.enable({ apis: ["Date"], now });
}

const verify = (secret: string, { body, headers }: ReturnType<typeof signed>) =>
  new Webhook(secret).verify(body, headers);

test("a delivery without secrets is Event Grid's, to the byte", () => {
  const parcel = parcelOf(['{"id":"1"}']);
  const post = postOf(parcel, "/");
  assert.equal(sign(post, parcel, startAt), post);
  assert.deepEqual(
    Object.keys(post.headers).filter((name) => name.startsWith("webhook-")),
    [],
  );
});

test("a signed delivery has the same body and headers, and three more", () => {
  const [plain, post] = [signed({}), signed({ signing: alone })];
  assert.equal(post.body, plain.body);
  const {
    "webhook-id": id,
    "webhook-timestamp": time,
    "webhook-signature": _,
    ...rest
  } = post.headers;
  assert.deepEqual(rest, plain.headers);
  assert.equal(id, "event-1-1");
  assert.equal(time, String(startAt / 1000));
});

test("the library of Standard Webhooks verifies what we sign, in every schema and in batches", (t) => {
  at(t, startAt);
  const cloud = { deliverySchema: "CloudEventSchemaV1_0" } as const;
  const batch = { batch: { maxEvents: 10, preferredBytes: 65_536 } };
  const cloudEvent = '{"specversion":"1.0","id":"1","type":"t","source":"/s","data":{"ä":1}}';
  const grid = JSON.stringify({ id: "1", topic: "/t", subject: "s", data: {}, eventType: "t" });
  for (const [terms, texts] of [
    [{}, [grid]],
    [batch, [grid, grid]],
    [cloud, [grid]],
    [{ ...cloud, ...batch }, [grid, grid]],
    [{ deliverySchema: "CustomInputSchema" }, [cloudEvent]],
  ] as const) {
    const post = signed({ ...terms, signing: alone }, [...texts]);
    assert.deepEqual(verify(first, post), JSON.parse(post.body));
    const changed = { ...post, body: post.body.replace("1", "2") };
    assert.throws(() => verify(first, changed), WebhookVerificationError);
    assert.throws(() => verify(second, post), WebhookVerificationError);
  }
});

test("while secrets overlap, a request is good for each of them, and then for the new one", (t) => {
  const signing = rotateSecrets(alone, { secret: second, overlapMs: 60_000, now: startAt });
  const during = signed({ signing }, undefined, startAt + 59_000);
  at(t, startAt + 59_000);
  assert.match(during.headers["webhook-signature"] ?? "", /^v1,\S+ v1,\S+$/);
  verify(first, during);
  verify(second, during);
  assert.throws(() => verify(third, during), WebhookVerificationError);
  const after = signed({ signing }, undefined, startAt + 60_000);
  at(t, startAt + 60_000);
  verify(second, after);
  assert.throws(() => verify(first, after), WebhookVerificationError);
});

test("an old request sent again by somebody else is refused by its time", (t) => {
  const post = signed({ signing: alone });
  at(t, startAt + 6 * 60_000);
  assert.throws(() => verify(first, post), /timestamp too old/);
});

test("the id of a delivery is the same over all attempts, and no other delivery's", () => {
  const idOf = (terms: Partial<Subscription>, texts: string[], now = startAt) =>
    signed({ signing: alone, ...terms }, texts, now).headers["webhook-id"];
  const one = ['{"id":1}'];
  assert.equal(idOf({}, one), idOf({}, one, startAt + 3_600_000));
  assert.notEqual(idOf({}, one), idOf({ id: 2 }, one), "another subscription, another delivery");
  const two = ['{"id":1}', '{"id":2}'];
  assert.equal(idOf({}, two), idOf({}, two, startAt + 3_600_000));
  assert.match(idOf({}, two) ?? "", /^batch-[0-9a-f]{64}-1$/);
  assert.notEqual(idOf({}, two), idOf({}, [...two, "{}"]), "other company, another id");
});

test("headers of ours cannot be replaced by those of the subscription", (t) => {
  at(t, startAt);
  const header = {
    name: "Webhook-Signature",
    kind: "static",
    value: "v1,x",
    isSecret: false,
  } as const;
  verify(first, signed({ signing: alone, headers: [header] }));
});

test("what arrives at a real endpoint is verified as it came", async (t) => {
  const endpoint = await serve(t, (response) => response.end());
  const { send, clock } = openSender(t);
  at(t, clock.now());
  const { subscription, ...rest } = parcelOf(['{"id":"1","data":"äß 🐎"}']);
  const parcel = { ...rest, subscription: { ...subscription, signing: alone } };
  assert.equal((await send(endpoint.url, { parcel })).kind, "answered");
  const [arrived] = endpoint.arrived;
  assert.deepEqual(
    new Webhook(first).verify(arrived?.body ?? "", arrived?.headers as Record<string, string>),
    [{ id: "1", data: "äß 🐎" }],
  );
});
