import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { test } from "node:test";
import fc from "fast-check";
import type { Clock } from "../ports.ts";
import { Refusal } from "../refusal.ts";
import { isoInstant, parseDuration, parseInstant, parseLength, sleep, wordsOfMs } from "./time.ts";

function refused(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    assert.ok(error instanceof Refusal);
    assert.equal(error.code, "InvalidSetting");
    return error.message;
  }
  assert.fail("it was accepted");
}

/** A clock whose alarms ring when the test decides. */
function handClock(): Clock & { readonly alarms: Set<() => void> } {
  const alarms = new Set<() => void>();
  return {
    alarms,
    now: () => 0,
    after(_ms, ring) {
      const alarm = () => {
        alarms.delete(alarm);
        ring();
      };
      alarms.add(alarm);
      return () => alarms.delete(alarm);
    },
  };
}

test("durations are read as ISO 8601 writes them", () => {
  const table: [string, number][] = [
    ["PT30S", 30_000],
    ["PT0S", 0],
    ["PT1.5S", 1_500],
    ["PT0,25H", 900_000],
    ["PT5M", 300_000],
    ["P1DT2H", 93_600_000],
    ["P2W", 1_209_600_000],
    ["P1D", 86_400_000],
    ["pt90m", 5_400_000],
    ["P1DT2H3M4.005S", 93_784_005],
  ];
  for (const [text, ms] of table) assert.equal(parseDuration(text, "advance"), ms, text);
});

test("a duration in years or months is refused, because their length varies", () => {
  assert.match(
    refused(() => parseDuration("P1Y", "advance")),
    /^advance must be .*months vary/,
  );
  assert.match(
    refused(() => parseDuration("P2M", "advance")),
    /"P2M"/,
  );
});

test("what is no duration is refused, naming the field and the form", () => {
  for (const text of ["", "30", "30s", "P", "PT", "P1DT", "-PT1S", "PT1S ", "PTS", "P40000D"]) {
    assert.match(
      refused(() => parseDuration(text, "stop-grace")),
      /^stop-grace must be /,
      text,
    );
  }
});

test("every instant survives being written and read", () => {
  const instants = fc.integer({ min: Date.UTC(1, 0, 1), max: Date.UTC(9999, 11, 31) });
  fc.assert(
    fc.property(instants, (at) => {
      assert.equal(parseInstant(isoInstant(at), "to"), at);
    }),
  );
});

test("an instant is read with any zone and any fraction", () => {
  const noon = Date.UTC(2030, 0, 1, 12);
  for (const text of [
    "2030-01-01T12:00:00Z",
    "2030-01-01T12:00Z",
    "2030-01-01t12:00:00.000z",
    "2030-01-01T13:30:00+01:30",
    "2030-01-01T07:00:00.0009-05:00",
  ]) {
    assert.equal(parseInstant(text, "to"), noon, text);
  }
  assert.equal(parseInstant("2028-02-29T00:00:00Z", "to"), Date.UTC(2028, 1, 29));
});

test("an instant without a zone, or one that no calendar has, is refused", () => {
  for (const text of [
    "2030-01-01T12:00:00",
    "2030-01-01",
    "2030-02-30T00:00:00Z",
    "2030-02-29T00:00:00Z",
    "2030-13-01T00:00:00Z",
    "2030-01-01T24:00:00Z",
    "2030-01-01T00:60:00Z",
    "2030-01-01T00:00:00+25:00",
    "tomorrow",
    "",
  ]) {
    assert.match(
      refused(() => parseInstant(text, "clock-start")),
      /^clock-start must be /,
      text,
    );
  }
});

test("a length of time is told in its two largest units", () => {
  const table: [number, string][] = [
    [0, "0 s"],
    [999, "999 ms"],
    [10_000, "10 s"],
    [1_250, "1 s 250 ms"],
    [86_280_000, "23 h 58 min"],
    [86_400_000, "1 d"],
    [86_400_000 + 59_000, "1 d"],
    [3_600_000 + 59_999, "1 h"],
    [-90_000, "-1 min 30 s"],
  ];
  for (const [ms, words] of table) assert.equal(wordsOfMs(ms), words);
});

test("a sleep ends when its alarm rings, and leaves no listener behind", async () => {
  const clock = handClock();
  const abort = new AbortController();
  const slept = sleep(clock, 5, abort.signal);
  for (const ring of clock.alarms) ring();
  await slept;
  assert.equal(clock.alarms.size, 0);
  assert.equal(getEventListeners(abort.signal, "abort").length, 0);
});

test("a sleep ends early, without an error, when its signal aborts", async () => {
  const clock = handClock();
  const abort = new AbortController();
  const slept = sleep(clock, 5, abort.signal);
  assert.equal(clock.alarms.size, 1);
  abort.abort();
  await slept;
  assert.equal(clock.alarms.size, 0, "its alarm is called off");
  await sleep(clock, 5, abort.signal);
  assert.equal(clock.alarms.size, 0, "an aborted signal sets no alarm");
});

test("durations are read as people write them, and as ISO 8601", () => {
  const table: [string, number][] = [
    ["0", 0],
    ["500ms", 500],
    ["45s", 45_000],
    ["1.5s", 1_500],
    ["10m", 600_000],
    ["10min", 600_000],
    ["2h30m", 9_000_000],
    ["1d", 86_400_000],
    ["PT2H", 7_200_000],
  ];
  for (const [text, ms] of table) assert.equal(parseLength(text, "f"), ms, text);
});

test("what is no duration is refused with what would be one", () => {
  for (const text of ["5", "5 s", "", "PTX", "-5s", "1y", "99999999d"]) {
    assert.match(
      refused(() => parseLength(text, "--for")),
      /^--for must be a/,
      text,
    );
  }
});
