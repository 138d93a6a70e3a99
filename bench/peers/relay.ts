// The yardstick: a bare relay. Takes a request, answers 200, sends its body on, keeps nothing.
// It has what any forwarder in Node has to pay for, HTTP in and undici out, and none of what a
// broker is for. A lost delivery is counted and lost.

import { answerParent } from "../intercom.ts";
import { listen, openForward, type Receiver } from "./doors.ts";

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
let forward: ReturnType<typeof openForward> = async () => {};
const waiting: (() => void)[] = [];

const port = listen(async (body) => {
  if (held >= HELD_MAX) await new Promise<void>((resolve) => waiting.push(resolve));
  held += 1;
  void pass(body);
});

async function pass(body: Buffer): Promise<void> {
  try {
    await forward(body);
    forwarded += 1;
  } catch {
    failed += 1;
  }
  held -= 1;
  waiting.shift()?.();
}

answerParent<RelayQuestion, RelayState>(async ({ receiver }) => {
  if (receiver !== undefined) forward = openForward(receiver);
  return { port: await port, forwarded, failed };
});
