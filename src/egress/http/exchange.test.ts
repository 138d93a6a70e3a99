// Webhook behaviour outside the contract of sinks: which connections are reused, how many may be
// idle or stay open for late answers, and what happens when one of them is dead.

import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { test } from "node:test";
import { answeredOf, noReplyOf, parcelOf } from "../../../test/contract/sink.ts";
import {
  certificate,
  closed,
  lateMs,
  openSender,
  serve,
  serveRaw,
  waitMs,
} from "../../../test/fixtures/webhook.ts";
import type { Outcome } from "../../core/delivery/outcome.ts";

const ok = (response: ServerResponse) => response.end();
const okBytes = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";

/** An endpoint that does not answer under `/hold` and answers elsewhere. */
const holding =
  (held: ServerResponse[]) =>
  (response: ServerResponse, arrived: { path?: string | undefined }) => {
    if (arrived.path?.startsWith("/hold")) held.push(response);
    else response.end();
  };

test("a connection is used again for the next request, also to another path", async (t) => {
  const { url, sockets, arrived } = await serve(t, ok);
  const { send } = openSender(t);
  for (const path of ["a", "b", "c?d=e"]) answeredOf(await send(`${url}/${path}`));
  assert.deepEqual(
    arrived.map(({ path }) => path),
    ["/hook/a", "/hook/b", "/hook/c?d=e"],
  );
  assert.equal(sockets.length, 1);
});

test("a TLS connection is used again too", async (t) => {
  const { url, sockets } = await serve(t, ok, { tls: true });
  const { send } = openSender(t, { ca: [certificate] });
  for (let i = 0; i < 3; i += 1) answeredOf(await send(url));
  assert.equal(sockets.length, 1);
});

test("an endpoint that closes after each answer loses nothing", async (t) => {
  const { url, sockets } = await serve(t, (response) => {
    response.writeHead(200, { connection: "close" }).end();
  });
  const { send } = openSender(t);
  for (let i = 0; i < 5; i += 1) answeredOf(await send(url));
  assert.equal(sockets.length, 5);
});

test("an idle connection that the endpoint has closed costs nothing", async (t) => {
  const { url, sockets, server } = await serve(t, ok);
  const { send } = openSender(t);
  for (let i = 1; i <= 5; i += 1) {
    answeredOf(await send(url));
    server.closeIdleConnections();
    await closed(sockets[i - 1]);
  }
});

test("a connection idle for longer than it may be is not used again", async (t) => {
  const { url, sockets } = await serve(t, ok);
  const { clock, send } = openSender(t, { keepAliveMs: 4_000 });
  answeredOf(await send(url));
  clock.advance(3_999);
  answeredOf(await send(url));
  assert.equal(sockets.length, 1);
  clock.advance(4_000);
  answeredOf(await send(url));
  assert.equal(sockets.length, 2);
  await closed(sockets[0]);
});

test("no more connections lie idle than may", async (t) => {
  const held: ServerResponse[] = [];
  const { url, sockets, reached } = await serve(t, (response) => held.push(response));
  const { send } = openSender(t, { idleMax: 2 });
  const sent = [send(url), send(url), send(url)];
  await reached(3);
  for (const response of held) response.end();
  await Promise.all(sent);
  await Promise.race(sockets.map(closed));
  assert.equal(sockets.filter((socket) => !socket.destroyed).length, 2);
});

/** Answers the first request on its first connection, and closes it at the second. */
const cutsAtSecond = (socket: Socket, text: string, connection: number) => {
  const requests = text.split("POST ").length - 1;
  if (!text.endsWith("]")) return;
  if (connection === 1 && requests === 2) socket.destroy();
  else socket.write(okBytes);
};

test("a connection found dead after a rest is replaced, and the event arrives", async (t) => {
  const { url, sockets } = await serveRaw(t, cutsAtSecond);
  const { clock, send } = openSender(t);
  answeredOf(await send(url));
  clock.advance(1_000);
  assert.equal(answeredOf(await send(url)).status, 200);
  assert.equal(sockets.length, 2);
});

