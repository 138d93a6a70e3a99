// Sessions of the portal. A link that the broker prints can be used once and opens a session; the
// session is a random name in a cookie, of which only a digest is kept, in the data folder, so that
// sessions survive a restart and a stolen file is useless.
//
// Real time, also under a virtual clock: a browser counts the days of its cookie by its own clock.

import { hash, randomBytes } from "node:crypto";
import { keepText, readKept } from "./kept-file.ts";

export interface Sessions {
  /** A token for a link; works once, for a limited time. */
  invite(): Promise<string>;
  /** The name of a new session, if the token is valid; it is not valid again. */
  enter(token: string): Promise<string | null>;
  /** A new session, after the admin key was given. */
  open(): Promise<string>;
  isOpen(name: string): Promise<boolean>;
  end(name: string): Promise<void>;
}

export const sessionLifeMs = 7 * 24 * 3_600_000;
/** A link is for the reader of today's terminal. */
export const inviteLifeMs = 12 * 3_600_000;
/** Beyond these the oldest end. */
export const sessionsMax = 100;
export const invitesMax = 100;

/** `path`: the file; null: sessions end with the process. */
export function openSessions({
  path,
  now = Date.now,
}: {
  readonly path: string | null;
  readonly now?: () => number;
}): Sessions {
  const sessions = new Map(path === null ? [] : readSessions(path));
  const invites = new Map<string, number>();
  const keep = () => {
    if (path === null) return;
    try {
      keepText(path, JSON.stringify(Object.fromEntries(sessions)));
    } catch {
      // A full disk must not lock an operator out. The session then ends with the process.
    }
  };
  const open = () => {
    const name = makeName();
    forget(sessions, { at: now(), max: sessionsMax - 1 });
    sessions.set(digest(name), now() + sessionLifeMs);
    keep();
    return name;
  };
  return {
    async invite() {
      const token = makeName();
      forget(invites, { at: now(), max: invitesMax - 1 });
      invites.set(digest(token), now() + inviteLifeMs);
      return token;
    },
    async enter(token) {
      const until = invites.get(digest(token)) ?? 0;
      invites.delete(digest(token));
      return until > now() ? open() : null;
    },
    open: async () => open(),
    isOpen: async (name) => (sessions.get(digest(name)) ?? 0) > now(),
    async end(name) {
      if (sessions.delete(digest(name))) keep();
    },
  };
}

/** The oldest come first in a map. */
function forget(
  kept: Map<string, number>,
  { at, max }: { readonly at: number; readonly max: number },
): void {
  for (const [name, until] of kept) {
    if (until <= at || kept.size > max) kept.delete(name);
  }
}

/** A damaged file ends all sessions, and nothing else. */
function readSessions(path: string): [string, number][] {
  try {
    const kept: unknown = JSON.parse(readKept(path) ?? "{}");
    return Object.entries(kept as object).filter(
      (entry): entry is [string, number] => typeof entry[1] === "number",
    );
  } catch {
    return [];
  }
}

export function makeName(): string {
  return randomBytes(32).toString("base64url");
}

export function digest(name: string): string {
  return hash("sha256", name, "base64url");
}
