// The stories' engine on a thread of its own, so that they do not slow deliveries; and the same
// engine in the calling thread, for tests. When the thread ends, only stories are lost: it is
// logged, and deliveries go on.

import { dirname } from "node:path";
import { answerAsked, openAskedThread } from "../asked-thread.ts";
import { markingDamage, openOrMoveAway } from "../damaged-file.ts";
import { makePrivateFolder } from "../private-files.ts";
import { StoryEngine, type StoryOptions } from "./engine.ts";
import type { StoryAsk, StoryLink } from "./front.ts";

const role = "stories";

/** Refusal: InvalidSetting, when the file cannot be opened. */
export async function openStoryThread(options: StoryOptions): Promise<StoryLink> {
  makePrivateFolder(dirname(options.path));
  return await openAskedThread(new URL(import.meta.url), role, options);
}

export function openStoryInline(engine: StoryEngine): StoryLink {
  const { wasClosed, lastStored } = engine;
  return {
    wasClosed,
    lastStored,
    setAside: null,
    ask: async (ask) => carryOut(engine, ask),
    close: async () => engine.close(),
  };
}

function carryOut(engine: StoryEngine, ask: StoryAsk): unknown {
  switch (ask.kind) {
    case "write":
      return engine.write(ask.batch, ask.now, ask.isPressed);
    case "step":
      return engine.step(ask.now);
    case "search":
      return engine.search(ask.query);
    case "find":
      return engine.find(ask.id);
    default:
      return ask satisfies never;
  }
}

answerAsked<StoryOptions, StoryAsk>(role, (options) => {
  const { opened: engine, setAside } = openOrMoveAway(options.path, () => new StoryEngine(options));
  const { wasClosed, lastStored } = engine;
  return {
    opened: { wasClosed, lastStored, setAside },
    answer: (ask) => markingDamage(options.path, () => carryOut(engine, ask)),
    close: () => engine.close(),
  };
});
