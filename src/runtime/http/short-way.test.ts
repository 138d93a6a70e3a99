// A connection becomes Node's with its first GET. So the same bytes can be sent both ways: at once,
// and after a GET.

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { type TestContext, test } from "node:test";
import fc from "fast-check";
import { Refusal } from "../../core/refusal.ts";
import { judgedBy, type Reply, type Route } from "../../core/request.ts";
import { BodyRoom } from "./body.ts";
import { type ListenOptions, listen } from "./listener.ts";
import { openRouter } from "./router.ts";
import { openShortWay } from "./short-way.ts";
import { Untaken } from "./untaken.ts";

/** Answers with all that it was given, and now and then later than the next request comes. */
const echo: Route = {
  method: "POST",
  path: "/x/:name",
  headers: { "api-supported-versions": "2018-01-01" },
  ...judgedBy(({ onGone: _onGone, memory: _memory, ...head }) => {
    if (head.headers["x-key"] === "bad") throw new Refusal("Unauthorized", "no key");
    if (head.headers["x-key"] === "head") return { status: 202, body: "by the head alone" };
    return (body) => {
      const reply = { status: 200, body: JSON.stringify({ ...head, body: String(body) }) };
      if (head.params.name === "fails") throw new Error("a bug");
      if (head.params.name === "late") return new Promise(setImmediate).then(() => reply);
      return head.params.name === "none" ? { status: 204 } : reply;
    };
  }),
};

const first: Route = { method: "GET", path: "/first", handle: () => ({ status: 200 }) };

async function open(t: TestContext, routes: readonly Route[], more: Partial<ListenOptions> = {}) {
  const listener = await listen(routes, {
    host: "127.0.0.1",
    port: 0,
    log: { fact: () => {} },
    ids: { next: () => "one" },
    bodyBytesMax: 40,
    ...more,
  });
  t.after(() => listener.close());
  return listener;
}

const firstRequest = "GET /first HTTP/1.1\r\nHost: h\r\n\r\n";

interface Heard {
  readonly text: string;
  /** The connection was reset: what was on its way may be missing. */
  readonly isCut: boolean;
}

async function say(port: number, pieces: readonly string[], isLong: boolean): Promise<Heard> {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true });
  let text = "";
  let isCut = false;
  socket.setEncoding("latin1").on("data", (more: string) => {
    text += more;
  });
  const closed = new Promise((resolve) => socket.on("close", resolve));
  socket.on("error", () => {
    isCut = true;
  });
  if (isLong) {
    socket.write(firstRequest);
    await once(socket, "data");
    text = "";
  }
  for (const piece of pieces) {
    if (socket.destroyed || /connection: close/i.test(text)) break;
    socket.write(piece, "latin1");
    await new Promise(setImmediate);
  }
  await closed;
  return { text: text.replaceAll(/^Date: .*$/gm, "Date: now"), isCut };
}

// Nothing here ends a connection: whether Node reads on after that is a matter of chance.
const firstLines = [
  ...Array<string>(8).fill("POST /x/y HTTP/1.1"),
  ...["POST /x/late HTTP/1.1", "POST /x/late HTTP/1.1", "POST /x/fails HTTP/1.1"],
  ...["POST /x/none HTTP/1.1", "POST //x///y?a=1&b=%20&a=2 HTTP/1.1", "POST /X/%C3%A4 HTTP/1.1"],
  ...["POST /x/%zz HTTP/1.1", "POST /nowhere HTTP/1.1", "GET /x/y HTTP/1.1", "GET /first HTTP/1.1"],
  ...["post /x/y HTTP/1.1", "POST http://h/x/y HTTP/1.1"],
  ...["POST /x/y#z HTTP/1.1", "POST  /x/y HTTP/1.1", "\r\nPOST /x/y HTTP/1.1"],
];
const otherLines = [
  ...["X-Key: bad", "x-key: head", "X-Key: good", "Connection: keep-alive"],
  ...["Content-Type: application/json", "Accept-Encoding: gzip, br", "X-Two:  a b", "X-None:"],
  ...["X-Latin: \xe9", "X-Tab: a\tb", "X-End: a ", "X : y", "X-Null: \0", "X: a\rb", "X: a\nY: b"],
  ...["Host: other", "Content-Length: 2", "Content-Length: +2", "Content-Length: 02", " folded"],
  ...["Transfer-Encoding: chunked", "Upgrade: h2c", "TE: trailers"],
  ...["Proxy-Connection: keep-alive", "Keep-Alive: timeout=1", "constructor: x", "__proto__: x"],
];

