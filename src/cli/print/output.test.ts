import assert from "node:assert/strict";
import { test } from "node:test";
import { Refusal } from "../../core/refusal.ts";
import type { Form } from "../command.ts";
import { checkQuery, textOf } from "./output.ts";

const topics = [
  {
    name: "orders",
    id: "/subscriptions/S/topics/orders",
    location: "local",
    disableLocalAuth: false,
    inboundIpRules: [],
    sku: { name: "Basic" },
    tags: null,
  },
  {
    name: "events",
    id: "/subscriptions/S/topics/events",
    location: "westeurope",
    disableLocalAuth: true,
    inboundIpRules: [{ ipMask: "10.0.0.0/8" }],
    sku: { name: "Basic" },
    tags: { team: "a" },
  },
];

const print = (form: Form, query: string | null = null, value: unknown = topics) =>
  textOf({ value }, { form, query, isColoured: false, columns: null });

test("tables show what is simple, under capital letters, as az draws them", async () => {
  assert.equal(
    await print("table"),
    [
      "DisableLocalAuth    Location    Name",
      "------------------  ----------  ------",
      "False               local       orders",
      "True                westeurope  events",
      "",
    ].join("\n"),
  );
});

test("a table fits its terminal by cutting the widest, and wide has everything", async () => {
  const rows = [
    { Name: "orders", Subject: "s".repeat(40), Endpoint: `http://127.0.0.1/${"e".repeat(60)}` },
  ];
  const wide = [{ ...rows[0], Id: "i".repeat(114) }];
  const draw = (form: Form, columns: number | null) =>
    textOf({ value: [1], rows, wide }, { form, query: null, isColoured: false, columns });
  const lines = (await draw("table", 60)).trimEnd().split("\n");
  assert.ok(
    lines.every((line) => line.length <= 60),
    lines.join("\n"),
  );
  assert.match(lines[2] ?? "", /^orders {2,}s+… +http:\/\/127\.0\.0\.1\/e+…$/);
  assert.ok((await draw("table", null)).includes("e".repeat(60)), "a pipe has no width");
  assert.ok((await draw("wide", 60)).includes("i".repeat(114)));
});

test("lines of columns say None and count lists, as az does", async () => {
  assert.equal(
    await print("tsv"),
    "False\t/subscriptions/S/topics/orders\t0\tlocal\torders\t\tNone\n" +
      "True\t/subscriptions/S/topics/events\t1\twesteurope\tevents\t\t\n",
  );
  assert.equal(await print("tsv", "[0].disableLocalAuth"), "false\n");
});

test("JSON and YAML have their keys in order, and nothing is printed of nothing", async () => {
  const value = { b: 1, a: { d: null, c: ["x"] } };
  assert.equal(
    await print("json", null, value),
    `${JSON.stringify({ a: { c: ["x"], d: null }, b: 1 }, null, 2)}\n`,
  );
  assert.equal(await print("yaml", null, value), "a:\n  c:\n  - x\n  d: null\nb: 1\n");
  assert.equal(await print("json", null, null), "");
  assert.equal(await print("json", "nothing", value), "");
  assert.equal(await print("none", null, value), "");
});

test("the queries of az's own pages are answered", async () => {
  const table: [string, string][] = [
    ["[].name", '["orders","events"]'],
    ["[0]", JSON.stringify(Object.fromEntries(Object.entries(topics[0] as object).toSorted()))],
    ["[].{Name:name, Where:location}[0]", '{"Name":"orders","Where":"local"}'],
    ["[?location=='local'].name", '["orders"]'],
    ["[?name==`orders`].location", '["local"]'],
    ["[?length(inboundIpRules)==`1`].name", '["events"]'],
    ["[?disableLocalAuth==`true`].name", '["events"]'],
    ["[?contains(name, 'ord')].name | [0]", '"orders"'],
    ["sort_by([], &name)[].name", '["events","orders"]'],
    ["length(@)", "2"],
    ["[?disableLocalAuth].tags.team", '["a"]'],
    ["[].[name, sku.name]", '[["orders","Basic"],["events","Basic"]]'],
    ["[?starts_with(location, 'west')] | [0].inboundIpRules[0].ipMask", '"10.0.0.0/8"'],
    ["max_by([], &length(name)).name", '"orders"'],
  ];
  for (const [query, answer] of table) {
    assert.equal(JSON.stringify(JSON.parse(await print("json", query))), answer, query);
  }
});

test("columns that a query chose stay in its order", async () => {
  assert.equal(
    await print("table", "[].{z:name, a:location}"),
    "Z       A\n------  ----------\norders  local\nevents  westeurope\n",
  );
  assert.equal(
    await print("tsv", "[].{z:name, a:location}"),
    "orders\tlocal\nevents\twesteurope\n",
  );
  assert.equal(
    await print("table", "[].name"),
    "Result\n--------\norders\nevents\n",
    "what has no names is a result",
  );
});

test("what is no query is refused before anything is asked", async () => {
  for (const query of ["[", "a b", "[?name=='x'"]) {
    await assert.rejects(
      () => checkQuery(query),
      (error) =>
        error instanceof Refusal &&
        /^--query must be JMESPath such as \[\]\.name/.test(error.message),
      query,
    );
  }
  await checkQuery("[].name");
  await checkQuery("[?name==`orders`]");
});

test("colours are for people", async () => {
  const value = { a: ["x", 1, true, null] };
  const plain = await print("jsonc", null, value);
  assert.ok(!plain.includes("\u001b"));
  const choice = { form: "jsonc", query: null, isColoured: true, columns: null } as const;
  const coloured = await textOf({ value }, choice);
  assert.ok(coloured.includes("\u001b["));
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colours are such characters.
  assert.equal(coloured.replaceAll(/\u001b\[\d+m/g, ""), plain);
});
