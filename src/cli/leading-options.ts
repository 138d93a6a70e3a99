// Options before the command, as in `posthorn --server URL topic list`: they are moved behind it,
// where every command reads them. Only this file has to know which of them take a value.

import { outputOptions, whereOptions } from "./options.ts";

/** `taking`: more options that take a value, such as the settings of the broker. */
export function withOptionsLast(
  args: readonly string[],
  taking: readonly string[] = [],
): readonly string[] {
  const valued = new Set([
    ...[...Object.keys(whereOptions), ...Object.keys(outputOptions), ...taking].map(
      (name) => `--${name}`,
    ),
    "-o",
  ]);
  let count = 0;
  while (args[count]?.startsWith("-") === true) {
    const isFollowed = valued.has(args[count] ?? "") && args[count + 1] !== undefined;
    count += isFollowed ? 2 : 1;
  }
  const words = args.slice(count).findIndex((word) => word.startsWith("-"));
  const until = words < 0 ? args.length : count + words;
  return [...args.slice(count, until), ...args.slice(0, count), ...args.slice(until)];
}
