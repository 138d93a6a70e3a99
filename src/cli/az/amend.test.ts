import assert from "node:assert/strict";
import { test } from "node:test";
import { Refusal } from "../../core/refusal.ts";
import { readOptions } from "../option.ts";
import { amendOptions } from "../options.ts";
import { amended } from "./amend.ts";

const shown = {
  retryPolicy: { maxDeliveryAttempts: 30, eventTimeToLiveInMinutes: 1440 },
  labels: ["a", "b"],
  filter: { advancedFilters: [{ key: "x" }] },
  deadLetterDestination: { endpointType: "StorageBlob" },
};
const amend = (...args: string[]) => amended(shown, readOptions(args, amendOptions));

test("set, add and remove change what az's would, and the answer has only what changed", () => {
  const table: [string[], object][] = [
    [
      ["--set", "retryPolicy.maxDeliveryAttempts=5"],
      { retryPolicy: { maxDeliveryAttempts: 5, eventTimeToLiveInMinutes: 1440 } },
    ],
    [["--set", "labels[0]=z"], { labels: ["z", "b"] }],
    [
      ["--set", "eventDeliverySchema=CloudEventSchemaV1_0"],
      { eventDeliverySchema: "CloudEventSchemaV1_0" },
    ],
    [["--set", 'labels=["x"]'], { labels: ["x"] }],
    [["--set", "labels=['x', 'y']"], { labels: ["x", "y"] }],
    [
      ["--set", "filter.isSubjectCaseSensitive=True"],
      { filter: { advancedFilters: [{ key: "x" }], isSubjectCaseSensitive: true } },
    ],
    [["--add", "labels", "c"], { labels: ["a", "b", "c"] }],
    [
      ["--add", "filter.advancedFilters", "key=y", "value=1"],
      { filter: { advancedFilters: [{ key: "x" }, { key: "y", value: 1 }] } },
    ],
    [["--remove", "labels", "0"], { labels: ["b"] }],
    [["--remove", "deadLetterDestination"], { deadLetterDestination: null }],
    [["--set", "labels[1]=b"], {}],
    [
      ["--set", "labels=[]", "retryPolicy.eventTimeToLiveInMinutes=1"],
      { labels: [], retryPolicy: { maxDeliveryAttempts: 30, eventTimeToLiveInMinutes: 1 } },
    ],
  ];
  for (const [args, changed] of table) assert.deepEqual(amend(...args), changed, args.join(" "));
  assert.equal(shown.labels.length, 2, "and what was shown stays as it is");
});

test("what cannot be changed so is refused", () => {
  for (const args of [
    ["--set", "labels"],
    ["--set", "labels.x.y=1"],
    ["--add", "labels"],
    ["--add", "retryPolicy", "x"],
    ["--remove", "retryPolicy", "0"],
  ]) {
    assert.throws(() => amend(...args), Refusal, args.join(" "));
  }
});
