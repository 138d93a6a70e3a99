import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { Arrived, Response } from "../../core/receiver.ts";
import { openReceiver } from "./receiver.ts";

async function open(
  t: TestContext,
  respond: (arrived: Arrived) => Promise<Response> | Response,
  host = "127.0.0.1",
) {
  const receiver = await openReceiver({ host, port: 0, respond: async (asked) => respond(asked) });
  t.after(() => receiver.close());
  return receiver;
}

const fine: Response = { kind: "answer", status: 202, headers: { "x-own": "1" }, body: "taken" };

test("a request arrives whole, and is answered as told", async (t) => {
  const arrived: Arrived[] = [];
  const { url } = await open(t, (asked) => {
    arrived.push(asked);
    return fine;
  });
  const body = "ü".repeat(100_000);
  const headers = { "x-many": "1" };
  const answer = await fetch(`${url}/hook?code=1`, { method: "POST", body, headers });
  assert.deepEqual(
    [answer.status, answer.headers.get("x-own"), await answer.text()],
    [202, "1", "taken"],
  );
  const [first] = arrived;
  assert.deepEqual([first?.method, first?.path, first?.body], ["POST", "/hook?code=1", body]);
  assert.equal(first?.headers["x-many"], "1");
});

test("a connection is closed without an answer when told so", async (t) => {
  const { url } = await open(t, () => ({ kind: "drop" }));
  await assert.rejects(fetch(url, { method: "POST", body: "{}" }));
});

test("a body larger than any delivery is not read to its end", async (t) => {
  const { url } = await open(t, () => assert.fail("nobody is asked"));
  const body = Buffer.alloc(8 * 1024 * 1024 + 1);
  await assert.rejects(fetch(url, { method: "POST", body }));
});

test("what was accepted is answered before the end", async () => {
  const asked = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<Response>();
  const respond = async () => {
    asked.resolve();
    return await answer.promise;
  };
  const receiver = await openReceiver({ host: "127.0.0.1", port: 0, respond });
  const answered = fetch(receiver.url);
  await asked.promise;
  const closed = receiver.close();
  answer.resolve(fine);
  assert.equal((await answered).status, 202);
  await closed;
});

test("an address of IPv6 stands in brackets", async (t) => {
  const receiver = await open(t, () => fine, "::1").catch((error: NodeJS.ErrnoException) => {
    // Some machines have no IPv6.
    if (error.code !== "EADDRNOTAVAIL" && error.code !== "EAFNOSUPPORT") throw error;
  });
  if (!receiver) return t.skip("there is no IPv6 here");
  const { url } = receiver;
  assert.match(url, /^http:\/\/\[::1\]:\d+$/);
  assert.equal((await fetch(url)).status, 202);
});
