// By which name a client called us, for answers that hold absolute URLs of ours.
//
// The `Host` header and the connection are all that is looked at. What a proxy adds is not, because
// anybody can add it: a proxy in front passes the host on and speaks TLS to us, too.

import type { Request } from "./request.ts";

const hostRule = /^(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::\d{1,5})?$/;

/** `https://localhost:4438`. A host that cannot be one is not repeated. */
export function baseUrlOf({ scheme, headers }: Pick<Request, "scheme" | "headers">): string {
  const { host } = headers;
  const isHost = typeof host === "string" && hostRule.test(host);
  return `${scheme}://${isHost ? host.toLowerCase() : "localhost"}`;
}
