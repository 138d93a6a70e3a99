// One request and the way back to its client, as serve.ts needs it. There are two: that of Node's
// server, here, and that of a connection on the short way (short-way.ts).

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { RequestHead } from "../../core/request.ts";
import { type BodyHold, hasBody, readBody } from "./body.ts";
import { remoteOf } from "./connections.ts";
import type { Match, Router } from "./router.ts";
import { expectsContinue, type OutgoingReply, type WriteContext, write } from "./write-reply.ts";

export interface Exchange {
  readonly method: string;
  readonly url: string;
  readonly match: Match;
  readonly socket: Socket;
  readonly hasBody: boolean;
  /** Of a request that has a route. */
  head(match: Found): RequestHead;
  /** Null when the client has disconnected. Refusals: PayloadTooLarge, TooManyRequests. */
  readBody(bytesMax: number, hold: BodyHold): Promise<Buffer | null> | Buffer;
  write(outgoing: OutgoingReply): void;
}

export type Found = Extract<Match, { kind: "route" }>;

export class NodeExchange implements Exchange {
  readonly match: Match;
  readonly #context: WriteContext;
  readonly #incoming: IncomingMessage;
  readonly #response: ServerResponse;

  constructor(
    context: WriteContext & { readonly find: Router },
    incoming: IncomingMessage,
    response: ServerResponse,
  ) {
    this.#context = context;
    this.#incoming = incoming;
    this.#response = response;
    this.match = context.find(this.method, this.url);
  }

  get method(): string {
    return this.#incoming.method ?? "";
  }

  get url(): string {
    return this.#incoming.url ?? "";
  }

  get socket(): Socket {
    return this.#incoming.socket;
  }

  get hasBody(): boolean {
    return hasBody(this.#incoming);
  }

  head({ params, query }: Found): RequestHead {
    const { method, socket } = this;
    const { headers } = this.#incoming;
    const remote = remoteOf(socket);
    const scheme = "encrypted" in socket ? "https" : "http";
    const onGone = (listener: () => void) => void this.#response.once("close", listener);
    return { method, params, query, headers, remote, scheme, onGone };
  }

  readBody(bytesMax: number, hold: BodyHold): Promise<Buffer | null> {
    if (expectsContinue(this.#incoming)) this.#response.writeContinue();
    return readBody(this.#incoming, { bytesMax, hold });
  }

  write(outgoing: OutgoingReply): void {
    write(this.#context, this.#response, outgoing);
  }
}
