// Requests that make no sense, at a given pace, whatever else happens: most of them several on one
// connection without waiting for answers, some alone on one that is then closed. Each comes from
// an address of its own: one that guesses keys is soon answered slowly, whatever it asks.

import { connect, type Socket } from "node:net";
import type { Dice } from "../sim/dice.ts";
import { Answers } from "./answers.ts";
import { adminKey, scratchKey } from "./broker.ts";
import type { Ledger } from "./ledger.ts";
import { type Mutated, mutatedRequest } from "./mutated-request.ts";
import { pause } from "./publishers.ts";

/** Connections at once, and requests on one before the next has its turn. */
const linesMax = 128;
const requestsMax = 16;
/** Written together, without waiting for answers. */
const togetherMax = 8;
const aloneShare = 0.1;
/** Many promise a body that never comes; the broker would wait for it. */
const answerMsMax = 3_000;

export interface Mutation {
  stop(): Promise<void>;
}

export interface MutationOptions {
  readonly dice: Dice;
  readonly perSecond: number;
  /** Null while nobody is there; what meets nobody does not count. */
  readonly url: () => string | null;
}

export function openMutation(ledger: Ledger, options: MutationOptions): Mutation {
  const { dice, perSecond, url } = options;
  const begunAt = performance.now();
  let sent = 0;
  let isOver = false;
  const kept: Mutated[] = [];
  const work = async () => {
    while (!isOver) {
      const isAhead = sent / perSecond > (performance.now() - begunAt) / 1_000;
      const to = isAhead ? null : url();
      if (to === null) await pause(20);
      else {
        const requests = drawRequests(dice, kept);
        sent += requests.length;
        const host = `127.${dice.whole(1, 99)}.${dice.whole(0, 255)}.${dice.whole(1, 254)}`;
        const answered = await sendAll({ port: Number(new URL(to).port), host, requests }, ledger);
        // Those behind one that ended the connection were never heard.
        sent -= Math.max(0, requests.length - answered - 1);
      }
    }
  };
  const all = Array.from({ length: perSecond > 0 ? linesMax : 0 }, work);
  return {
    async stop() {
      isOver = true;
      await Promise.all(all);
    },
  };
}

/**
 * For one connection. What is no request ends it, sometimes before what came earlier is answered:
 * most of those are kept for a connection of their own.
 */
function drawRequests(dice: Dice, kept: Mutated[]): readonly Mutated[] {
  const alone = kept.pop();
  if (alone !== undefined) return [alone];
  const count = dice.isHit(aloneShare) ? 1 : requestsMax;
  const requests: Mutated[] = [];
  while (requests.length < count) {
    const isLast = requests.length + 1 === count;
    const request = mutatedRequest(dice, { adminKey, scratchKey, isLast });
    const isKept = !request.isSound && requests.length > 0 && dice.isHit(0.8);
    (isKept ? kept : requests).push(request);
    if (!request.isSound) break;
  }
  return requests;
}

interface Sending {
  readonly port: number;
  /** Whence. */
  readonly host: string;
  readonly requests: readonly Mutated[];
}

/** Bytes on a bare connection; whatever comes back is read. How many were answered. */
function sendAll({ port, host, requests }: Sending, ledger: Ledger): Promise<number> {
  let written = 0;
  let answered = 0;
  let begun = performance.now();
  const { promise, resolve } = Promise.withResolvers<number>();
  const note = (status: number) => {
    const request = requests[answered];
    // To the rest of a body, taken for a request.
    if (request === undefined) return;
    answered += 1;
    ledger.mutatedAnswer(status);
    ledger.judgeOrder(
      status,
      begun,
      () => `${status} to ${JSON.stringify(request.text.slice(0, 600))}`,
    );
  };
  const answers = new Answers(
    (status) => {
      note(status);
      if (answered === written) writeNext();
    },
    () => requests[answered]?.isHead === true,
  );
  const writeNext = () => {
    if (answered >= requests.length) {
      socket.destroy();
      return;
    }
    const next = requests.slice(written, written + togetherMax);
    written += next.length;
    begun = performance.now();
    const text = next.map((each) => each.text).join("");
    // Who says that nothing more comes gets no answer that takes its time.
    if (next.at(-1)?.isSound === false) socket.end(text, "latin1");
    else socket.write(text, "latin1");
    cut.refresh();
  };
  const cut = setTimeout(() => socket.destroy(), answerMsMax);
  const socket: Socket = connect({ host: "127.0.0.1", port, localAddress: host }, writeNext);
  socket.setNoDelay(true);
  socket.on("data", (chunk) => answers.read(chunk));
  socket.on("error", () => {});
  socket.on("close", () => {
    clearTimeout(cut);
    // One that was cut within its answer, or whose answer ends with the connection.
    if (answers.isInside) note(answers.status);
    else if (answered < written && !answers.isLast) ledger.mutatedAnswer(0);
    resolve(answered);
  });
  return promise;
}
