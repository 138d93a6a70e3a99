// Backups of the embedded store, made while it is in use. What one holds is the whole store, keys
// of topics among it, so a download is to be kept like a secret.

import type { BackupView } from "../../core/api/views.ts";
import type { Clock, Log } from "../../core/ports.ts";
import { Refusal } from "../../core/refusal.ts";
import type { Request, Route } from "../../core/request.ts";
import { isoInstant } from "../../core/text/time.ts";
import { shownAs } from "../../core/text/wording.ts";
import { reply } from "../arm/reply.ts";
import { apiHeaders } from "./names.ts";

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
  /** Null: what is kept in memory cannot be backed up. */
  readonly backups: BackupFolder | null;
  readonly clock: Clock;
  readonly log: Log;
}

export function backupRoutes(deps: BackupDeps): Route[] {
  const headers = apiHeaders;
  const path = "/api/v1/backups/:name";
  return [
    {
      method: "GET",
      path: "/api/v1/backups",
      headers,
      handle: () => reply(200, { value: need(deps).list().map(viewOf), next: null }),
    },
    {
      method: "POST",
      path: "/api/v1/backups",
      headers,
      async handle() {
        const taken = await need(deps).take(deps.clock.now());
        const { name, bytes } = taken;
        deps.log.fact("info", "backup.taken", { name, bytes });
        return reply(200, viewOf(taken));
      },
    },
    {
      method: "GET",
      path,
      headers: { ...headers, "content-type": "application/vnd.sqlite3" },
      handle: (request) => ({ status: 200, file: named(deps, request).path }),
    },
    {
      method: "DELETE",
      path,
      headers,
      handle(request) {
        const found = named(deps, request);
        need(deps).remove(found.name);
        return reply(200, viewOf(found));
      },
    },
  ];
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
function named(deps: BackupDeps, { params }: Request): Backup {
  const { name = "" } = params;
  const found = need(deps).find(name);
  if (found === null) throw new Refusal("NotFound", `There is no backup ${shownAs(name)}.`);
  return found;
}

function viewOf({ name, path, bytes, takenAt }: Backup): BackupView {
  return { name, path, bytes, takenAt: isoInstant(Math.floor(takenAt)) };
}