const request = fc
  .record({
    first: fc.constantFrom(...firstLines),
    lines: fc.array(fc.constantFrom(...otherLines), { maxLength: 2 }),
    // Mostly none: a stream that is refused at once shows nothing of what follows.
    isPlain: fc.integer({ min: 0, max: 2 }).map((drawn) => drawn > 0),
    body: fc.string({ maxLength: 50, unit: "binary-ascii" }),
    // A length that is wrong makes something else of the bytes that follow.
    off: fc.constantFrom(0, 0, 0, 0, 0, 0, 0, -1, 1, 5),
  })
  .map(({ first, lines, isPlain, body, off }) => {
    const length = Math.max(0, body.length + (isPlain ? 0 : off));
    const more = isPlain ? lines.slice(0, 1).filter((line) => /^X-Key|^Acc/.test(line)) : lines;
    const line = isPlain ? (firstLines[body.length % 10] as string) : first;
    return [line, "Host: h", ...more, `Content-Length: ${length}`, "", body].join("\r\n");
  });

const stream = fc.record({
  requests: fc.array(request, { minLength: 1, maxLength: 6 }),
  cuts: fc.array(fc.nat(1_000), { maxLength: 5 }),
  /** Between heads and bodies, too, as many clients write them. */
  areHeadsApart: fc.boolean(),
});

/** Longer than what a wrong length swallows of it, so that every connection comes to an end. */
const last = `GET /first HTTP/1.1\r\nHost: h\r\nConnection: close\r\nX: ${"-".repeat(80)}\r\n\r\n`;

function piecesOf(text: string, cuts: readonly number[]): string[] {
  const places = [0, ...cuts.map((cut) => cut % text.length), text.length];
  const sorted = places.toSorted((one, other) => one - other);
  return sorted.slice(1).map((end, index) => text.slice(sorted[index], end));
}

interface Answered {
  readonly text: string;
  readonly isBroken: boolean;
}

/**
 * Bytes that are no request end a connection. Node's server then drops what it has not answered
 * yet, so how much that is depends on where it was cut; only what was answered can be compared.
 */
function beforeBreak({ text }: Heard): Answered {
  const at = text.search(/HTTP\/1\.1 400 Bad Request\r\nx-ms-request-id: one\r\ncontent-type/);
  return { text: at < 0 ? text : text.slice(0, at), isBroken: at >= 0 };
}

test("both ways answer the same bytes with the same bytes, wherever they are cut", async (t) => {
  const { port } = await open(t, [echo, first]);
  await fc.assert(
    fc.asyncProperty(stream, async ({ requests, cuts, areHeadsApart }) => {
      const text = requests.join("") + last;
      const heads = areHeadsApart ? [...text.matchAll(/\r\n\r\n/g)] : [];
      const pieces = piecesOf(text, [...cuts, ...heads.map(({ index }) => index + 4)]);
      const short = await say(port, pieces, false);
      const long = await say(port, pieces, true);
      const [one, other] = [short, long].map(beforeBreak) as [Answered, Answered];
      const isWhole = !short.isCut && !long.isCut && !one.isBroken && !other.isBroken;
      const upTo = isWhole ? undefined : Math.min(one.text.length, other.text.length);
      assert.equal(one.text.slice(0, upTo), other.text.slice(0, upTo));
      if (!short.isCut && !long.isCut) assert.equal(one.isBroken, other.isBroken);
    }),
    { numRuns: 400 },
  );
});

const plain = "POST /x/y HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nok";

