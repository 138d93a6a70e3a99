import assert from "node:assert/strict";
import { test } from "node:test";
import { Refusal } from "../core/refusal.ts";
import { type Options, pairsOf, readOptions } from "./option.ts";

const options = {
  name: { takes: "NAME", aliases: ["-n"], about: "" },
  "resource-group": { takes: "NAME", aliases: ["-g"], about: "" },
  tags: { takes: "KEY=VALUE…", isMany: true, about: "" },
  filter: { takes: "KEY OPERATOR VALUE…", isMany: true, isList: true, about: "" },
  count: { takes: "COUNT", range: { min: 1, max: 30 }, about: "" },
  form: { takes: "FORM", aliases: ["-o"], choices: ["table", "json"], about: "" },
  "full-ed-url": { takes: null, about: "" },
  "full-form": { takes: null, about: "" },
} as const satisfies Options;
const files = { name: "FILE", isMany: true, about: "a file" };

const read = (line: string, table: Options = options) =>
  readOptions(line.split(" ").filter(Boolean), table, files);

test("options are read in every way in which az lets them be written", () => {
  for (const line of ["--name a", "--name=a", "-n a", "-na", "-n=a", "--nam a"]) {
    assert.equal(read(line).one("name"), "a", line);
  }
  assert.equal(read("--name a --name b").one("name"), "b");
  assert.equal(read("--form JSON").one("form"), "json", "a choice in any letter case");
  assert.equal(read("--count 30").whole("count"), 30);
});

test("an option that takes several takes all words up to the next, and groups stay apart", () => {
  const given = read("--filter a In 1 -2 -.5 --tags a=b c= --filter b In x file -n y");
  assert.deepEqual(given.groups("filter"), [
    ["a", "In", "1", "-2", "-.5"],
    ["b", "In", "x", "file"],
  ]);
  assert.deepEqual(given.all("tags"), ["a=b", "c="]);
  assert.equal(given.one("name"), "y");
  assert.deepEqual(given.operands, []);
});

test("a switch stands alone, or says true or false", () => {
  assert.equal(read("").isOn("full-ed-url"), null);
  assert.equal(read("--full-ed-url").isOn("full-ed-url"), true);
  assert.equal(read("--full-ed-url False a.json").isOn("full-ed-url"), false);
  assert.equal(read("--full-ed-url=true").isOn("full-ed-url"), true);
  assert.deepEqual(read("--full-ed-url a.json").operands, ["a.json"]);
});

test("what follows two dashes is no option, and a dash alone is the input", () => {
  assert.deepEqual(read("- a -- --name -n").operands, ["-", "a", "--name", "-n"]);
});

test("what cannot be is refused in one line that says what would be right", () => {
  const required = { name: { takes: "NAME", isRequired: true, about: "" } };
  const table: [() => unknown, RegExp][] = [
    [() => read("--nmae a"), /^there is no option "--nmae"; did you mean --name\?$/],
    [() => read("-x"), /^there is no option "-x"; known are -n, -g, -o$/],
    [() => read("--name"), /^--name must be followed by NAME$/],
    [() => read("--name --count 3"), /^--name must be followed by NAME$/],
    [() => read("--tags"), /^--tags must be followed by KEY=VALUE…$/],
    [() => read("--full"), /^--full could be --full-ed-url or --full-form: write more of it$/],
    [() => read("--count 31"), /^--count must be a whole number from 1 to 30, and is "31"$/],
    [() => read("--form xml"), /^--form must be table or json, and is "xml"$/],
    [
      () => read("--full-form=maybe"),
      /^--full-form must be true or false, or have no value, and is "/,
    ],
    [() => read("", required), /^--name must be given: --name NAME$/],
    [() => readOptions(["a"], options), /^"a" has no place here: only options follow here$/],
    [
      () => readOptions(["a", "b"], options, { name: "ID", about: "" }),
      /^"b" has no place here: one/,
    ],
    [
      () => readOptions([], options, { name: "ID", isRequired: true, about: "its id" }),
      /^ID must be given: its id$/,
    ],
    [() => pairsOf("--tags", ["=b"]), /^--tags must be pairs as in key=value$/],
    [() => pairsOf("--endpoint", ["a="], "SUB=URL"), /^--endpoint must be pairs as in SUB=URL$/],
    [() => pairsOf("--endpoint", ["a"], "SUB=URL"), /^--endpoint must be pairs as in SUB=URL$/],
  ];
  for (const [run, message] of table) {
    assert.throws(
      run,
      (error) => error instanceof Refusal && message.test(error.message),
      `${message}`,
    );
  }
});

test("pairs end their name at the first equals sign", () => {
  assert.deepEqual(
    [...pairsOf("--tags", ["a=b=c", "d", "e="])],
    [
      ["a", "b=c"],
      ["d", ""],
      ["e", ""],
    ],
  );
  const url = "http://a.test/?code=1==";
  assert.deepEqual([...pairsOf("--endpoint", [`sub=${url}`], "SUB=URL")], [["sub", url]]);
});
