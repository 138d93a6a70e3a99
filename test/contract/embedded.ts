// Harnesses for the embedded store: in memory, on a file in this thread, and on a file on its
// own thread. A crash of the first of the files is its files copied as they lie on disk at that
// moment; of the second, its thread ended.

import { cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Worker } from "node:worker_threads";
import { realClock } from "../../src/runtime/clock/real.ts";
import { openDatabase } from "../../src/store/sqlite/database.ts";
import { SqliteEngine } from "../../src/store/sqlite/engine.ts";
import type { Engine, FrontStore } from "../../src/store/sqlite/front.ts";
import { openMemoryJournal } from "../../src/store/sqlite/journal.ts";
import { openInline, openThread } from "../../src/store/sqlite/thread.ts";
import { openFront } from "./fixture.ts";
import type { Harness } from "./store.ts";

export class Folder {
  readonly path = mkdtempSync(join(tmpdir(), "posthorn-store-"));
  #copies = 0;

  constructor() {
    mkdirSync(join(this.path, "0"));
  }

  get file(): string {
    return join(this.path, "0", "posthorn.db");
  }

  /** The store's files as they lie on disk now; the answer is the copy's file. */
  copy(): string {
    this.#copies += 1;
    const copy = join(this.path, String(this.#copies));
    cpSync(join(this.path, "0"), copy, { recursive: true });
    return join(copy, "posthorn.db");
  }

  /** How many rows a table has, seen through a copy, because the store itself is locked. */
  rows(table: string): number {
    const path = this.copy();
    // What is in the journal alone is taken into the file.
    new SqliteEngine({ path }).close();
    const database = new DatabaseSync(path);
    const row = database.prepare(`SELECT count(*) AS count FROM ${table}`).get();
    database.close();
    return row?.count as number;
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}

export async function openInMemory(): Promise<Harness> {
  const store = openFront(openInline(new SqliteEngine({ path: ":memory:" })));
  return { store, close: () => store.close() };
}

/** With a journal of a few kilobytes, so that rounds are committed now and then. */
export async function openOnMemoryJournal(): Promise<Harness> {
  const database = openDatabase({ path: ":memory:" });
  const journal = openMemoryJournal();
  const options = { path: ":memory:", journal, journalBytesMax: 4_096 };
  let lives = 0;
  const open = () => {
    const engine = openInline(new SqliteEngine(options, database));
    const life = ++lives;
    // A life that has ended by a crash does nothing more.
    const run: Engine["run"] = async (ops) => {
      if (life === lives) return await engine.run(ops);
      throw new Error("crashed");
    };
    return openFront({ run, close: async () => {} });
  };
  const store = open();
  return { store, reopen: async () => open(), close: async () => database.close() };
}

export async function openOnFile(): Promise<Harness> {
  const folder = new Folder();
  const opened: FrontStore[] = [];
  const open = (file: string) => {
    const store = openFront(openInline(new SqliteEngine({ path: file })));
    opened.push(store);
    return store;
  };
  return {
    store: open(folder.file),
    reopen: async () => open(folder.copy()),
    bodies: async () => folder.rows("events"),
    close: async () => {
      for (const store of opened) await store.close();
      folder.remove();
    },
  };
}

export async function openOnThread(): Promise<Harness> {
  const folder = new Folder();
  let { engine, worker } = await watchThread(folder.file);
  let store = openFront(engine, realClock());
  return {
    store,
    reopen: async () => {
      await worker.terminate();
      ({ engine, worker } = await watchThread(folder.file));
      store = openFront(engine, realClock());
      return store;
    },
    bodies: async () => folder.rows("events"),
    close: async () => {
      await store.close();
      folder.remove();
    },
  };
}

/** The engine on its thread, and the thread, so that a test can end it. */
export async function watchThread(
  path: string,
  onCrash: (error: Error) => void = () => {},
): Promise<{ engine: Engine; worker: Worker }> {
  const made = Promise.withResolvers<Worker>();
  process.once("worker", made.resolve);
  const engine = await openThread({ path, onCrash });
  return { engine, worker: await made.promise };
}
