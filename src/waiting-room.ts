// What answers on the broker's HTTP address while its database is waited for at the start: that it
// is alive, and not ready. Everybody else is asked to come again.

import type { Config } from "./config/config.ts";
import type { Ids, Log } from "./core/ports.ts";
import { Refusal } from "./core/refusal.ts";
import type { Reply, Route } from "./core/request.ts";
import { openListeners } from "./runtime/http/listeners.ts";

const why = "The database is away.";
const retryAfterMs = 2_000;
const methods = ["GET", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"] as const;

/** The answer closes it. */
export async function openWaitingRoom(
  { http, bodiesBytesMax }: Config,
  { log, ids }: { readonly log: Log; readonly ids: Ids },
): Promise<() => Promise<void>> {
  // The certificate of a cluster is in its database.
  if (http === null || http.port === 0) return async () => {};
  const listeners = await openListeners({
    ...{ http, https: null, certificates: noCertificates, routes: routes(), log, ids },
    routesOf: () => [],
    onTurnedAway: () => {},
    bodyBytesMax: 1_048_576,
    bodiesBytesMax,
  });
  return () => listeners.close();
}

const noCertificates = { caFile: null, identity: () => Promise.reject(new Error(why)) };

function routes(): readonly Route[] {
  const refuse = (): Reply => {
    throw new Refusal("Unavailable", why, { retryAfterMs });
  };
  const json = (status: number, body: object): Reply => ({
    status,
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  return [
    { method: "GET", path: "/healthz", handle: () => json(200, { status: "alive" }) },
    { method: "GET", path: "/readyz", handle: () => json(503, { status: "notReady", why }) },
    ...methods.map((method) => ({ method, path: "/*", handle: refuse })),
  ];
}
