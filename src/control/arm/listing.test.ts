import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { plainRequest } from "../../../test/fixtures/request.ts";
import { Refusal } from "../../core/refusal.ts";
import { type Listed, parseNameFilter, replyWithList } from "./listing.ts";

const names = ["alpha", "Beta", "alphabet", "it's"];

function matching(filter: string): string[] {
  return names.filter(parseNameFilter(filter));
}

test("a filter looks at names without regard to letter case", () => {
  const table: readonly (readonly [string, readonly string[]])[] = [
    ["name eq 'ALPHA'", ["alpha"]],
    ["NAME NE 'alpha'", ["Beta", "alphabet", "it's"]],
    ["contains(name, 'ph')", ["alpha", "alphabet"]],
    ["CONTAINS(namE,'BET') and name ne 'beta'", ["alphabet"]],
    ["name eq 'alpha' or name eq 'beta' and contains(name,'x')", ["alpha"]],
    ["(name eq 'alpha' or name eq 'beta') and contains(name,'b')", ["Beta"]],
    ["not contains(name,'a')", ["it's"]],
    ["not (name eq 'alpha' or name eq 'beta')", ["alphabet", "it's"]],
    ["not not name eq 'beta'", ["Beta"]],
    ["name eq 'it''s'", ["it's"]],
    ["contains(name,'')", names],
  ];
  for (const [filter, found] of table) assert.deepEqual(matching(filter), found, filter);
});

test("what is no filter by name is refused in words", () => {
  for (const filter of [
    "location eq 'west'",
    "name",
    "name eq",
    "name eq alpha",
    "name eq 'alpha",
    "name gt 'alpha'",
    "name eq 'a' name eq 'b'",
    "name eq 'a' and",
    "contains(name 'a')",
    "contains(tags,'a')",
    "(name eq 'a'",
    "name eq 'a')",
    "startswith(name,'a')",
    `${"(".repeat(50)}name eq 'a'${")".repeat(50)}`,
    "x".repeat(3_000),
  ]) {
    assert.throws(() => parseNameFilter(filter), isRefusal, filter);
  }
});

test("no filter does anything but match or be refused", () => {
  const words = [
    "name",
    "eq",
    "ne",
    "'a'",
    "contains",
    "(",
    ")",
    ",",
    "and",
    "or",
    "not",
    "'",
    "é",
  ];
  const filters = fc.array(fc.constantFrom(...words), { maxLength: 12 });
  fc.assert(
    fc.property(filters, (parts) => {
      try {
        assert.equal(typeof parseNameFilter(parts.join(" "))("a"), "boolean");
      } catch (error) {
        assert.ok(isRefusal(error));
      }
    }),
  );
});

function itemsOf(count: number): Listed[] {
  return Array.from({ length: count }, (_, index) => {
    const name = `t${String(index).padStart(4, "0")}`;
    return { name, key: name, render: () => ({ name }) };
  });
}

function page(items: readonly Listed[], query: Readonly<Record<string, string>>) {
  const reply = replyWithList(items, { ...plainRequest, query }, "https://broker.test/list");
  const { value, nextLink } = JSON.parse(reply.body ?? "") as {
    value: { name: string }[];
    nextLink?: string;
  };
  return { names: value.map(({ name }) => name), nextLink };
}

test("a list comes in pages of twenty, or as many as asked for up to a hundred", () => {
  const items = itemsOf(250);
  assert.equal(page(items, {}).names.length, 20);
  assert.equal(page(items, { $top: "100" }).names.length, 100);
  assert.equal(page(items, { $top: "1" }).names.length, 1);
  for (const $top of ["0", "101", "-1", "x", "1.5"]) {
    assert.throws(() => page(items, { $top }), isRefusal, $top);
  }
});

test("following the next links gives every item once, in order, and keeps the query", () => {
  fc.assert(
    fc.property(fc.nat(60), fc.integer({ min: 1, max: 100 }), (count, top) => {
      const items = itemsOf(count);
      const seen: string[] = [];
      let query: Record<string, string> = { "api-version": "v", $top: `${top}`, $filter: "" };
      for (;;) {
        const { names: found, nextLink } = page(items.toReversed(), query);
        seen.push(...found);
        if (nextLink === undefined) break;
        const url = new URL(nextLink);
        assert.equal(url.origin + url.pathname, "https://broker.test/list");
        query = Object.fromEntries(url.searchParams);
        assert.equal(query["api-version"], "v");
      }
      assert.deepEqual(
        seen,
        items.map(({ name }) => name),
      );
    }),
  );
});

function isRefusal(error: unknown): boolean {
  return error instanceof Refusal && error.code === "InvalidSetting" && /^\$/.test(error.message);
}
