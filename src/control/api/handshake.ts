// The handshake with a subscription's webhook, as whoever waits for it wants to see it; and asking
// once more.

import type { HandshakeView } from "../../core/api/views.ts";
import { validationUrlOf } from "../../core/handshake/question.ts";
import type { Catalog, Clock, Log } from "../../core/ports.ts";
import type { Request, Route } from "../../core/request.ts";
import { baseUrlOf } from "../../core/request.ts";
import type { Subscription } from "../../core/subscription.ts";
import { isoInstant } from "../../core/text/time.ts";
import { reply } from "../arm/reply.ts";
import type { HandshakePort } from "../handshake/port.ts";
import { apiHeaders, namedSubscription, subscriptionPath } from "./names.ts";

export interface HandshakeDeps {
  readonly catalog: () => Catalog;
  readonly clock: Clock;
  readonly handshakes: HandshakePort;
  readonly log: Log;
}

export function handshakeRoutes(deps: HandshakeDeps): Route[] {
  const look = (request: Request) => {
    const subscription = namedSubscription(deps.catalog(), request);
    return reply(200, viewOf(subscription, { now: deps.clock.now(), request }));
  };
  return [
    { method: "GET", path: `${subscriptionPath}/handshake`, headers: apiHeaders, handle: look },
    {
      method: "POST",
      path: `${subscriptionPath}/validate`,
      headers: apiHeaders,
      handle(request) {
        const { id } = namedSubscription(deps.catalog(), request);
        // An endpoint may take minutes to agree: how it goes is seen where the exchange is.
        deps.handshakes.rerun(id, { baseUrl: baseUrlOf(request) }).catch((error) => {
          deps.log.fact("warn", "handshake.failed", { subscription: id, error: String(error) });
        });
        return look(request);
      },
    },
  ];
}

/** The code is a secret between us and the endpoint, until a person is needed to pass it on. */
function viewOf(
  subscription: Subscription,
  { now, request }: { readonly now: number; readonly request: Request },
): HandshakeView {
  const { state, handshake } = subscription;
  const isAwaited = state === "AwaitingManualAction" && handshake !== null && handshake.until > now;
  return {
    state,
    until: handshake && isoInstant(handshake.until),
    validationUrl: isAwaited
      ? validationUrlOf(subscription, handshake, { baseUrl: baseUrlOf(request) })
      : null,
    exchanges: (handshake?.exchanges ?? []).map(({ at, ...exchange }) => ({
      at: isoInstant(at),
      ...exchange,
    })),
  };
}
