// Sessions of the portal that all brokers of a cluster share, as memos in the database: signed in
// at one is signed in at all, a link works once wherever it is opened, and signing out ends the
// session everywhere, within a second. Only digests are kept, as in sessions.ts.

import type { Memos } from "../../core/steering.ts";
import {
  digest,
  inviteLifeMs,
  invitesMax,
  makeName,
  type Sessions,
  sessionLifeMs,
  sessionsMax,
} from "./sessions.ts";

const sessionMemo = "portal.session";
const inviteMemo = "portal.invite";
/** Who has used a link: the first of several that try. */
const usedMemo = "portal.invite.used";

/** Requests of one page share a look at the database. */
const freshMs = 1_000;

interface Kept {
  readonly until: number;
}

export function openClusterSessions({
  memos,
  now = Date.now,
}: {
  readonly memos: Memos;
  readonly now?: () => number;
}): Sessions {
  let known: ReadonlyMap<string, number> = new Map();
  let knownAt = Number.NEGATIVE_INFINITY;
  /** One look at a time, and those who ask meanwhile share the next. */
  let looking: Promise<void> = Promise.resolve();
  let next: Promise<void> | null = null;
  const read = async (kind: string): Promise<[string, number][]> =>
    (await memos.notes(kind)).map(({ key, record }) => [key, (record as Kept).until]);
  const put = async (kind: string, name: string, lifeMs: number, max: number) => {
    await memos.putMemo(kind, digest(name), { until: now() + lifeMs });
    const kept = (await read(kind)).toSorted(([, one], [, other]) => other - one);
    for (const [index, [key, until]] of kept.entries()) {
      if (index >= max || until <= now()) await memos.putMemo(kind, key, null);
    }
    await lookAgain();
  };
  const open = async () => {
    const name = makeName();
    await put(sessionMemo, name, sessionLifeMs, sessionsMax);
    return name;
  };
  const lookAgain = () => {
    next ??= looking
      .catch(() => {})
      .then(async () => {
        next = null;
        known = new Map(await read(sessionMemo));
        knownAt = now();
      });
    looking = next;
    return next;
  };
  return {
    async invite() {
      const token = makeName();
      await put(inviteMemo, token, inviteLifeMs, invitesMax);
      return token;
    },
    async enter(token) {
      const key = digest(token);
      const until = new Map(await read(inviteMemo)).get(key) ?? 0;
      if (until <= now()) return null;
      const mine = { by: makeName() };
      const first = (await memos.keepMemo(usedMemo, key, mine)) as typeof mine;
      if (first.by !== mine.by) return null;
      const name = await open();
      await memos.putMemo(inviteMemo, key, null);
      await memos.putMemo(usedMemo, key, null);
      return name;
    },
    open,
    async isOpen(name) {
      const key = digest(name);
      const isIn = () => (known.get(key) ?? 0) > now();
      // Another broker may have opened it a moment ago, or ended it.
      if (!isIn() || now() - knownAt >= freshMs) await lookAgain();
      return isIn();
    },
    async end(name) {
      await memos.putMemo(sessionMemo, digest(name), null);
      await lookAgain();
    },
  };
}
