// The lock on the desk: routes that change or show what a broker keeps are for whoever holds the
// admin key, a token issued for it, or a session of the portal.
//
// A browser is led astray more easily than a script: a page from elsewhere can make it send a
// request of ours, or call us by a name of its own. So what comes without a bearer token must have
// been meant for us (`whyAstray`).

import { Refusal } from "../../core/refusal.ts";
import { judgedBy, type RequestHead, type Route, verdictOf } from "../../core/request.ts";

/** Null when a bearer token is worth the admin key, else why not, as a sentence. */
export type AdminCheck = (token: string) => Promise<string | null>;

export interface AdminLock {
  /** Null: nobody is asked for a key. */
  readonly check: AdminCheck | null;
  /** Whether the request comes from a browser that has signed in. */
  readonly isSignedIn?: (head: RequestHead) => boolean;
  /** Whether we listen on this machine's own addresses alone. */
  readonly isLocal?: boolean;
}

/** The same routes, for admins alone. */
export function requireAdmin(routes: readonly Route[], lock: AdminLock): Route[] {
  return routes.map((route) => ({
    ...route,
    ...judgedBy(async (head) => {
      await checkAdmin(head, lock);
      return await verdictOf(route, head);
    }),
  }));
}

async function checkAdmin(request: RequestHead, lock: AdminLock): Promise<void> {
  const token = bearerIn(request);
  if (token !== "" && lock.check !== null) {
    const why = await lock.check(token);
    if (why !== null) throw new Refusal("Unauthorized", why);
    return;
  }
  const isIn = lock.check === null || lock.isSignedIn?.(request) === true;
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

/** Methods that change nothing; what they answer a page from elsewhere cannot read. */
const safeMethods = ["GET", "HEAD", "OPTIONS"];

/** Null when a browser's request was meant for us, else why we think that it was not. */
export function whyAstray(request: RequestHead, { isLocal }: Pick<AdminLock, "isLocal">) {
  const { host = "", origin, "sec-fetch-site": site } = request.headers;
  if (isLocal && host !== "" && !isNameOfThisMachine(host.toString())) {
    return `This broker listens on this machine alone and does not answer for "${host}".`;
  }
  if (safeMethods.includes(request.method)) return null;
  const isForeignPage = site === "cross-site" || site === "same-site";
  const isForeignOrigin = origin !== undefined && hostOf(origin.toString()) !== host.toString();
  return isForeignPage || isForeignOrigin
    ? "The request was made by a page of another origin. Use the portal, or send a bearer token."
    : null;
}

/** Empty for `null` and for what is no origin. */
function hostOf(origin: string): string {
  return URL.parse(origin)?.host ?? "";
}

// Whether a request was meant for a broker on this machine alone. A page from elsewhere can make a
// browser call 127.0.0.1 under a name of its own (DNS rebinding); what it cannot do is to call it
// by its address, or by a name that only this machine has.

const addressRule = /^(?:\d{1,3}(?:\.\d{1,3}){3}|\[[0-9a-f:.]+\])$/;

/** `host`: the header, with or without a port. */
export function isNameOfThisMachine(host: string): boolean {
  const name = host.toLowerCase().replace(/:\d{1,5}$/, "");
  return name === "localhost" || name.endsWith(".localhost") || addressRule.test(name);
}
