import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { serverSent } from "./server-sent-events.ts";

async function read(chunks: readonly string[]) {
  const all = [];
  const cut = (async function* () {
    yield* chunks;
  })();
  for await (const each of serverSent(cut)) all.push(each);
  return all;
}

const text =
  'event: attempt\ndata: {"a":1}\n\n: still here\n\ndata: plain\r\n\r\nevent: two\ndata: a\ndata: b\n\n';

test("events are read however the stream is cut, and what keeps it alive is passed over", async () => {
  const expected = [
    { kind: "attempt", text: '{"a":1}' },
    { kind: "message", text: "plain" },
    { kind: "two", text: "a\nb" },
  ];
  assert.deepEqual(await read([text]), expected);
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(text.length)), async (places) => {
      const cuts = [0, ...places.toSorted((one, other) => one - other), text.length];
      const chunks = cuts.slice(1).map((end, index) => text.slice(cuts[index], end));
      assert.deepEqual(await read(chunks), expected);
    }),
  );
});
