// The yardstick: a bare relay. Takes a request, answers 200, sends its body on, keeps nothing.
// It has what any forwarder in Node has to pay for, HTTP in and undici out, and none of what a
// broker is for. A lost delivery is counted and lost.

import { createServer } from "node:http";
import { Agent } from "undici";
import { answerParent } from "./intercom.ts";
import type { Receiver } from "./servers.ts";

export interface RelayQuestion {
  /** Where to send; given once, before the first request. */
  readonly receiver?: Receiver;
}

export interface RelayState {
  readonly port: number;
  readonly forwarded: number;
  readonly failed: number;
}

/** More than this many bodies are never held: then the answer waits until one has left. */
const HELD_MAX = 1_000;

let forwarded = 0;
let failed = 0;
let held = 0;
let forward: (body: Buffer) => Promise<void> = async () => {};
const waiting: (() => void)[] = [];

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", async () => {
    const body = chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks);
    if (held >= HELD_MAX) await new Promise<void>((resolve) => waiting.push(resolve));
    held += 1;
    response.writeHead(200, { "content-length": 0 }).end();
    await pass(body);
    held -= 1;
    waiting.shift()?.();
  });
});

async function pass(body: Buffer): Promise<void> {
  try {
    await forward(body);
    forwarded += 1;
  } catch {
    failed += 1;
  }
}

function openForward(to: Receiver): typeof forward {
  const agent = new Agent({ connections: to.connections, pipelining: 1 });
  const headers = { "content-type": "application/json; charset=utf-8" };
  const origin = `http://127.0.0.1:${to.port}`;
  return async (body) => {
    const reply = await agent.request({ origin, path: "/hook", method: "POST", headers, body });
    await reply.body.dump();
    if (reply.statusCode !== 200) throw new Error(`status ${reply.statusCode}`);
  };
}

const port = new Promise<number>((resolve) => {
  server.listen(0, "127.0.0.1", () => {
    const address = server.address();
    resolve(typeof address === "object" && address !== null ? address.port : 0);
  });
});

answerParent<RelayQuestion, RelayState>(async ({ receiver }) => {
  if (receiver !== undefined) forward = openForward(receiver);
  return { port: await port, forwarded, failed };
});
