// Our own settings under `properties.posthorn`: what is kept, what is cleared, what is refused.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Refusal } from "../../core/refusal.ts";
import { plainSubscription, type SubscriptionTerms } from "../../core/subscription.ts";
import {
  checkExtension,
  checkFlow,
  renderExtension,
  shownKilobytes,
  withExactSize,
} from "./extension.ts";

const plain: SubscriptionTerms = {
  ...plainSubscription,
  destination: { kind: "webhook", url: "http://a/hook" },
};
const splitting: SubscriptionTerms = { ...plain, splitOnFailure: true };
const field = "properties.posthorn";
const created = { profile: "azure", stored: null, keepsRest: false } as const;

test("a write without the member keeps what is in force, and null clears it", () => {
  const put = { ...created, stored: splitting };
  assert.equal(checkExtension(undefined, field, put).splitOnFailure, true);
  assert.equal(checkExtension(null, field, put).splitOnFailure, false);
  assert.equal(checkExtension(undefined, field, created).splitOnFailure, false);
});

test("a PUT of the member replaces all of it, a PATCH only what it names", () => {
  const put = { ...created, stored: splitting };
  assert.equal(checkExtension({}, field, put).splitOnFailure, false);
  assert.equal(checkExtension({}, field, { ...put, keepsRest: true }).splitOnFailure, true);
});

test("what was read may be written back", () => {
  const shown = renderExtension(splitting, { flow: { kind: "paused", since: 0 } });
  assert.deepEqual(shown, {
    splitOnFailure: true,
    flow: { kind: "paused", since: "1970-01-01T00:00:00.000Z" },
  });
  const written = checkExtension(shown, field, created);
  assert.deepEqual(written, { splitOnFailure: true, signing: [] });
});

test("nothing is shown when nothing is set", () => {
  assert.equal(renderExtension(plain, { flow: { kind: "running" } }), null);
});

test("what is unknown, mistyped or of no use under the profile is refused by its name", () => {
  const refused = (value: unknown, profile: "azure" | "ga-2018" | "iot-edge") => {
    let words = "";
    try {
      checkExtension(value, field, { ...created, profile });
    } catch (error) {
      assert.ok(error instanceof Refusal);
      words = error.message;
    }
    return words;
  };
  assert.match(
    refused({ splitOnFailure: "yes" }, "azure"),
    /posthorn\.splitOnFailure must be true/,
  );
  assert.match(refused({ split: true }, "azure"), /split/);
  assert.match(refused("on", "azure"), /properties\.posthorn must be an object/);
  assert.match(refused({ splitOnFailure: true }, "ga-2018"), /profile ga-2018/);
  assert.match(refused({ splitOnFailure: true }, "iot-edge"), /profile iot-edge/);
  assert.equal(refused({ splitOnFailure: false }, "ga-2018"), "");
});

test("a size that kilobytes cannot say is shown beside them, and stays when it is written back", () => {
  const exact = { maxEvents: 3, preferredBytes: 1_058_576 };
  const at = { field: "posthorn", stored: exact };
  assert.equal(shownKilobytes(exact), 1024);
  assert.equal(shownKilobytes({ ...exact, preferredBytes: 10 }), 1);
  const asShown = { maxEvents: 5, preferredBytes: 1024 * 1024 };
  assert.deepEqual(withExactSize(asShown, undefined, at), { ...exact, maxEvents: 5 });
  const other = { maxEvents: 5, preferredBytes: 2048 };
  assert.deepEqual(withExactSize(other, undefined, at), other);
  const given = { preferredBatchSizeInBytes: 5000 };
  assert.deepEqual(withExactSize(other, given, at), { maxEvents: 5, preferredBytes: 5000 });
  assert.equal(withExactSize(null, given, at), null);
  const wrong = { preferredBatchSizeInBytes: 10 };
  assert.throws(() => withExactSize(other, wrong, at), /InBytes must be a whole number from 1024/);
});

test("a subscription may be made paused or draining", () => {
  const read = (value: unknown) => checkFlow(value, "flow", 7).flow;
  assert.deepEqual(read(undefined), { kind: "running" });
  assert.deepEqual(read({ kind: "running" }), { kind: "running" });
  assert.deepEqual(read({ kind: "paused", since: "2030" }), { kind: "paused", since: 7 });
  assert.deepEqual(read({ kind: "draining", perSecond: 2 }), { kind: "draining", perSecond: 2 });
  for (const wrong of [
    { kind: "draining" },
    { kind: "stopped" },
    { kind: "draining", perSecond: 0 },
  ]) {
    assert.throws(() => read(wrong), /flow\.kind must be running, paused, or draining/);
  }
});
