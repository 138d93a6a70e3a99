import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import fc from "fast-check";
import { type LogOptions, openLog } from "./log.ts";

const noon = Date.UTC(2030, 0, 1, 12);

function openTestLog(options: Partial<LogOptions> & { isTTY?: boolean } = {}) {
  const lines: string[] = [];
  const stream = { isTTY: options.isTTY ?? false, write: (line: string) => lines.push(line) };
  const log = openLog({ level: "debug", format: "json", now: () => noon, stream, ...options });
  return { log, lines };
}

test("a line is one JSON object that begins with time, level and fact", () => {
  const { log, lines } = openTestLog();
  log.fact("info", "delivery.attempted", { subscription: "billing", attempt: 1, status: null });
  assert.deepEqual(lines, [
    '{"time":"2030-01-01T12:00:00.000Z","level":"info","fact":"delivery.attempted",' +
      '"subscription":"billing","attempt":1,"status":null}\n',
  ]);
});

test("every fact becomes exactly one line of JSON, whatever is in it", () => {
  const { log, lines } = openTestLog();
  const circle: Record<string, unknown> = { name: "circle" };
  circle.self = circle;
  const fields = fc.dictionary(fc.string(), fc.oneof(fc.anything(), fc.constant(circle)));
  fc.assert(
    fc.property(fc.string(), fields, (name, given) => {
      lines.length = 0;
      log.fact("warn", name, given);
      assert.equal(lines.length, 1);
      const line = lines[0] ?? "";
      assert.ok(line.endsWith("\n") && line.indexOf("\n") === line.length - 1);
      const { time, level, fact } = JSON.parse(line) as Record<string, unknown>;
      assert.deepEqual(
        { time, level, fact },
        { time: "2030-01-01T12:00:00.000Z", level: "warn", fact: name },
      );
    }),
  );
});

test("an error is told with its name, words, code and cause", () => {
  const { log, lines } = openTestLog();
  const cause = Object.assign(new Error("disk full"), { code: "ENOSPC" });
  log.fact("error", "store.failed", { error: new Error("the append failed", { cause }) });
  const { error } = JSON.parse(lines[0] ?? "") as { error: Record<string, unknown> };
  assert.equal(error.message, "the append failed");
  assert.equal((error.cause as Record<string, unknown>).code, "ENOSPC");
});

test("facts below the level are left out", () => {
  const { log, lines } = openTestLog({ level: "warn" });
  log.fact("debug", "a", {});
  log.fact("info", "b", {});
  log.fact("warn", "c", {});
  log.fact("error", "d", {});
  assert.deepEqual(
    lines.map((line) => (JSON.parse(line) as { fact: string }).fact),
    ["c", "d"],
  );
});

test("the text form is a readable line with long values cut", () => {
  const { log, lines } = openTestLog({ format: "text" });
  log.fact("warn", "delivery.retried", {
    subscription: "billing",
    words: "two words",
    empty: "",
    missing: undefined,
    nested: { a: [1] },
    error: new Error("no"),
    excerpt: "x".repeat(1_000),
  });
  const line = lines[0] ?? "";
  assert.ok(
    line.startsWith(
      '2030-01-01 12:00:00.000Z WARN  delivery.retried subscription=billing words="two words" ' +
        'empty="" nested={"a":[1]} error="Error: no" excerpt="xxx',
    ),
    line,
  );
  assert.ok(line.length < 600);
  assert.ok(line.endsWith('…"\n'));
});

test("an attempt is one line of 120 columns", () => {
  const { log, lines } = openTestLog({ format: "text" });
  const event = "438373be-eb57-4a0e-802d-d759f1007eb3";
  const names = { topic: "orders", subscription: "billing", event, stage: "deliver" };
  log.fact("info", "delivery.attempted", {
    ...{ ...names, attempt: 3, outcome: "Busy", status: 503, durationMs: 5, decision: "retry" },
    ...{ nextDueAt: "2030-01-01T12:01:02.345Z", words: "503: at least 30 s; ".repeat(9) },
  });
  log.fact("info", "delivery.attempted", {
    ...{ ...names, attempt: 1, outcome: "TimedOut", why: "timeout", decision: "drop" },
    ...{ topic: "a\u001b[2J" },
  });
  assert.deepEqual(lines, [
    `2030-01-01 12:00:00.000Z INFO  orders/billing ${event} try 3: 503 Busy, next 12:01:02\n`,
    `2030-01-01 12:00:00.000Z INFO  a\\u001b[2J/billing ${event} try 1: TimedOut, drop\n`,
  ]);
  assert.ok(lines.every((line) => line.length <= 120));
});

test("text cannot play with the terminal", () => {
  const { log, lines } = openTestLog({ format: "text" });
  log.fact("info", "event.published", { subject: "a\u001b[2Jb\nc" });
  assert.ok(!lines.join("").includes("\u001b"));
  assert.equal(lines.join("").match(/\n/g)?.length, 1);
});

