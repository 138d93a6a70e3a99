// Reading stories on a thread and a connection of its own: a search never waits for the writing of
// notes, nor the other way round. SQLite's log lets both go on at once. The thread is started with
// the first read.

import { type Asked, answerAsked, openAskedThread } from "../asked-thread.ts";
import { markingDamage } from "../damaged-file.ts";
import { lookedThroughMaxUsual, type StoryOptions } from "./engine.ts";
import type { StoryLook } from "./front.ts";
import { Ids } from "./ids.ts";
import { Look } from "./look.ts";
import { Sheets } from "./sheets.ts";
import { openStoriesToRead, prepareStories } from "./statements.ts";

const role = "story reader";

export function openStoryReader(options: Pick<StoryOptions, "path">): Asked<StoryLook> {
  let opened: Promise<Asked<StoryLook>> | null = null;
  const open = () => {
    opened ??= openAskedThread<StoryLook, object>(new URL(import.meta.url), role, options);
    return opened;
  };
  return {
    ask: async (look) => (await open()).ask(look),
    close: async () => await (await opened?.catch(() => null))?.close(),
    abandon: () => void opened?.then((thread) => thread.abandon?.()).catch(() => null),
  };
}

answerAsked<Pick<StoryOptions, "path">, StoryLook>(role, ({ path }) => {
  const database = openStoriesToRead(path);
  const statements = prepareStories(database);
  const ids = new Ids(statements);
  const sheets = new Sheets(statements);
  const lookedThroughMax = lookedThroughMaxUsual;
  const look = new Look({ database, statements, ids, sheets, lookedThroughMax });
  return {
    opened: {},
    answer: (asked) =>
      markingDamage(path, () =>
        asked.kind === "find" ? look.find(asked.id) : look.search(asked.query),
      ),
    close: () => database.close(),
  };
});
