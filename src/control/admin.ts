// The lock on the desk: routes that change or show what a broker keeps are for whoever holds the
// admin key, or a token issued for it.

import type { Request, Route } from "../core/ports.ts";
import { Refusal } from "../core/refusal.ts";

/** Null when a bearer token is worth the admin key, else why not, as a sentence. */
export type AdminCheck = (token: string) => Promise<string | null>;

/** The same routes, for admins alone. Without a check they are for everybody. */
export function requireAdmin(routes: readonly Route[], check: AdminCheck | null): Route[] {
  if (check === null) return [...routes];
  return routes.map((route) => ({
    ...route,
    async handle(request) {
      await checkAdmin(request, check);
      return await route.handle(request);
    },
  }));
}

async function checkAdmin({ headers }: Request, check: AdminCheck): Promise<void> {
  const text = (headers.authorization ?? "").toString();
  const token = /^bearer +/i.test(text) ? text.slice(text.indexOf(" ")).trim() : "";
  if (token === "") {
    const words = "Send the admin key, or a token issued for it, as `Authorization: Bearer …`.";
    throw new Refusal("Unauthorized", words);
  }
  const why = await check(token);
  if (why !== null) throw new Refusal("Unauthorized", why);
}
