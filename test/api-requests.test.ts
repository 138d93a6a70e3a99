// Whatever our own API is asked, it answers: with what was asked for, or with a refusal in words.
// Requests that are right are bent at random, in body, query and path, and none may be answered
// with 500, which is the answer to a bug.

import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { type Operation, type Operations, operations } from "../src/core/api/operations.ts";
import { ErrorView } from "../src/core/api/views.ts";
import { type Example, openApiScene } from "./fixtures/api-examples.ts";

const runsPerOperation = 60;

/** JSON that has tripped programs before. */
const nasty = fc.constantFrom(
  ...['{"toString":1}', '{"valueOf":1,"toString":null}', '{"__proto__":{"a":1}}', '{"length":9}'],
  ...['{"constructor":{"prototype":1}}', '{"then":{}}', "[]", "[[]]", "[null]", "{}", "null"],
  ...["true", "0", "-1", "1e999", "-1e999", "0.1", "9007199254740993", '""', '"\\u0000"'],
  ...['"\\ud800"', '"__proto__"', '"2030-13-99T99:99:99Z"', '"%00"', '"../../x"', '"{}"'],
  `"${"x".repeat(5_000)}"`,
  `${"[".repeat(40)}${"]".repeat(40)}`,
);

const anyJson = fc.oneof(nasty, fc.json({ maxDepth: 3 }));

/** A body that was right, with one place of it replaced, taken out or added to. */
function bent(body: object): fc.Arbitrary<string> {
  const places = placesIn(body);
  return fc
    .tuple(fc.constantFrom(...places), fc.constantFrom("replace", "remove", "add"), anyJson)
    .map(([place, how, json]) => {
      const marker = "⟦here⟧";
      const copy = structuredClone(body) as Record<string, unknown>;
      const parent = place
        .slice(0, -1)
        .reduce<Record<string, unknown>>(
          (each, name) => each[name] as Record<string, unknown>,
          copy,
        );
      const last = place.at(-1);
      if (last === undefined || how === "add") parent.extra = marker;
      else if (how === "remove") delete parent[last];
      else parent[last] = marker;
      return JSON.stringify(copy).replace(`"${marker}"`, json);
    });
}

/** Every member, however deep, by the names on the way to it; the whole is the empty way. */
function placesIn(value: unknown): readonly string[][] {
  if (typeof value !== "object" || value === null) return [[]];
  const below = Object.entries(value).flatMap(([name, each]) =>
    placesIn(each).map((place) => [name, ...place]),
  );
  return [[], ...below, ...Object.keys(value).map((name) => [name])];
}

const anyText = fc.oneof(
  fc.string({ maxLength: 40, unit: "binary" }),
  nasty,
  fc.constantFrom("", "0", "-1", "1e9", "true", "x".repeat(3_000), "a,b,,", "%", "..", "a/b"),
);

function requests(operation: Operation, example: Example): fc.Arbitrary<[Example, string?]> {
  const { params = {}, query = {}, body = {} } = example;
  const names = [...Object.keys(operation.query?.members ?? {}), "unknown"];
  const texts = (...known: readonly string[]) =>
    fc.dictionary(fc.constantFrom(...known), anyText, { maxKeys: 2 });
  const kinds: fc.Arbitrary<[Example, string?]>[] = [
    texts(...names).map((changed) => [{ ...example, query: { ...query, ...changed } }]),
  ];
  if (Object.keys(params).length > 0) {
    kinds.push(
      texts(...Object.keys(params)).map((changed) => [
        { ...example, params: { ...params, ...changed } },
      ]),
    );
  }
  if (operation.method !== "GET") {
    kinds.push(anyJson.map((json) => [example, json]));
    // What is nearly right gets furthest in.
    const nearly = bent(body).map((json): [Example, string?] => [example, json]);
    kinds.push(nearly, nearly, nearly);
  }
  return fc.oneof(...kinds);
}

test("no request is answered with 500", async (t) => {
  const { send, examples } = await openApiScene(t);
  for (const [name, operation] of Object.entries<Operation>(operations)) {
    if (operation.contentType?.startsWith("text/event-stream")) continue;
    const property = fc.asyncProperty(
      requests(operation, examples[name as keyof Operations]),
      async ([example, raw]) => {
        const { status, body } = await send(name as keyof Operations, example, raw);
        const what = `${name} ${JSON.stringify(example)} ${raw}: ${status} ${body}`;
        assert.ok(status < 500 || status === 503, what);
        if (status >= 400) ErrorView.check(JSON.parse(body), what);
      },
    );
    await t.test(name, () => fc.assert(property, { numRuns: runsPerOperation }));
  }
});
