// How a test inbox may answer, in words.

import type { InboxView } from "../../src/core/api/views.ts";

type InboxAnswer = InboxView["answer"];
export type AnswerMode = InboxAnswer["mode"];

export const answerModes: readonly (readonly [mode: AnswerMode, words: string, about: string])[] = [
  ["accept", "200", "Takes everything"],
  ["fail", "500", "Refuses everything"],
  ["slow", "Slow", "Answers 200 after a while"],
  ["flapping", "Flapping", "200 and 500 by turns"],
  ["tooLarge", "413", "Finds everything too large"],
];

export function answerWords({ mode }: InboxAnswer): string {
  return answerModes.find(([each]) => each === mode)?.[2] ?? mode;
}

/** As it is named among endpoints: without its key. */
export function inboxEndpoint({ url }: Pick<InboxView, "url">): string {
  return url.split("?", 1)[0] ?? url;
}
