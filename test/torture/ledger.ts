// What happened in a torture run, and what it comes to: every accepted event at every endpoint that
// wanted it, every answer of 5xx held against what was wrong at the time, waits and memory.

import { answering, type Endpoints, hanging } from "./endpoints.ts";

/** Something was wrong for a while, and these answers are then right. */
export interface Trouble {
  readonly name: string;
  readonly explains: readonly number[];
  readonly from: number;
  to: number;
}

/** What was asked in a trouble may be answered a little after it. */
const echoMs = 1_000;
const shownMax = 10;

export class Ledger {
  readonly accepted = new Set<string>();
  /** Those that the hanging endpoints want, too. */
  readonly sampled = new Set<string>();
  /** Accepted after the backup to which the store was set back: they may be gone. */
  readonly undone = new Set<string>();
  readonly acts = new Map<string, number>();
  readonly mutatedBy = new Map<string, number>();
  /** Of the hasty operator, by their answers. */
  readonly ordersBy = new Map<string, number>();
  refused = 0;
  unanswered = 0;
  mutated = 0;
  residentMax = 0;
  /** The longest polite end. */
  stopMsMax = 0;
  isOwnerGone: (at: number) => boolean = () => false;
  readonly #faults: string[] = [];
  #faultCount = 0;
  /** Of the healthy publisher, in calm and in trouble. */
  readonly #waits = { calm: [] as number[], trouble: [] as number[] };
  readonly #troubles: Trouble[] = [];
  #undoneIfBegunBefore = Number.NEGATIVE_INFINITY;

  /** `begun`: when it was published. */
  accept(
    ids: readonly string[],
    { begun, isSampled }: { begun: number; isSampled: boolean },
  ): void {
    const isUndone = begun < this.#undoneIfBegunBefore;
    for (const id of ids) {
      this.accepted.add(id);
      if (isSampled) this.sampled.add(id);
      if (isUndone) this.undone.add(id);
    }
  }

  /** A backup begins; the result says, once its broker is gone, that it is restored. */
  backup(): () => void {
    const before = this.accepted.size;
    return () => {
      // In the order in which they were accepted.
      for (const id of [...this.accepted].slice(before)) this.undone.add(id);
      this.#undoneIfBegunBefore = performance.now();
    };
  }

  /** The result ends it. */
  trouble(name: string, explains: readonly number[]): () => void {
    const trouble = { name, explains, from: performance.now(), to: Number.POSITIVE_INFINITY };
    this.#troubles.push(trouble);
    if (this.#troubles.length > 20) this.#troubles.shift();
    return () => {
      trouble.to = performance.now() + echoMs;
    };
  }

  /** The first of them are shown at once: an hour is long. */
  fault(words: string): void {
    this.#faultCount += 1;
    if (this.#faults.length >= shownMax) return;
    this.#faults.push(words);
    const during = this.#during(performance.now()).map(({ name }) => name);
    console.log(`FAULT: ${words}${during.length === 0 ? "" : ` (during ${during.join(", ")})`}`);
  }

  /** What was asked then and answered now. */
  judge(status: number, begun: number, words: () => string): void {
    if (status < 500) return;
    const then = this.#during(begun);
    if (!then.some(({ explains }) => explains.includes(status))) this.fault(words());
  }

  /** Zero: none came. */
  mutatedAnswer(status: number): void {
    if (status > 0) this.mutated += 1;
    addTo(this.mutatedBy, status);
  }

  orderAnswer(status: number): void {
    addTo(this.ordersBy, status);
  }

  /** Of an order, which the broker that serves its subject may have to carry out. */
  judgeOrder(status: number, begun: number, words: () => string): void {
    if (status !== 503 || !this.isOwnerGone(performance.now())) this.judge(status, begun, words);
  }

  waited(begun: number): void {
    const kind = this.#during(begun).length === 0 ? "calm" : "trouble";
    this.#waits[kind].push(performance.now() - begun);
  }

  #during(begun: number): readonly Trouble[] {
    return this.#troubles.filter(({ to }) => to >= begun);
  }

  /** Of each endpoint what it should have had and never got. */
  lost(endpoints: Endpoints): readonly string[] {
    const missing = (names: readonly string[], ids: ReadonlySet<string>) =>
      [...ids].flatMap((id) =>
        names.filter((name) => endpoints.times(name, id) === 0).map((name) => `${name} ${id}`),
      );
    const kept = (ids: ReadonlySet<string>) => ids.difference(this.undone);
    return [...missing(answering, kept(this.accepted)), ...missing(hanging, kept(this.sampled))];
  }

  get isClean(): boolean {
    return this.#faultCount === 0;
  }

  tell(endpoints: Endpoints, lost: readonly string[], kills: number): string {
    const count = (counts: ReadonlyMap<string, number>) =>
      [...counts].map(([name, times]) => `${name} ${times}`).join(", ");
    const of = (kind: "calm" | "trouble") => {
      const sorted = this.#waits[kind].toSorted((one, other) => one - other);
      const at = (share: number) => sorted[Math.floor(sorted.length * share)]?.toFixed(1) ?? "–";
      return `p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, of ${sorted.length}`;
    };
    const arrived = [...this.undone].filter((id) =>
      answering.every((name) => endpoints.times(name, id) > 0),
    ).length;
    return [
      `acts:                  ${count(this.acts)}`,
      `SIGKILLs:              ${kills}`,
      `accepted:              ${this.accepted.size}`,
      `of them undone:        ${this.undone.size}, accepted after a backup that was restored; ${arrived} arrived`,
      `delivered:             ${endpoints.delivered}, more than once ${endpoints.repeated}`,
      `refused, unanswered:   ${this.refused}, ${this.unanswered}`,
      `mutated requests:      ${this.mutated} (answered: ${count(this.mutatedBy)})`,
      `operator's orders:     ${count(this.ordersBy)}`,
      `healthy publisher:     ${of("calm")} in calm; ${of("trouble")} in trouble`,
      `longest polite stop:   ${(this.stopMsMax / 1_000).toFixed(1)} s`,
      `resident at most:      ${this.residentMax.toFixed(0)} MiB`,
      `faults:                ${this.#faultCount}`,
      ...this.#faults.map((words) => `  ${words}`),
      `lost:                  ${lost.length}`,
      ...lost.slice(0, shownMax).map((words) => `  ${words}`),
    ].join("\n");
  }
}

function addTo(counts: Map<string, number>, status: number): void {
  const kind = status === 0 ? "not" : `${Math.floor(status / 100)}xx`;
  counts.set(kind, (counts.get(kind) ?? 0) + 1);
}
