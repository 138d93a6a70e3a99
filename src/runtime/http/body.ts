// Reads the body of a request, whatever its content type and framing, within a limit for one body
// and a limit for all bodies together.

import type { IncomingMessage } from "node:http";
import { Refusal } from "../../core/refusal.ts";
import { refuseSize } from "../../core/schema/limits.ts";

export const nothing: Buffer = Buffer.alloc(0);

/** The limit for all bodies together, from their first byte until their request is answered. */
export class BodyRoom {
  readonly #bytesMax: number;
  #bytes = 0;
  /** Of requests without a credential. */
  #strangersBytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /**
   * False: there is no room. Requests without a credential get an eighth, so that they cannot keep
   * others out.
   */
  take(bytes: number, isStranger: boolean): boolean {
    if (this.#bytes + bytes > this.#bytesMax) return false;
    if (isStranger && this.#strangersBytes + bytes > this.#bytesMax / 8) return false;
    this.giveBack(-bytes, isStranger);
    return true;
  }

  giveBack(bytes: number, isStranger: boolean): void {
    this.#bytes -= bytes;
    if (isStranger) this.#strangersBytes -= bytes;
  }
}

/** One body's share of that room. */
export class BodyHold {
  readonly #room: BodyRoom;
  readonly #isStranger: boolean;
  #bytes = 0;

  constructor(room: BodyRoom, isStranger: boolean) {
    this.#room = room;
    this.#isStranger = isStranger;
  }

  take(bytes: number): boolean {
    const isTaken = this.#room.take(bytes, this.#isStranger);
    if (isTaken) this.#bytes += bytes;
    return isTaken;
  }

  /** May be called twice. */
  release(): void {
    this.#room.giveBack(this.#bytes, this.#isStranger);
    this.#bytes = 0;
  }
}

export function hasBody({ headers }: IncomingMessage): boolean {
  return headers["content-length"] !== undefined || headers["transfer-encoding"] !== undefined;
}

/** When to try again; bodies come and go quickly. */
const retryAfterMs = 1_000;

/**
 * Null when the client has disconnected. Refusals: PayloadTooLarge and TooManyRequests, as soon as
 * that is known. The rest of such a body is still read and discarded, because a client that is cut
 * off while it writes never reads our answer; the request timeout limits that.
 */
export function readBody(
  incoming: IncomingMessage,
  { bytesMax, hold }: { readonly bytesMax: number; readonly hold: BodyHold },
): Promise<Buffer | null> {
  const length = incoming.headers["content-length"];
  return new Promise((resolve, reject) => {
    let chunks: Buffer[] | null = [];
    let bytes = 0;
    const refuse = (refusal: Refusal) => {
      chunks = null;
      hold.release();
      reject(refusal);
    };
    if (Number(length) > bytesMax) refuse(refuseSize("The request", bytesMax));
    incoming.on("data", (chunk: Buffer) => {
      if (chunks === null) return;
      bytes += chunk.length;
      if (bytes > bytesMax) refuse(refuseSize("The request", bytesMax));
      else if (hold.take(chunk.length)) chunks.push(chunk);
      else refuse(refuseForNow());
    });
    incoming.on("end", () => resolve(join(chunks ?? [])));
    incoming.on("error", () => resolve(null));
  });
}

export function refuseForNow(): Refusal {
  const words = "More is being received than the broker holds in memory; try again.";
  return new Refusal("TooManyRequests", words, { retryAfterMs });
}

function join(chunks: readonly Buffer[]): Buffer {
  const [first = nothing] = chunks;
  return chunks.length <= 1 ? first : Buffer.concat(chunks);
}
