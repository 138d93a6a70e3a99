import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { sampleEvents } from "./sample-events.ts";

const folder = new URL("../../../node_modules/@azure/eventgrid/dist/esm/", import.meta.url);
const read = (path: string) => readFileSync(new URL(path, folder), "utf8");

/** The members of every interface in Microsoft's declarations. */
function interfaces(): ReadonlyMap<string, { base: string | undefined; members: string[] }> {
  const text = read("generated/models/index.d.ts");
  const found = text.matchAll(/export interface (\w+)(?: extends (\w+))? \{([\s\S]*?)\n\}/g);
  return new Map(
    [...found].map(([, name = "", base, inside = ""]) => [
      name,
      { base, members: [...inside.matchAll(/^ {4}(\w+)\??:/gm)].map(([, each = ""]) => each) },
    ]),
  );
}

test("every sample has only members that Microsoft's SDK knows, and most of them", () => {
  const known = interfaces();
  const membersOf = (name: string | undefined): string[] => {
    const one = name === undefined ? undefined : known.get(name);
    return one === undefined ? [] : [...one.members, ...membersOf(one.base)];
  };
  const names = new Map(
    [...read("predicates.d.ts").matchAll(/"(Microsoft[^"]+?) ?": (\w+);/g)].map(
      ([, type = "", name = ""]) => [type, name],
    ),
  );
  const stamp = {
    now: "2030-01-01T00:00:00.000Z",
    id: () => "5b1f4d9a-0000-4000-8000-000000000001",
  };
  for (const [type, make] of Object.entries(sampleEvents)) {
    const members = membersOf(names.get(type));
    assert.ok(members.length > 0, `the SDK does not know ${type}`);
    const { subject, data } = make(stamp);
    assert.notEqual(subject, "", type);
    // The SDK writes all names in one way, and the wire does not.
    const wire = Object.keys(data).map((name) => name.toLowerCase());
    const extra = wire.filter((name) => !members.some((each) => each.toLowerCase() === name));
    assert.deepEqual(extra, [], type);
    assert.ok(wire.length * 2 >= members.length, `${type} has too few members`);
  }
});
