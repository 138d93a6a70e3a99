// The stories of a cluster, behind the same front as the embedded ones (store/story/front.ts): each
// broker writes its own batches, every broker reads all of it, and one of them removes what is old.

import type { Instant } from "../../../core/ports.ts";
import type { Retention } from "../../../core/story/chronicle.ts";
import type { Batch, Numbers } from "../../story/batch.ts";
import type { Aftermath } from "../../story/engine.ts";
import type { StoryAsk, StoryLink } from "../../story/front.ts";
import type { Database } from "../database.ts";
import { StoryReader } from "./reader.ts";
import { StorySweeper } from "./sweeper.ts";
import { StoryWriter } from "./writer.ts";

export interface StoriesOptions {
  readonly database: Database;
  /** This broker. */
  readonly broker: string;
  readonly retention: Retention;
  /** How often old ones are looked for; default: every few seconds. */
  readonly sweepMs?: number;
}

const sweepMsUsual = 5_000;

/** What is asked comes one after the other; reads do not wait for writes. */
export function openStories(options: StoriesOptions): StoryLink {
  const { database, broker, retention, sweepMs = sweepMsUsual } = options;
  const writer = new StoryWriter(database);
  const reader = new StoryReader(database);
  const sweeper = new StorySweeper(database, broker, retention);
  let sweptAt = Number.NEGATIVE_INFINITY;
  let writing: Promise<unknown> = Promise.resolve();

  const step = async (now: Instant, gone: Numbers): Promise<Aftermath> => {
    const isClearing = await writer.clear(now);
    const { held } = writer;
    if (now - sweptAt < sweepMs) return { cut: 0, more: isClearing, gone, held };
    const { cut, more } = await sweeper.step(now);
    if (!more) sweptAt = now;
    return { cut, more: more || isClearing, gone, held };
  };
  const write = async (batch: Batch, now: Instant, isPressed: boolean): Promise<Aftermath> =>
    await step(now, await writer.write(batch, now, isPressed));
  const release = async (now: Instant): Promise<Aftermath> => {
    await writer.release(now);
    return await step(now, { rolls: [], blocks: [] });
  };
  /** What was asked before is written first. */
  const inTurn = <T>(act: () => Promise<T>): Promise<T> => {
    const turn = writing.then(act);
    writing = turn.catch(() => {});
    return turn;
  };
  const carryOut = (ask: StoryAsk): Promise<unknown> => {
    switch (ask.kind) {
      case "write":
        return inTurn(() => write(ask.batch, ask.now, ask.isPressed));
      case "step":
        return inTurn(() => release(ask.now));
      case "search":
        return writing.then(() => reader.search(ask.query));
      case "find":
        return writing.then(() => reader.find(ask.id));
      default:
        return ask satisfies never;
    }
  };
  return {
    wasClosed: true,
    lastStored: 0,
    setAside: null,
    isShared: true,
    ask: carryOut,
    // What was held is lost if the database is away, as by a crash.
    close: () => inTurn(() => writer.release(0)).catch(() => {}),
  };
}
