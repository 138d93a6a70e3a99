// Random numbers, real or from a seed. With a seed a draw depends only on the seed and its purpose,
// so that neither the order of draws nor what else the broker does can change it: the same delivery
// waits the same time again.

import { hash } from "node:crypto";
import type { Chance } from "../core/ports.ts";

export function realChance(): Chance {
  return { draw: () => Math.random() };
}

export function seededChance(seed: number): Chance {
  return {
    draw(purpose) {
      const digest = hash("sha256", `${seed}\n${purpose}`, "buffer");
      // The first 53 bits: as many as a number in [0, 1) has.
      return (digest.readUInt32BE(0) * 2 ** 21 + (digest.readUInt32BE(4) >>> 11)) / 2 ** 53;
    },
  };
}
