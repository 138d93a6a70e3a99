import assert from "node:assert/strict";
import { test } from "node:test";
import { baseUrlOf } from "./request.ts";

test("a client is told URLs that begin as it called us", () => {
  const table: readonly (readonly [string | undefined, string])[] = [
    ["localhost:4438", "https://localhost:4438"],
    ["Broker.Example", "https://broker.example"],
    ["[::1]:4438", "https://[::1]:4438"],
    ["127.0.0.1", "https://127.0.0.1"],
    [undefined, "https://localhost"],
    ["", "https://localhost"],
    ["a b", "https://localhost"],
    ["evil.example/path", "https://localhost"],
    ["evil.example\r\nX: y", "https://localhost"],
    ["me@evil.example", "https://localhost"],
  ];
  for (const [host, url] of table)
    assert.equal(baseUrlOf({ scheme: "https", headers: { host } }), url);
  assert.equal(baseUrlOf({ scheme: "http", headers: { host: "h" } }), "http://h");
});
