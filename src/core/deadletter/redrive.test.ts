import assert from "node:assert/strict";
import { test } from "node:test";
import type { LetterHead } from "./letter.ts";
import { NewestLetters, wasThereAt } from "./redrive.ts";

const head = (lastAttemptAt: number | null, publishedAt: number | null = 0): LetterHead => ({
  ...{ form: "eventGrid", id: "a", type: "t", subject: "s", source: "o", reason: "r" },
  ...{ outcome: "Busy", status: 503, attempts: 1, publishedAt, lastAttemptAt },
});

test("of the letters of one event the newest is chosen, wherever it was found", () => {
  const table: [name: string, found: [event: string, at: number | null][], chosen: string[]][] = [
    [
      "one each",
      [
        ["a", 1],
        ["b", 2],
      ],
      ["a@1", "b@2"],
    ],
    [
      "the newest first",
      [
        ["a", 3],
        ["a", 1],
        ["a", 2],
      ],
      ["a@3"],
    ],
    [
      "the newest last",
      [
        ["a", 1],
        ["b", 1],
        ["a", 2],
      ],
      ["b@1", "a@2"],
    ],
    [
      "equally new: the first",
      [
        ["a", 1],
        ["a", 1],
      ],
      ["a@1"],
    ],
    [
      "without an attempt",
      [
        ["a", null],
        ["a", 1],
      ],
      ["a@1"],
    ],
    ["nothing", [], []],
  ];
  for (const [name, found, chosen] of table) {
    const newest = new NewestLetters<string>();
    for (const [event, at] of found) newest.add(event, head(at), `${event}@${at}`);
    assert.deepEqual(newest.places(), chosen, name);
    assert.equal(newest.size, chosen.length, name);
  }
});

test("a letter that came after a redrive began belongs to another", () => {
  const table: [lastAttemptAt: number | null, publishedAt: number | null, isOld: boolean][] = [
    [5, 0, true],
    [10, 0, true],
    [11, 0, false],
    [null, 10, true],
    [null, 11, false],
    [null, null, true],
  ];
  for (const [last, published, isOld] of table) {
    assert.equal(wasThereAt(head(last, published), 10), isOld);
  }
});
