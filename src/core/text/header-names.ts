// Headers from several sources. Names keep their letter case and are compared without it: of two
// that mean the same header only one is sent.

export type Headers = Readonly<Record<string, string>>;

/** All of them; a later one replaces an earlier one of the same name. */
export function joinHeaders(...sets: readonly Headers[]): Record<string, string> {
  const named = new Map<string, readonly [string, string]>();
  for (const [name, value] of sets.flatMap((set) => Object.entries(set))) {
    named.set(name.toLowerCase(), [name, value]);
  }
  return Object.fromEntries(named.values());
}
