// Copies stay as they are until they are let go of, in memory that is used again.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Slabs } from "./slabs.ts";

test("what is copied stays until all of it is let go, and its memory is used again", () => {
  const slabs = new Slabs();
  const size = 300_000;
  const fill = (count: number) =>
    Array.from({ length: count }, (_, index) => {
      const from = Buffer.alloc(size + 2, index + 1);
      return slabs.copy(from, 1, size + 1);
    });
  const first = fill(10);
  for (const [index, { all, at }] of first.entries()) {
    assert.ok(all.subarray(at, at + size).every((byte) => byte === index + 1));
  }
  const { bytes } = slabs;
  slabs.reuse();
  assert.deepEqual(
    fill(10).map(({ all }) => all),
    first.map(({ all }) => all),
  );
  assert.equal(slabs.bytes, bytes);
});

test("what was not needed for a while is given back", () => {
  const slabs = new Slabs();
  const piece = Buffer.alloc(1_000_000);
  for (let count = 0; count < 8; count += 1) slabs.copy(piece, 0, piece.length);
  slabs.reuse();
  slabs.copy(piece, 0, piece.length);
  slabs.reuse();
  assert.ok(slabs.bytes < 2 * piece.length);
  const large = Buffer.alloc(5_000_000, 7);
  const { all, at } = slabs.copy(large, 0, large.length);
  assert.ok(all.subarray(at).equals(large));
  assert.ok(slabs.bytes < 2 * piece.length);
});
