// Over real sockets, with well-behaved clients and others.

import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { request as nodeRequest } from "node:http";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text as readText } from "node:stream/consumers";
import { type TestContext, test } from "node:test";
import type { Level } from "../../core/ports.ts";
import { Refusal } from "../../core/refusal.ts";
import {
  judgedBy,
  type Reply,
  type Request,
  type RequestHead,
  type Route,
  type Stream,
  type Verdict,
} from "../../core/request.ts";
import { BodyRoom } from "./body.ts";
import { GuessTable } from "./guess-table.ts";
import { type Listener, type ListenOptions, listen } from "./listener.ts";

interface Fact {
  readonly level: Level;
  readonly name: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

interface Server extends Listener {
  readonly facts: Fact[];
}

async function serve(
  t: TestContext,
  routes: readonly Route[],
  options: Partial<ListenOptions> = {},
): Promise<Server> {
  const facts: Fact[] = [];
  let made = 0;
  const listener = await listen(routes, {
    host: "127.0.0.1",
    port: 0,
    log: { fact: (level, name, fields) => facts.push({ level, name, fields }) },
    ids: { next: () => `request-${++made}` },
    bodyBytesMax: 1000,
    ...options,
  });
  t.after(() => listener.close());
  return { ...listener, facts };
}

/** Returns what it was asked. */
const echo: Route = {
  method: "POST",
  path: "/topics/:topic/api/events",
  headers: { "api-supported-versions": "2018-01-01" },
  handle: ({ body, ...rest }) => {
    const told = { ...rest, body: Buffer.from(body).toString("latin1") };
    return { status: 200, headers: { "content-type": "application/json" }, body: asJson(told) };
  },
};

function route(
  handle: (request: Request) => Promise<Reply> | Reply,
  method: Route["method"] = "POST",
) {
  return { method, path: "/x", handle };
}

function asJson(value: unknown): string {
  return JSON.stringify(value);
}

/** The parts of an error answer. `message` must be the same in both places. */
async function errorOf(answer: Response): Promise<readonly [number, string, string, string]> {
  assert.equal(answer.headers.get("content-type"), "application/json; charset=utf-8");
  const { error } = (await answer.json()) as {
    error: { code: string; message: string; details: { code: string; message: string }[] };
  };
  assert.equal(error.details.length, 1);
  assert.equal(error.details[0]?.message, error.message);
  return [answer.status, error.code, error.details[0]?.code ?? "", error.message];
}

/** Sends raw bytes and reads everything until the server closes. */
async function talk(port: number, said: string, open?: (socket: Socket) => void): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  socket.write(said);
  open?.(socket);
  return readText(socket);
}

test("a URL asked for again is answered like the first time, by its own method", async (t) => {
  const { url } = await serve(t, [echo, { ...echo, method: "PUT" }]);
  const ask = async (method: string, name: string) => {
    const path = `/topics/${name}/api/events?to=${name}`;
    const answer = await fetch(url + path, { method, headers: { "x-name": name }, body: name });
    const id = answer.headers.get("x-ms-request-id");
    if (answer.status !== 200) return [id, answer.status];
    const { headers, params, query, ...told } = (await answer.json()) as Request;
    return [id, told.method, params, query, headers["x-name"], told.body];
  };
  const told = (name: string) => [{ topic: name }, { to: name }, name, name];
  for (const round of [0, 1, 2]) {
    const first = 4 * round + 1;
    assert.deepEqual(await ask("POST", "a"), [`request-${first}`, "POST", ...told("a")]);
    assert.deepEqual(await ask("PUT", "a"), [`request-${first + 1}`, "PUT", ...told("a")]);
    assert.deepEqual(await ask("POST", "b"), [`request-${first + 2}`, "POST", ...told("b")]);
    assert.deepEqual(await ask("DELETE", "a"), [`request-${first + 3}`, 405]);
  }
});

test("each of many URLs is answered for itself, also when asked again", async (t) => {
  const { url } = await serve(t, [echo]);
  for (const round of [0, 1]) {
    const asked = Array.from({ length: 1_100 }, async (_, index) => {
      const path = `/topics/t${index}/api/events`;
      const { params } = (await (await fetch(url + path, { method: "POST" })).json()) as Request;
      assert.deepEqual(params, { topic: `t${index}` }, `in round ${round}`);
    });
    await Promise.all(asked);
  }
});

