import assert from "node:assert/strict";
import { test } from "node:test";
import { type Profile, profileNames, profiles } from "./profile.ts";

const s = 1_000;
const min = 60 * s;
const h = 60 * min;

const columns = ["preview-2017", "ga-2018", "azure-2020", "azure", "iot-edge"] as const;

/** One row of the table of profiles; the sixth column is as `azure`, but for the exceptions. */
function row(title: string, cell: (profile: Profile) => unknown, ...expected: unknown[]): void {
  test(title, () => {
    const [, , , asAzure] = expected;
    const { "azure-latest": latest = asAzure } = exceptions[title] ?? {};
    for (const [column, name] of columns.entries()) {
      assert.deepEqual(cell(profiles[name]), expected[column], name);
    }
    assert.deepEqual(cell(profiles["azure-latest"]), latest, "azure-latest");
  });
}

/** Where the newest description is not what `azure` says. */
const exceptions: Readonly<Record<string, { readonly "azure-latest": unknown }>> = {
  "never retried, webhook (P-7)": { "azure-latest": [400, 401, 403, 413] },
  "smallest wait by status, webhook (P-8)": {
    "azure-latest": { byStatus: { 404: 5 * min, 408: 2 * min, 503: 30 * s }, others: 10 * s },
  },
};

const early = [10 * s, 30 * s, 1 * min, 5 * min, 10 * min, 30 * min, 1 * h];
const late = [...early, 3 * h, 6 * h, 12 * h];
const old = [200, 202];
const all = [200, 201, 202, 203, 204];

row("success codes (P-1)", (profile) => profile.succeeds, old, old, all, all, all);
row("wait for an answer (P-2)", (p) => p.waitMs, 60 * s, 60 * s, 30 * s, 30 * s, 60 * s);
row("a late answer counts until (P-3)", (p) => p.lateMs, 0, 0, 3 * min, 3 * min, 0);
row("retry schedule (P-4, E-2)", (p) => p.scheduleMs, early, early, late, late, [
  1 * min,
  10 * min,
]);
row(
  "event time to live (P-5)",
  (p) => p.ttlMs.default,
  2 * h,
  24 * h,
  1440 * min,
  1440 * min,
  7200 * s,
);
row("delivery attempts (P-6)", (p) => p.attemptsMax.default, null, null, 30, 30, 30);

const chosen = { min: 1, max: 30 };
const lived = { min: 1 * min, max: 1440 * min };
/** Its source tells no bounds. */
const chosenAtEdge = { min: 1, max: 100_000 };
const livedAtEdge = { min: 1 * min, max: 525_600 * min };
row(
  "attempts a subscription may choose (P-6)",
  (p) => p.attemptsMax.range,
  null,
  null,
  chosen,
  chosen,
  chosenAtEdge,
);
row(
  "lives a subscription may choose (P-5)",
  (p) => p.ttlMs.range,
  null,
  null,
  lived,
  lived,
  livedAtEdge,
);
row("limits set for all (P-5, P-6, E-1)", (p) => p.limitsForAll, false, false, false, false, true);

const webhookFinal = [400, 401, 403, 404, 413];
const resourceFinal = [400, 403, 413];
row(
  "never retried, webhook (P-7)",
  (p) => p.neverRetried.webhook,
  [],
  [],
  webhookFinal,
  webhookFinal,
  [],
);
row(
  "never retried, cloud resource (P-7)",
  (p) => p.neverRetried.resource,
  [],
  [],
  resourceFinal,
  resourceFinal,
  [],
);

const none = { byStatus: {}, others: 0 };
const webhookWaits = { byStatus: { 408: 2 * min, 503: 30 * s }, others: 10 * s };
const resourceWaits = {
  byStatus: { 401: 5 * min, 404: 5 * min, 408: 2 * min, 503: 30 * s },
  others: 10 * s,
};
row(
  "smallest wait by status, webhook (P-8)",
  (p) => p.smallestWaitMs.webhook,
  none,
  none,
  webhookWaits,
  webhookWaits,
  none,
);
row(
  "smallest wait by status, cloud resource (P-8)",
  (p) => p.smallestWaitMs.resource,
  none,
  none,
  resourceWaits,
  resourceWaits,
  none,
);
row("output batching (P-9)", (p) => p.batching, false, false, true, true, true);
row("delayed delivery (P-10)", (p) => p.delayedDelivery, false, false, true, true, false);
row("dead-lettering (P-11)", (p) => p.deadLettering, false, false, true, true, false);
row("custom delivery headers (P-12)", (p) => p.deliveryHeaders, false, false, false, true, false);

test("every profile is listed under its own name", () => {
  assert.deepEqual(profileNames, [...columns, "azure-latest"]);
  for (const name of profileNames) assert.equal(profiles[name].name, name);
});
