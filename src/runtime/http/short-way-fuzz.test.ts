// Bytes that are nearly requests, in pieces: what the routes are given must be the same on the
// short way as by Node's server, which a connection is read by after its first GET.

import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { type TestContext, test } from "node:test";
import fc from "fast-check";
import { judgedBy, type Route } from "../../core/request.ts";
import { listen } from "./listener.ts";

/** Notes what it is given. */
async function open(t: TestContext) {
  const given: string[] = [];
  const note: Route = {
    method: "POST",
    path: "/x/:name",
    ...judgedBy(({ params, headers, query }) => {
      return (body) => {
        given.push(JSON.stringify([params, query, headers, String(body)]));
        return { status: 200 };
      };
    }),
  };
  const first: Route = { method: "GET", path: "/first", handle: () => ({ status: 200 }) };
  const { port, close } = await listen([note, first], {
    ...{ host: "127.0.0.1", port: 0, bodyBytesMax: 1_000 },
    ...{ log: { fact: () => {} }, ids: { next: () => "one" } },
  });
  t.after(close);
  return { port, given };
}

const runs = 300;

const lines = [
  ...["Content-Length: 0", "content-length: 5", "Content-Length:3", "Content-Length: 5, 5"],
  ...["Content-Length: 0x5", "Content-Length: -5", "Content-Length : 5", "Content-Length: 5 "],
  ...["Transfer-Encoding: chunked", "Transfer-Encoding: xchunked", "Transfer-Encoding:\tchunked"],
  ...["Transfer-Encoding: identity", "Transfer_Encoding: chunked", "transfer-encoding : chunked"],
  ...["Connection: close", "Connection: keep-alive", "Connection: upgrade", "Upgrade: websocket"],
  ...["Expect: 100-continue", "Expect: x", "Host: other", "X: a\r\n b", "X: a\n b", "X: a\r b"],
  ...["X:", ":x", "X", "", " X: y", "X: \0", "X: \x7f", "X: \xff", "X\t: y", "Trailer: X"],
  ...[
    `X: ${"y".repeat(9_000)}`,
    `X: ${"y".repeat(17_000)}`,
    "Content-Length: 99999999999999999999",
  ],
];
const targets = [
  ...[
    "/x/y",
    "/x/y",
    "/x/y",
    "/x/y?a=b",
    "//x///y",
    "http://h/x/y",
    "*",
    "/x/y#y",
    "/x/%79",
    "/x/y y",
  ],
  ...["/x/y\t", "/x/\x80", '/x/y?"', "h:80", "/x/y?a=%zz"],
];
const versions = [
  "HTTP/1.1",
  "HTTP/1.1",
  "HTTP/1.1",
  "HTTP/1.0",
  "HTTP/1.2",
  "HTTP/2.0",
  "http/1.1",
];
const ends = ["\r\n", "\r\n", "\r\n", "\r\n", "\r\n", "\r\n", "\n", "\r", "\r\r\n", " \r\n"];
const bodies = [
  "",
  "hello",
  "ok\r\n",
  "5\r\nhello\r\n0\r\n\r\n",
  "0\r\n\r\n",
  "POST /x/y HTTP/1.1\r\n\r\n",
];

/** Mostly sound, so that there is often something after what is not. */
const oneOf = <T>(list: readonly T[]) =>
  fc.oneof({ arbitrary: fc.constant(list[0] as T), weight: 12 }, fc.constantFrom(...list));

const rarely = <T>(list: fc.Arbitrary<T[]>) =>
  fc.oneof({ arbitrary: fc.constant<T[]>([]), weight: 2 }, list);

const request = fc
  .record({
    method: oneOf(["POST", "POST", "GET", "PUT", "HEAD", "post", "CONNECT", " POST", "PO\0ST"]),
    ...{ target: oneOf(targets), version: oneOf(versions), end: oneOf(ends) },
    host: oneOf(["Host: h", "host: h", "Host:", "Host: h, h"]),
    more: rarely(fc.array(fc.constantFrom(...lines), { maxLength: 2 })),
    ...{ body: fc.constantFrom(...bodies), hasLength: oneOf([true, false]) },
  })
  .map(({ method, target, version, end, host, more, body, hasLength }) => {
    const length = hasLength ? [`Content-Length: ${body.length}`] : [];
    const head = [`${method} ${target} ${version}`, host, ...more, ...length, "", ""];
    return head.join(end) + body;
  });

/** Where, what is put there, and how many bytes instead of which. */
const bent = fc.tuple(fc.nat(), fc.constantFrom("", "\r", "\n", "\0", " ", ":", "1"), fc.nat(1));

const stream = fc.record({
  requests: fc.array(request, { minLength: 1, maxLength: 5 }),
  bends: rarely(fc.array(bent, { maxLength: 2 })),
  cuts: fc.array(fc.nat(), { maxLength: 4 }),
});

function bend(text: string, bends: readonly (readonly [number, string, number])[]): string {
  return bends.reduce((bent, [place, instead, taken]) => {
    const at = place % bent.length;
    return bent.slice(0, at) + instead + bent.slice(at + taken);
  }, text);
}

/** Resolves with what the routes were given. */
async function say(
  { port, given }: { readonly port: number; readonly given: string[] },
  pieces: readonly string[],
  isLong: boolean,
): Promise<readonly string[]> {
  given.length = 0;
  const socket = connect({ port, host: "127.0.0.1", noDelay: true });
  const closed = new Promise((resolve) => socket.on("close", resolve));
  socket.on("error", () => {});
  if (isLong) {
    socket.write("GET /first HTTP/1.1\r\nHost: h\r\n\r\n");
    await once(socket, "data");
  }
  socket.resume();
  for (const piece of pieces) {
    socket.write(piece, "latin1");
    await new Promise(setImmediate);
  }
  socket.end();
  await closed;
  return [...given];
}

test("no bytes, in whatever pieces, are other requests on the short way than for Node", async (t) => {
  const [one, other] = [await open(t), await open(t)];
  let compared = 0;
  await fc.assert(
    fc.asyncProperty(stream, async ({ requests, bends, cuts }) => {
      const text = bend(requests.join(""), bends);
      const places = [0, ...cuts.map((cut) => cut % text.length), text.length];
      places.sort((before, after) => before - after);
      const pieces = places.slice(1).map((end, index) => text.slice(places[index], end));
      const [short, long] = await Promise.all([say(one, pieces, false), say(other, pieces, true)]);
      // The client ends the connection: what was not begun by then is never begun.
      const upTo = Math.min(short.length, long.length);
      compared += upTo;
      assert.deepEqual(short.slice(0, upTo), long.slice(0, upTo));
    }),
    { numRuns: runs },
  );
  assert.ok(compared > runs / 2, `only ${compared} requests were compared`);
});