test("an endpoint that breaks off in steady use has failed (R-1)", async (t) => {
  const { url, sockets } = await serveRaw(t, cutsAtSecond);
  const { clock, send } = openSender(t);
  answeredOf(await send(url));
  clock.advance(999);
  assert.equal(noReplyOf(await send(url)).why, "connection");
  assert.equal(sockets.length, 1);
});

test("a dead connection is replaced once and no more (R-1)", async (t) => {
  let requests = 0;
  const { url, sockets } = await serveRaw(t, (socket, text) => {
    if (!text.endsWith("]")) return;
    requests += 1;
    if (requests === 1) socket.write(okBytes);
    else socket.destroy();
  });
  const { clock, send } = openSender(t);
  answeredOf(await send(url));
  clock.advance(2_000);
  assert.equal(noReplyOf(await send(url)).why, "connection");
  assert.equal(requests, 3);
  assert.equal(sockets.length, 2);
});

test("what breaks off on a new connection has failed (R-1)", async (t) => {
  const { url, sockets } = await serveRaw(t, (socket, text, connection) => {
    if (!text.endsWith("]")) return;
    if (connection === 1) socket.end(okBytes);
    else socket.destroy();
  });
  const { clock, send } = openSender(t);
  answeredOf(await send(url));
  clock.advance(2_000);
  await closed(sockets[0]);
  assert.equal(noReplyOf(await send(url)).why, "connection");
  assert.equal(sockets.length, 2);
});

test("a connection that dies in the middle of an answer is not replaced (R-1)", async (t) => {
  let requests = 0;
  const { url } = await serveRaw(t, (socket, text) => {
    if (!text.endsWith("]")) return;
    requests += 1;
    if (requests === 1) socket.write(okBytes);
    else socket.end("HTTP/1.1 2");
  });
  const { clock, send } = openSender(t);
  answeredOf(await send(url));
  clock.advance(2_000);
  assert.equal(noReplyOf(await send(url)).why, "connection");
  assert.equal(requests, 2);
});

test("an endpoint that hangs does not hold up another at the same origin (H-4)", async (t) => {
  const held: ServerResponse[] = [];
  const { url, reached } = await serve(t, holding(held));
  const { send } = openSender(t);
  const hanging = [1, 2, 3].map(() => send(url.replace("/hook", "/hold")));
  await reached(3);
  answeredOf(await send(url));
  for (const response of held.splice(0)) response.end();
  for (const outcome of await Promise.all(hanging)) answeredOf(outcome);
});

test("late requests leave room for those in time, and are bounded themselves (R-4)", async (t) => {
  const held: ServerResponse[] = [];
  const { url, sockets, reached } = await serve(t, holding(held));
  const hold = url.replace("/hook", "/hold");
  const { clock, send } = openSender(t, { lateMax: 1 });
  const sent = [send(hold), send(hold)];
  await reached(2);
  clock.advance(waitMs);
  const [one, two] = (await Promise.all(sent)).map(noReplyOf);
  assert.equal(await two?.late, null, "the second found no room");
  await Promise.race(sockets.map(closed));
  const next = [send(hold), send(hold)];
  await reached(4);
  for (const response of held) response.end();
  for (const outcome of await Promise.all(next)) answeredOf(outcome);
  assert.equal((await one?.late)?.kind, "answered");
});

test("a late answer may be a refusal, with all it says (R-4)", async (t) => {
  const held: ServerResponse[] = [];
  const { url, reached } = await serve(t, (response) => held.push(response));
  const { clock, send } = openSender(t);
  const sent = send(url);
  await reached(1);
  clock.advance(waitMs);
  const { late } = noReplyOf(await sent);
  held[0]?.writeHead(503, { "retry-after": "5" }).end("busy");
  const { exchanged, ...answer } = answeredOf((await late) as Outcome);
  assert.match(exchanged?.head ?? "", /^HTTP\/1\.1 503 /);
  assert.deepEqual(answer, {
    kind: "answered",
    status: 503,
    retryAfterMs: 5_000,
    excerpt: "busy",
  });
});

