// One request: finds its route, reads the body, hands over a plain request and writes the plain
// reply. Every error of a request is caught here and nowhere else.

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Ids, Log } from "../../core/ports.ts";
import { Refusal } from "../../core/refusal.ts";
import type { Reply, Route } from "../../core/request.ts";
import { hasBody, nothing, readBody } from "./body.ts";
import { remoteOf } from "./connections.ts";
import { replyToFault, replyToRefusal } from "./error-reply.ts";
import type { Match, Router } from "./router.ts";
import type { Untaken } from "./untaken.ts";
import { write } from "./write-reply.ts";

/** `path`: as it was asked for, without its query. */
export type TurnedAway = (path: string, refusal: Refusal) => void;

/** What a listener needs while it serves. */
export interface ServeContext {
  readonly find: Router;
  readonly log: Log;
  readonly ids: Ids;
  readonly bodyBytesMax: number;
  readonly untaken: Untaken;
  /** Answers that go on until somebody ends them. */
  readonly streams: Set<ServerResponse>;
  /** Called for requests that no room was asked about. */
  readonly onTurnedAway?: TurnedAway;
  isClosing: boolean;
}

/** Never rejects. */
export async function serve(
  context: ServeContext,
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const requestId = context.ids.next();
  const match = context.find(incoming.method ?? "", incoming.url ?? "");
  if (match.kind !== "route") {
    refuseUnmatched(context, match, { requestId, incoming, response });
    return;
  }
  const { route, params, query } = match;
  const more = route.headers;
  try {
    const { socket, headers, method = "" } = incoming;
    const body = hasBody(incoming) ? await receive(context, incoming) : nothing;
    // The client has gone.
    if (body === null) return;
    const remote = remoteOf(socket);
    const scheme = "encrypted" in socket ? "https" : "http";
    const answer = route.handle({ method, params, query, headers, body, remote, scheme });
    const reply = answer instanceof Promise ? await answer : answer;
    write(context, response, { reply, requestId, more });
  } catch (error) {
    const reply = replyToError(context, error, { requestId, route });
    write(context, response, { reply, requestId, more });
  }
}

function receive({ bodyBytesMax, onTurnedAway }: ServeContext, incoming: IncomingMessage) {
  return readBody(incoming, bodyBytesMax).catch((error) => {
    if (error instanceof Refusal) onTurnedAway?.(pathOf(incoming), error);
    throw error;
  });
}

function replyToError(
  { log }: ServeContext,
  error: unknown,
  { requestId, route }: { readonly requestId: string; readonly route: Route },
): Reply {
  if (error instanceof Refusal) return replyToRefusal(error);
  // The route and not the URL, which may hold a key.
  const { method, path } = route;
  log.fact("error", "request.failed", { requestId, method, path, error });
  return replyToFault("internal");
}

/** What no room is asked about. */
function refuseUnmatched(
  context: ServeContext,
  match: Exclude<Match, { kind: "route" }>,
  exchange: {
    readonly requestId: string;
    readonly incoming: IncomingMessage;
    readonly response: ServerResponse;
  },
): void {
  const { requestId, incoming, response } = exchange;
  const { method = "" } = incoming;
  const refusal = refusalOf(match, method);
  if (refusal !== null) context.onTurnedAway?.(pathOf(incoming), refusal);
  const reply = refusal === null ? replyToFault("malformed") : replyToRefusal(refusal);
  context.log.fact("debug", "request.refused", { requestId, method, status: reply.status });
  const more =
    match.kind === "otherMethods"
      ? { ...match.routes[0]?.headers, allow: allowedBy(match.routes) }
      : undefined;
  write(context, response, { reply, requestId, more });
}

/** Null for a path that cannot be read. */
function refusalOf(match: Exclude<Match, { kind: "route" }>, method: string): Refusal | null {
  switch (match.kind) {
    case "malformed":
      return null;
    case "nothing":
      return new Refusal("NotFound", "No HTTP resource was found that matches the request URI.");
    case "otherMethods": {
      const allowed = allowedBy(match.routes);
      const words = `The method ${method} is not allowed here; allowed: ${allowed}.`;
      return new Refusal("MethodNotAllowed", words);
    }
    default:
      return match satisfies never;
  }
}

function allowedBy(routes: readonly Route[]): string {
  const methods = routes.map(({ method }) => method);
  return methods.toSorted().join(", ");
}

function pathOf({ url = "" }: IncomingMessage): string {
  return url.split("?", 1)[0] ?? "";
}
