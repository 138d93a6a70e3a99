// Writing an answer: complete before its first byte, straight to the response, and to the bare
// socket when Node's parser has failed and there is no response object.
//
// While closing, every answer says so, so that clients close their connections.

import { createReadStream, statSync } from "node:fs";
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import { pipeline } from "node:stream";
import type { Reply } from "../../core/request.ts";
import { type Fault, replyToFault } from "./error-reply.ts";
import type { Untaken } from "./untaken.ts";

export interface WriteContext {
  readonly isClosing: boolean;
  /** Answers that go on until they are ended: streams. */
  readonly streams: Set<ServerResponse>;
  readonly untaken: Untaken;
}

export interface OutgoingReply {
  readonly reply: Reply;
  readonly requestId: string;
  /** Headers besides the reply's own. */
  readonly more?: Readonly<Record<string, string>> | undefined;
}

export function write(
  deps: WriteContext,
  response: ServerResponse,
  { reply, requestId, more }: OutgoingReply,
): void {
  const { status, headers } = reply;
  const body = reply.bytes ?? reply.body ?? "";
  // Node writes one flat list without copying it first.
  const lines = ["x-ms-request-id", requestId];
  const isBare = status === 204 || status === 304 || reply.stream !== undefined;
  const bytes = reply.file === undefined ? Buffer.byteLength(body) : statSync(reply.file).size;
  if (!isBare) lines.push("content-length", `${bytes}`);
  // A client that did not get a 100 Continue may not send the body, and the next bytes would be
  // taken for it.
  const isUnsent = expectsContinue(response.req) && !response.req.readableDidRead;
  if (deps.isClosing || isUnsent) lines.push("connection", "close");
  for (const name in more) lines.push(name, more[name] as string);
  for (const name in headers) lines.push(name, headers[name] as string);
  response.writeHead(status, lines);
  if (reply.file !== undefined && response.req.method !== "HEAD") {
    // If a file cannot be read completely, the connection is closed before its end.
    pipeline(createReadStream(reply.file), response, () => {});
    deps.untaken.add(response);
  } else if (reply.stream !== undefined && response.req.method !== "HEAD" && !deps.isClosing) {
    follow(deps, response, reply.stream);
  } else {
    response.end(body);
    if (response.writableLength > 0) deps.untaken.add(response);
  }
  if (!response.req.complete) endWithBody(deps, response);
}

function follow(
  { streams }: WriteContext,
  response: ServerResponse,
  stream: NonNullable<Reply["stream"]>,
): void {
  response.flushHeaders();
  streams.add(response);
  const stop = stream({
    write(text) {
      if (response.writableNeedDrain) return false;
      response.write(text);
      return true;
    },
  });
  response.once("close", () => {
    streams.delete(response);
    stop();
  });
}

/** Whether the client waits for a 100 Continue before it sends the body. */
export function expectsContinue({ headers, httpVersion }: IncomingMessage): boolean {
  return headers.expect !== undefined && httpVersion === "1.1";
}

/**
 * An answer that came before the end of the body: its connection is not idle when we close, so it
 * must be closed when the rest has arrived.
 */
function endWithBody(deps: WriteContext, { req }: ServerResponse): void {
  req.once("end", () => {
    if (deps.isClosing) req.socket.destroySoon();
  });
}

/** Node's parser has failed on a connection: there is no request and no response object. */
export function answerBroken(
  error: Error & { code?: string },
  socket: Socket,
  requestId: string,
): void {
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
    return;
  }
  const { status, headers, body = "" } = replyToFault(faultOf(error.code));
  socket.write(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nx-ms-request-id: ${requestId}\r\n` +
      `content-type: ${headers?.["content-type"]}\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  );
  socket.destroySoon();
}

function faultOf(code: string | undefined): Fault {
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") return "late";
  return code === "HPE_HEADER_OVERFLOW" ? "headTooLarge" : "malformed";
}
