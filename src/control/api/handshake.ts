// The handshake with a subscription's webhook, its progress, and repeating it.

import type { HandshakeView } from "../../core/api/views.ts";
import { validationUrlOf } from "../../core/handshake/question.ts";
import type { Clock, Instant, Log } from "../../core/ports.ts";
import type { Request } from "../../core/request.ts";
import { baseUrlOf } from "../../core/request.ts";
import type { LiveCatalog } from "../../core/routing/live-catalog.ts";
import type { Subscription } from "../../core/subscription.ts";
import { isoInstant } from "../../core/text/time.ts";
import type { HandshakePort } from "../handshake/port.ts";
import { type NamesSubscription, namedSubscription } from "./names.ts";
import type { Handlers } from "./serve.ts";

export interface HandshakeDeps {
  readonly catalog: () => LiveCatalog;
  readonly clock: Clock;
  readonly handshakes: HandshakePort;
  readonly log: Log;
}

export function handshakeHandlers(
  deps: HandshakeDeps,
): Pick<Handlers, "showHandshake" | "repeatHandshake"> {
  const look = (asked: NamesSubscription & { readonly request: Request }) => {
    const subscription = namedSubscription(deps.catalog(), asked);
    const nextAt = deps.handshakes.nextAskAt(subscription);
    return viewOf(subscription, { now: deps.clock.now(), nextAt, request: asked.request });
  };
  return {
    showHandshake: look,
    repeatHandshake(asked) {
      const { id } = namedSubscription(deps.catalog(), asked);
      // An endpoint may take minutes to agree: the progress is shown with the exchanges.
      deps.handshakes.rerun(id, { baseUrl: baseUrlOf(asked.request) }).catch((error) => {
        deps.log.fact("warn", "handshake.failed", { subscription: id, error: String(error) });
      });
      return look(asked);
    },
  };
}

/** The code is a secret between us and the endpoint, until a person is needed to pass it on. */
function viewOf(
  subscription: Subscription,
  {
    now,
    nextAt,
    request,
  }: { readonly now: Instant; readonly nextAt: Instant | null; readonly request: Request },
): HandshakeView {
  const { state, handshake } = subscription;
  const isAwaited = state === "AwaitingManualAction" && handshake !== null && handshake.until > now;
  return {
    state,
    until: handshake && isoInstant(handshake.until),
    validationUrl: isAwaited
      ? validationUrlOf(subscription, handshake, { baseUrl: baseUrlOf(request) })
      : null,
    nextAt: nextAt === null ? null : isoInstant(nextAt),
    exchanges: (handshake?.exchanges ?? []).map(({ at, request, answer, verdict }) => ({
      ...{ at: isoInstant(at), request, answer, verdict },
    })),
  };
}
