// The lock on admin routes: routes that change or show what a broker has need the admin key, a
// token issued for it, or a session of the portal.
//
// A browser can be misused: a page of another site can make it send requests to us, or reach us by
// a name of its own. So requests without a bearer token are checked for that (`whyAstray`).

import { isFromThisMachine, whyAstray } from "../../core/access/foreign-page.ts";
import { Refusal } from "../../core/refusal.ts";
import { judgedBy, type RequestHead, type Route, verdictOf } from "../../core/request.ts";

/** Null when a bearer token counts as the admin key, otherwise why not, as a sentence. */
export type AdminCheck = (token: string) => Promise<string | null>;

export interface AdminLock {
  /** Null: no key is required. */
  readonly check: AdminCheck | null;
  /** Whether the request comes from a browser that has signed in. */
  readonly isSignedIn?: (head: RequestHead) => Promise<boolean>;
  /** Whether we listen on loopback only. */
  readonly isLocal?: boolean;
  /** Before a request is carried out: what was done at other brokers is known here, too. */
  readonly catchUp?: () => Promise<void>;
}

/** The same routes, for admins only. */
export function requireAdmin(routes: readonly Route[], lock: AdminLock): Route[] {
  return locked(routes, (head) => checkAdmin(head, lock));
}

/** The same routes, for admins and for programs on this machine. */
export function requireAdminOrLocal(routes: readonly Route[], lock: AdminLock): Route[] {
  return locked(routes, async (head) => {
    if (!isFromThisMachine(head)) await checkAdmin(head, lock);
  });
}

function locked(routes: readonly Route[], check: (head: RequestHead) => Promise<void>): Route[] {
  return routes.map((route) => ({
    ...route,
    ...judgedBy(async (head) => {
      await check(head);
      return await verdictOf(route, head);
    }),
  }));
}

/**
 * Whether a bearer token was sent that is worth the admin key. Refusal: Unauthorized, for another
 * one.
 */
export async function hasAdminToken(head: RequestHead, { check }: AdminLock): Promise<boolean> {
  const token = bearerIn(head);
  if (token === "" || check === null) return false;
  const why = await check(token);
  if (why !== null) throw new Refusal("Unauthorized", why);
  return true;
}

async function checkAdmin(request: RequestHead, lock: AdminLock): Promise<void> {
  await checkEntry(request, lock);
  await lock.catchUp?.();
}

async function checkEntry(request: RequestHead, lock: AdminLock): Promise<void> {
  if (await hasAdminToken(request, lock)) return;
  const isIn = lock.check === null || (await lock.isSignedIn?.(request)) === true;
  if (!isIn) {
    const words = "Send the admin key, or a token issued for it, as `Authorization: Bearer …`.";
    throw new Refusal("Unauthorized", words);
  }
  const why = whyAstray(request, lock);
  if (why !== null) throw new Refusal("Forbidden", why);
}

function bearerIn({ headers }: RequestHead): string {
  const text = (headers.authorization ?? "").toString();
  return /^bearer +/i.test(text) ? text.slice(text.indexOf(" ")).trim() : "";
}
