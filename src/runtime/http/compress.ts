// Answers in fewer bytes, for clients that ask for it: texts above a size, compressed on a thread
// of Node's pool, so that the event loop goes on meanwhile. Streams and files are left as they are.

import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import type { Reply } from "../../core/request.ts";
import { takes } from "./encodings.ts";

/** A smaller one fits into a packet anyway. */
const charsMin = 1_400;

/** About as fast as gzip at these, and smaller. */
const brotliOptions = { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } };
const gzipOptions = { level: 4 };

const squeeze = {
  br: (text: string) => promisify(brotliCompress)(text, brotliOptions),
  gzip: (text: string) => promisify(gzip)(text, gzipOptions),
};

/** Null: it is sent as it is. */
export function compressed(
  reply: Reply,
  accepts: string | string[] | undefined,
): Promise<Reply> | null {
  const { body, headers } = reply;
  if (body === undefined || body.length < charsMin || accepts === undefined) return null;
  if (headers !== undefined && "content-encoding" in headers) return null;
  const asked = String(accepts);
  const encoding = takes(asked, "br") ? "br" : takes(asked, "gzip") ? "gzip" : null;
  if (encoding === null) return null;
  return squeezed(reply, body, encoding);
}

async function squeezed(
  { status, headers }: Reply,
  body: string,
  encoding: keyof typeof squeeze,
): Promise<Reply> {
  const bytes = await squeeze[encoding](body);
  const more = { "content-encoding": encoding, vary: "accept-encoding" };
  return { status, bytes, headers: { ...headers, ...more } };
}
