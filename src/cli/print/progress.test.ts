import assert from "node:assert/strict";
import { test } from "node:test";
import type { Outside } from "../client.ts";
import { openProgress } from "./progress.ts";

function open(isShown: boolean) {
  const told: string[] = [];
  let now = 0;
  const outside = { tell: (text: string) => told.push(text), isShown, columns: 60, now: () => now };
  const progress = openProgress(outside as unknown as Outside);
  return {
    progress,
    told,
    wait(ms: number) {
      now += ms;
    },
  };
}

test("progress is one line that is written again, not too often, and taken away at the end", () => {
  const { progress, told, wait } = open(true);
  progress.tell(0, 100);
  progress.tell(1, 100);
  wait(200);
  progress.tell(50, 100, "25/s");
  progress.tell(100, 100);
  progress.end();
  assert.deepEqual(
    told.map((text) => text.replaceAll("█", "#").replaceAll("░", "-").trimEnd()),
    [
      `\r${"-".repeat(20)} 0/100`,
      `\r${"#".repeat(10)}${"-".repeat(10)} 50/100  25/s`,
      `\r${"#".repeat(20)} 100/100`,
      "",
    ],
  );
});

test("where nobody watches there is none", () => {
  const { progress, told } = open(false);
  progress.tell(1, 2);
  progress.end();
  assert.deepEqual(told, []);
});
