// Whether a request was meant for us. A browser is led astray more easily than a script: a page
// from elsewhere can make it send a request to us, or reach us under a name of its own (DNS
// rebinding). What such a page cannot do is to call us by an address, or by a name that only this
// machine has.

import type { RequestHead } from "../request.ts";
import { isLoopback } from "../text/setting-kinds.ts";

/** Methods that change nothing; what they answer a page from elsewhere cannot read. */
const safeMethods = ["GET", "HEAD", "OPTIONS"];

/** Null when a browser's request was meant for us, else why we think that it was not. */
export function whyAstray(
  head: RequestHead,
  /** Whether we listen on this machine's own addresses alone. */
  { isLocal }: { readonly isLocal?: boolean },
): string | null {
  const { host = "" } = head.headers;
  if (isLocal && host !== "" && !isNameOfThisMachine(host.toString())) {
    return `This broker listens on this machine alone and does not answer for "${host}".`;
  }
  return !safeMethods.includes(head.method) && isOfForeignPage(head)
    ? "The request was made by a page of another origin. Use the portal, or send a bearer token."
    : null;
}

/** Whether a browser says that a page made the request. */
export function isFromPage({ headers }: RequestHead): boolean {
  return headers.origin !== undefined || headers["sec-fetch-site"] !== undefined;
}

function isOfForeignPage({ headers }: RequestHead): boolean {
  const { host = "", origin, "sec-fetch-site": site } = headers;
  if (site === "cross-site" || site === "same-site") return true;
  return origin !== undefined && hostOf(origin.toString()) !== host.toString();
}

/** Empty for `null` and for what is no origin. */
function hostOf(origin: string): string {
  return URL.parse(origin)?.host ?? "";
}

/**
 * Whether a program on this machine asks, by a name of this machine, and neither a page from
 * elsewhere nor somebody behind a proxy.
 */
export function isFromThisMachine(head: RequestHead): boolean {
  const { host = "", forwarded, "x-forwarded-for": forwardedFor } = head.headers;
  const name = nameIn(host.toString());
  return (
    isLoopback(head.remote) &&
    (isLoopback(name.replace(/^\[|\]$/g, "")) || name.endsWith(".localhost")) &&
    (forwarded ?? forwardedFor) === undefined &&
    !isOfForeignPage(head)
  );
}

const addressRule = /^(?:\d{1,3}(?:\.\d{1,3}){3}|\[[0-9a-f:.]+\])$/;

/** `host`: the header, with or without a port. */
export function isNameOfThisMachine(host: string): boolean {
  const name = nameIn(host);
  return name === "localhost" || name.endsWith(".localhost") || addressRule.test(name);
}

function nameIn(host: string): string {
  return host.toLowerCase().replace(/:\d{1,5}$/, "");
}
