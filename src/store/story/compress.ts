// Long texts of the stories in fewer bytes, by Zstandard at its fastest: that takes about as long
// as writing what it saves (decision 0015).

import { constants, zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { DamagedContent } from "../damaged-file.ts";

const { ZSTD_c_compressionLevel: level, ZSTD_c_checksumFlag: checksum } = constants;
const fastest = { params: { [level]: 1, [checksum]: 1 } };

export function compress(content: Uint8Array | string): Uint8Array {
  return zstdCompressSync(content, fastest);
}

export function decompress(content: Uint8Array): Buffer {
  try {
    return zstdDecompressSync(content);
  } catch (cause) {
    // A lack of memory, say, is not the fault of the file.
    if (!isDamage(cause)) throw cause;
    throw new DamagedContent("What is kept of a story cannot be read.", { cause });
  }
}

/** What Zstandard says of bytes that were changed or cut. */
function isDamage(error: unknown): boolean {
  const { code } = error as { readonly code?: string };
  return /^(ZSTD_error_(?!memory_allocation)|Z_BUF_ERROR$)/.test(code ?? "");
}