test("a plain request goes in and a plain reply comes out", async (t) => {
  const { url } = await serve(t, [echo]);
  const answer = await fetch(`${url}/topics/orders/api/events?a=1&a=2&b=%20x+y`, {
    method: "POST",
    headers: { "X-Some": "Thing", "content-type": "application/json" },
    body: "[]",
  });
  assert.equal(answer.status, 200);
  assert.equal(answer.headers.get("x-ms-request-id"), "request-1");
  assert.equal(answer.headers.get("api-supported-versions"), "2018-01-01");
  const asked = (await answer.json()) as Request;
  assert.equal(asked.method, "POST");
  assert.deepEqual(asked.params, { topic: "orders" });
  assert.deepEqual(asked.query, { a: "1", b: " x y" });
  assert.equal(asked.headers["x-some"], "Thing");
  assert.equal(asked.body, "[]");
});

test("letter case and superfluous slashes do not matter in a path; names stay", async (t) => {
  const { url } = await serve(t, [echo]);
  const paths = [
    "/topics/OrdersHere/api/events",
    "/TOPICS/OrdersHere/API/Events",
    "//topics//OrdersHere///api/events",
    "/topics/OrdersHere/api/events/",
    "/topics/OrdersHere/api/events//?x=//",
    "/topics/Orders%48ere/api/events",
  ];
  for (const path of paths) {
    const answer = await fetch(url + path, { method: "POST" });
    assert.equal(answer.status, 200, path);
    assert.deepEqual(((await answer.json()) as Request).params, { topic: "OrdersHere" });
  }
});

test("a path that begins with two slashes is a path, and one with a host is, too", async (t) => {
  const { port } = await serve(t, [echo]);
  for (const target of [
    "//topics/orders/api/events",
    "http://else.where/topics/orders/api/events",
  ]) {
    const heard = await talk(
      port,
      `POST ${target} HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 2\r\n\r\n[]`,
    );
    assert.match(heard, /^HTTP\/1\.1 200 OK\r\n/, target);
    assert.match(heard, /"params":\{"topic":"orders"\}/);
  }
});

test("a body arrives as raw bytes whatever its content type, also without one", async (t) => {
  const { url, port } = await serve(t, [echo]);
  const bytes = Buffer.from([0x5b, 0xff, 0x00, 0x5d]);
  const types = [
    "application/json",
    "application/x-www-form-urlencoded",
    "text",
    "a/b; c",
    ";;",
    "",
  ];
  for (const type of [...types, undefined]) {
    const answer = await new Promise<string>((resolve, reject) => {
      const headers = type === undefined ? {} : { "content-type": type };
      const options = { method: "POST", port, path: "/topics/t/api/events", headers };
      const asked = nodeRequest(options, (heard) => resolve(readText(heard)));
      asked.on("error", reject);
      // Two writes make it chunked.
      asked.write(bytes.subarray(0, 1));
      asked.end(bytes.subarray(1));
    });
    assert.equal(JSON.parse(answer).body, bytes.toString("latin1"), type);
  }
  const empty = await fetch(`${url}/topics/t/api/events`, { method: "POST" });
  assert.equal(((await empty.json()) as { body: string }).body, "");
});

test("a body above the limit is a 413 without Retry-After, also when chunked", async (t) => {
  const { url } = await serve(t, [echo], { bodyBytesMax: 100_000 });
  const chunk = Buffer.alloc(50_000, "x");
  const chunked = (count: number) =>
    ReadableStream.from(Array.from({ length: count }, () => chunk)) as ReadableStream;
  const bodies = [
    Buffer.alloc(100_001, "x"),
    Buffer.alloc(5_000_000, "x"),
    chunked(3),
    chunked(100),
  ];
  for (const body of bodies) {
    const asked = { method: "POST", body, duplex: "half" } as const;
    const answer = await fetch(`${url}/topics/t/api/events`, asked);
    assert.equal(answer.headers.get("retry-after"), null);
    assert.equal(answer.headers.get("api-supported-versions"), "2018-01-01");
    assert.deepEqual(await errorOf(answer), [
      413,
      "RequestEntityTooLarge",
      "PayloadTooLarge",
      "The request is too large: at most 100000 bytes are allowed.",
    ]);
  }
  const asked = { method: "POST", body: chunked(2), duplex: "half" } as const;
  assert.equal((await fetch(`${url}/topics/t/api/events`, asked)).status, 200);
});

