// Reads the head of a request that leaves no doubt: a POST of HTTP/1.1 with one Content-Length, in
// printable ASCII, each header once, and nothing that changes what the bytes after it mean. It
// takes less than Node's parser does, and nothing in another way; whatever else there is, is left
// to that one. Pure.

export interface PlainHead {
  /** With the empty line at its end. */
  readonly bytes: Buffer;
  /** As requested, with the query. */
  readonly url: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly bodyBytes: number;
}

const headBytesMax = 8_192;
const linesMax = 64;
const firstLine = /^POST (\/[\w\-.~!$&'()*+,;=:@/%]*(?:\?[\w\-.~!$&'()*+,;=:@/%?]*)?) HTTP\/1\.1$/;
const otherLine = /^([A-Za-z][A-Za-z\d-]*): *((?:[!-~](?:[ -~]*[!-~])?)?)$/;
const lengthForm = /^(?:0|[1-9]\d{0,8})$/;

/** They say something about the connection, or about what follows. */
const telling = new Set([
  "expect",
  "http2-settings",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** Null: it is not such a head, or not all of it is there. */
export function readPlainHead(bytes: Buffer): PlainHead | null {
  const end = bytes.indexOf("\r\n\r\n", 0, "latin1");
  if (end < 0 || end > headBytesMax) return null;
  const [first = "", ...lines] = bytes.toString("latin1", 0, end).split("\r\n");
  const url = firstLine.exec(first)?.[1];
  if (url === undefined || lines.length > linesMax) return null;
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const [, name, value] = otherLine.exec(line) ?? [];
    if (name === undefined || value === undefined) return null;
    const key = name.toLowerCase();
    if (key in headers || telling.has(key)) return null;
    headers[key] = value;
  }
  const { connection = "keep-alive", host } = headers;
  if (host === undefined || connection.toLowerCase() !== "keep-alive") return null;
  const length = headers["content-length"] ?? "";
  if (!lengthForm.test(length)) return null;
  return { bytes: bytes.subarray(0, end + 4), url, headers, bodyBytes: Number(length) };
}
