// The receiver as a process of its own: answers 200 to every delivery and counts the numbers it
// has seen, each once. No HTTP server, because its price would be paid in both systems and hide
// the difference between them.

import { createServer } from "node:net";
import { answerParent } from "./intercom.ts";
import { readNumber } from "./load.ts";
import { nowMs } from "./measure.ts";
import { cutPieces } from "./wire.ts";

export type ReceiverQuestion = { readonly kind: "reset" } | { readonly kind: "report" };

export interface Received {
  readonly port: number;
  /** Different events received since the last reset. */
  readonly unique: number;
  readonly repeated: number;
  /** When the last of the different ones came; see `nowMs`. */
  readonly lastAt: number;
}

const NUMBERS_MAX = 50_000_000;
const OK = Buffer.from("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");

const seen = new Uint8Array(NUMBERS_MAX);
let unique = 0;
let repeated = 0;
let lastAt = 0;

const server = createServer((socket) => {
  socket.setNoDelay(true);
  const cut = cutPieces((_head, body) => {
    note(body);
    socket.write(OK);
  });
  socket.on("data", cut);
  // A sender that goes away is part of the bench.
  socket.on("error", () => socket.destroy());
});

function note(body: Buffer): void {
  const number = readNumber(body);
  if (number === null) return;
  if (seen[number] === 1) {
    repeated += 1;
    return;
  }
  seen[number] = 1;
  unique += 1;
  lastAt = nowMs();
}

const port = new Promise<number>((resolve) => {
  server.listen(0, "127.0.0.1", () => {
    const address = server.address();
    resolve(typeof address === "object" && address !== null ? address.port : 0);
  });
});

answerParent<ReceiverQuestion, Received>(async ({ kind }) => {
  // Numbers are never used twice, so only the counts begin again.
  if (kind === "reset") {
    unique = 0;
    repeated = 0;
  }
  return { port: await port, unique, repeated, lastAt };
});
