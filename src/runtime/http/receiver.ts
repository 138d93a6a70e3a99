// A small server for `posthorn listen`: whole requests in, and for each an answer or a closed
// connection, as the command says. Separate from listener.ts, because a receiver must be able to
// misbehave.

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Arrived, OpenReceiver, Response } from "../../core/receiver.ts";

/** Larger than any delivery. */
const bodyBytesMax = 8 * 1024 * 1024;

export const openReceiver: OpenReceiver = async ({ host, port, respond }) => {
  const underWay = new Set<Promise<void>>();
  const server = createServer((incoming, outgoing) => {
    const answering = answer(incoming, outgoing, respond)
      .catch(() => void incoming.socket.destroy())
      .finally(() => underWay.delete(answering));
    underWay.add(answering);
  });
  // An answer may be delayed for longer than Node would wait for it.
  server.requestTimeout = 0;
  const listening = Promise.withResolvers<void>();
  server.once("error", listening.reject);
  server.listen(port, host, listening.resolve);
  await listening.promise;
  const { port: taken } = server.address() as AddressInfo;
  const name = host.includes(":") ? `[${host}]` : host;
  return {
    url: `http://${name}:${taken}`,
    /** What was accepted must be answered: answers in progress are sent first. */
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      await Promise.all(underWay);
      server.closeAllConnections();
      await closed;
    },
  };
};

async function answer(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  respond: (arrived: Arrived) => Promise<Response>,
): Promise<void> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > bodyBytesMax) {
      incoming.destroy();
      return;
    }
    chunks.push(chunk);
  }
  const response = await respond({
    method: incoming.method ?? "GET",
    path: incoming.url ?? "/",
    headers: headersOf(incoming),
    body: Buffer.concat(chunks).toString("utf8"),
  });
  // The connection itself: a request that was read completely no longer refers to it.
  if (response.kind === "drop") incoming.socket.destroy();
  else await write(outgoing, response);
}

/** Ends when the answer is sent, or the client has disconnected. */
function write(
  outgoing: ServerResponse,
  { status, headers, body }: Extract<Response, { kind: "answer" }>,
): Promise<void> {
  return new Promise((resolve) => {
    outgoing.once("close", resolve);
    outgoing.writeHead(status, headers).end(body, () => resolve());
  });
}

function headersOf({ headers }: IncomingMessage): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join(", ") : (value ?? ""),
    ]),
  );
}
