import assert from "node:assert/strict";
import { test } from "node:test";
import { readWebUrl } from "./web-url.ts";

test("only absolute http and https URLs without credentials, fragment and blanks are taken", () => {
  for (const fine of [
    "http://a",
    "https://A.test:8443/x?code=a%20b",
    "HTTPS://a/",
    "http://[::1]/",
  ]) {
    assert.ok(readWebUrl(fine), fine);
  }
  const long = `https://a.test/${"x".repeat(2_048)}`;
  const umlauts = `https://a.test/${"ä".repeat(1_000)}`;
  const wrong = [
    "",
    "a",
    "/a",
    "ftp://a",
    "https://u@a",
    "https://u:p@a",
    "https://a/#b",
    "https://a#",
  ];
  for (const text of [
    ...wrong,
    " https://a",
    "https://a/b c",
    "https://a/\n",
    long,
    umlauts,
    7,
    null,
  ]) {
    assert.equal(readWebUrl(text), null, String(text));
  }
});
