import assert from "node:assert/strict";
import { test } from "node:test";
import type { Signing } from "../../core/delivery/signing.ts";
import { Refusal } from "../../core/refusal.ts";
import { plainSubscription, type SubscriptionTerms } from "../../core/subscription.ts";
import { checkSigning, refuseUnsignable, renderSigning } from "./signing.ts";

const field = "properties.posthorn.signing";
const secretOf = (fill: string, bytes = 32) =>
  `whsec_${Buffer.alloc(bytes, fill).toString("base64")}`;
const [one, two] = [secretOf("1"), secretOf("2")];
const at = Date.UTC(2030, 0, 1);
const stored: Signing = [
  { secret: one, expiresAt: null },
  { secret: two, expiresAt: at },
];
const makeKey = () => Buffer.alloc(32, "k").toString("base64");

const refusal = (value: unknown, kept: Signing = [], key?: () => string) => {
  try {
    checkSigning(value, field, { stored: kept, makeKey: key });
  } catch (error) {
    assert.ok(error instanceof Refusal);
    assert.equal(/whsec_[A-Za-z0-9]/.test(error.message), false, "no word of a secret");
    return error.message;
  }
  return assert.fail("it was taken");
};

test("secrets are taken as they are written, the newest first", () => {
  const secrets = [{ secret: one }, { secret: two, expiresAt: "2030-01-01T00:00:00Z" }];
  assert.deepEqual(checkSigning({ secrets }, field, { stored: [] }), stored);
  assert.deepEqual(checkSigning(null, field, { stored }), []);
});

test("without secrets those that are there stay, and otherwise the first is made", () => {
  assert.deepEqual(checkSigning({}, field, { stored }), stored);
  const made = [{ secret: secretOf("k"), expiresAt: null }];
  assert.deepEqual(checkSigning({}, field, { stored: [], makeKey }), made);
  assert.match(
    refusal({}),
    /signing\.secrets must be there: in a file, secrets have to be written/,
  );
});

test("secrets are hidden when they are shown, and what was shown may be written back", () => {
  const shown = renderSigning(stored, { showsSecrets: false });
  assert.deepEqual(shown, {
    secrets: [
      { secret: "Hidden", expiresAt: null },
      { secret: "Hidden", expiresAt: "2030-01-01T00:00:00.000Z" },
    ],
  });
  assert.deepEqual(checkSigning(shown, field, { stored }), stored);
  assert.match(refusal(shown), /secrets\[0\]\.secret must be whsec_/);
  assert.match(refusal(shown, stored.slice(1)), /secrets\[0\]\.secret must be whsec_/);
});

test("secrets that cannot be are refused by their place", () => {
  const ofSecrets = (...secrets: unknown[]) => refusal({ secrets });
  assert.match(refusal("on"), /signing must be an object/);
  assert.match(refusal({ secret: one }), /secret/);
  assert.match(refusal({ secrets: [] }), /secrets must be a list of one to 3 secrets/);
  const four = ["1", "2", "3", "4"].map((fill) => ({ secret: secretOf(fill) }));
  assert.match(ofSecrets(...four), /secrets must be a list of one to 3 secrets/);
  assert.match(ofSecrets({ secret: secretOf("s", 23) }), /24 to 64 bytes/);
  assert.match(ofSecrets({ secret: secretOf("s", 65) }), /24 to 64 bytes/);
  assert.match(ofSecrets({ secret: one, expiresAt: "soon" }), /secrets\[0\]\.expiresAt/);
  assert.match(ofSecrets({ secret: one, expiresAt: 7 }), /secrets\[0\]\.expiresAt must be an ISO/);
  const ends = { secret: one, expiresAt: "2030-01-01T00:00:00Z" };
  assert.match(
    ofSecrets(ends),
    /secrets\[0\]\.expiresAt must be left out: the newest secret stays/,
  );
  assert.match(ofSecrets({ secret: one }, { secret: one }), /secrets\[1\]\.secret must be another/);
});

test("what cannot be signed is refused with secrets, and taken without", () => {
  const destination = { kind: "webhook", url: "http://a/hook" } as const;
  const plain: SubscriptionTerms = { ...plainSubscription, destination };
  const signed: SubscriptionTerms = { ...plain, signing: stored };
  refuseUnsignable(plain, field);
  refuseUnsignable(signed, field);
  const queue = {
    kind: "storageQueue",
    resourceId: "/q",
    queueName: "q",
    ttlSeconds: null,
  } as const;
  refuseUnsignable({ ...plain, destination: queue }, field);
  const refused = (terms: SubscriptionTerms, words: RegExp) =>
    assert.throws(() => refuseUnsignable(terms, field), words);
  refused(
    { ...signed, destination: queue },
    /only requests to webhooks and functions can be signed/,
  );
  const header = { name: "Webhook-Id", kind: "static", value: "x", isSecret: false } as const;
  refuseUnsignable({ ...plain, headers: [header] }, field);
  refused({ ...signed, headers: [header] }, /a delivery attribute Webhook-Id/);
});
