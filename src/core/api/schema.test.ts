import assert from "node:assert/strict";
import { test } from "node:test";
import { Refusal } from "../refusal.ts";
import { operations } from "./operations.ts";
import {
  about,
  anyObject,
  anything,
  checkQuery,
  type Infer,
  instant,
  list,
  named,
  number,
  numberFrom,
  object,
  oneOf,
  optional,
  orNull,
  type Schema,
  text,
  textOf,
  truth,
  whole,
  wholeFrom,
  wholeRequest,
  words,
} from "./schema.ts";

function refusalOf(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    if (error instanceof Refusal && error.code === "InvalidSetting") {
      return `${error.target}: ${error.message}`;
    }
    throw error;
  }
  return "none";
}

test("a value of the right shape is taken, and any other is refused in words", () => {
  const secret = textOf({ min: 2, max: 4 }, { isSecret: true });
  const table: [Schema<unknown>, right: readonly unknown[], wrong: readonly unknown[], RegExp][] = [
    [text, ["", "a"], [1, null, undefined, {}, []], /^f: f must be a text, and is /],
    [textOf({ min: 1, max: 2 }), ["ab"], ["", "abc", 1], /must be a text of 1 to 2 characters/],
    [secret, ["ab"], ["geheim", 1], /and is (a text of 6 characters|the number 1)$/],
    [number, [0.5, -1], ["1", Number.NaN, Infinity, null], /must be a number, and is/],
    [whole, [0, -1], [0.5, "1", Infinity], /must be a whole number, and is/],
    [
      numberFrom({ min: 1, max: 2 }, "a rate"),
      [1.5],
      [0.9, 2.1, "1"],
      /must be a rate from 1 to 2/,
    ],
    [wholeFrom({ min: 1, max: 2 }), [1, 2], [0, 1.5, 3, "1"], /a whole number from 1 to 2, and is/],
    [truth, [true, false], ["true", 0, null], /must be true or false, and is/],
    [instant, ["2030-01-01T00:00:00Z"], ["2030-13-01T00:00:00Z", 5, "noon"], /must be an ISO 8601/],
    [words("a", "b", "c"), ["a", "c"], ["A", "", 1, "toString"], /must be a, b or c, and is/],
    [anything, [null, 1, {}], [undefined], /must be any JSON, and is missing/],
    [anyObject(), [{}, { toString: 1 }], [[], null, "{}"], /must be an object, and is/],
    [orNull(text), ["a", null], [1], /must be a text, and is the number 1/],
    [list(whole), [[], [1, 2]], ["1", {}, null], /must be an array, and is/],
    [list(whole), [[1]], [[1, "2"]], /^f\[1\]: f\[1\] must be a whole number, and is "2"$/],
    [
      list(text, { min: 1, max: 2, allowed: "one or two" }),
      [["a"]],
      [[], ["a", "b", "c"]],
      /one or/,
    ],
    [oneOf([whole, words("a")]), [1, "a"], [1.5, "b", {}], /must be a whole number, or a, and is/],
  ];
  for (const [schema, right, wrong, message] of table) {
    for (const value of right) assert.deepEqual(schema.check(value, "f"), value);
    for (const value of wrong)
      assert.match(
        refusalOf(() => schema.check(value, "f")),
        message,
      );
  }
});

test("an object is judged member by member, and refusals name the place", () => {
  const shape = object({
    name: text,
    size: optional(whole),
    inner: optional(object({ deep: list(object({ at: instant })) })),
  });
  const taken: Infer<typeof shape> = shape.check({ name: "a", size: null }, wholeRequest);
  assert.deepEqual(taken, { name: "a" });
  const table: [unknown, string][] = [
    [[], "the request: the request must be an object, and is an array of 0"],
    [{}, "name: name must be a text, and is missing"],
    [{ name: { toString: 1 } }, "name: name must be a text, and is an object"],
    [{ name: "a", sice: 1 }, 'sice: there is no member "sice" in the request; did you mean size?'],
    [{ name: "a", size: "1" }, 'size: size must be a whole number, and is "1"'],
    [{ name: "a", inner: { deep: [{ at: 1 }] } }, "inner.deep[0].at: inner.deep[0].at must be an "],
    [{ name: "a", inner: { deep: [], x: 1 } }, 'inner.x: there is no member "x" in inner; '],
    [JSON.parse('{"name":"a","__proto__":{}}'), '__proto__: there is no member "__proto__" in '],
  ];
  for (const [value, message] of table) {
    const refused = refusalOf(() => shape.check(value, wholeRequest));
    assert.ok(refused.startsWith(message), refused);
  }
  // What an object inherits is not what somebody sent.
  const inherited = object({ toString: optional(text) });
  assert.deepEqual(inherited.check({}, wholeRequest), {});
});

