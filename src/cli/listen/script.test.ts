import assert from "node:assert/strict";
import { test } from "node:test";
import { type Options, readOptions } from "../option.ts";
import { toolCommands } from "../tools/tool-commands.ts";
import { type Deed, Player, scriptIn } from "./script.ts";

const options = toolCommands.find(({ words }) => words === "listen")?.options as Options;
const play = (line: string) =>
  new Player(scriptIn(readOptions(line.split(" ").filter(Boolean), options)));
const said = (deed: Deed) => (deed.kind === "answer" ? deed.status : deed.kind);

/** What each of so many requests meets, a second apart. */
function deeds(line: string, count: number, chance: (index: number) => number = () => 0.5) {
  const player = play(line);
  return Array.from({ length: count }, (_, index) =>
    said(player.next(index * 1_000, chance(index))),
  );
}

test("without a script all is well", () => {
  assert.deepEqual(deeds("", 3), [200, 200, 200]);
});

test("so many requests fail first, with a 503 or another status", () => {
  assert.deepEqual(deeds("--fail 2", 4), [503, 503, 200, 200]);
  assert.deepEqual(deeds("--fail 2 --status 500", 3), [500, 500, 200]);
});

test("a status stays, unless it says for how many or how long", () => {
  assert.deepEqual(deeds("--status 503", 3), [503, 503, 503]);
  assert.deepEqual(deeds("--status 503*1", 3), [503, 200, 200]);
  assert.deepEqual(deeds("--status 503:2s", 4), [503, 503, 200, 200]);
});

test("steps follow each other, and the last one stays", () => {
  assert.deepEqual(deeds("--fail 1 --then ok*2 --then drop*1 --then 404", 6), [
    503,
    200,
    200,
    "drop",
    404,
    404,
  ]);
  assert.deepEqual(deeds("--status 500:1s --then 503:2s --then hang", 5), [
    500,
    503,
    503,
    "hang",
    "hang",
  ]);
});

test("a step of time that nobody saw is passed over", () => {
  const player = play("--status 500:1s --then 503:2s --then ok");
  assert.equal(said(player.next(0, 0.5)), 500);
  assert.equal(said(player.next(60_000, 0.5)), 200);
});

test("a share of the connections is broken off, whatever the step", () => {
  const chances = [0.05, 0.5, 0.0999, 0.1];
  assert.deepEqual(
    deeds("--drop 10% --status 503", 4, (index) => chances[index] ?? 1),
    ["drop", 503, "drop", 503],
  );
});

test("a delay and a Retry-After are told as lengths or seconds", () => {
  const script = (line: string) => scriptIn(readOptions(line.split(" "), options));
  assert.equal(script("--delay 45s").delayMs, 45_000);
  assert.equal(script("--retry-after 20").retryAfter, 20);
  assert.equal(script("--retry-after 2m").retryAfter, 120);
});
