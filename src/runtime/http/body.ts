// The body of a request as one piece, whatever its content type and however it is framed, and never
// more of it than the limit in memory.

import type { IncomingMessage } from "node:http";
import { refuseSize } from "../../core/schema/limits.ts";

export const nothing: Buffer = Buffer.alloc(0);

export function hasBody({ headers }: IncomingMessage): boolean {
  return headers["content-length"] !== undefined || headers["transfer-encoding"] !== undefined;
}

/**
 * Null when the client has gone. Refusal: PayloadTooLarge, as soon as that is known. What is left
 * of such a body is still read and thrown away, because a client that is cut off while it writes
 * never reads our answer; the request timeout bounds that.
 */
export function readBody(incoming: IncomingMessage, bytesMax: number): Promise<Buffer | null> {
  const length = incoming.headers["content-length"];
  return new Promise((resolve, reject) => {
    let chunks: Buffer[] = [];
    let bytes = 0;
    const refuse = () => {
      chunks = [];
      reject(refuseSize("The request", bytesMax));
    };
    if (Number(length) > bytesMax) refuse();
    incoming.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > bytesMax) refuse();
      else chunks.push(chunk);
    });
    incoming.on("end", () => resolve(join(chunks)));
    incoming.on("error", () => resolve(null));
  });
}

function join(chunks: readonly Buffer[]): Buffer {
  const [first = nothing] = chunks;
  return chunks.length <= 1 ? first : Buffer.concat(chunks);
}