test("a client that writes its whole body before it listens still reads the refusal", async (t) => {
  const { port } = await serve(t, [echo]);
  const socket = connect(port, "127.0.0.1");
  socket.pause();
  const bytes = 4_000_000;
  socket.write(`POST /topics/t/api/events HTTP/1.1\r\nHost: h\r\nContent-Length: ${bytes}\r\n\r\n`);
  await new Promise<void>((resolve, reject) => {
    socket.on("error", reject);
    socket.write(Buffer.alloc(bytes, "x"), () => resolve());
  });
  socket.write("GET /nowhere HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  const heard = await readText(socket);
  assert.match(heard, /^HTTP\/1\.1 413 /);
  // The connection still works for the next request.
  assert.match(heard, /HTTP\/1\.1 404 /);
});

test("a refusal is answered in Event Grid's form, with Retry-After where it helps", async (t) => {
  const { url, facts } = await serve(t, [
    route(() => {
      throw new Refusal("InputJsonInvalid", "no good");
    }),
    route(async () => {
      throw new Refusal("TooManyRequests", "too much", { retryAfterMs: 1500 });
    }, "PUT"),
  ]);
  const bad = await fetch(`${url}/x`, { method: "POST" });
  assert.equal(bad.headers.get("x-ms-request-id"), "request-1");
  assert.deepEqual(await errorOf(bad), [400, "BadRequest", "InputJsonInvalid", "no good"]);
  const busy = await fetch(`${url}/x`, { method: "PUT" });
  assert.equal(busy.headers.get("retry-after"), "2");
  assert.deepEqual(await errorOf(busy), [429, "TooManyRequests", "TooManyRequests", "too much"]);
  assert.deepEqual(facts, []);
});

test("any other error is a 500 without its words, logged once with the request's id", async (t) => {
  const error = new Error("s3cret");
  const { url, facts } = await serve(t, [
    route(() => {
      throw error;
    }),
    route(() => Promise.reject(error), "PUT"),
    // An invalid header is found only while we answer.
    route(() => ({ status: 200, headers: { bad: "a\nb" } }), "PATCH"),
  ]);
  for (const method of ["POST", "PUT", "PATCH"]) {
    const answer = await fetch(`${url}/x?aeg-sas-key=s3cret`, { method });
    const [status, code, detail, message] = await errorOf(answer);
    assert.deepEqual([status, code, detail], [500, "InternalServerError", "InternalServerError"]);
    assert.doesNotMatch(message, /s3cret/);
    const requestId = answer.headers.get("x-ms-request-id");
    const told = facts.splice(0);
    assert.deepEqual(
      told.map(({ level, name, fields: { error: _, ...fields } }) => [level, name, fields]),
      [["error", "request.failed", { requestId, method, path: "/x" }]],
    );
    assert.ok(told[0]?.fields.error instanceof Error);
  }
});

test("an unknown path is not found, whatever is sent to it", async (t) => {
  const { url, facts } = await serve(t, [echo]);
  for (const method of ["GET", "POST", "OPTIONS"]) {
    const headers = { "content-type": ";;" };
    const body = method === "GET" ? null : "x".repeat(5000);
    const answer = await fetch(`${url}/topics/t/api`, { method, headers, body });
    const [status, code, detail, message] = await errorOf(answer);
    assert.deepEqual([status, code, detail], [404, "NotFound", "ResourceNotFound"]);
    assert.match(message, /^No HTTP resource was found that matches the request URI/);
    assert.match(answer.headers.get("x-ms-request-id") ?? "", /^request-/);
  }
  assert.ok(facts.every(({ level, name }) => level === "debug" && name === "request.refused"));
  const long = await fetch(`${url}/topics/${"t".repeat(301)}/api/events`, { method: "POST" });
  assert.equal((await errorOf(long))[0], 404);
});

test("a method that a path does not have is refused with those it has", async (t) => {
  const options = { ...echo, method: "OPTIONS" as const, path: "/Topics/:other/api/events" };
  const { url } = await serve(t, [echo, options]);
  for (const method of ["GET", "PUT", "DELETE", "PATCH"]) {
    const answer = await fetch(`${url}/topics/t/api/events`, { method });
    assert.equal(answer.headers.get("allow"), "OPTIONS, POST");
    assert.equal(answer.headers.get("api-supported-versions"), "2018-01-01");
    const [status, code, detail, message] = await errorOf(answer);
    assert.deepEqual([status, code, detail], [405, "MethodNotAllowed", "MethodNotAllowed"]);
    assert.equal(message, `The method ${method} is not allowed here; allowed: OPTIONS, POST.`);
  }
  const head = await fetch(`${url}/topics/t/api/events`, { method: "HEAD" });
  assert.equal(head.status, 404);
  assert.equal((await fetch(`${url}/topics/t/api/events`, { method: "OPTIONS" })).status, 200);
});

test("HEAD is answered like GET, without the body", async (t) => {
  const { url } = await serve(t, [route(() => ({ status: 200, body: "hello" }), "GET")]);
  const answer = await fetch(`${url}/x`, { method: "HEAD" });
  assert.equal(answer.status, 200);
  assert.equal(answer.headers.get("content-length"), "5");
  assert.equal(await answer.text(), "");
});

test("an empty reply has a length of zero, except where HTTP has none", async (t) => {
  const { url } = await serve(t, [
    route(() => ({ status: 200 })),
    route(() => ({ status: 204 }), "PUT"),
  ]);
  const ok = await fetch(`${url}/x`, { method: "POST" });
  assert.equal(ok.headers.get("content-length"), "0");
  const none = await fetch(`${url}/x`, { method: "PUT" });
  assert.equal(none.headers.get("content-length"), null);
});

test("what is not HTTP, or not well formed, is answered in the same form", async (t) => {
  const { port } = await serve(t, [echo]);
  const path = "/topics/t/api/events";
  const cases: readonly (readonly [said: string, status: number, code: string])[] = [
    ["hello\r\n\r\n", 400, "BadRequest"],
    [`POST ${path} HTTP/1.1\r\nHost: h\r\nContent-Length: x\r\n\r\n`, 400, "BadRequest"],
    [
      `POST ${path} HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n`,
      400,
      "BadRequest",
    ],
    [
      `GET ${path}?${"q".repeat(20_000)} HTTP/1.1\r\nHost: h\r\n\r\n`,
      431,
      "RequestHeaderFieldsTooLarge",
    ],
    [
      "POST /topics/%zz/api/events HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n",
      400,
      "BadRequest",
    ],
  ];
  for (const [said, status, code] of cases) {
    const heard = await talk(port, said);
    const [head = "", body = ""] = heard.split("\r\n\r\n");
    assert.match(head, new RegExp(`^HTTP/1.1 ${status} `), said.slice(0, 40));
    assert.match(head, /x-ms-request-id: request-\d+/);
    assert.equal(JSON.parse(body).error.code, code);
  }
});

test("a client that takes too long over a request is told so and cut off", async (t) => {
  const { port } = await serve(t, [echo], { headersTimeoutMs: 1, requestTimeoutMs: 1 });
  const head = "POST /topics/t/api/events HTTP/1.1\r\nHost: h\r\n";
  const slow = [head, `${head}Content-Length: 10\r\n\r\n123`, ""];
  for (const heard of await Promise.all(slow.map((said) => talk(port, said)))) {
    assert.match(heard, /^HTTP\/1\.1 408 Request Timeout\r\n/);
  }
});

test("a client that goes away in the middle of its body leaves nothing behind", async (t) => {
  let asked = 0;
  const { port, url, facts } = await serve(t, [
    route(() => {
      asked += 1;
      return { status: 200 };
    }),
  ]);
  const socket = connect(port, "127.0.0.1");
  socket.write("POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\n123");
  socket.on("connect", () => socket.destroySoon());
  await new Promise((resolve) => socket.on("close", resolve));
  assert.equal((await fetch(`${url}/x`, { method: "POST" })).status, 200);
  assert.equal(asked, 1);
  assert.deepEqual(facts, []);
});

test("closing lets a request under way finish, and ends connections that are idle", async (t) => {
  const under = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<Reply>();
  const server = await serve(t, [
    route(() => {
      under.resolve();
      return gate.promise;
    }),
    route(() => ({ status: 200, body: "idle" }), "GET"),
  ]);
  // One without a request, one idle after a request, one in progress.
  const silent = talk(server.port, "");
  const idle = talk(server.port, "GET /x HTTP/1.1\r\nHost: h\r\n\r\n");
  const busy = talk(server.port, "POST /x HTTP/1.1\r\nHost: h\r\n\r\n");
  await under.promise;
  await fetch(`${server.url}/x`);
  const closed = server.close();
  assert.equal(server.close(), closed);
  assert.match(await idle, /\r\n\r\nidle$/);
  assert.equal(await silent, "");
  await assert.rejects(fetch(`${server.url}/x`));
  gate.resolve({ status: 200, body: "done" });
  const heard = await busy;
  assert.match(heard, /connection: close\r\n/i);
  assert.match(heard, /\r\n\r\ndone$/);
  await closed;
});

test("closing ends a connection that was answered before its body had come", async (t) => {
  const server = await serve(t, [echo], { drainMs: 2 ** 31 - 1 });
  const socket = connect(server.port, "127.0.0.1");
  const heard = readText(socket);
  const head = "POST /topics/t/api/events HTTP/1.1\r\nHost: h\r\n";
  socket.write(`${head}Content-Length: 2000\r\n\r\n${"x".repeat(1000)}`);
  await once(socket, "readable");
  const closed = server.close();
  // Refused from here on, so closing has begun.
  await assert.rejects(fetch(server.url));
  socket.write("x".repeat(1000));
  assert.match(await heard, /^HTTP\/1\.1 413 /);
  await closed;
});

test("closing cuts off what does not finish", async (t) => {
  const under = Promise.withResolvers<void>();
  const never = route(() => {
    under.resolve();
    return new Promise<Reply>(() => {});
  });
  const server = await serve(t, [never], { drainMs: 1 });
  const heard = talk(server.port, "POST /x HTTP/1.1\r\nHost: h\r\n\r\n").catch(() => "");
  await under.promise;
  await server.close();
  assert.equal(await heard, "");
});

test("a port that is taken is an error, and the address is one a client can use", async (t) => {
  const server = await serve(t, [echo]);
  assert.equal(server.url, `http://127.0.0.1:${server.port}`);
  await assert.rejects(serve(t, [echo], { port: server.port }), { code: "EADDRINUSE" });
});

test("an answer that goes on is read as written, and ends when the reader leaves", async (t) => {
  const left = Promise.withResolvers<void>();
  const out = Promise.withResolvers<Stream>();
  const stream = (given: Stream) => {
    out.resolve(given);
    return left.resolve;
  };
  const { url } = await serve(t, [route(() => ({ status: 200, stream }), "GET")]);
  const leaving = new AbortController();
  const response = await fetch(`${url}/x`, { signal: leaving.signal });
  const reader = response.body?.getReader();
  (await out.promise).write("first");
  assert.equal(Buffer.from((await reader?.read())?.value ?? []).toString(), "first");
  leaving.abort();
  await left.promise;
});

test("an answer that goes on ends when the listener closes, and none begins then", async (t) => {
  let stops = 0;
  const begun = Promise.withResolvers<void>();
  const stream = ({ write }: Stream) => {
    write("all there is");
    begun.resolve();
    return () => void stops++;
  };
  const server = await serve(t, [route(() => ({ status: 200, stream }), "GET")]);
  const response = await fetch(`${server.url}/x`);
  await begun.promise;
  await server.close();
  assert.equal(await response.text(), "all there is");
  assert.equal(stops, 1);
});

test("whoever asks for the head alone of what goes on gets it", async (t) => {
  const stream = () => assert.fail("nobody would read it");
  const { url } = await serve(t, [route(() => ({ status: 200, stream }), "GET")]);
  const response = await fetch(`${url}/x`, { method: "HEAD" });
  assert.equal(response.status, 200);
});

test("pipelined requests wait until the answer before them has been taken", async (t) => {
  let asked = 0;
  const large = "x".repeat(4_000_000);
  const { port, url } = await serve(t, [
    route(() => {
      asked += 1;
      return { status: 200, body: large };
    }, "GET"),
    route(() => ({ status: 200 })),
  ]);
  const socket = connect(port, "127.0.0.1").pause();
  const requests = "GET /x HTTP/1.1\r\nHost: h\r\n\r\n".repeat(5_000);
  await new Promise((resolve) => socket.write(requests, resolve));
  // By the time these are answered, everything the server has read is in progress.
  for (let turn = 0; turn < 20; turn++) await fetch(`${url}/x`, { method: "POST" });
  // The system buffers the first answers for a client that never reads, and no more.
  assert.ok(asked >= 1 && asked <= 10, `${asked} of 5000 were carried out`);
  socket.destroy();
});

test("so many pipelined requests are answered in their order, then the connection ends", async (t) => {
  let asked = 0;
  const { port } = await serve(t, [
    {
      method: "POST",
      path: "/:name",
      async handle({ params, body }) {
        asked += 1;
        await new Promise(setImmediate);
        return { status: 200, body: `${params.name}:${Buffer.from(body)};` };
      },
    },
  ]);
  const chunked = "Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n";
  const request = (index: number) => `POST /r${index} HTTP/1.1\r\nHost: h\r\n${chunked}`;
  const said = Array.from({ length: 500 }, (_, index) => request(index)).join("");
  const heard = await talk(port, said);
  const answers = heard.match(/r\d+:ok;/g) ?? [];
  assert.deepEqual(
    answers,
    Array.from({ length: 101 }, (_, index) => `r${index}:ok;`),
  );
  assert.equal(asked, 101);
  assert.equal(heard.match(/connection: close/gi)?.length, 1);
});

test("a connection goes on after pipelined requests, however many come in all", async (t) => {
  const { port } = await serve(t, [route(() => ({ status: 200, body: "taken;" }), "GET")]);
  const socket = connect(port, "127.0.0.1");
  t.after(() => socket.destroy());
  let taken = 0;
  socket.setEncoding("utf8").on("data", (text: string) => {
    taken += text.split("taken;").length - 1;
  });
  for (let round = 1; round <= 4; round++) {
    socket.write("GET /x HTTP/1.1\r\nHost: h\r\n\r\n".repeat(40));
    while (taken < round * 40) await once(socket, "data");
  }
  assert.equal(taken, 160);
});

test("pipelined requests whose bodies come later are all answered", async (t) => {
  const { port } = await serve(t, [echo], { bodyBytesMax: 1_000_000 });
  const socket = connect(port, "127.0.0.1");
  const heard = readText(socket);
  const body = "y".repeat(200_000);
  for (let index = 0; index < 20; index++) {
    const close = index === 19 ? "Connection: close\r\n" : "";
    const head = `POST /topics/t${index}/api/events HTTP/1.1\r\nHost: h\r\n${close}`;
    socket.write(`${head}Content-Length: ${body.length}\r\n\r\n${body.slice(0, 100)}`);
    await new Promise(setImmediate);
    socket.write(body.slice(100));
  }
  const topics = (await heard).match(/"topic":"t\d+"/g);
  assert.deepEqual(
    topics,
    Array.from({ length: 20 }, (_, index) => `"topic":"t${index}"`),
  );
});

test("whoever does not take an answer in time is cut off", async (t) => {
  const large = "x".repeat(20_000_000);
  const { port, facts } = await serve(t, [route(() => ({ status: 200, body: large }), "GET")], {
    takeTimeoutMs: 20,
  });
  const socket = connect(port, "127.0.0.1").pause();
  socket.write("GET /x HTTP/1.1\r\nHost: h\r\n\r\n");
  await cutOff(facts, 1);
  let heard = 0;
  socket.on("error", () => {});
  socket.on("data", (chunk: Buffer) => {
    heard += chunk.length;
  });
  await once(socket.resume(), "close");
  assert.ok(heard < large.length, `${heard} bytes`);
});

/** Resolves when this many connections have been closed because nobody read. */
async function cutOff(facts: readonly Fact[], count: number): Promise<void> {
  while (facts.filter(({ name }) => name === "connection.unread").length < count) {
    await new Promise(setImmediate);
  }
}

test("answers that nobody takes are bounded over all connections; a reader gets his", async (t) => {
  const large = "x".repeat(10_000_000);
  const { url, port, facts } = await serve(
    t,
    [route(() => ({ status: 200, body: large }), "GET")],
    { untakenBytesMax: 15_000_000 },
  );
  for (let count = 0; count < 5; count++) {
    const socket = connect(port, "127.0.0.1").pause();
    t.after(() => socket.destroy());
    socket.write("GET /x HTTP/1.1\r\nHost: h\r\n\r\n");
    // The one that has waited longest makes room for the next.
    await cutOff(facts, count);
  }
  assert.equal(await (await fetch(`${url}/x`)).text(), large);
});

/** A route that requires a key, and returns what it was sent. */
const guarded: Route = {
  method: "POST",
  path: "/guarded",
  ...judgedBy(({ headers }) => {
    if (headers["x-key"] === "answer") return { status: 200, body: "by the head alone" };
    if (headers["x-key"] !== "good") throw new Refusal("Unauthorized", "no key");
    return (body) => ({ status: 200, body: `${body.length} bytes` });
  }),
};

function headOf(key: string, length: number, more = ""): string {
  return `POST /guarded HTTP/1.1\r\nHost: h\r\nX-Key: ${key}\r\n${more}Content-Length: ${length}\r\n\r\n`;
}

test("who has no key is answered before the body has come, and nothing of it is kept", async (t) => {
  const room = new BodyRoom(1_000_000);
  const { port } = await serve(t, [guarded], { bodyBytesMax: 500_000, bodyRoom: room });
  for (const [key, status] of [
    ["bad", 401],
    ["answer", 200],
  ] as const) {
    const socket = connect(port, "127.0.0.1");
    t.after(() => socket.destroy());
    socket.write(headOf(key, 400_000) + "x".repeat(300_000));
    const [heard] = (await once(socket, "data")) as [Buffer];
    assert.match(heard.toString(), new RegExp(`^HTTP/1.1 ${status} `));
    assert.ok(room.take(1_000_000, false), "something is held");
    room.giveBack(1_000_000, false);
    // The rest is read and discarded, and the connection still works.
    socket.write(`${"x".repeat(100_000) + headOf("good", 2)}ok`);
    const [next] = (await once(socket, "data")) as [Buffer];
    assert.match(next.toString(), /2 bytes$/);
  }
});

test("a head may be judged later, as a bearer token is", async (t) => {
  const { judge } = guarded;
  const later = async (head: RequestHead) => {
    await new Promise(setImmediate);
    return (await judge?.(head)) as Verdict;
  };
  const { port } = await serve(t, [{ ...guarded, ...judgedBy(later) }]);
  const close = "Connection: close\r\n";
  assert.match(await talk(port, `${headOf("good", 2, close)}ok`), /2 bytes$/);
  assert.match(await talk(port, `${headOf("bad", 2, close)}ok`), /^HTTP\/1.1 401 /);
  assert.match(await talk(port, `${headOf("answer", 2, close)}ok`), /by the head alone$/);
});

test("bodies together hold no more than there is room for, and give it back", async (t) => {
  const turnedAway: string[] = [];
  const { port, url } = await serve(t, [guarded, echo], {
    bodyBytesMax: 500_000,
    bodyRoom: new BodyRoom(1_000_000),
    onTurnedAway: (path, { code }) => turnedAway.push(`${path} ${code}`),
  });
  const send = (key: string) => {
    const headers = { "x-key": key };
    const body = "x".repeat(150_000);
    return fetch(`${url}/guarded`, { method: "POST", headers, body });
  };
  // Held back by the last byte.
  const slow = Array.from({ length: 3 }, () => {
    const socket = connect(port, "127.0.0.1");
    t.after(() => socket.destroy());
    socket.write(headOf("good", 300_001) + "x".repeat(300_000));
    return socket;
  });
  let refused = await send("good");
  while (refused.status === 200) refused = await send("good");
  assert.equal(refused.headers.get("retry-after"), "1");
  assert.deepEqual(await errorOf(refused), [
    429,
    "TooManyRequests",
    "TooManyRequests",
    "More is being received than the broker holds in memory; try again.",
  ]);
  assert.deepEqual(new Set(turnedAway), new Set(["/guarded TooManyRequests"]));
  // One ends normally, one disconnects: there is room again.
  slow[0]?.write("x");
  const [heard] = (await once(slow[0] as Socket, "data")) as [Buffer];
  assert.match(heard.toString(), /300001 bytes$/);
  assert.equal((await send("good")).status, 200);
  slow[1]?.destroy();
  while ((await Promise.all([send("good"), send("good"), send("good")])).some((a) => !a.ok));
});

test("what strangers send cannot keep out who has a key", async (t) => {
  const { port, url } = await serve(t, [guarded, echo], {
    bodyBytesMax: 500_000,
    bodyRoom: new BodyRoom(1_000_000),
  });
  const path = "/topics/t/api/events";
  for (let count = 0; count < 10; count++) {
    const socket = connect(port, "127.0.0.1");
    t.after(() => socket.destroy());
    const head = `POST ${path} HTTP/1.1\r\nHost: h\r\nContent-Length: 120000\r\n\r\n`;
    socket.write(head + "x".repeat(119_999));
  }
  const body = "x".repeat(100_000);
  let stranger = await fetch(url + path, { method: "POST", body });
  while (stranger.status === 200) stranger = await fetch(url + path, { method: "POST", body });
  assert.equal(stranger.status, 429);
  const headers = { "x-key": "good" };
  assert.equal((await fetch(`${url}/guarded`, { method: "POST", headers, body })).status, 200);
});

test("a client that asks before it sends is told to go on, or refused without a body", async (t) => {
  const { port } = await serve(t, [guarded]);
  const expect = "Expect: 100-continue\r\n";
  // After a refusal the connection is closed: the body may still come.
  const refused = await talk(port, headOf("bad", 10, expect));
  assert.match(refused, /^HTTP\/1\.1 401 .*connection: close/is);
  assert.doesNotMatch(refused, /100 Continue/);
  const socket = connect(port, "127.0.0.1");
  t.after(() => socket.destroy());
  socket.write(headOf("good", 2, expect));
  const [goOn] = (await once(socket, "data")) as [Buffer];
  assert.equal(goOn.toString(), "HTTP/1.1 100 Continue\r\n\r\n");
  socket.write("ok");
  const [heard] = (await once(socket, "data")) as [Buffer];
  assert.match(heard.toString(), /^HTTP\/1\.1 200 .*2 bytes$/s);
});

test("wrong credentials are held back, right ones on other connections are not", async (t) => {
  const held: (() => void)[] = [];
  const guesses = new GuessTable(
    () => 0,
    () => new Promise((resolve) => held.push(resolve)),
  );
  const { url } = await serve(t, [guarded], { guesses });
  const send = async (key: string) => {
    const headers = { "x-key": key };
    return (await fetch(`${url}/guarded`, { method: "POST", headers, body: "x" })).status;
  };
  for (let count = 0; count < 20; count++) assert.equal(await send("bad"), 401);
  const late = send("bad");
  while (held.length === 0) await new Promise(setImmediate);
  for (let count = 0; count < 5; count++) assert.equal(await send("good"), 200);
  let isAnswered = false;
  void late.then(() => {
    isAnswered = true;
  });
  assert.equal(await send("good"), 200);
  assert.equal(isAnswered, false);
  held[0]?.();
  assert.equal(await late, 401);
});

test("an address of IPv6 stands in brackets", async (t) => {
  const loopback = await serve(t, [], { host: "::1" }).catch((error: NodeJS.ErrnoException) => {
    // Some machines have no IPv6.
    if (error.code !== "EADDRNOTAVAIL" && error.code !== "EAFNOSUPPORT") throw error;
  });
  if (!loopback) return t.skip("there is no IPv6 here");
  assert.match(loopback.url, /^http:\/\/\[::1\]:\d+$/);
});

test("a file is sent as it is, and its head alone where only that is asked for", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "posthorn-listener-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "copy.db");
  writeFileSync(file, "0123456789".repeat(100_000));
  const { url } = await serve(t, [route(() => ({ status: 200, file }), "GET")]);
  assert.equal(await (await fetch(`${url}/x`)).text(), "0123456789".repeat(100_000));
  const head = await fetch(`${url}/x`, { method: "HEAD" });
  assert.deepEqual([head.status, head.headers.get("content-length")], [200, "1000000"]);
});
