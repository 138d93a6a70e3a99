import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { UnaskedContinue } from "./unasked-continue.ts";

const ok = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

/** What is read of an answer that comes in pieces. */
function readIn(pieces: readonly string[], filter = new UnaskedContinue()): string {
  filter.begin();
  const chunks = pieces.map((piece) => Buffer.from(piece, "latin1"));
  for (const chunk of chunks) filter.pass(chunk);
  return Buffer.concat(chunks).toString("latin1");
}

test("a 100 before the answer becomes a 102, also several, and nothing else changes (D-5)", () => {
  const table: [string, string][] = [
    [ok, ok],
    [`HTTP/1.1 100 Continue\r\n\r\n${ok}`, `HTTP/1.1 102 Continue\r\n\r\n${ok}`],
    [`HTTP/1.0 100\r\na: b\r\n\r\n${ok}`, `HTTP/1.0 102\r\na: b\r\n\r\n${ok}`],
    [
      `HTTP/1.1 103 Hints\r\n\r\nHTTP/1.1 100 C\r\n\r\nHTTP/1.1 100 C\r\n\r\n${ok}`,
      `HTTP/1.1 103 Hints\r\n\r\nHTTP/1.1 102 C\r\n\r\nHTTP/1.1 102 C\r\n\r\n${ok}`,
    ],
    [`${ok}HTTP/1.1 100 Continue\r\n\r\n`, `${ok}HTTP/1.1 100 Continue\r\n\r\n`],
    ["HTTP/2.0 100 no such head", "HTTP/2.0 100 no such head"],
  ];
  for (const [sent, read] of table) {
    fc.assert(
      fc.property(fc.array(fc.nat(sent.length)), (cuts) => {
        const places = [0, ...cuts.toSorted((a, b) => a - b), sent.length];
        const pieces = places.slice(1).map((end, index) => sent.slice(places[index], end));
        assert.equal(readIn(pieces), read);
      }),
    );
  }
});

test("every answer of a connection is read anew", () => {
  const filter = new UnaskedContinue();
  const sent = `HTTP/1.1 100 Continue\r\n\r\n${ok}`;
  for (let answer = 0; answer < 3; answer += 1) {
    assert.match(readIn([sent], filter), /^HTTP\/1\.1 102 Continue/);
  }
});
