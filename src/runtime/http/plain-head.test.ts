import assert from "node:assert/strict";
import { test } from "node:test";
import { readPlainHead } from "./plain-head.ts";

const plain = "POST /topics/t/api/events?api-version=2018-01-01 HTTP/1.1";

function read(lines: readonly string[], first = plain, body = "[]") {
  return readPlainHead(Buffer.from(`${[first, ...lines].join("\r\n")}\r\n\r\n${body}`, "latin1"));
}

test("a head without doubt is read: url, headers by lower-case name, length of the body", () => {
  const found = read(["Host: h", "Content-Length: 2", "X-Two-Words:  a b", "X-Empty:"]);
  assert.equal(found?.url, "/topics/t/api/events?api-version=2018-01-01");
  assert.deepEqual(found?.headers, {
    ...{ host: "h", "content-length": "2" },
    ...{ "x-two-words": "a b", "x-empty": "" },
  });
  assert.equal(found?.bodyBytes, 2);
  assert.equal(found?.bytes.toString("latin1").endsWith("\r\n\r\n"), true);
  assert.notEqual(read(["Host: h", "Content-Length: 0", "Connection: Keep-Alive"]), null);
});

test("every doubt is left to Node", () => {
  const doubts: readonly (readonly [...string[]])[] = [
    ["Host: h"],
    ["Content-Length: 2"],
    ["Host: h", "Content-Length: 2", "Content-Length: 2"],
    ["Host: h", "Content-Length: 2", "content-length: 3"],
    ["Host: h", "Host: h", "Content-Length: 2"],
    ["Host: h", "Content-Length: +2"],
    ["Host: h", "Content-Length: 02"],
    ["Host: h", "Content-Length: 2, 2"],
    ["Host: h", "Content-Length: 0x2"],
    ["Host: h", "Content-Length: 9999999999"],
    ["Host: h", "Content-Length: 2", "Transfer-Encoding: chunked"],
    ["Host: h", "Content-Length: 2", "Expect: 100-continue"],
    ["Host: h", "Content-Length: 2", "Upgrade: h2c"],
    ["Host: h", "Content-Length: 2", "Connection: close"],
    ["Host: h", "Content-Length: 2", "Connection: keep-alive, x"],
    ["Host: h", "Content-Length: 2", "Proxy-Connection: close"],
    ["Host: h", "Content-Length: 2", "X : y"],
    ["Host: h", "Content-Length: 2", "X: a", " folded"],
    ["Host: h", "Content-Length: 2", "X: a\tb"],
    ["Host: h", "Content-Length: 2", "X: a\rb"],
    ["Host: h", "Content-Length: 2", "X: a\nTransfer-Encoding: chunked"],
    ["Host: h", "Content-Length: 2", "X: \xe9"],
    ["Host: h", "Content-Length: 2", "X: a\0"],
    ["Host: h", "Content-Length: 2", "__proto__: x"],
    ["Host: h", "Content-Length: 2", "constructor: x"],
    ["Host: h", "Content-Length: 2", "no colon"],
    ["Host: h", "Content-Length: 2", `X: ${"x".repeat(10_000)}`],
    ["Host: h", "Content-Length: 2", ...Array.from({ length: 70 }, (_, at) => `X${at}: y`)],
  ];
  for (const lines of doubts) assert.equal(read(lines), null, lines.join(" | "));
  const sure = ["Host: h", "Content-Length: 2"];
  for (const first of [
    ...["GET /x HTTP/1.1", "post /x HTTP/1.1", "POST /x HTTP/1.0", "POST  /x HTTP/1.1"],
    ...["POST x HTTP/1.1", "POST http://h/x HTTP/1.1", "POST /x#y HTTP/1.1", "POST /x y HTTP/1.1"],
    ...["POST /\xe9 HTTP/1.1", "POST * HTTP/1.1", "POST /x HTTP/1.1 ", "", "\r\nPOST /x HTTP/1.1"],
  ]) {
    assert.equal(read(sure, first), null, first);
  }
  assert.equal(readPlainHead(Buffer.from("POST /x HTTP/1.1\r\nHost: h\r\n")), null);
});
