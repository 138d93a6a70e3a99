import assert from "node:assert/strict";
import { test } from "node:test";
import { plainSubscription, type Subscription } from "../subscription.ts";
import { siftExpired } from "./expiry.ts";

const subscriptionUntil = (id: number, expiresAt: number | null): Subscription => ({
  ...plainSubscription,
  id,
  revision: id,
  topic: "orders",
  name: `sub-${id}`,
  destination: { kind: "webhook", url: "http://endpoint.test/" },
  origin: "api",
  expiresAt,
});

test("what has expired is sifted out, and the next expiry is told", () => {
  const subscriptions = [null, 5_000, 1_000, 3_000, 999].map((at, id) => subscriptionUntil(id, at));
  const { inForce, expired, nextAt } = siftExpired(subscriptions, 1_000);
  assert.deepEqual(
    inForce.map(({ id }) => id),
    [0, 1, 3],
  );
  assert.deepEqual(
    expired.map(({ id }) => id),
    [2, 4],
  );
  assert.equal(nextAt, 3_000);
});

test("where nothing expires there is nothing to wait for", () => {
  const subscriptions = [subscriptionUntil(1, null)];
  assert.equal(siftExpired(subscriptions, 1_000).nextAt, null);
});
