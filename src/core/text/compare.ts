// Comparing without regard to letter case.

/**
 * One spelling for all letter cases. Upper case, because what becomes of a letter does not depend
 * on its neighbours there, as it does with a final sigma in lower case: so the beginning of a text
 * folds to the beginning of the folded text.
 */
export function foldCase(text: string): string {
  return text.toUpperCase();
}

/** Whether two names are the same to Azure, which does not look at letter case. */
export function isSameName(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}