test("a head and its body may come apart; what comes in other pieces is Node's", async (t) => {
  let handedOver = 0;
  const server = createServer();
  server.removeAllListeners("connection").on("connection", (socket: Socket) => {
    handedOver += 1;
    socket.end("Node's");
  });
  const context = {
    ...{ find: openRouter([echo]), log: { fact: () => {} }, ids: { next: () => "one" } },
    ...{ bodyBytesMax: 40, bodyRoom: new BodyRoom(40), streams: new Set<never>() },
    ...{ untaken: new Untaken({ timeoutMs: 1, bytesMax: 1, log: { fact: () => {} } }) },
    isClosing: false,
  };
  const soon = { headersTimeoutMs: 60_000, idleTimeoutMs: 60_000, lookEveryMs: 60_000 };
  openShortWay(server, context, soon);
  await once(server.listen(0, "127.0.0.1"), "listening");
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const head = plain.slice(0, -2);
  for (const { pieces, isOurs } of [
    { pieces: [head, "ok"], isOurs: true },
    { pieces: [head, "o", "k"], isOurs: false },
    { pieces: [`${head}o`, "k"], isOurs: false },
    { pieces: [head.slice(0, -1), "\nok"], isOurs: false },
    { pieces: [head.replace(": 2", ": 41"), "ok"], isOurs: false },
  ]) {
    handedOver = 0;
    const socket = connect({ port, host: "127.0.0.1", noDelay: true });
    const [accepted] = (await once(server, "connection")) as [Socket];
    const heard = hear(socket, isOurs ? "\r\n\r\n" : "Node's");
    let said = 0;
    for (const piece of pieces) {
      if (accepted.destroyed || handedOver > 0) break;
      socket.write(piece);
      said += piece.length;
      while (accepted.bytesRead < said) await new Promise(setImmediate);
    }
    assert.match(await heard, isOurs ? / 200 / : /Node's/);
    assert.equal(handedOver, isOurs ? 0 : 1, JSON.stringify(pieces));
    socket.destroy();
  }
});

test("who ends a connection between head and body is told so both ways", async (t) => {
  const { port } = await open(t, [echo, first]);
  for (const before of ["", firstRequest]) {
    const socket = connect(port, "127.0.0.1");
    socket.end(before + plain.slice(0, -2));
    assert.match(await hear(socket, "content-type"), /HTTP\/1\.1 400 Bad Request\r\n/);
    socket.destroy();
  }
});

/** Resolves with what has been heard when it contains this. */
async function hear(socket: Socket, until: string, times = 1): Promise<string> {
  let text = "";
  for await (const [chunk] of on(socket)) {
    text += chunk;
    if (text.split(until).length > times) return text;
  }
  return text;
}

async function* on(socket: Socket): AsyncIterable<readonly [string]> {
  for (;;) yield [String((await once(socket, "data"))[0])];
}

test("a head that was understood before does not make a key good that no longer is", async (t) => {
  let key = "old";
  const { port } = await open(t, [
    {
      method: "POST",
      path: "/x/:name",
      ...judgedBy(({ headers }) => {
        if (headers["x-key"] !== key) throw new Refusal("Unauthorized", "no key");
        return () => ({ status: 200 });
      }),
    },
  ]);
  const socket = connect(port, "127.0.0.1");
  t.after(() => socket.destroy());
  const asked = plain.replace("Host: h", "Host: h\r\nX-Key: old");
  socket.write(asked);
  assert.match(await hear(socket, "\r\n\r\n"), /^HTTP\/1\.1 200 /);
  key = "new";
  socket.write(asked);
  assert.match(await hear(socket, "\r\n\r\n"), /^HTTP\/1\.1 401 /);
});

test("a busy connection is not read, and begins the next request when the answer is out", async (t) => {
  const gates: PromiseWithResolvers<Reply>[] = [];
  let begun = Promise.withResolvers<void>();
  const { port } = await open(t, [
    {
      method: "POST",
      path: "/x/:name",
      handle() {
        const gate = Promise.withResolvers<Reply>();
        gates.push(gate);
        begun.resolve();
        return gate.promise;
      },
    },
  ]);
  const socket = connect(port, "127.0.0.1");
  t.after(() => socket.destroy());
  socket.write(plain.repeat(3));
  for (let count = 1; count <= 3; count++) {
    await begun.promise;
    assert.equal(gates.length, count);
    begun = Promise.withResolvers();
    gates[count - 1]?.resolve({ status: 200, body: `answer ${count}` });
    await hear(socket, `answer ${count}`);
  }
});

test("closing answers what is under way, says so, and ends idle connections", async (t) => {
  const under = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<Reply>();
  const late: Route = {
    method: "POST",
    path: "/late",
    handle() {
      under.resolve();
      return gate.promise;
    },
  };
  const server = await open(t, [echo, late], { drainMs: 2 ** 31 - 1 });
  const idle = connect(server.port, "127.0.0.1");
  idle.write(plain);
  await hear(idle, "HTTP/1.1 200");
  const busy = connect(server.port, "127.0.0.1");
  busy.write(plain.replace("/x/y", "/late"));
  await under.promise;
  const isEnded = once(idle, "close");
  const closed = server.close();
  await isEnded;
  const heard = hear(busy, "done");
  gate.resolve({ status: 200, body: "done" });
  assert.match(await heard, /\r\nconnection: close\r\n/);
  await closed;
});

test("a connection that stays idle is ended, a new one that says nothing is told so", async (t) => {
  const { port } = await open(t, [echo], {
    ...{ headersTimeoutMs: 1, requestTimeoutMs: 1, idleTimeoutMs: 1 },
  });
  const idle = connect(port, "127.0.0.1");
  idle.write(plain);
  await once(idle.resume(), "close");
  const half = connect(port, "127.0.0.1");
  half.write(plain.slice(0, -2));
  assert.match(await hear(half, "RequestTimeout"), /^HTTP\/1\.1 408 /);
  const silent = connect(port, "127.0.0.1");
  assert.match(await hear(silent, "RequestTimeout"), /^HTTP\/1\.1 408 /);
});

test("bodies on the short way share the room for all", async (t) => {
  const gate = Promise.withResolvers<Reply>();
  const under = Promise.withResolvers<void>();
  const { port } = await open(
    t,
    [
      {
        method: "POST",
        path: "/x/:name",
        ...judgedBy(() => () => {
          under.resolve();
          return gate.promise;
        }),
      },
    ],
    { bodyRoom: new BodyRoom(3) },
  );
  const one = connect(port, "127.0.0.1");
  one.write(plain);
  await under.promise;
  const other = connect(port, "127.0.0.1");
  t.after(() => other.destroy());
  other.write(plain);
  assert.match(await hear(other, "\r\n\r\n"), /^HTTP\/1\.1 429 .*\r\nretry-after: 1\r\n/s);
  gate.resolve({ status: 200, body: "taken" });
  await hear(one, "taken");
  one.destroy();
  other.write(plain);
  await hear(other, "taken");
});

test("who does not read the answers is not served any more, and cut off in time", async (t) => {
  let asked = 0;
  const cut = Promise.withResolvers<void>();
  const { port } = await open(
    t,
    [
      {
        method: "POST",
        path: "/x/:name",
        handle() {
          asked += 1;
          return { status: 200, body: "x".repeat(4_000_000) };
        },
      },
    ],
    {
      takeTimeoutMs: 20,
      log: { fact: (_level, name) => name === "connection.unread" && cut.resolve() },
    },
  );
  const socket = connect(port, "127.0.0.1").pause();
  socket.on("error", () => {});
  socket.write(plain.repeat(1_000));
  await cut.promise;
  assert.ok(asked <= 10, `${asked} were carried out`);
  socket.destroy();
});

test("who reads late gets every answer, however small", async (t) => {
  let asked = 0;
  const full = Promise.withResolvers<void>();
  const { port } = await open(t, [
    {
      method: "POST",
      path: "/x/:name",
      handle({ params }) {
        asked += 1;
        return { status: 200, body: params.name === "last" ? "last" : "x".repeat(8_000) };
      },
    },
  ]);
  const { add } = Untaken.prototype;
  t.mock.method(Untaken.prototype, "add", function (this: Untaken, socket: Socket) {
    full.resolve();
    add.call(this, socket);
  });
  // They come in one piece, and their answers are more than the system takes unread.
  const count = 1_100;
  const socket = connect(port, "127.0.0.1").pause();
  t.after(() => socket.destroy());
  socket.write(plain.repeat(count - 1) + plain.replace("/x/y", "/x/last"));
  await full.promise;
  assert.ok(asked < count, "all were answered before any was read");
  const all = Promise.withResolvers<void>();
  socket.setEncoding("latin1").on("data", (text: string) => {
    if (text.endsWith("last")) all.resolve();
  });
  socket.resume();
  await all.promise;
  assert.equal(asked, count);
});
