import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { countUtf8Bytes, findObjects, isNestedDeeper } from "./json.ts";

const find = (text: string) => findObjects(text) ?? assert.fail("it is not too deep");

const blank = fc.stringMatching(/^[ \t\r\n]{0,3}$/);

/** A character of a string as a publisher may write it: plain, or in one of its escaped forms. */
const letter = fc.oneof(
  fc.string({ unit: "binary", minLength: 1, maxLength: 3 }).map((text) => quoted(text)),
  fc.constantFrom("\\\\", '\\"', "\\/", "\\n", "\\u0069", "\\ud800", "\\u005c", "{", "}", "[", ","),
);
const stringText = fc.array(letter, { maxLength: 6 }).map((letters) => `"${letters.join("")}"`);
/**
 * Node 24.21's own parser confuses names that are one escaped character: after a text with the
 * name "\\u005c" it reads the name "\\u0069" as "\\\\". Our scanner does not; so that the two can
 * be compared, such names are left out.
 */
const nameText = stringText.filter((text) => !text.includes("\\") || JSON.parse(text).length !== 1);
const numberText = fc.constantFrom("0", "-1.0", "1e400", "12345678901234567890", "1.50E-3");

/** Valid JSON texts with blanks in every place that allows them. */
const { value: jsonText, object: objectText } = fc.letrec<{ value: string; object: string }>(
  (tie) => ({
    value: fc.oneof(
      { depthSize: "small" },
      fc.constantFrom("null", "true", "false"),
      numberText,
      stringText,
      tie("object"),
      fc
        .tuple(fc.array(padded(tie("value")), { maxLength: 4 }), blank)
        .map(([elements, gap]) => `[${elements.length === 0 ? gap : elements.join(",")}]`),
    ),
    object: fc
      .tuple(fc.array(fc.tuple(padded(nameText), padded(tie("value"))), { maxLength: 5 }), blank)
      .map(
        ([members, gap]) =>
          `{${members.length === 0 ? gap : members.map(([name, value]) => `${name}:${value}`)}}`,
      ),
  }),
);

function padded(text: fc.Arbitrary<string>): fc.Arbitrary<string> {
  return fc.tuple(blank, text, blank).map((parts) => parts.join(""));
}

function quoted(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

test("the members found in any valid text are those the parser finds, in raw text", () => {
  fc.assert(
    fc.property(fc.array(padded(objectText), { maxLength: 4 }), blank, (objects, gap) => {
      const text = `${gap}[${objects.length === 0 ? gap : objects.join(",")}]${gap}`;
      const parsed = JSON.parse(text) as Record<string, unknown>[];
      const found = find(text);
      assert.equal(found.length, parsed.length);
      for (const [index, span] of found.entries()) {
        assert.equal(text.slice(span.start, span.end), (objects[index] as string).trim());
        // As in the parser, the last of equal names counts; entries make own members even of
        // `__proto__`, like the parser.
        const members = span.members.map(({ name, start, end }) => {
          const raw = text.slice(start, end);
          assert.equal(raw, raw.trim());
          return [name, JSON.parse(raw)] as const;
        });
        assert.deepEqual(Object.fromEntries(members), parsed[index]);
      }
    }),
  );
});

test("a bare object is found like an array of one", () => {
  fc.assert(
    fc.property(padded(objectText), (text) => {
      assert.deepEqual(
        find(text).map((span) => span.members.length),
        find(`[${text}]`).map((span) => span.members.length),
      );
    }),
  );
});

test("raw text keeps numbers and escapes that parsing would change", () => {
  const text = '[{"a":1.0,"b" : 12345678901234567890 ,"c":"\\u0041\\/"}]';
  const [span] = find(text);
  assert.deepEqual(
    span?.members.map(({ name, start, end }) => [name, text.slice(start, end)]),
    [
      ["a", "1.0"],
      ["b", "12345678901234567890"],
      ["c", '"\\u0041\\/"'],
    ],
  );
});

test("a name that stands twice is listed twice, also when one of the two is escaped", () => {
  const [span] = find('{"id":1,"\\u0069d":2}');
  assert.deepEqual(
    span?.members.map((member) => member.name),
    ["id", "id"],
  );
});

test("depth costs no stack", () => {
  const depth = 200_000;
  const text = `{"a":${"[".repeat(depth)}${"]".repeat(depth)}}`;
  assert.equal(find(text)[0]?.members[0]?.end, text.length - 1);
});

/** The nesting depth of a text, computed in the simplest way. */
function depthOf(text: string): number {
  const brackets = text.replace(/"(?:\\.|[^"\\])*"/g, "").replace(/[^[\]{}]/g, "");
  let depth = 0;
  return Math.max(...[...brackets].map((each) => (depth += "[{".includes(each) ? 1 : -1)));
}

test("an object is refused exactly when it is nested deeper than allowed", () => {
  fc.assert(
    fc.property(objectText, objectText, fc.integer({ min: 1, max: 6 }), (one, other, depthMax) => {
      const text = `[${one},${other}]`;
      const depth = depthOf(text);
      assert.equal(findObjects(text, depthMax) === null, depth - 1 > depthMax);
      assert.equal(isNestedDeeper(text, depthMax), depth > depthMax);
    }),
  );
});

test("depth is also told of text that is not JSON", () => {
  const cases: readonly (readonly [text: string, depth: number])[] = [
    ["", 0],
    ['"', 0],
    ['"[[[[', 0],
    ['["\\"[', 1],
    ['["\\\\"[', 2],
    ['["\\"[["]', 1],
    ["]]][", 0],
    ['{[{"', 3],
  ];
  for (const [text, depth] of cases) {
    assert.equal(isNestedDeeper(text, depth), false, text);
    if (depth > 0) assert.equal(isNestedDeeper(text, depth - 1), true, text);
  }
});

test("UTF-8 bytes are counted as the encoder writes them", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), jsonText, (text, more) => {
      const whole = text + more;
      assert.equal(countUtf8Bytes(whole, 0, whole.length), Buffer.byteLength(whole));
    }),
  );
});
