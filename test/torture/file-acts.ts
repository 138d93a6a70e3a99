// What is done to the files of a broker that keeps its store in them: no room on the disk, broken
// stories, copies of the store that are broken and must be refused, and a backup that is restored.

import { execFile } from "node:child_process";
import {
  closeSync,
  copyFileSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { program, startProgram } from "../fixtures/program.ts";
import { type Acts, type Stage, stopPolitely, untilDelivers } from "./acts.ts";
import { pause } from "./publishers.ts";

export const fileActs: Acts = {
  "full disk": {
    times: 2,
    explains: [503, 507],
    async run({ fleet, dice }) {
      const broker = fleet.pick(dice);
      broker.limitFiles("16384");
      await pause(dice.whole(200, 3_000));
      if (dice.isHit(0.3)) {
        await broker.end("SIGKILL");
        await broker.start();
      } else broker.limitFiles("unlimited");
      await broker.untilReady();
    },
  },
  "broken stories": {
    times: 1,
    explains: [],
    async run({ fleet, data, dice }) {
      const broker = fleet.pick(dice);
      await broker.end("SIGKILL");
      const file = join(data, "story.db");
      if (dice.isHit(0.5)) writeFileSync(file, "this is no database".repeat(1_000));
      else truncateSync(file, Math.floor(statSync(file).size / 2));
      await broker.start();
    },
  },
  "stories broken in use": {
    times: 1,
    // To who wants to read a story.
    explains: [503],
    async run(stage) {
      const { fleet, data, dice } = stage;
      const broker = fleet.pick(dice);
      const file = join(data, "story.db");
      if (dice.isHit(0.5)) truncateSync(file, Math.floor(statSync(file).size / 2));
      else scribble(file, dice.whole(1, 20), (bytes) => dice.whole(0, bytes));
      await untilDelivers(stage, "with broken stories");
      await broker.end(dice.pick(["SIGKILL", "SIGTERM"]));
      await broker.start();
      await untilDelivers(stage, "with broken stories after a start");
      // What a start does not see is met later, and moved away by the one after that.
      await broker.end("SIGKILL");
      for (const ending of ["", "-wal", "-shm"]) rmSync(`${file}${ending}`, { force: true });
      await broker.start();
    },
  },
  "backup restored": {
    times: 1,
    explains: [503],
    run: restoreBackup,
  },
  "broken store": {
    times: 1,
    explains: [],
    async run(stage) {
      const broker = stage.fleet.pick(stage.dice);
      await broker.end("SIGKILL");
      await startBroken(stage);
      await broker.start();
    },
  },
};

/** Bytes of no meaning, here and there. */
function scribble(path: string, times: number, place: (bytes: number) => number): void {
  const { size } = statSync(path);
  const file = openSync(path, "r+");
  for (let count = 0; count < times; count += 1) writeSync(file, "no page", place(size));
  closeSync(file);
}

/** A backup under load; some time after it the store is set back to it. */
async function restoreBackup({ fleet, data, dice, ledger }: Stage): Promise<void> {
  const broker = fleet.pick(dice);
  const undo = ledger.backup();
  const { name } = await broker.ask<{ readonly name: string }>("POST", "/backups", {});
  await pause(dice.whole(1, 2_000));
  if (dice.isHit(0.5)) await broker.end("SIGKILL");
  else await stopPolitely(broker, ledger);
  undo();
  const copy = join(data, "backups", name);
  await promisify(execFile)(process.execPath, [
    ...[program, "restore", copy, "--data", data, "--replace"],
  ]);
  // They would fill a small disk in an hour.
  rmSync(copy);
  for (const former of readdirSync(data).filter((each) => each.includes(".before-"))) {
    rmSync(join(data, former));
  }
  await broker.start();
}

const breaks: Readonly<Record<string, (store: string) => void>> = {
  "an empty file": (store) => truncateSync(store, 0),
  "half a file": (store) =>
    truncateSync(store, Math.floor(statSync(store).size / 2 / 4_096) * 4_096),
  "another file": (store) => writeFileSync(store, "this is no database".repeat(10_000)),
  "no log": (store) => rmSync(`${store}-wal`, { force: true }),
  "no journal": (store) => rmSync(store.replace(/\.db$/, ".journal"), { force: true }),
};

/** A copy of the store is broken, and must be refused in one line. */
async function startBroken({ data, dice, ledger, scratch }: Stage): Promise<void> {
  rmSync(scratch, { recursive: true, force: true });
  mkdirSync(scratch, { mode: 0o700 });
  for (const name of readdirSync(data).filter((each) => each.startsWith("store"))) {
    copyFileSync(join(data, name), join(scratch, name));
  }
  const name = dice.pick(Object.keys(breaks));
  // A log of nothing is not missed.
  const hasLog = statSync(join(scratch, "store.db-wal"), { throwIfNoEntry: false })?.size ?? 0;
  if (name === "no log" && hasLog === 0) return;
  // Nor is the journal of a store that was closed.
  const seal = readFileSync(join(scratch, "store.seal"), "utf8");
  if (name === "no journal" && !seal.startsWith("journal")) return;
  breaks[name]?.(join(scratch, "store.db"));
  const started = await startProgram(["--data", scratch]).catch((error: Error) => error);
  if (started instanceof Error) {
    const [, words = ""] = started.message.split("before it was up: ");
    const isOneLine = words.trim().split("\n").length === 1 && words.includes(scratch);
    if (!isOneLine) ledger.fault(`a store with ${name} was refused with ${words}`);
  } else {
    await started.end("SIGKILL");
    ledger.fault(`a store with ${name} was taken for a good one`);
  }
}
