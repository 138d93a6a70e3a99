// The receiver as a process of its own: answers 200 to every delivery, counts the events it has
// seen, and how long they took to arrive. No HTTP server, because its price would be paid in every
// system and hide the difference between them.
//
// Deliveries to a path that begins with `/hang` are never answered.

import { createServer } from "node:net";
import { answerParent } from "./intercom.ts";
import { readNumbers, readSentAt } from "./load.ts";
import { Latencies, nowMs } from "./measure.ts";
import { cutPieces } from "./wire.ts";

export type ReceiverQuestion =
  /** `copies`: how many subscriptions get each event; more than that are repeated ones. */
  { readonly kind: "reset"; readonly copies: number } | { readonly kind: "report" };

export interface Received {
  readonly port: number;
  /** Events received since the last reset, each as often as there are copies of it. */
  readonly unique: number;
  readonly repeated: number;
  /** When the last of the different ones came; see `nowMs`. */
  readonly lastAt: number;
  /** From the sending of a publish to its arrival here. */
  readonly arrivalP50Ms: number;
  readonly arrivalP99Ms: number;
  /** The longest of them. */
  readonly longestMs: number;
}

const NUMBERS_MAX = 50_000_000;
const OK = Buffer.from("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");

const seen = new Uint8Array(NUMBERS_MAX);
let latencies = new Latencies();
let copies = 1;
let unique = 0;
let repeated = 0;
let lastAt = 0;
let longestMs = 0;

const server = createServer((socket) => {
  socket.setNoDelay(true);
  const cut = cutPieces((head, body) => {
    if (head.startsWith("POST /hang")) return;
    note(body);
    socket.write(OK);
  });
  socket.on("data", cut);
  // A sender that goes away is part of the bench.
  socket.on("error", () => socket.destroy());
});

function note(body: Buffer): void {
  const now = nowMs();
  const sentAt = readSentAt(body);
  if (sentAt !== null) {
    latencies.add(now - sentAt);
    longestMs = Math.max(longestMs, now - sentAt);
  }
  for (const number of readNumbers(body)) {
    const times = (seen[number] ?? 0) + 1;
    seen[number] = times;
    if (times > copies) repeated += 1;
    else {
      unique += 1;
      lastAt = now;
    }
  }
}

const port = new Promise<number>((resolve) => {
  server.listen(0, "127.0.0.1", () => {
    const address = server.address();
    resolve(typeof address === "object" && address !== null ? address.port : 0);
  });
});

answerParent<ReceiverQuestion, Received>(async (question) => {
  // Numbers are never used twice, so only the counts begin again.
  if (question.kind === "reset") {
    copies = question.copies;
    unique = 0;
    repeated = 0;
    latencies = new Latencies();
    longestMs = 0;
  }
  const [arrivalP50Ms, arrivalP99Ms] = [latencies.quantile(0.5), latencies.quantile(0.99)];
  return { port: await port, unique, repeated, lastAt, longestMs, arrivalP50Ms, arrivalP99Ms };
});
