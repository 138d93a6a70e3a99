// Small records in the embedded store: the port Memos, and how often dead letters
// have been redriven (the port Redriven).

import type { RedrivenNote } from "../../core/deadletter/letter-store.ts";
import { redriveLimits } from "../../core/deadletter/redrive.ts";
import type { Memo } from "../../core/steering.ts";
import type { Statements } from "./statements.ts";

export function readMemos(statements: Statements, kind: string): Memo[] {
  return statements.notes
    .all(kind)
    .map(({ key, record }) => ({ key: key as string, record: JSON.parse(record as string) }));
}

export function putMemo(
  statements: Statements,
  {
    of,
    key,
    record,
  }: { readonly of: string; readonly key: string; readonly record: object | null },
): void {
  if (record === null) statements.removeNote.run(of, key);
  else statements.putMemo.run(of, key, JSON.stringify(record));
}

/** Puts it unless there is one; the one there is. */
export function keepMemo(
  statements: Statements,
  given: { readonly of: string; readonly key: string; readonly record: object },
): object {
  const kept = readMemos(statements, given.of).find(({ key }) => key === given.key);
  if (kept === undefined) putMemo(statements, given);
  return kept?.record ?? given.record;
}

export function timesRedriven(statements: Statements, key: string): number {
  return (statements.redriven.get(key)?.times ?? 0) as number;
}

export function noteRedriven(statements: Statements, notes: readonly RedrivenNote[]): void {
  for (const { key, times } of notes) {
    statements.noteRedriven.run(key, Math.max(times, timesRedriven(statements, key) + 1));
  }
  statements.forgetRedriven.run(redriveLimits.rememberedMax);
}
