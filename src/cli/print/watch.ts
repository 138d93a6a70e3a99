// `--watch`: shows a result again every two seconds until an interrupt. A terminal is redrawn; in a
// pipe it is printed when it has changed.

import type { Outside } from "../client.ts";

const everyMs = 2_000;
/** To the first row, and from there everything is cleared. */
const redraw = "\u001b[H\u001b[2J\u001b[3J";

/** Resolves with the exit code of the last one. */
export async function watch(
  show: () => Promise<{ readonly text: string; readonly exitCode?: number }>,
  { print, sleep, onSignal, isTerminal }: Outside,
): Promise<number> {
  const left = Promise.withResolvers<"left">();
  const ignore = onSignal(() => left.resolve("left"));
  let last: string | null = null;
  try {
    for (;;) {
      const { text, exitCode = 0 } = await show();
      if (isTerminal) print(`${redraw}${text}`);
      else if (text !== last) print(text);
      last = text;
      if ((await Promise.race([left.promise, sleep(everyMs)])) === "left") return exitCode;
    }
  } finally {
    ignore();
  }
}
