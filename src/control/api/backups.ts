// Backups of the embedded store, made while it is in use. A backup is the whole store, keys of
// topics included, so protect a download like a secret.

import type { BackupView } from "../../core/api/views.ts";
import type { Clock, Log } from "../../core/ports.ts";
import { Refusal } from "../../core/refusal.ts";
import { isoInstant } from "../../core/text/time.ts";
import { shownAs } from "../../core/text/wording.ts";
import type { Handlers } from "./serve.ts";

/** Where backups are; see runtime/backups.ts. */
export interface BackupFolder {
  list(): readonly Backup[];
  find(name: string): Backup | null;
  take(at: number): Promise<Backup>;
  remove(name: string): void;
}

interface Backup {
  readonly name: string;
  readonly path: string;
  readonly bytes: number;
  readonly takenAt: number;
}

export interface BackupDeps {
  /** Null: a memory store cannot be backed up. */
  readonly backups: BackupFolder | null;
  readonly clock: Clock;
  readonly log: Log;
}

export function backupHandlers(
  deps: BackupDeps,
): Pick<Handlers, "listBackups" | "takeBackup" | "downloadBackup" | "removeBackup"> {
  return {
    listBackups: () => ({ value: need(deps).list().map(viewOf), next: null }),
    async takeBackup() {
      const taken = await need(deps)
        .take(deps.clock.now())
        .catch((error: Error) => {
          if (error instanceof Refusal) throw error;
          throw new Refusal("Unavailable", `No backup was made: ${error.message}.`);
        });
      const { name, bytes } = taken;
      deps.log.fact("info", "backup.taken", { name, bytes });
      return viewOf(taken);
    },
    downloadBackup: ({ params }) => ({ status: 200, file: named(deps, params.name).path }),
    removeBackup({ params }) {
      const found = named(deps, params.name);
      need(deps).remove(found.name);
      return viewOf(found);
    },
  };
}

/** Refusal: Conflict. */
function need({ backups }: BackupDeps): BackupFolder {
  if (backups !== null) return backups;
  throw new Refusal(
    "Conflict",
    "This broker keeps its events in memory: there is no store to copy.",
  );
}

/** Refusal: NotFound. */
function named(deps: BackupDeps, name: string): Backup {
  const found = need(deps).find(name);
  if (found === null) throw new Refusal("NotFound", `There is no backup ${shownAs(name)}.`);
  return found;
}

function viewOf({ name, path, bytes, takenAt }: Backup): BackupView {
  return { name, path, bytes, takenAt: isoInstant(Math.floor(takenAt)) };
}
