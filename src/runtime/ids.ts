// Generated ids: random in the broker, a fixed sequence where a run must be repeatable.
//
// The fixed sequence starts over with every process, so it is only for stores that do so too: with
// an older data folder it would give ids a second time.

import { hash, randomBytes, randomFillSync } from "node:crypto";
import type { Ids } from "../core/ports.ts";

/** Random ids that are made together. */
const idsAtOnce = 128;
const idChars = 36;

/** Version 4, as `randomUUID` makes them, in flat text: every publish takes two. */
export function realIds(): Ids {
  const random = Buffer.alloc(16 * idsAtOnce);
  const texts = Buffer.alloc(idChars * idsAtOnce);
  let at = texts.length;
  return {
    next() {
      if (at === texts.length) {
        randomFillSync(random);
        writeIds(texts, random);
        at = 0;
      }
      at += idChars;
      return texts.toString("latin1", at - idChars, at);
    },
  };
}

const dash = 0x2d;
const digits = Buffer.from("0123456789abcdef");

function writeIds(texts: Buffer, random: Buffer): void {
  let to = 0;
  for (let from = 0; from < random.length; from += 16) {
    for (let index = 0; index < 16; index += 1) {
      if (index === 4 || index === 6 || index === 8 || index === 10) texts[to++] = dash;
      let byte = random[from + index] as number;
      if (index === 6) byte = (byte & 0x0f) | 0x40;
      else if (index === 8) byte = (byte & 0x3f) | 0x80;
      texts[to++] = digits[byte >> 4] as number;
      texts[to++] = digits[byte & 0x0f] as number;
    }
  }
}

/** An access key, in the form of Azure's. */
export function makeKey(): string {
  return randomBytes(32).toString("base64");
}

export function seededIds(seed: number): Ids {
  let count = 0;
  return {
    next() {
      const hex = hash("sha256", `${seed}\n${count++}`);
      // The version and variant digits say "random", as readers of UUIDs expect.
      const variant = (8 + (Number.parseInt(hex.charAt(15), 16) % 4)).toString(16);
      const ends = `${variant}${hex.slice(16, 19)}-${hex.slice(19, 31)}`;
      return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(12, 15)}-${ends}`;
    },
  };
}
