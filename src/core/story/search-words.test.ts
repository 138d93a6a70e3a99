import assert from "node:assert/strict";
import { test } from "node:test";
import { readSearchWords } from "./search-words.ts";

test("what is typed into the box is read word by word", () => {
  const table: [typed: string, query: object][] = [
    ["", {}],
    ["   ", {}],
    ["8f3c", { words: ["8f3c"] }],
    ["red  shop", { words: ["red", "shop"] }],
    ["type:Shop.Paid", { type: "*Shop.Paid*" }],
    ["TYPE:Shop*", { type: "Shop*" }],
    ["subject:/a/b topic:orders", { subject: "*/a/b*", topic: "*orders*" }],
    ['subject:"a b" "c d"', { subject: "*a b*", words: ["c d"] }],
    ['"never closed', { words: ["never closed"] }],
    ["subscription:bill id:8f", { subscription: "*bill*", idPart: "8f" }],
    ["state:Failing", { states: ["waiting"], isFailing: true }],
    ["state:deadlettered", { states: ["deadLettered"] }],
    ["state:failed", { states: ["deadLettering", "deadLettered", "dropped"] }],
    ["type: x", { words: ["x"] }],
    ["https://a.test/b", { words: ["https://a.test/b"] }],
    ["urn:a:b type:t", { words: ["urn:a:b"], type: "*t*" }],
  ];
  for (const [typed, query] of table) assert.deepEqual(readSearchWords(typed), query, typed);
});

test("a state that does not exist is refused with those that do", () => {
  assert.throws(() => readSearchWords("state:lost"), /state: must be waiting, failing, delivered/);
});
