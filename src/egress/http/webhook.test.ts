// The webhook sink over real sockets: what an endpoint sees of a request, and what we make of its
// answers and failures. Waits, late answers and connections are in exchange.test.ts.

import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { test } from "node:test";
import {
  answeredOf,
  type Behaviour,
  noReplyOf,
  parcelOf,
  type SinkWorld,
  sinkContract,
} from "../../../test/contract/sink.ts";
import {
  certificate,
  closed,
  freePort,
  openSender,
  serve,
  serveRaw,
  waitMs,
} from "../../../test/fixtures/webhook.ts";
import type { Outcome } from "../../core/delivery/outcome.ts";
import type { Destination } from "../../core/subscription.ts";
import { openWebhook } from "./webhook.ts";

const ok = (response: ServerResponse) => response.end();
const webhookAt = (url: string): Destination => ({ kind: "webhook", url });

sinkContract("a webhook", async (deps): Promise<SinkWorld<Destination>> => {
  const ends: (() => unknown)[] = [];
  const t = { after: (end: () => unknown) => ends.push(end) };
  const held: ServerResponse[] = [];
  let behaviour: Behaviour = "accept";
  const endpoint = await serve(t, (response, { socket }) => {
    if (behaviour === "hold") held.push(response);
    else if (behaviour === "breakOff") socket.destroy();
    else response.writeHead(behaviour === "accept" ? 200 : 503).end();
  });
  return {
    sink: openWebhook({ ...deps, nextTurn: setImmediate, lateMax: 4 }),
    destination: webhookAt(endpoint.url),
    nowhere: webhookAt(`http://127.0.0.1:${await freePort()}/`),
    received: () =>
      endpoint.arrived.map(({ body }) =>
        (JSON.parse(body) as unknown[]).map((event) => JSON.stringify(event)),
      ),
    behave: (how) => {
      behaviour = how;
    },
    reached: endpoint.reached,
    release: () => {
      for (const response of held.splice(0)) response.end();
    },
    closeEndpoint: async () => {
      for (const end of ends) await end();
    },
  };
});