test("colours come only at a terminal, and not where NO_COLOR is set", (t) => {
  const colored = (options: Parameters<typeof openTestLog>[0]) => {
    const { log, lines } = openTestLog({ format: "text", ...options });
    log.fact("info", "broker.started", {});
    return lines.join("").includes("\u001b[");
  };
  const before = process.env.NO_COLOR;
  t.after(() => {
    if (before === undefined) delete process.env.NO_COLOR;
    else process.env.NO_COLOR = before;
  });
  delete process.env.NO_COLOR;
  assert.equal(colored({ isTTY: true }), true);
  assert.equal(colored({ isTTY: false }), false);
  process.env.NO_COLOR = "1";
  assert.equal(colored({ isTTY: true }), false);
});

test("unless told, a terminal gets text and everything else JSON", () => {
  for (const isTTY of [true, false]) {
    const { log, lines } = openTestLog({ format: "auto", isTTY, isColored: false });
    log.fact("info", "broker.started", {});
    assert.equal(lines.join("").startsWith("{"), !isTTY);
  }
});

test("closing waits until every line is in the file, and may be done twice", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "posthorn-log-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "out.log");
  const stream = { fd: openSync(path, "w"), write: () => assert.fail("it has a descriptor") };
  const log = openLog({ level: "info", format: "json", stream });
  for (let line = 0; line < 5_000; line++) log.fact("info", "line.written", { line });
  await Promise.all([log.close(), log.close()]);
  await log.close();
  log.fact("info", "too.late", {});
  const lines = readFileSync(path, "utf8").trimEnd().split("\n");
  assert.equal(lines.length, 5_000);
  assert.deepEqual(
    lines.map((line) => (JSON.parse(line) as { line: number }).line),
    Array.from({ length: 5_000 }, (_, line) => line),
  );
});

test("what was said before a process ends in an error is written all the same", async () => {
  const program = `
    import { openLog } from ${JSON.stringify(new URL("./log.ts", import.meta.url).href)};
    const log = openLog({ level: "info", format: "json", stream: process.stdout });
    for (let line = 0; line < 2000; line++) log.fact("info", "line.written", { line });
    throw new Error("a bug");
  `;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", program], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  const [written, [code]] = await Promise.all([text(child.stdout), once(child, "exit")]);
  assert.equal(code, 1);
  assert.equal(written.trimEnd().split("\n").length, 2_000);
});

test("a disk without room, or a reader that has gone, does not keep a process from ending", {
  skip: !existsSync("/dev/full"),
}, async (t) => {
  const program = `
    import { openLog } from ${JSON.stringify(new URL("./log.ts", import.meta.url).href)};
    const log = openLog({ level: "info", format: "json", stream: process.stdout });
    log.fact("info", "line.written", {});
    process.stdin.once("data", async () => {
      log.fact("info", "line.written", {});
      if (process.argv[1] === "closes") await log.close();
      process.exit(7);
    });
    process.stderr.write("ready");
  `;
  const full = openSync("/dev/full", "w");
  t.after(() => closeSync(full));
  for (const out of [full, "pipe"] as const) {
    for (const how of ["closes", "exits"]) {
      const child = spawn(process.execPath, ["--input-type=module", "--eval", program, how], {
        stdio: ["pipe", out, "pipe"],
      });
      t.after(() => child.kill("SIGKILL"));
      child.stdout?.destroy();
      await once(child.stderr as Readable, "data");
      child.stdin?.write("end");
      assert.deepEqual(await once(child, "exit"), [7, null]);
    }
  }
});

test("a reader that stops reading costs lines, which are counted, and not memory", async () => {
  const program = `
    import { openLog } from ${JSON.stringify(new URL("./log.ts", import.meta.url).href)};
    const log = openLog({ level: "info", format: "json", stream: process.stdout });
    const filling = "x".repeat(100_000);
    for (let line = 0; line < 400; line++) log.fact("info", "line.written", { filling });
    process.stderr.write("full");
    process.stdin.once("data", () => {
      log.fact("info", "reader.back", {});
      log.close().then(() => process.exit(0));
    });
  `;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", program]);
  await once(child.stderr, "data");
  let told = "";
  let isAsked = false;
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    told += chunk;
    // By the time this much has come, there is room again.
    if (!isAsked && told.length > 1_000_000) {
      isAsked = true;
      child.stdin.write("go on");
    }
  });
  // Not when it exits: some of it may still be on the way.
  await once(child, "close");
  const facts = told
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as { fact: string; lines?: number });
  const written = facts.filter(({ fact }) => fact === "line.written").length;
  assert.ok(written < 400, "not everything fitted");
  const dropped = facts.find(({ fact }) => fact === "log.dropped");
  assert.equal(written + (dropped?.lines ?? 0), 400);
  assert.equal(facts.at(-1)?.fact, "reader.back");
});
