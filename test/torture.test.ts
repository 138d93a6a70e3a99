// The torture run that `posthorn torture` gives users, for a few seconds.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { promisify } from "node:util";
import { startPostgres } from "./fixtures/postgres.ts";
import { program } from "./fixtures/program.ts";
import { Dice } from "./sim/dice.ts";
import { dealActs, usualActs } from "./torture/acts.ts";
import { Answers } from "./torture/answers.ts";
import { openEndpoints } from "./torture/endpoints.ts";
import { Ledger } from "./torture/ledger.ts";
import { mutatedRequest } from "./torture/mutated-request.ts";

const run = promisify(execFile);
const isLinux = process.platform === "linux";

test("a short run loses nothing, and says so", { skip: !isLinux && "Linux only" }, async () => {
  const args = ["torture", "--minutes", "0.1", "--seed", "3", "--mutated", "50"];
  const { stdout } = await run(process.execPath, [program, ...args]);
  assert.match(stdout, /^accepted: +[1-9]/m);
  assert.match(stdout, /^mutated requests: +[1-9]/m);
  assert.match(stdout, /^faults: +0$/m);
  assert.match(stdout, /^lost: +0$/m);
  assert.match(stdout, /^again: +posthorn torture --minutes 0.1 --seed 3 --mutated 50$/m);
});

test("a short run on PostgreSQL loses nothing, and leaves nothing in a database of somebody's", {
  skip: !isLinux && "Linux only",
}, async (t) => {
  const postgres = await startPostgres(t);
  const url = await postgres.newDatabase();
  const torture = (store: string, minutes: string) =>
    run(process.execPath, [
      ...[program, "torture", "--store", store],
      ...["--minutes", minutes, "--seed", "6", "--mutated", "50"],
    ]);
  const runs = await Promise.all([torture("postgres", "0.1"), torture(url, "0.05")]);
  for (const { stdout } of runs) {
    assert.match(stdout, /^accepted: +[1-9]/m);
    assert.match(stdout, /^faults: +0$/m);
    assert.match(stdout, /^lost: +0$/m);
  }
  assert.match(runs[0].stdout, /^again: .* --seed 6 --mutated 50 --store postgres$/m);
  const database = new URL(url).pathname.slice(1);
  const schemas = "select nspname from pg_namespace where nspname like 'posthorn%'";
  assert.equal(await postgres.query(schemas, database), "");
  await postgres.query(
    "create schema mine; create table mine.schema_version(); create table mine.deliveries()",
    database,
  );
  const held = { code: 2, stderr: /holds a store of Posthorn, in the schema mine/ };
  await assert.rejects(torture(url, "0.05"), held);
});

test("a bad option is refused with the usage", async () => {
  const bad = run(process.execPath, [program, "torture", "--minutes", "x"]);
  await assert.rejects(bad, { code: 2, stderr: /no number|Linux/ });
  const nowhere = run(process.execPath, [program, "torture", "--store", "mysql"]);
  await assert.rejects(nowhere, { code: 2, stderr: /none of the three|Linux/ });
});

test("answers on one connection are told apart, in whatever pieces they come", () => {
  const bytes = Buffer.from(
    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nHTTP/" +
      "HTTP/1.1 404 Not Found\r\ncontent-length: 7\r\n\r\n" +
      "HTTP/1.1 201 Created\r\ntransfer-encoding: chunked\r\n\r\n3\r\n\r\n0\r\n0\r\n\r\n" +
      "HTTP/1.1 204 No Content\r\n\r\n" +
      "HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\n\r\nuntil the end",
  );
  for (const size of [1, 3, 1_000]) {
    const seen: number[] = [];
    const isHead = () => seen.length === 1;
    const answers = new Answers((status) => seen.push(status), isHead);
    for (let at = 0; at < bytes.length; at += size) answers.read(bytes.subarray(at, at + size));
    assert.deepEqual(seen, [200, 404, 201, 204]);
    assert.ok(answers.isInside);
    assert.equal(answers.status, 503);
    assert.ok(answers.isLast);
  }
});

test("a ledger finds what was lost, and what nothing explains", async (t) => {
  const endpoints = await openEndpoints(new Dice(1, "endpoints"));
  t.after(() => endpoints.close());
  endpoints.mood = "well";
  const ledger = new Ledger();
  const told = { begun: performance.now(), isSampled: false };
  ledger.accept(["a-1", "b-1"], told);
  for (const url of endpoints.urls.values()) {
    await fetch(url, { method: "POST", body: '[{"id":"a-1"}]' });
  }
  assert.deepEqual(ledger.lost(endpoints), ["healthy b-1", "moody b-1"]);
  const end = ledger.trouble("full disk", [503]);
  ledger.judge(503, performance.now(), () => "a 503 on a full disk");
  assert.ok(ledger.isClean);
  ledger.judge(500, performance.now(), () => "a 500 on a full disk");
  assert.ok(!ledger.isClean);
  end();
  assert.match(ledger.tell(endpoints, [], 0), /faults: +1\n +a 500 on a full disk/);
});

test("what was accepted after a backup that was restored is undone, and not lost", async (t) => {
  const endpoints = await openEndpoints(new Dice(1, "endpoints"));
  t.after(() => endpoints.close());
  const ledger = new Ledger();
  const accept = (id: string, begun: number) => ledger.accept([id], { begun, isSampled: false });
  const early = performance.now();
  accept("before-1", early);
  ledger.backup();
  accept("kept-1", early);
  const undo = ledger.backup();
  accept("after-1", early);
  undo();
  // Its answer was read when the broker was already gone.
  accept("after-2", early);
  accept("later-1", performance.now());
  assert.deepEqual([...ledger.undone], ["after-1", "after-2"]);
  const lost = ledger.lost(endpoints);
  assert.deepEqual(
    lost.filter((words) => words.startsWith("healthy")),
    ["healthy before-1", "healthy kept-1", "healthy later-1"],
  );
  assert.match(ledger.tell(endpoints, lost, 0), /^of them undone: +2, .*; 0 arrived$/m);
});

test("the same seed gives the same acts and requests, and every act has its share", () => {
  const draw = (seed: number) => {
    const deals = dealActs(usualActs, new Dice(seed, "acts"));
    const all = Object.values(usualActs).reduce((sum, { times }) => sum + times, 0);
    return Array.from({ length: all }, () => deals.next().value as string);
  };
  assert.deepEqual(draw(1), draw(1));
  assert.notDeepEqual(draw(1), draw(2));
  assert.deepEqual(new Set(draw(1)), new Set(Object.keys(usualActs)));
  const ask = (seed: number) =>
    mutatedRequest(new Dice(seed, "mutated"), {
      adminKey: "key",
      scratchKey: "other",
      isLast: true,
    });
  assert.deepEqual(ask(1), ask(1));
  assert.notDeepEqual(ask(1), ask(2));
});