test("a request has these bytes and no others (D-4)", async (t) => {
  let bytes = "";
  const { url, port } = await serveRaw(t, (socket, text) => {
    bytes = text;
    if (text.endsWith("]")) socket.end("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
  });
  const parcel = parcelOf(['{"id":"a","data":"ü"}'], { name: "To-Warehouse" });
  const outcome = await openSender(t).send(`${url}?code=a%2Fb`, { parcel });
  assert.deepEqual(bare(outcome), { kind: "answered", status: 200 });
  assert.deepEqual(bytes.split("\r\n"), [
    "POST /hook?code=a%2Fb HTTP/1.1",
    `host: 127.0.0.1:${port}`,
    "connection: keep-alive",
    "content-type: application/json; charset=utf-8",
    "user-agent: posthorn",
    "aeg-event-type: Notification",
    "aeg-subscription-name: TO-WAREHOUSE",
    "aeg-delivery-count: 0",
    "aeg-metadata-version: 1",
    "aeg-data-version: 1.0",
    "aeg-output-event-id: event-1",
    "content-length: 24",
    "",
    '[{"id":"a","data":"ü"}]',
  ]);
});

test("headers of the subscription's own arrive in the letter case in which they were written", async (t) => {
  let bytes = "";
  const { url } = await serveRaw(t, (socket, text) => {
    bytes = text;
    if (text.endsWith("]")) socket.end("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
  });
  const parcel = parcelOf(['{"id":"a"}']);
  const headers = [{ name: "X-Tenant", kind: "static", value: "a", isSecret: false }] as const;
  const subscription = { ...parcel.subscription, headers };
  await openSender(t).send(url, { parcel: { ...parcel, subscription } });
  assert.match(bytes, /\r\nX-Tenant: a\r\n/);
});

test("a batch is one array, and its headers speak of the first event", async (t) => {
  const { url, arrived } = await serve(t, ok);
  const parcel = parcelOf(['{"id":"a"}', '{"id":"b"}', '{"id":"c"}'], { attempts: 3 });
  await openSender(t).send(url, { parcel });
  assert.equal(arrived[0]?.body, '[{"id":"a"},{"id":"b"},{"id":"c"}]');
  assert.equal(arrived[0]?.headers["aeg-output-event-id"], "event-1");
  assert.equal(arrived[0]?.headers["aeg-delivery-count"], "3");
});

test("no data version can break the request or add a header to it", async (t) => {
  const { url, arrived } = await serve(t, ok);
  const { send } = openSender(t);
  const versions = [
    "",
    "1\r\nx-evil: 1\r\n\r\nPOST / HTTP/1.1",
    "版本 2",
    "\0",
    "9".repeat(100_000),
  ];
  for (const dataVersion of versions) {
    answeredOf(await send(url, { parcel: parcelOf(["{}"], { dataVersion }) }));
  }
  assert.deepEqual(
    arrived.map(({ headers }) => headers["aeg-data-version"]),
    [
      "",
      "1%0D%0Ax-evil: 1%0D%0A%0D%0APOST / HTTP/1.1",
      "%E7%89%88%E6%9C%AC 2",
      "%00",
      "9".repeat(4_096),
    ],
  );
  assert.ok(arrived.every(({ headers }) => headers["x-evil"] === undefined));
});

test("every status is an answer, success or not (D-5)", async (t) => {
  const statuses = [200, 201, 202, 203, 204, 206, 304, 400, 401, 404, 408, 413, 429, 500, 503, 599];
  const { url, arrived } = await serve(t, (response) => {
    response.writeHead(statuses[arrived.length - 1] ?? 0).end();
  });
  const { send } = openSender(t);
  for (const status of statuses) {
    assert.deepEqual(bare(await send(url)), { kind: "answered", status });
  }
});

test("a redirect is not followed (D-6)", async (t) => {
  const { url, arrived } = await serve(t, (response) => {
    response.writeHead([301, 302, 303, 307, 308][arrived.length - 1] ?? 0, { location: "/other" });
    response.end();
  });
  const { send } = openSender(t);
  for (const status of [301, 302, 303, 307, 308]) {
    assert.deepEqual(bare(await send(url)), { kind: "answered", status });
  }
  assert.ok(arrived.every(({ path }) => path === "/hook"));
  assert.equal(arrived.length, 5);
});

test("Retry-After is read in seconds, and as a date by our clock", async (t) => {
  const { clock, send } = openSender(t);
  const values = ["120", new Date(clock.now() + 90_000).toUTCString(), "later"];
  const { url, arrived } = await serve(t, (response) => {
    response.writeHead(503, { "retry-after": values[arrived.length - 1] }).end();
  });
  assert.equal(answeredOf(await send(url)).retryAfterMs, 120_000);
  assert.equal(answeredOf(await send(url)).retryAfterMs, 90_000);
  assert.equal(answeredOf(await send(url)).retryAfterMs, undefined);
});

test("an answer before the answer, such as 103, is passed over", async (t) => {
  const { url } = await serve(t, (response) => {
    response.writeEarlyHints({ link: "</a.css>; rel=preload" }, () => response.end("done"));
  });
  assert.deepEqual(bare(await openSender(t).send(url)), {
    kind: "answered",
    status: 200,
    excerpt: "done",
  });
});

test("a 100 Continue that nobody asked for is passed over, on a connection used again too (D-5)", async (t) => {
  const pieces = [
    "HTTP/1.1 1",
    "00 Continue\r\n\r",
    "\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok",
  ];
  let answered = 0;
  const { url, sockets } = await serveRaw(t, async (socket, text) => {
    if (text.split("POST ").length - 1 <= answered || !text.endsWith("]")) return;
    answered += 1;
    for (const piece of answered === 1 ? [pieces.join("")] : pieces) {
      socket.write(piece);
      await new Promise((go) => setImmediate(go));
    }
  });
  const { send } = openSender(t);
  for (let count = 0; count < 3; count += 1) {
    assert.deepEqual(bare(await send(url)), { kind: "answered", status: 200, excerpt: "ok" });
  }
  assert.equal(sockets.length, 1);
});

test("the first bytes of an answer are kept, also of one in chunks", async (t) => {
  const { url, sockets } = await serve(t, (response) => {
    response.writeHead(400);
    response.write("no ");
    response.write("ü".repeat(1_000));
    response.end("!");
  });
  const { send } = openSender(t);
  const { excerpt } = answeredOf(await send(url));
  assert.equal(excerpt, `no ${"ü".repeat(510)}`, "1,024 bytes, less half a character");
  await send(url);
  assert.equal(sockets.length, 1, "the rest was read, and the connection used again");
});

test("an answer without end is cut, and its connection with it", async (t) => {
  const { url, sockets } = await serve(t, (response) => {
    const pour = () => {
      while (!response.destroyed && response.write("x".repeat(16_384)));
    };
    response.on("drain", pour);
    pour();
  });
  const outcome = answeredOf(await openSender(t).send(url));
  assert.equal(outcome.status, 200);
  assert.equal(outcome.excerpt, "x".repeat(1_024));
  await closed(sockets[0]);
});

test("a status counts even if the rest of the answer breaks off", async (t) => {
  const { url } = await serve(t, (response, { socket }) => {
    response.writeHead(200, { "content-length": 100 });
    response.write("half", () => socket.destroy());
  });
  const outcome = await openSender(t).send(url);
  assert.deepEqual(bare(outcome), { kind: "answered", status: 200, excerpt: "half" });
});

test("an answer whose body never ends is its status when the wait is over", async (t) => {
  const { url, sockets, reached } = await serve(t, (response) => response.write("and so on"));
  const { clock, send } = openSender(t);
  const sent = send(url);
  await reached(1);
  // The head has certainly come when a later answer on another connection has.
  await send((await serve(t, ok)).url);
  clock.advance(waitMs);
  assert.equal(answeredOf(await sent).status, 200);
  await closed(sockets[0]);
});

test("a refused connection is no reply (D-5)", async (t) => {
  const outcome = noReplyOf(await openSender(t).send(`http://127.0.0.1:${await freePort()}/`));
  assert.equal(outcome.why, "connection");
  assert.match(outcome.detail ?? "", /ECONNREFUSED/);
});

const rudeness: readonly (readonly [string, string])[] = [
  ["nothing at all", ""],
  ["something before an answer", "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n"],
  ["half a head", "HTTP/1.1 200 OK\r\ncontent-le"],
  ["nonsense", "what do you want?\r\n\r\n"],
  ["a head that is far too long", `HTTP/1.1 200 OK\r\nx: ${"x".repeat(100_000)}\r\n\r\n`],
];

for (const [what, words] of rudeness) {
  test(`an endpoint that says ${what} and hangs up is no reply (D-5)`, async (t) => {
    const { url, sockets } = await serveRaw(t, (socket, text) => {
      if (text.endsWith("]")) socket.end(words);
    });
    assert.equal(noReplyOf(await openSender(t).send(url)).why, "connection");
    assert.equal(sockets.length, 1, "and nothing is sent a second time");
  });
}

test("a connection reset before the answer is no reply (D-5)", async (t) => {
  const { url } = await serveRaw(t, (socket) => socket.resetAndDestroy());
  assert.equal(noReplyOf(await openSender(t).send(url)).why, "connection");
});

test("a name that does not exist is a failure of dns (D-5)", async (t) => {
  const outcome = noReplyOf(await openSender(t).send("http://nowhere.invalid/hook"));
  assert.equal(outcome.why, "dns");
});

test("a certificate that vouches for itself is refused (D-5)", async (t) => {
  const { url, arrived } = await serve(t, ok, { tls: true });
  assert.equal(noReplyOf(await openSender(t).send(url)).why, "tls");
  assert.equal(arrived.length, 0);
});

test("a certificate is accepted when its authority is given, for its own name", async (t) => {
  const { url, arrived } = await serve(t, ok, { tls: true });
  const { send } = openSender(t, { ca: [certificate] });
  assert.equal(answeredOf(await send(url)).status, 200);
  const outcome = noReplyOf(await send(url.replace("127.0.0.1", "localhost")));
  assert.equal(outcome.why, "tls");
  assert.equal(arrived.length, 1);
});

test("an authority that nobody knows will do where that is said, for the right name alone", async (t) => {
  const { url, arrived } = await serve(t, ok, { tls: true });
  const { send } = openSender(t, { trust: "anyAuthority" });
  assert.equal(answeredOf(await send(url)).status, 200);
  const outcome = noReplyOf(await send(url.replace("127.0.0.1", "localhost")));
  assert.equal(outcome.why, "tls");
  assert.equal(arrived.length, 1);
});

test("any certificate will do where that is said", async (t) => {
  const { url, arrived } = await serve(t, ok, { tls: true });
  const { send } = openSender(t, { trust: "all" });
  for (const host of ["127.0.0.1", "localhost"]) {
    assert.equal(answeredOf(await send(url.replace("127.0.0.1", host))).status, 200, host);
  }
  assert.equal(arrived.length, 2);
});

test("an endpoint that does not speak TLS is a failure of tls (D-5)", async (t) => {
  const { url } = await serve(t, ok);
  const outcome = noReplyOf(await openSender(t).send(url.replace("http:", "https:")));
  assert.equal(outcome.why, "tls");
});

test("an unusable URL is an outcome that does not tell its secrets", async (t) => {
  for (const url of ["not a url?code=secret", "ftp://127.0.0.1/?code=secret"]) {
    const outcome = noReplyOf(await openSender(t).send(url));
    assert.equal(outcome.why, "connection");
    assert.doesNotMatch(outcome.detail ?? "", /secret/);
  }
});

test("of what is no success, request and answer come along for people", async (t) => {
  const { url } = await serve(t, (response) => {
    response.writeHead(503, { "x-why": "busy" }).end("no");
  });
  const outcome = await openSender(t).send(url);
  assert.equal(outcome.exchanged?.request.headers["aeg-event-type"], "Notification");
  assert.match(outcome.exchanged?.request.body ?? "", /"id"/);
  assert.match(outcome.exchanged?.head ?? "", /^HTTP\/1\.1 503 .*\r\nx-why: busy/);
});

test("of successes one a minute comes along for each URL, and the others do not", async (t) => {
  const { url } = await serve(t, (response) => {
    response.writeHead(200, { "x-by": "blue" }).end("thanks");
  });
  const { clock, send } = openSender(t);
  const first = await send(url);
  assert.match(first.exchanged?.head ?? "", /x-by: blue/);
  assert.match(first.exchanged?.request.body ?? "", /"id"/);
  assert.equal((await send(url)).exchanged, undefined);
  assert.notEqual((await send(`${url}/other`)).exchanged, undefined);
  clock.advance(60_000);
  assert.notEqual((await send(url)).exchanged, undefined);
});

/** Without what was on the wire. */
function bare({ exchanged: _exchanged, ...outcome }: Outcome): object {
  return outcome;
}
