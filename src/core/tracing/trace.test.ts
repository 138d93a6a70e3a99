import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { readTrace, sharedTrace, traceFields, traceStateCharsMax } from "./trace.ts";

const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const stateOf = (state: unknown) => readTrace(parent, state)?.state ?? null;

test("a trace context as W3C's Trace Context has it is taken as it is", () => {
  const state = "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE,fw529a3039@dt=FfYAAAAA";
  assert.deepEqual(readTrace(parent, state), { parent, state });
  assert.deepEqual(readTrace(parent, undefined), { parent, state: null });
});

test("a parent that is malformed counts as none, and its state with it", () => {
  const bad = [
    undefined,
    ["00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"],
    "",
    "00",
    parent.toUpperCase(),
    `${parent}-`,
    `${parent}-extra`,
    ` ${parent}`,
    `${parent}, ${parent}`,
    parent.replace("00-", "ff-"),
    parent.replace("00-", "0-"),
    "00-00000000000000000000000000000000-b7ad6b7169203331-01",
    "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
    "00-0af7651916cd43dd8448eb211c80319-b7ad6b7169203331-01",
    `cc-${parent.slice(3)}.what-the-future-has`,
    `cc-${parent.slice(3)}-${"x".repeat(300)}`,
    `cc-${parent.slice(3)}-a\r\nb: c`,
  ];
  for (const each of bad) assert.equal(readTrace(each, "a=1"), null, String(each));
});

test("a parent of a version to come is passed on with what that version added", () => {
  const later = `cc-${parent.slice(3)}-what-the-future-has`;
  assert.deepEqual(readTrace(later, null), { parent: later, state: null });
});

test("a state that is malformed is left out, and the parent stays", () => {
  const many = Array.from({ length: 33 }, (_, index) => `k${index}=v`).join(",");
  const bad = ["", " , ", "a", "=1", "A=1", "a=1=2", "a=é", "a=1,a=2", "a=\u0000", "a=", many, 7];
  for (const state of bad) assert.deepEqual(readTrace(parent, state), { parent, state: null });
});

test("blanks round the entries of a state and entries that are empty do not count", () => {
  assert.equal(stateOf(" a=1 ,\t,b=2\t"), "a=1,b=2");
  assert.equal(stateOf(" ,\t"), null);
});

test("a state that is too long loses its long entries first, then its oldest", () => {
  const long = `long=${"x".repeat(200)}`;
  const short = Array.from({ length: 4 }, (_, index) => `k${index}=${"y".repeat(90)}`);
  assert.equal(stateOf([short[0], long, ...short.slice(1)].join(",")), short.join(","));
  const eight = Array.from({ length: 8 }, (_, index) => `k${index}=${"y".repeat(90)}`);
  assert.equal(stateOf(eight.join(",")), eight.slice(0, 5).join(","));
  assert.equal(stateOf(`a=${"x".repeat(256)},b=${"x".repeat(256)}`), `a=${"x".repeat(256)}`);
});

test("whatever is sent, what is kept is bounded and can stand in a header", () => {
  const anything = fc.oneof(
    fc.string({ maxLength: 2000 }),
    fc.stringMatching(/^(a[0-9]=[!-~]{1,90},?)*$/),
  );
  fc.assert(
    fc.property(anything, (state) => {
      const kept = stateOf(state);
      if (kept === null) return;
      assert.ok(kept.length <= traceStateCharsMax);
      assert.match(kept, /^[ -~]+$/);
      assert.equal(stateOf(kept), kept, "what was kept would be kept again");
    }),
  );
});

test("a batch has a trace only when all its events are of one", () => {
  const one = { parent, state: "a=1" };
  assert.equal(sharedTrace([]), null);
  assert.equal(sharedTrace([null]), null);
  assert.deepEqual(sharedTrace([one, { ...one }]), one);
  assert.equal(sharedTrace([one, null]), null);
  assert.equal(sharedTrace([one, { parent, state: null }]), null);
});

test("a trace is sent under the names of the specification", () => {
  assert.deepEqual(traceFields(null), {});
  assert.deepEqual(traceFields({ parent, state: null }), { traceparent: parent });
  const both = { traceparent: parent, tracestate: "a=1" };
  assert.deepEqual(traceFields({ parent, state: "a=1" }), both);
});
