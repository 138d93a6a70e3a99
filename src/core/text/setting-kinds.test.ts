import assert from "node:assert/strict";
import { test } from "node:test";
import { Refusal } from "../refusal.ts";
import {
  address,
  duration,
  hostName,
  isLoopback,
  listed,
  listOf,
  oneOf,
  seconds,
  urlFromHere,
  wholeNumber,
} from "./setting-kinds.ts";

test("a refusal says of each kind what is allowed, in the words of its manual", () => {
  for (const kind of [oneOf(["a", "b"]), address(), duration("PT1H"), listOf(oneOf(["a"]))]) {
    assert.throws(
      () => kind.parse("PT9H", "field"),
      (error) => error instanceof Refusal && error.message.startsWith("field must be "),
    );
  }
  assert.equal(seconds({ min: 1, max: 9 }).parse("9", "field"), 9_000);
});

test("a whole number is taken from its least to its most, and no other", () => {
  const { parse } = wholeNumber({ min: 2, max: 9 });
  assert.deepEqual(
    ["2", "5", "9"].map((text) => parse(text, "field")),
    [2, 5, 9],
  );
  for (const text of ["1", "10", "", "5.0", "-5", "five"]) {
    assert.throws(() => parse(text, "field"), /field must be a whole number from 2 to 9/, text);
  }
});

test("only the machine itself is loopback", () => {
  for (const host of ["127.0.0.1", "127.255.0.3", "::1", "localhost", "LOCALHOST"]) {
    assert.ok(isLoopback(host), host);
  }
  for (const host of ["0.0.0.0", "::", "128.0.0.1", "127.0.0.1.example", "localhost.example", ""]) {
    assert.ok(!isLoopback(host), host);
  }
});

test("host names, container names and addresses are told from other texts", () => {
  const { parse } = hostName();
  const fine = ["EventGridModule", "a-b.example", "my_container", "10.0.0.5", "2001:db8::7", "x"];
  for (const name of fine) assert.equal(parse(name, "f"), name.toLowerCase());
  for (const wrong of ["", "a b", "-a", "a-", "a..b", "*.a", "a/b", "a:80", "x".repeat(254), "ä"]) {
    assert.throws(() => parse(wrong, "f"), /f must be a host name or an IP address/, wrong);
  }
});

test("words are listed as a sentence has them", () => {
  assert.equal(listed(["a"]), "a");
  assert.equal(listed(["a", "b"]), "a or b");
  assert.equal(listed(["a", "b", "c"]), "a, b or c");
});

test("a broker that listens everywhere is reached from here by the loopback address", () => {
  const table: [string, string][] = [
    ["http://0.0.0.0:5888", "http://127.0.0.1:5888"],
    ["https://[::]:4438", "https://[::1]:4438"],
    ["http://127.0.0.1:5888", "http://127.0.0.1:5888"],
    ["http://10.0.0.1:5888", "http://10.0.0.1:5888"],
  ];
  for (const [url, here] of table) assert.equal(urlFromHere(url), here);
});
