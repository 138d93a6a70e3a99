// What every peer has besides its queue: an HTTP server that answers 200 once the body is kept, and
// undici to send it on. The same for all, so that the difference is the queue.

import { createServer } from "node:http";
import { Agent } from "undici";

/** Where deliveries go, and over how many connections at most: the same for every system. */
export interface Receiver {
  readonly port: number;
  readonly connections: number;
}

/** What a peer with a queue is told once. */
export interface PeerQuestion {
  /** The file beside which its packages are installed. */
  readonly packages: string;
  readonly databasePort: number;
  readonly receiver: Receiver;
}

/** Answers when `keep` has kept the body, and with 503 when it could not. Returns its port. */
export function listen(keep: (body: Buffer) => Promise<unknown>): Promise<number> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", async () => {
      const body = chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks);
      const status = await keep(body).then(
        () => 200,
        () => 503,
      );
      response.writeHead(status, { "content-length": 0 }).end();
    });
  });
  return new Promise((resolve) => {
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      resolve(typeof address === "object" && address !== null ? address.port : 0);
    });
  });
}

/** Throws unless the receiver answers 200. */
export function openForward(to: Receiver): (body: Buffer | string) => Promise<void> {
  const agent = new Agent({ connections: to.connections, pipelining: 1 });
  const headers = { "content-type": "application/json; charset=utf-8" };
  const origin = `http://127.0.0.1:${to.port}`;
  return async (body) => {
    const reply = await agent.request({ origin, path: "/hook", method: "POST", headers, body });
    await reply.body.dump();
    if (reply.statusCode !== 200) throw new Error(`status ${reply.statusCode}`);
  };
}
