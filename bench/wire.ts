// Just enough HTTP/1.1 to be cheap: publisher, receiver and server share the machine's cores, so
// what the bench itself burns is missing elsewhere. Knows Content-Length and nothing else, and
// says so loudly when it meets something else.

/**
 * Cuts a stream of bytes into requests or replies and hands each over: head as text, body as bytes.
 */
export function cutPieces(take: (head: string, body: Buffer) => void): (chunk: Buffer) => void {
  let rest: Buffer | null = null;
  return (chunk) => {
    let bytes = rest === null ? chunk : Buffer.concat([rest, chunk]);
    rest = null;
    while (bytes.length > 0) {
      const headEnd = bytes.indexOf("\r\n\r\n");
      const bodyStart = headEnd + 4;
      const head = headEnd === -1 ? null : bytes.toString("latin1", 0, headEnd + 2);
      const end = head === null ? Number.POSITIVE_INFINITY : bodyStart + bodyBytes(head);
      if (head === null || bytes.length < end) {
        rest = bytes;
        return;
      }
      take(head, bytes.subarray(bodyStart, end));
      bytes = bytes.subarray(end);
    }
  };
}

function bodyBytes(head: string): number {
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
  if (length !== undefined) return Number(length);
  if (/\r\ntransfer-encoding:/i.test(head)) throw new Error(`no Content-Length in:\n${head}`);
  return 0;
}

/** The status of a reply, from its head. */
export function statusOf(head: string): number {
  return Number(head.slice(9, 12));
}
