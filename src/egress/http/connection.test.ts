// How a request becomes bytes, and whose they are while the system has not taken them.

import assert from "node:assert/strict";
import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import { test } from "node:test";
import { Connection, type Listener, type Message } from "./connection.ts";

const listener: Listener = {
  onWritten() {},
  onAnswering() {},
  onHead() {},
  onData() {},
  onEnd() {},
  onError() {},
};

/** A connection that is made, and what it writes. `take`: the system takes what it was given. */
function open({ madeBy = "connect", takesAtOnce = true } = {}) {
  const written: Buffer[] = [];
  const waiting: (() => void)[] = [];
  const socket = new Duplex({
    read() {},
    write(chunk: Buffer, _encoding, done) {
      written.push(chunk);
      if (takesAtOnce) done();
      else waiting.push(done);
    },
  }) as unknown as Socket;
  const connection = new Connection({
    socket,
    host: "example.com",
    madeBy: madeBy as "connect" | "secureConnect",
    isRead: true,
    onClose() {},
  });
  socket.emit(madeBy);
  const take = () => waiting.splice(0).forEach((done) => void done());
  return { connection, take, text: () => Buffer.concat(written).toString() };
}

function messageOf(pieces: readonly string[], headers: Record<string, string> = {}): Message {
  return { method: "POST", path: "/hook", headers, body: pieces.join(""), pieces };
}

function expected(body: string, lines = ""): string {
  const first = "POST /hook HTTP/1.1\r\nhost: example.com\r\nconnection: keep-alive\r\n";
  return `${first}${lines}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

test("a request is written whole, whatever its size and letters", () => {
  const bodies = ["", "plain", "grüße 🎉 \ud800 end", "x".repeat(20_479), "x".repeat(20_480)];
  bodies.push("🎉".repeat(10_240), "é".repeat(40_000), "x".repeat(300_000));
  for (const madeBy of ["connect", "secureConnect"]) {
    for (const body of bodies) {
      const { connection, text } = open({ madeBy });
      connection.send(messageOf(["[", body, "]"]), listener);
      assert.equal(text(), expected(`[${body.toWellFormed()}]`));
    }
  }
});

test("a long head is written whole", () => {
  for (const chars of [3_800, 3_990, 4_096, 9_000]) {
    const { connection, text } = open();
    connection.send(messageOf(["body"], { "x-long": "v".repeat(chars) }), listener);
    assert.equal(text(), expected("body", `x-long: ${"v".repeat(chars)}\r\n`));
  }
});

test("a request without a body has no length", () => {
  const { connection, text } = open();
  connection.send({ method: "GET", path: "/", headers: {}, body: null }, listener);
  assert.equal(text(), "GET / HTTP/1.1\r\nhost: example.com\r\nconnection: keep-alive\r\n\r\n");
});

test("what the system has not taken yet is not overwritten by the next request", () => {
  const slow = open({ takesAtOnce: false });
  slow.connection.send(messageOf(["the first one"]), listener);
  const [other, last] = [open(), open({ takesAtOnce: false })];
  other.connection.send(messageOf(["another, longer than the first"]), listener);
  last.connection.send(messageOf(["the last"]), listener);
  assert.equal(slow.text(), expected("the first one"));
  assert.equal(last.text(), expected("the last"));
  slow.take();
  last.take();
});
