// The progress of a redrive: its counts, and the first few remarks.

import type { DeadLetterView, RedriveView } from "../../core/api/views.ts";
import { redriveLimits } from "../../core/deadletter/redrive.ts";
import type { FoundLetter } from "./find-letters.ts";
import type { Ear } from "./gather.ts";
import { nameOf } from "./redrive-target.ts";

export class Progress implements Omit<Ear, "signal"> {
  total = 0;
  sent: number;
  #failed: number;
  #skipped = 0;
  #missed = 0;
  readonly #remarks: string[] = [];
  readonly #sample: DeadLetterView[] = [];

  /** `before`: what was done until it was stopped. */
  constructor({ sent, failed }: { readonly sent: number; readonly failed: number }) {
    this.sent = sent;
    this.#failed = failed;
  }

  get shown(): Pick<RedriveView, "total" | "sent" | "failed" | "skipped" | "remarks" | "sample"> {
    return { ...this.counts, remarks: [...this.#remarks], sample: [...this.#sample] };
  }

  get counts() {
    const { total, sent } = this;
    return { total, sent, failed: this.#failed, skipped: this.#skipped };
  }

  /** If nothing could be read, nothing was done. */
  get hasSeenNothing(): boolean {
    return this.total === 0 && this.#missed > 0;
  }

  remark(words: string): void {
    if (this.#remarks.length < redriveLimits.remarksMax) this.#remarks.push(words);
  }

  miss(words: string): void {
    this.#missed += 1;
    this.remark(words);
  }

  skip(words: string): void {
    this.#skipped += 1;
    this.remark(words);
  }

  fail(found: FoundLetter, why: string): void {
    this.#failed += 1;
    this.remark(`${nameOf(found)}: ${why}`);
  }

  /** Of what a dry run would send. */
  show(view: DeadLetterView): void {
    if (this.#sample.length < redriveLimits.sampleMax) this.#sample.push(view);
  }
}
