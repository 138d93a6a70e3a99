// One request: finds its route, lets it judge the head, reads the body and writes the reply. Every
// error of a request is caught here and nowhere else.

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Ids, Log } from "../../core/ports.ts";
import { Refusal } from "../../core/refusal.ts";
import { type Reply, type Route, verdictOf } from "../../core/request.ts";
import { BodyHold, type BodyRoom, hasBody, nothing, readBody } from "./body.ts";
import { compressed } from "./compress.ts";
import { remoteOf } from "./connections.ts";
import { replyToFault, replyToRefusal } from "./error-reply.ts";
import type { GuessTable } from "./guess-table.ts";
import type { Match, Router } from "./router.ts";
import type { Untaken } from "./untaken.ts";
import { expectsContinue, type OutgoingReply, write } from "./write-reply.ts";

/** `path`: as requested, without its query. */
export type TurnedAway = (path: string, refusal: Refusal) => void;

/** What a listener needs while it serves. */
export interface ServeContext {
  readonly find: Router;
  readonly log: Log;
  readonly ids: Ids;
  /** The limit of one body. */
  readonly bodyBytesMax: number;
  readonly bodyRoom: BodyRoom;
  readonly untaken: Untaken;
  /** Without it, wrong credentials are answered like others. */
  readonly guesses?: GuessTable;
  /** Answers that go on until they are ended: streams. */
  readonly streams: Set<ServerResponse>;
  /** Called for requests that were refused before any room saw them. */
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
  let hold: BodyHold | null = null;
  const answer = (reply: Reply) => {
    const outgoing = { reply, requestId, more: route.headers };
    const isGuess = reply.status === 401 || reply.isGuess === true;
    if (isGuess && context.guesses !== undefined) {
      writeLate(context, response, outgoing).catch(() => incoming.socket.destroy());
    } else write(context, response, outgoing);
  };
  try {
    const { socket, headers, method = "" } = incoming;
    const remote = remoteOf(socket);
    const scheme = "encrypted" in socket ? "https" : "http";
    const onGone = (listener: () => void) => void response.once("close", listener);
    const head = { method, params, query, headers, remote, scheme, onGone } as const;
    const judged = verdictOf(route, head);
    const verdict = judged instanceof Promise ? await judged : judged;
    if (typeof verdict !== "function") return answer(verdict);
    if (hasBody(incoming)) hold = new BodyHold(context.bodyRoom, route.judge === undefined);
    const body = hold === null ? nothing : await receive(context, { incoming, response, hold });
    // The client has disconnected.
    if (body === null) return;
    const taken = verdict(body);
    const reply = taken instanceof Promise ? await taken : taken;
    const smaller = compressed(reply, headers["accept-encoding"]);
    answer(smaller === null ? reply : await smaller);
  } catch (error) {
    answer(replyToError(context, error, { requestId, route }));
  } finally {
    hold?.release();
  }
}

/** The answer to a wrong credential. */
async function writeLate(
  context: ServeContext,
  response: ServerResponse,
  outgoing: OutgoingReply,
): Promise<void> {
  const { socket } = response.req;
  if ((await context.guesses?.hold(remoteOf(socket))) === false) socket.destroy();
  else write(context, response, outgoing);
}

function receive(
  { bodyBytesMax: bytesMax, onTurnedAway }: ServeContext,
  {
    incoming,
    response,
    hold,
  }: {
    readonly incoming: IncomingMessage;
    readonly response: ServerResponse;
    readonly hold: BodyHold;
  },
) {
  if (expectsContinue(incoming)) response.writeContinue();
  return readBody(incoming, { bytesMax, hold }).catch((error) => {
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
  // The route and not the URL, which may contain a key.
  const { method, path } = route;
  log.fact("error", "request.failed", { requestId, method, path, error });
  return replyToFault("internal");
}

/** Refuses requests without a route. */
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

/** Null for a path that cannot be decoded. */
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
