import assert from "node:assert/strict";
import { test } from "node:test";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { compressed } from "./compress.ts";

const long = JSON.stringify({ value: "the same again and again ".repeat(200) });
const headers = { "content-type": "application/json" };

test("a long text comes in the encoding that was asked for, the smaller one first", async () => {
  const table: [accepts: string | undefined, encoding: string | undefined][] = [
    ["gzip, deflate, br", "br"],
    ["gzip", "gzip"],
    ["GZIP;q=0.5", "gzip"],
    ["br;q=0, gzip", "gzip"],
    ["gzip;q=0", undefined],
    ["identity", undefined],
    ["", undefined],
    [undefined, undefined],
  ];
  for (const [accepts, encoding] of table) {
    const reply = await compressed({ status: 200, headers, body: long }, accepts);
    assert.equal(reply?.headers?.["content-encoding"], encoding, accepts);
    if (!reply?.bytes) continue;
    const unpack = encoding === "br" ? brotliDecompressSync : gunzipSync;
    assert.equal(unpack(reply.bytes).toString(), long);
    assert.ok(reply.bytes.length < long.length / 10);
    assert.equal(reply.headers?.["content-type"], "application/json");
    assert.equal(reply.headers?.vary, "accept-encoding");
  }
});

test("short texts, bytes, files, streams and what is encoded already stay as they are", () => {
  for (const reply of [
    { status: 200, body: "{}" },
    { status: 204 },
    { status: 200, bytes: new Uint8Array(10_000) },
    { status: 200, file: "backup.db" },
    { status: 200, stream: () => () => {} },
    { status: 200, body: long, headers: { "content-encoding": "br" } },
  ]) {
    assert.equal(compressed(reply, "gzip, br"), null);
  }
});
