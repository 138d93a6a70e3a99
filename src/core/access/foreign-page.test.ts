import assert from "node:assert/strict";
import { test } from "node:test";
import { plainRequest } from "../../../test/fixtures/request.ts";
import { isFromPage, isFromThisMachine, isNameOfThisMachine, whyAstray } from "./foreign-page.ts";

test("this machine is called by its address or by a name that only it has", () => {
  for (const host of [
    "localhost",
    "LOCALHOST:5888",
    "orders.localhost:4438",
    "127.0.0.1:5888",
    "[::1]:5888",
    "192.168.1.5",
  ]) {
    assert.equal(isNameOfThisMachine(host), true, host);
  }
  for (const host of [
    "",
    "evil.example",
    "evil.example:5888",
    "localhost.evil.example",
    "127.0.0.1.evil.example",
    "notlocalhost",
  ]) {
    assert.equal(isNameOfThisMachine(host), false, host);
  }
});

type Headers = Readonly<Record<string, string>>;

test("a program on this machine asks by its name, and neither a page nor a proxy is behind it", () => {
  const table: [remote: string, headers: Headers, isLocal: boolean][] = [
    ["127.0.0.1", { host: "127.0.0.1:5888" }, true],
    ["127.3.2.1", { host: "localhost:5888" }, true],
    ["::1", { host: "[::1]:5888" }, true],
    ["127.0.0.1", { host: "orders.localhost" }, true],
    ["127.0.0.1", { host: "localhost:5888", origin: "http://localhost:5888" }, true],
    ["127.0.0.1", { host: "localhost", "sec-fetch-site": "same-origin" }, true],
    ["10.0.0.1", { host: "localhost" }, false],
    ["", { host: "localhost" }, false],
    ["127.0.0.1", {}, false],
    ["127.0.0.1", { host: "10.0.0.1" }, false],
    ["127.0.0.1", { host: "evil.example" }, false],
    ["127.0.0.1", { host: "localhost", origin: "http://evil.example" }, false],
    ["127.0.0.1", { host: "localhost", origin: "null" }, false],
    ["127.0.0.1", { host: "localhost", "sec-fetch-site": "cross-site" }, false],
    ["127.0.0.1", { host: "localhost", "x-forwarded-for": "10.0.0.1" }, false],
    ["127.0.0.1", { host: "localhost", forwarded: "for=10.0.0.1" }, false],
  ];
  for (const [remote, headers, isLocal] of table) {
    const head = { ...plainRequest, remote, headers };
    assert.equal(isFromThisMachine(head), isLocal, JSON.stringify([remote, headers]));
  }
});

test("what a page elsewhere would change is refused, and what it only reads is not", () => {
  const table: [method: string, headers: Headers, isLocal: boolean, why: RegExp | null][] = [
    ["POST", { host: "localhost" }, true, null],
    ["POST", { host: "evil.example" }, true, /does not answer for "evil.example"/],
    ["GET", { host: "evil.example" }, true, /does not answer for "evil.example"/],
    ["POST", { host: "evil.example" }, false, null],
    ["POST", { host: "a.example", origin: "https://a.example" }, false, null],
    ["PUT", { host: "a.example", origin: "https://b.example" }, false, /another origin/],
    ["POST", { host: "a.example", "sec-fetch-site": "same-site" }, false, /another origin/],
    ["GET", { host: "a.example", "sec-fetch-site": "cross-site" }, false, null],
  ];
  for (const [method, headers, isLocal, why] of table) {
    const found = whyAstray({ ...plainRequest, method, headers }, { isLocal });
    if (why === null) assert.equal(found, null, JSON.stringify([method, headers]));
    else assert.match(found ?? "", why);
  }
});

test("only a browser says that a page made a request", () => {
  const from = (headers: Headers) => isFromPage({ ...plainRequest, headers });
  assert.deepEqual([from({}), from({ "sec-fetch-mode": "cors" })], [false, false]);
  assert.deepEqual([from({ origin: "null" }), from({ "sec-fetch-site": "none" })], [true, true]);
});
