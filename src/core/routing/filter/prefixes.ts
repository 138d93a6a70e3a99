// A table of prefixes: which of them does a text begin with? One search in a sorted list answers,
// however many there are.
//
// Every prefix of a text in the list is also a prefix of the entry just before the position where
// the text would be inserted, because whatever sorts between a prefix and a text with it has that
// prefix too. So each entry links to the next shorter prefix it has in the list, and the answer is
// that chain.

export interface PrefixTable<T> {
  /** What is filed under each prefix of the text. */
  visit(text: string, take: (filed: T) => void): void;
}

interface Entry<T> {
  readonly beginning: string;
  readonly filed: T;
  readonly shorter: Entry<T> | null;
}

export function tabulate<T>(filed: ReadonlyMap<string, T>): PrefixTable<T> {
  const entries: Entry<T>[] = [];
  for (const [beginning, what] of [...filed].sort(([one], [other]) => (one < other ? -1 : 1))) {
    let shorter = entries.at(-1) ?? null;
    while (shorter !== null && !beginning.startsWith(shorter.beginning)) shorter = shorter.shorter;
    entries.push({ beginning, filed: what, shorter });
  }
  return {
    visit(text, take) {
      let entry = entries[countWhile(entries, ({ beginning }) => beginning <= text) - 1] ?? null;
      while (entry !== null) {
        if (text.startsWith(entry.beginning)) take(entry.filed);
        entry = entry.shorter;
      }
    },
  };
}

/** How many of the sorted texts begin with this one. */
export function countWithin(sorted: readonly string[], beginning: string): number {
  const isBefore = (text: string) => text < beginning;
  const isUpTo = (text: string) => isBefore(text) || text.startsWith(beginning);
  return countWhile(sorted, isUpTo) - countWhile(sorted, isBefore);
}

/** How many at the front satisfy a condition that holds for a leading part of the list. */
function countWhile<T>(list: readonly T[], holds: (entry: T) => boolean): number {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (holds(list[middle] as T)) low = middle + 1;
    else high = middle;
  }
  return low;
}
