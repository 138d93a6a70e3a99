import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { type TestContext, test } from "node:test";
import { CountedActivity, HandClock } from "../../../test/contract/sink.ts";
import { certificate, closed, freePort, serve, serveRaw } from "../../../test/fixtures/webhook.ts";
import type { Ask } from "../../core/handshake/question.ts";
import { type AskOptions, openAsk } from "./ask.ts";

function openAsker(t: TestContext, options: Partial<AskOptions> = {}) {
  const clock = new HandClock();
  const activity = new CountedActivity();
  const asker = openAsk({ clock, activity, ...options });
  t.after(() => asker.close());
  const ask = (url: string, over: Partial<Parameters<Ask>[0]> = {}) =>
    asker.ask({
      method: "POST",
      url,
      headers: { "x-asked": "yes" },
      body: "[]",
      waitMs: 30_000,
      signal: new AbortController().signal,
      ...over,
    });
  return { clock, activity, asker, ask };
}

const whyOf = (answer: Awaited<ReturnType<Ask>>): string => {
  assert.equal(answer.kind, "noReply");
  return answer.kind === "noReply" ? answer.why : "";
};

test("a question arrives as it was put, and its answer comes with status, headers and body", async (t) => {
  const { url, arrived } = await serve(t, (response) => {
    response.writeHead(202, { "WebHook-Allowed-Rate": "7" }).end("später");
  });
  const { ask, activity } = openAsker(t);
  const answer = await ask(`${url}?code=a%20b`);
  assert.ok(answer.kind === "answered");
  assert.deepEqual([answer.status, answer.body], [202, "später"]);
  assert.equal(answer.headers["webhook-allowed-rate"], "7");
  const [one] = arrived;
  assert.deepEqual([one?.method, one?.path, one?.body], ["POST", "/hook?code=a%20b", "[]"]);
  assert.equal(one?.headers["x-asked"], "yes");
  assert.equal(activity.outside, 0);
});

test("an OPTIONS has no body", async (t) => {
  const { url, arrived } = await serve(t, (response) => response.end());
  const { ask } = openAsker(t);
  assert.equal((await ask(url, { method: "OPTIONS", body: null })).kind, "answered");
  assert.deepEqual([arrived[0]?.method, arrived[0]?.body], ["OPTIONS", ""]);
});

test("a redirect is an answer and is not followed", async (t) => {
  const { url, arrived } = await serve(t, (response) => {
    response.writeHead(307, { location: "/elsewhere" }).end();
  });
  const { ask } = openAsker(t);
  const answer = await ask(url);
  assert.equal(answer.kind === "answered" && answer.status, 307);
  assert.equal(arrived.length, 1);
});

test("no more of an answer is read than 64 kB, and its connection ends", async (t) => {
  const { url, sockets } = await serve(t, (response) => {
    response.writeHead(200);
    const pour = () => {
      while (!response.destroyed && response.write("x".repeat(8_192)));
    };
    response.on("drain", pour);
    pour();
  });
  const { ask } = openAsker(t);
  const answer = await ask(url);
  assert.equal(answer.kind === "answered" && answer.body.length, 65_536);
  await closed(sockets[0]);
});

test("no connection is kept after its answer", async (t) => {
  const { url, sockets } = await serve(t, (response) => response.end());
  const { ask } = openAsker(t);
  await ask(url);
  await ask(url);
  await Promise.all(sockets.map(closed));
  assert.equal(sockets.length, 2);
});

test("an answer that breaks off after its head is one all the same", async (t) => {
  const { url } = await serveRaw(t, (socket, text) => {
    if (text.endsWith("[]")) socket.end("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf");
  });
  const { ask } = openAsker(t);
  const answer = await ask(url);
  assert.deepEqual(answer.kind === "answered" && [answer.status, answer.body], [200, "half"]);
});

test("an endpoint that keeps silent is waited for on the clock, and then let go", async (t) => {
  const { url, reached, sockets } = await serve(t, () => {});
  const { ask, clock, activity } = openAsker(t);
  const asked = ask(url);
  await reached(1);
  assert.equal(activity.outside, 1);
  clock.advance(30_000);
  assert.equal(whyOf(await asked), "No answer came in time.");
  await closed(sockets[0]);
  assert.deepEqual([activity.outside, clock.alarms], [0, 0]);
});

test("what cannot be reached says why in words", async (t) => {
  const { ask } = openAsker(t);
  const nowhere = `http://127.0.0.1:${await freePort()}/`;
  assert.match(whyOf(await ask(nowhere)), /^The connection failed: .*ECONNREFUSED/);
  assert.match(whyOf(await ask("http://name.invalid/")), /^Its name could not be found: /);
  assert.equal(whyOf(await ask("mailto:a@b.c")), "The URL is not usable.");
  const { url } = await serve(t, (response) => response.end(), { tls: true });
  assert.match(whyOf(await ask(url)), /^No secure connection could be made: /);
});

test("an authority that we are told to trust is trusted", async (t) => {
  const { url } = await serve(t, (response) => response.end(), { tls: true });
  const { ask } = openAsker(t, { ca: [certificate] });
  assert.equal((await ask(url)).kind, "answered");
});

test("a header that cannot be sent is an answer of ours and no failure", async (t) => {
  const { url, arrived } = await serve(t, (response) => response.end());
  const { ask } = openAsker(t);
  assert.notEqual(whyOf(await ask(url, { headers: { "no name": "x" } })), "");
  assert.equal((await ask(url, { headers: { "x-a": "a\r\nx-b: c" } })).kind, "answered");
  assert.equal(arrived[0]?.headers["x-a"], "a%0D%0Ax-b: c");
});

test("a question can be broken off, before and while it is asked", async (t) => {
  const { url, reached, arrived } = await serve(t, () => {});
  const { ask } = openAsker(t);
  const ender = new AbortController();
  const asked = ask(url, { signal: ender.signal });
  await reached(1);
  ender.abort();
  assert.equal(whyOf(await asked), "It was aborted.");
  assert.equal(whyOf(await ask(url, { signal: ender.signal })), "It was aborted.");
  assert.equal(arrived.length, 1);
});

test("no more questions are open than may be, and closing ends those that wait", async (t) => {
  const held: ServerResponse[] = [];
  const { url, arrived, reached } = await serve(t, (response) => held.push(response));
  const { ask, asker } = openAsker(t, { asksMax: 2 });
  const asked = [1, 2, 3, 4].map(() => ask(url));
  await reached(2);
  held[0]?.end();
  assert.equal((await Promise.race(asked)).kind, "answered");
  await reached(3);
  assert.equal(arrived.length, 3);
  await asker.close();
  const kinds = (await Promise.all(asked)).map(({ kind }) => kind);
  assert.deepEqual(kinds.toSorted(), ["answered", "noReply", "noReply", "noReply"]);
});
