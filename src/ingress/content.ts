// The body of a publish: decompressed if necessary, and given as text or base64 on demand.
// Decompression never exceeds the limit, however small the body is.
//
// It is decompressed here and not while it is read from the connection, so that only clients with a
// key can cause the work; in one go, because the body fits into the limit.

import { isUtf8 } from "node:buffer";
import { gunzipSync } from "node:zlib";
import { Refusal } from "../core/refusal.ts";
import type { Content } from "../core/schema/binding.ts";
import { refuseSize } from "../core/schema/limits.ts";

/** Refusals: PayloadTooLarge, InvalidContentEncoding, InputJsonInvalid (not gzip). */
export function openContent(
  encoding: string | string[] | undefined,
  body: Uint8Array,
  bytesMax: number,
): Content {
  const plain = unpack(body, { encoding, bytesMax });
  if (plain.length > bytesMax) throw refuseSize("The request", bytesMax);
  const { buffer, byteOffset, length } = plain;
  return new Body(plain instanceof Buffer ? plain : Buffer.from(buffer, byteOffset, length));
}

class Body implements Content {
  readonly #bytes: Buffer;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get byteCount(): number {
    return this.#bytes.length;
  }

  text(): string {
    return decode(this.#bytes);
  }

  base64(): string {
    return this.#bytes.toString("base64");
  }
}

interface Packing {
  readonly encoding: string | string[] | undefined;
  readonly bytesMax: number;
}

function unpack(body: Uint8Array, { encoding, bytesMax }: Packing): Uint8Array {
  if (encoding === undefined) return body;
  switch (String(encoding).toLowerCase()) {
    case "":
    case "identity":
      return body;
    case "gzip":
    case "x-gzip":
      return inflate(body, bytesMax);
    default:
      throw new Refusal(
        "InvalidContentEncoding",
        "The Content-Encoding must be 'gzip' or 'identity', or be left out.",
      );
  }
}

function inflate(body: Uint8Array, bytesMax: number): Uint8Array {
  try {
    return gunzipSync(body, { maxOutputLength: bytesMax });
  } catch (error) {
    const isTooLarge = error instanceof RangeError && "code" in error;
    if (isTooLarge) throw refuseSize("The request", bytesMax);
    throw new Refusal("InputJsonInvalid", "The body is not valid gzip.", { cause: error });
  }
}

function decode(bytes: Buffer): string {
  // Decoding would replace invalid bytes with a replacement character.
  if (!isUtf8(bytes)) throw new Refusal("InputJsonInvalid", "The body is not valid UTF-8.");
  const text = bytes.toString("utf8");
  // Some tools begin a file with a byte order mark; it is never part of the JSON.
  return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
}
