import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { isDateTime, isRfc3339, toRfc3339 } from "./datetime.ts";

const table: readonly (readonly [given: string, rfc3339: string])[] = [
  ["2017-08-10T21:03:07Z", "2017-08-10T21:03:07Z"],
  ["2017-08-10t21:03:07.1234567z", "2017-08-10t21:03:07.1234567z"],
  ["2017-08-10T21:03:07+00:00", "2017-08-10T21:03:07+00:00"],
  ["2017-08-10T21:03:07+0530", "2017-08-10T21:03:07+05:30"],
  ["2017-08-10T21:03:07.25-09", "2017-08-10T21:03:07.25-09:00"],
  ["2017-08-10T21:03Z", "2017-08-10T21:03:00Z"],
  ["2017-08-10T21:03-09", "2017-08-10T21:03:00-09:00"],
  ["2017-08-10T21:03+0100", "2017-08-10T21:03:00+01:00"],
];

test("what RFC 3339 asks for is added, and nothing else is changed", () => {
  for (const [given, wanted] of table) {
    assert.ok(isDateTime(given), given);
    assert.equal(isRfc3339(given), given === wanted, given);
    assert.equal(toRfc3339(given), wanted);
    assert.ok(isRfc3339(wanted), wanted);
  }
});

test("every date and time becomes RFC 3339 and means the same", () => {
  const digits = fc.stringMatching(/^(:[0-5]\d(\.\d{1,9})?)?$/);
  const zone = fc.stringMatching(/^(Z|z|[+-](0\d|1\d|2[0-3])(:?[0-5]\d)?)$/);
  const minute = fc.date({ min: new Date(0), max: new Date("9999-01-01"), noInvalidDate: true });
  fc.assert(
    fc.property(minute, digits, zone, (date, seconds, offset) => {
      const text = date.toISOString().slice(0, 16) + seconds + offset;
      assert.ok(isDateTime(text), text);
      const wanted = toRfc3339(text);
      assert.ok(isRfc3339(wanted), wanted);
      assert.equal(toRfc3339(wanted), wanted);
      // Date only understands RFC 3339, so the offset is removed first.
      const [, sign = "+", hours = "0", minutes = "0"] =
        /([+-])(\d\d):?(\d\d)?$/.exec(offset) ?? [];
      const offsetMs = Number(`${sign}1`) * (Number(hours) * 60 + Number(minutes)) * 60_000;
      const asUtc = Date.parse(`${date.toISOString().slice(0, 16)}${seconds}Z`);
      assert.equal(Date.parse(wanted.toUpperCase()), asUtc - offsetMs);
    }),
  );
});

test("no text at all confuses the rules", () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[\dTZtz:.+-]{0,40}$/)), (text) => {
      if (isRfc3339(text)) assert.ok(isDateTime(text));
    }),
  );
});
