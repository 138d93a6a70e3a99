// Letters that no broker wrote, or one of another release: they are noted, and change nothing.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Ownership } from "../../core/cluster/ownership.ts";
import { Refusal, type RefusalCode } from "../../core/refusal.ts";
import { realClock } from "../../runtime/clock/real.ts";
import { replyToRefusal } from "../../runtime/http/error-reply.ts";
import { Calls } from "./calls.ts";

function open() {
  const facts: string[] = [];
  const posted: { readonly to: string; readonly text: string }[] = [];
  let deliver: (text: string) => void = () => {};
  const calls = new Calls({
    ownership: { broker: "one" } as Ownership,
    peers: {
      list: () => Promise.resolve([]),
      tell: () => {},
      async post(to, text) {
        posted.push({ to, text });
      },
      onPost(listener) {
        deliver = listener;
      },
    },
    clock: realClock(),
    log: { fact: (_level, name) => void facts.push(name) },
  });
  return { calls, facts, posted, deliver: (text: string) => deliver(text) };
}

const bad = [
  ...["", "{", "null", "1", '"question"', "[]", "{}", "[null]", '{"kind":"order"}'],
  ...['{"kind":"question"}', '{"kind":"question","id":1,"from":"x","verb":"double"}'],
  ...['{"kind":"question","id":"a","from":{},"verb":"double"}', '{"kind":"answer","id":null}'],
  ...['{"kind":"refusal","id":"one/1","code":"Conflict"}', '{"__proto__":null,"kind":"answer"}'],
];

test("a letter that is none is noted, and those after it are read", async () => {
  const { calls, facts, posted, deliver } = open();
  calls.answer("double", async (order: number) => order * 2);
  for (const text of bad) deliver(text);
  deliver('{"kind":"question","id":"two/1","from":"two","verb":"double","order":4}');
  await new Promise(setImmediate);
  assert.deepEqual(posted, [{ to: "two", text: '{"kind":"answer","id":"two/1","value":8}' }]);
  assert.deepEqual(
    facts,
    bad.map(() => "call.unreadable"),
  );
});

test("a refusal by a code that is not known here is one all the same", async () => {
  const { calls, posted, deliver } = open();
  const asked = calls.ask("two", "double", 4);
  await new Promise(setImmediate);
  const { id } = JSON.parse(posted[0]?.text ?? "") as { id: string };
  deliver(JSON.stringify({ kind: "refusal", id, code: "toString", words: "of a newer release" }));
  const refusal = await asked.catch((error: unknown) => error);
  assert.ok(refusal instanceof Refusal);
  assert.equal(replyToRefusal(refusal).status, 503);
  assert.equal(replyToRefusal(new Refusal("TeaPot" as RefusalCode, "")).status, 503);
});
