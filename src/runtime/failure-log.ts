// The failure log: a line of JSON for every publish refused and every attempt failed, in the shape
// of the service's diagnostic logs (core/story/failure.ts). It gets what the chronicle and the log
// get, so that nothing on the path of an event knows of it.

import { closeSync, openSync } from "node:fs";
import type { Clock, Log } from "../core/ports.ts";
import { Refusal } from "../core/refusal.ts";
import type { LiveCatalog } from "../core/routing/live-catalog.ts";
import { deliveryFailure, type FailureRecord, publishFailure } from "../core/story/failure.ts";
import type { StoryNote } from "../core/story/note.ts";
import type { Topic } from "../core/topic.ts";
import { inBackground } from "./background.ts";

export interface FailureLog {
  /** Called with notes. */
  note(note: StoryNote): void;
  /** The same log, with refused publishes also passed on here. */
  beside(log: Log): Log;
  close(): Promise<void>;
}

export interface FailureDeps {
  readonly catalog: () => LiveCatalog;
  readonly clock: Clock;
}

/** Where the lines go. */
export interface Lines {
  write(line: string): void;
  close(): Promise<void>;
}

export function openFailureLog(lines: Lines, deps: FailureDeps): FailureLog {
  const tell = (record: FailureRecord) => lines.write(JSON.stringify(record));
  const topicOf = (name: string) => deps.catalog().topic(name);
  return {
    note(note) {
      if (!isFailure(note)) return;
      const topic = topicOf(note.subscription.topic);
      if (topic !== undefined) tell(deliveryFailure(note, topic));
    },
    beside: (log) => ({
      ...log,
      fact(level, name, fields) {
        log.fact(level, name, fields);
        if (name === "publish.refused") logRefused(fields, topicOf(String(fields.topic)) ?? null);
      },
    }),
    close: () => lines.close(),
  };

  function logRefused(fields: Readonly<Record<string, unknown>>, topic: Topic | null): void {
    const { code, reason } = fields;
    const at = deps.clock.now();
    tell(publishFailure({ at, topic, code: String(code), reason: String(reason) }));
  }
}

function isFailure(
  note: StoryNote,
): note is Extract<StoryNote, { kind: "attempted" } | { kind: "ended" }> {
  if (note.kind === "ended") return note.delivery.stage === "deliver";
  if (note.kind !== "attempted" || note.delivery.stage !== "deliver") return false;
  return note.decision.kind !== "delivered";
}

/** A file that is appended to, and created if missing. Refusal: InvalidSetting. */
export function openLines(path: string): Lines {
  const fd = openFile(path);
  const out = inBackground(fd);
  return {
    write: (line) => out.write(`${line}\n`),
    async close() {
      await out.close();
      closeSync(fd);
    },
  };
}

function openFile(path: string): number {
  try {
    // One that is there already keeps its mode.
    return openSync(path, "a", 0o600);
  } catch (error) {
    const code = (error as { code?: unknown }).code ?? "unknown";
    const words = `failure-log must be a file that can be written, and ${path} cannot (${code})`;
    throw new Refusal("InvalidSetting", words, { cause: error });
  }
}
