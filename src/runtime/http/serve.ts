// One request: finds its route, lets it judge the head, reads the body and writes the reply. Every
// error of a request is caught here and nowhere else.

import type { ServerResponse } from "node:http";
import type { Ids, Log } from "../../core/ports.ts";
import { Refusal } from "../../core/refusal.ts";
import { type Reply, type Route, verdictOf } from "../../core/request.ts";
import { BodyHold, type BodyRoom, nothing } from "./body.ts";
import { compressed } from "./compress.ts";
import { remoteOf } from "./connections.ts";
import { replyToFault, replyToRefusal } from "./error-reply.ts";
import type { Exchange } from "./exchange.ts";
import type { GuessTable } from "./guess-table.ts";
import type { Match, Router } from "./router.ts";
import type { Untaken } from "./untaken.ts";
import type { OutgoingReply } from "./write-reply.ts";

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
export async function serve(context: ServeContext, exchange: Exchange): Promise<void> {
  const requestId = context.ids.next();
  const { match } = exchange;
  if (match.kind !== "route") {
    refuseUnmatched(context, match, { requestId, exchange });
    return;
  }
  const { route } = match;
  const { headers: more } = route;
  let hold: BodyHold | null = null;
  try {
    const head = exchange.head(match);
    const judged = verdictOf(route, head);
    const verdict = judged instanceof Promise ? await judged : judged;
    if (typeof verdict !== "function") {
      return answer(context, exchange, { reply: verdict, requestId, more });
    }
    if (exchange.hasBody) hold = new BodyHold(context.bodyRoom, route.judge === undefined);
    const received = hold === null ? nothing : receive(context, exchange, hold);
    const body = received instanceof Promise ? await received : received;
    // The client has disconnected.
    if (body === null) return;
    const taken = verdict(body);
    const whole = taken instanceof Promise ? await taken : taken;
    const smaller = compressed(whole, head.headers["accept-encoding"]);
    const reply = smaller === null ? whole : await smaller;
    answer(context, exchange, { reply, requestId, more });
  } catch (error) {
    const reply = replyToError(context, error, { requestId, route });
    answer(context, exchange, { reply, requestId, more });
  } finally {
    hold?.release();
  }
}

function answer({ guesses }: ServeContext, exchange: Exchange, outgoing: OutgoingReply): void {
  const { reply } = outgoing;
  const isGuess = reply.status === 401 || reply.isGuess === true;
  if (isGuess && guesses !== undefined) {
    writeLate(guesses, exchange, outgoing).catch(() => exchange.socket.destroy());
  } else exchange.write(outgoing);
}

/** The answer to a wrong credential. */
async function writeLate(
  guesses: GuessTable,
  exchange: Exchange,
  outgoing: OutgoingReply,
): Promise<void> {
  const { socket } = exchange;
  if (await guesses.hold(remoteOf(socket))) exchange.write(outgoing);
  else socket.destroy();
}

function receive(
  { bodyBytesMax, onTurnedAway }: ServeContext,
  exchange: Exchange,
  hold: BodyHold,
): Promise<Buffer | null> | Buffer {
  const fail = (error: unknown): never => {
    if (error instanceof Refusal) onTurnedAway?.(pathOf(exchange), error);
    throw error;
  };
  try {
    const body = exchange.readBody(bodyBytesMax, hold);
    return body instanceof Promise ? body.catch(fail) : body;
  } catch (error) {
    return fail(error);
  }
}

function replyToError(
  { log }: ServeContext,
  error: unknown,
  { requestId, route }: { readonly requestId: string; readonly route: Route },
): Reply {
  if (error instanceof Refusal) return route.refuse?.(error) ?? replyToRefusal(error);
  // The route and not the URL, which may contain a key.
  const { method, path } = route;
  log.fact("error", "request.failed", { requestId, method, path, error });
  return replyToFault("internal");
}

/** Refuses requests without a route. */
function refuseUnmatched(
  context: ServeContext,
  match: Exclude<Match, { kind: "route" }>,
  { requestId, exchange }: { readonly requestId: string; readonly exchange: Exchange },
): void {
  const { method } = exchange;
  const refusal = refusalOf(match, method);
  if (refusal !== null) context.onTurnedAway?.(pathOf(exchange), refusal);
  const reply = refusal === null ? replyToFault("malformed") : replyToRefusal(refusal);
  context.log.fact("debug", "request.refused", { requestId, method, status: reply.status });
  const more =
    match.kind === "otherMethods"
      ? { ...match.routes[0]?.headers, allow: allowedBy(match.routes) }
      : undefined;
  exchange.write({ reply, requestId, more });
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

function pathOf({ url }: Exchange): string {
  return url.split("?", 1)[0] ?? "";
}
