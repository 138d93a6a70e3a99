// Memory for what is kept for a short while and let go of all together: bytes are copied into large
// pieces that are used again and again, so that nothing of them is left to the collector of
// garbage, which comes late for what is outside of the heap.

const slabBytes = 1024 * 1024;

export class Slabs {
  #slabs: Buffer[] = [];
  /** How many of them have something in them, the last one up to here. */
  #used = 0;
  #at = slabBytes;

  get bytes(): number {
    return slabBytes * this.#slabs.length;
  }

  /** Where the copy is; it stays as it is until `reuse`. */
  copy(from: Buffer, start: number, end: number): { readonly all: Buffer; readonly at: number } {
    const length = end - start;
    // Of what is larger there is only one at a time.
    if (length > slabBytes) return { all: Buffer.from(from.subarray(start, end)), at: 0 };
    if (this.#at + length > slabBytes) this.#begin();
    const all = this.#slabs[this.#used - 1] as Buffer;
    const at = this.#at;
    from.copy(all, at, start, end);
    this.#at += length;
    return { all, at };
  }

  /** Nobody has anything of it any more. What was not needed since the last time is let go. */
  reuse(): void {
    this.#slabs.length = Math.min(this.#slabs.length, Math.max(this.#used, 1));
    this.#used = 0;
    this.#at = slabBytes;
  }

  #begin(): void {
    if (this.#used === this.#slabs.length) this.#slabs.push(Buffer.allocUnsafeSlow(slabBytes));
    this.#used += 1;
    this.#at = 0;
  }
}
