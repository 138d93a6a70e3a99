// Health checks and metrics: for supervisors, load balancers and Prometheus.
//
// Alive only means that we answer; a broker that cannot accept publishes is alive and not ready, so
// that it is taken out of service and not killed.

import type { Reply, RequestHead, Route } from "../core/request.ts";

const json = { "content-type": "application/json; charset=utf-8" };
const exposition = { "content-type": "text/plain; version=0.0.4; charset=utf-8" };

export function statusRoutes({
  whyNotReady,
  metrics,
  showsNames,
}: {
  /** Null: ready to accept publishes. */
  readonly whyNotReady: () => string | null;
  /** In Prometheus' text form, with the names of topics and subscriptions or summed up. */
  readonly metrics: (withNames: boolean) => Promise<string>;
  readonly showsNames: (head: RequestHead) => Promise<boolean>;
}): Route[] {
  return [
    { method: "GET", path: "/healthz", handle: () => reply(200, { status: "alive" }) },
    {
      method: "GET",
      path: "/readyz",
      handle() {
        const why = whyNotReady();
        return why === null
          ? reply(200, { status: "ready" })
          : reply(503, { status: "notReady", why });
      },
    },
    {
      method: "GET",
      path: "/metrics",
      async handle(request) {
        const body = await metrics(await showsNames(request));
        return { status: 200, headers: exposition, body };
      },
    },
  ];
}

function reply(status: number, body: object): Reply {
  return { status, headers: json, body: JSON.stringify(body) };
}