test("of several shapes, an object is judged by the one it is most like", () => {
  const shape = oneOf(
    [
      object({ topic: text, name: text }),
      object({ url: text }),
      object({ kind: words("a"), since: text }),
      object({ kind: words("b"), since: text }),
    ],
    "this or that",
  );
  for (const right of [{ topic: "t", name: "n" }, { url: "u" }, { kind: "b", since: "s" }]) {
    assert.deepEqual(shape.check(right, "to"), right);
  }
  const table: [unknown, RegExp][] = [
    [{ topic: "t" }, /^to\.name: to\.name must be a text, and is missing/],
    [{ url: 1 }, /^to\.url: to\.url must be a text/],
    [{ kind: "c", since: "s" }, /^to: to must be this or that, and is an object/],
    [{ topic: "t", url: "u" }, /^to: to must be this or that, and is an object/],
    [{}, /^to: to must be this or that, and is an object/],
    ["t", /^to: to must be this or that, and is "t"/],
  ];
  for (const [value, message] of table) {
    assert.match(
      refusalOf(() => shape.check(value, "to")),
      message,
    );
  }
});

test("a query is read from its texts; what is empty is left out", () => {
  const query = object({
    limit: optional(wholeFrom({ min: 1, max: 9 })),
    rate: optional(number),
    old: optional(truth),
    kinds: optional(list(words("a", "b"))),
    name: optional(text),
  });
  const asked = { limit: "5", rate: "0.5", old: "false", kinds: "a,b", name: "5" };
  const read = { limit: 5, rate: 0.5, old: false, kinds: ["a", "b"], name: "5" };
  assert.deepEqual(checkQuery(query, asked), read);
  assert.deepEqual(checkQuery(query, { limit: "", old: undefined }), {});
  const table: [Record<string, string>, RegExp][] = [
    [{ limit: "10" }, /^limit: limit must be a whole number from 1 to 9, and is the number 10$/],
    [{ limit: "five" }, /and is "five"$/],
    [{ limit: "-1" }, /and is "-1"$/],
    [{ old: "yes" }, /^old: old must be true or false, and is "yes"$/],
    [{ kinds: "a,c" }, /^kinds\[1\]: kinds\[1\] must be a or b, and is "c"/],
    [{ limits: "1" }, /there is no query parameter "limits"; did you mean limit\?$/],
    [{ constructor: "1" }, /there is no query parameter "constructor"/],
  ];
  for (const [wrong, message] of table) {
    assert.match(
      refusalOf(() => checkQuery(query, wrong)),
      message,
    );
  }
});

test("shapes are described as JSON Schema, named ones once", () => {
  const inner = named("Inner", object({ a: whole, b: optional(about(text, "Why.")) }));
  const components = {};
  const described = object({ one: inner, many: list(orNull(inner)) }).describe(components);
  const ref = { $ref: "#/components/schemas/Inner" };
  assert.deepEqual(described, {
    type: "object",
    properties: {
      one: ref,
      many: { type: "array", items: { anyOf: [ref, { type: "null" }] } },
    },
    required: ["one", "many"],
  });
  assert.deepEqual(components, {
    Inner: {
      type: "object",
      properties: { a: { type: "integer" }, b: { type: "string", description: "Why." } },
      required: ["a"],
    },
  });
});

test("no two operations share a method and a path, and every path is written as the others", () => {
  const seen = Object.values(operations).map(({ method, path }) => `${method} ${path}`);
  assert.equal(new Set(seen).size, seen.length);
  for (const each of seen) assert.match(each, /^(GET|POST|DELETE)( \/|\/)[a-z{}/-]+$/);
});