test("a connection that breaks while its answer is late brings nothing (R-4)", async (t) => {
  const { url, sockets, reached } = await serve(t, () => {});
  const { clock, send } = openSender(t);
  const sent = send(url);
  await reached(1);
  clock.advance(waitMs);
  const { late } = noReplyOf(await sent);
  sockets[0]?.destroy();
  assert.equal(await late, null);
  assert.equal(clock.alarms, 0);
});

test("the late limit closes the connection (P-3)", async (t) => {
  const { url, sockets, reached } = await serve(t, () => {});
  const { clock, send } = openSender(t);
  const sent = send(url);
  await reached(1);
  clock.advance(lateMs);
  assert.equal(await noReplyOf(await sent).late, null);
  await closed(sockets[0]);
});

test("a connection still being made is cut when the wait is over", async (t) => {
  let hello: () => void = () => {};
  const begun = new Promise<void>((go) => {
    hello = go;
  });
  const { url, sockets } = await serveRaw(t, () => hello());
  const { clock, send } = openSender(t);
  const sent = send(url.replace("http:", "https:"));
  await begun;
  clock.advance(waitMs);
  const outcome = noReplyOf(await sent);
  assert.equal(outcome.why, "timeout");
  assert.equal(outcome.detail, "No connection could be made in time.");
  assert.equal(await outcome.late, null);
  await closed(sockets[0]);
});

test("an abort ends the sends under its signal, and no others", async (t) => {
  const held: ServerResponse[] = [];
  const { url, reached } = await serve(t, holding(held));
  const hold = url.replace("/hook", "/hold");
  const { clock, send, activity } = openSender(t);
  const { signal } = new AbortController();
  const stop = new AbortController();
  const stopped = [send(hold, { signal: stop.signal }), send(hold, { signal: stop.signal })];
  const other = send(hold, { signal });
  await reached(3);
  stop.abort();
  for (const outcome of stopped) assert.equal(noReplyOf(await outcome).why, "canceled");
  for (const response of held) response.end();
  answeredOf(await other);
  assert.equal(activity.outside, 0);
  assert.equal(clock.alarms, 0);
});

test("bytes that came before the request do not pass for its answer", async (t) => {
  let requests = 0;
  const { url, sockets } = await serveRaw(t, (socket, text) => {
    if (!text.endsWith("]")) return;
    requests += 1;
    socket.write(requests === 1 ? okBytes : "HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n");
  });
  const { send } = openSender(t);
  answeredOf(await send(url));
  sockets[0]?.write(okBytes);
  // They have certainly come when a later answer on another connection has.
  answeredOf(await send((await serve(t, ok)).url));
  assert.equal(answeredOf(await send(url)).status, 503);
  assert.equal(sockets.length, 2);
});

test("an answer before the whole request was read is an answer, and ends the connection", async (t) => {
  const { url, sockets } = await serveRaw(t, (socket) => {
    socket.pause().write("HTTP/1.1 413 Too Large\r\ncontent-length: 0\r\n\r\n");
  });
  const { send } = openSender(t);
  const parcel = parcelOf([JSON.stringify({ id: "a", data: "x".repeat(8_000_000) })]);
  assert.equal(answeredOf(await send(url, { parcel })).status, 413);
  sockets[0]?.resume();
  await closed(sockets[0]);
});

test("an endpoint that keeps idle connections for a moment only is not relied on", async (t) => {
  const { url, sockets } = await serve(t, (response) => {
    response.writeHead(200, { "keep-alive": "timeout=1" }).end();
  });
  const { send } = openSender(t);
  for (let i = 0; i < 3; i += 1) answeredOf(await send(url));
  assert.equal(sockets.length, 3);
});
