import assert from "node:assert/strict";
import { test } from "node:test";
import { keepWire } from "./wire.ts";

const request = {
  method: "POST",
  headers: { "content-type": "application/json", "X-Tenant": "blue", "aeg-sas-key": "hush" },
  body: "x".repeat(3_000),
};

test("of a request the beginning is kept, and of its secrets only the names", () => {
  const headers = [
    { name: "x-tenant", kind: "static", value: "blue", isSecret: true },
    { name: "x-other", kind: "static", value: "b", isSecret: false },
  ] as const;
  const kept = keepWire({ request, head: null }, { headers });
  assert.deepEqual(kept.headers, [
    ["content-type", "application/json"],
    ["X-Tenant", "(hidden)"],
    ["aeg-sas-key", "(hidden)"],
  ]);
  assert.deepEqual([kept.body.length, kept.size, kept.answer], [1_024, 3_000, []]);
});

test("names that usually carry secrets are hidden, whoever sends them", () => {
  const hidden = ["Authorization", "Set-Cookie", "x-api-key", "webhook-signature", "X-Auth-Token"];
  const plain = ["server", "keyboard", "content-length", "x-keys"];
  const lines = [...hidden, ...plain].map((name) => `${name}: ${name}-value`);
  const head = ["HTTP/1.1 503 Busy", ...lines, "no colon"].join("\r\n");
  const { answer } = keepWire({ request, head }, { headers: [] });
  assert.deepEqual(
    answer.map(([, value]) => value),
    [...hidden.map(() => "(hidden)"), ...plain.map((name) => `${name}-value`)],
  );
});

test("long values and many headers are cut", () => {
  const lines = Array.from({ length: 100 }, (_, at) => `x-${at}: ${"v".repeat(500)}`);
  const head = ["HTTP/1.1 500 No", ...lines].join("\r\n");
  const { answer } = keepWire({ request, head }, { headers: [] });
  assert.deepEqual([answer.length, answer[0]?.[1].length], [40, 201]);
});
