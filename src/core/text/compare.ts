// Case-insensitive comparison.

/**
 * One form for all letter cases. Upper case, because there the result for a letter does not depend
 * on its neighbours, as it does for a final sigma in lower case: so a prefix of a text folds to a
 * prefix of the folded text.
 */
export function foldCase(text: string): string {
  return text.toUpperCase();
}

/** Whether it is this word, in any letter case. `value` may be anything that came from outside. */
export function isWord(value: unknown, word: string): boolean {
  return typeof value === "string" && isSameName(value, word);
}

/** Whether two names are the same to Azure, which is case-insensitive. */
export function isSameName(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}
