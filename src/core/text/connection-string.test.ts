import assert from "node:assert/strict";
import { test } from "node:test";
import { Refusal } from "../refusal.ts";
import { isTarget, parseTarget, shownTarget, storePlace } from "./connection-string.ts";

test("a connection string names hosts, user and database", () => {
  const target = parseTarget("postgres://al%40ice@db1:6000,[::1],db2/my%20events", "given");
  assert.ok(typeof target !== "string");
  const { hosts, user, database, password, ssl, schema, connectMsMax } = target;
  assert.deepEqual(hosts, [
    { host: "db1", port: 6000 },
    { host: "::1", port: 5432 },
    { host: "db2", port: 5432 },
  ]);
  assert.deepEqual([user, database, password], ["al@ice", "my events", "given"]);
  assert.deepEqual([ssl.mode, schema, connectMsMax], ["prefer", "posthorn", 5_000]);
});

test("its own password comes first, whatever is in it", () => {
  const target = parseTarget(
    "postgresql://u:p%3Aq%2F:r@h/d?sslmode=verify-full&sslrootcert=ca.pem",
    "x",
  );
  assert.ok(typeof target !== "string");
  assert.equal(target.password, "p:q/:r");
  assert.deepEqual([target.ssl.mode, target.ssl.rootCertFile], ["verify-full", "ca.pem"]);
});

test("what cannot be one is refused in words that repeat no secret", () => {
  for (const [text, words] of [
    ["postgres://", /must look like/],
    ["postgres://u:secret@h", /must look like/],
    ["postgres://:secret@h/d", /names no user/],
    ["postgres://u:secret@/d", /names no host/],
    ["postgres://u:secret@h/", /names no database/],
    ["postgres://u:secret@h:0/d", /host that cannot be one/],
    ["postgres://u:secret@h:99999/d", /host that cannot be one/],
    ["postgres://u:secret%@h/d", /'%'/],
    ["postgres://u:secret@h/d?sslmode=maybe", /sslmode must be one of disable, prefer/],
    ["postgres://u:secret@h/d?user=x", /parameter 'user'/],
    ["postgres://u:secret@h/d?connect_timeout=soon", /connect_timeout/],
    ["postgres://u:secret@h/d?schema=A-B", /schema/],
  ] as const) {
    const why = parseTarget(text, null);
    assert.ok(typeof why === "string", text);
    assert.match(why, words);
    assert.doesNotMatch(why, /secret/);
  }
});

test("a setting takes a word or a database, and shows no password", () => {
  const { parse } = storePlace();
  for (const fine of ["sqlite", "memory", "postgres://u@h/d"]) {
    assert.equal(parse(fine, "store"), fine);
  }
  for (const wrong of ["postgres://u:secret@h", "mysql://u:secret@h/d", "disk"]) {
    assert.throws(
      () => parse(wrong, "store"),
      (error) => error instanceof Refusal && !error.message.includes("secret"),
    );
  }
  assert.equal(shownTarget("postgres://u:se@cret@h/d"), "postgres://u:***@h/d");
  assert.equal(shownTarget("postgres://u@h/d"), "postgres://u@h/d");
  assert.equal(isTarget("sqlite"), false);
});
