import assert from "node:assert/strict";
import { test } from "node:test";
import { isSigningSecret, rotateSecrets, type Signing, secretsInForce } from "./signing.ts";

const secretOf = (bytes: number, fill = "s") =>
  `whsec_${Buffer.alloc(bytes, fill).toString("base64")}`;

test("a secret is whsec_ and 24 to 64 bytes in base64", () => {
  for (const bytes of [24, 25, 26, 32, 64]) assert.ok(isSigningSecret(secretOf(bytes)), `${bytes}`);
  const good = secretOf(32);
  const bad = [
    secretOf(23),
    secretOf(65),
    good.replace("whsec_", ""),
    good.replace("=", ""),
    `${good} `,
    good.replace("c", "-"),
    "whsec_",
    null,
    7,
  ];
  for (const each of bad) assert.equal(isSigningSecret(each), false, String(each));
});

const namesOf = (signing: Signing) => signing.map(({ secret, expiresAt }) => [secret, expiresAt]);

test("a new secret stands in front, and those before it stay for the overlap", () => {
  const first = rotateSecrets([], { secret: "a", overlapMs: 100, now: 1_000 });
  assert.deepEqual(namesOf(first), [["a", null]]);
  const second = rotateSecrets(first, { secret: "b", overlapMs: 100, now: 2_000 });
  assert.deepEqual(namesOf(second), [
    ["b", null],
    ["a", 2_100],
  ]);
  const third = rotateSecrets(second, { secret: "c", overlapMs: 500, now: 2_050 });
  const all = [
    ["c", null],
    ["b", 2_550],
    ["a", 2_100],
  ];
  assert.deepEqual(namesOf(third), all, "an end that was told is not put off");
  assert.deepEqual(namesOf(secretsInForce(third, 2_099)), all);
  assert.deepEqual(namesOf(secretsInForce(third, 2_100)), all.slice(0, 2));
});

test("without an overlap only the new secret is left", () => {
  const signing: Signing = [{ secret: "a", expiresAt: null }];
  assert.deepEqual(namesOf(rotateSecrets(signing, { secret: "b", overlapMs: 0, now: 5 })), [
    ["b", null],
  ]);
});

test("a fourth secret takes the place of the oldest", () => {
  let signing: Signing = [];
  for (const secret of ["a", "b", "c", "d"]) {
    signing = rotateSecrets(signing, { secret, overlapMs: 1_000, now: 10 });
  }
  assert.deepEqual(
    signing.map(({ secret }) => secret),
    ["d", "c", "b"],
  );
});
