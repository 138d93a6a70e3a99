// Gathers operations of one kind into rounds: while some are under way, the next one fills. So a
// statement serves as many publishes or settlements as came meanwhile.

import type { Clock } from "../../core/ports.ts";

export interface LaneOptions<Op, Answer> {
  /** An answer for each operation. When it rejects, none of them has an answer. */
  readonly run: (ops: readonly Op[]) => Promise<readonly (Answer | Error)[]>;
  readonly clock: Clock;
  readonly inFlightMax: number;
  /** How long a round waits for more, unless it is full. */
  readonly gatherMs: number;
  readonly weightOf: (op: Op) => number;
  /**
   * How long after the last one a round begins, unless it is full or its operation is alone: none
   * is under way, and the last round had no more than one.
   */
  readonly spacingMs?: () => number;
  /** A round is full with this weight. */
  readonly weightMax: number;
  /** Resolves when everything that came in together has been handled. */
  readonly turn?: (() => Promise<void>) | undefined;
}

interface Waiting<Op, Answer> {
  readonly op: Op;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: Error) => void;
}

export class Lane<Op, Answer> {
  readonly #options: LaneOptions<Op, Answer>;
  #waiting: Waiting<Op, Answer>[] = [];
  #weight = 0;
  #inFlight = 0;
  #isGathering = false;
  #last = { begunAt: Number.NEGATIVE_INFINITY, count: 0 };
  /** Ends the wait for more. */
  #hurry: (() => void) | null = null;
  #idle: PromiseWithResolvers<void> | null = null;

  constructor(options: LaneOptions<Op, Answer>) {
    this.#options = options;
  }

  do(op: Op): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ op, resolve, reject });
      this.#weight += this.#options.weightOf(op);
      if (this.#weight >= this.#options.weightMax) this.#hurry?.();
      void this.#pump();
    });
  }

  /** Resolves when nothing waits and nothing is under way. */
  async idle(): Promise<void> {
    this.#hurry?.();
    if (this.#inFlight === 0 && this.#waiting.length === 0) return;
    this.#idle ??= Promise.withResolvers<void>();
    await this.#idle.promise;
  }

  async #pump(): Promise<void> {
    if (this.#isGathering || this.#inFlight >= this.#options.inFlightMax) return;
    this.#isGathering = true;
    await this.#gather();
    this.#isGathering = false;
    const round = this.#take();
    if (round.length === 0) return;
    this.#inFlight += 1;
    this.#last = { begunAt: this.#options.clock.now(), count: round.length };
    if (this.#waiting.length > 0) void this.#pump();
    await this.#run(round);
    this.#inFlight -= 1;
    if (this.#waiting.length > 0) void this.#pump();
    else if (this.#inFlight === 0) {
      this.#idle?.resolve();
      this.#idle = null;
    }
  }

  async #gather(): Promise<void> {
    const { clock, gatherMs, weightMax, turn, spacingMs = () => 0 } = this.#options;
    // Everything that is called in this same turn joins the round.
    await (turn === undefined ? undefined : turn());
    const { begunAt, count } = this.#last;
    const isAlone = this.#inFlight === 0 && count <= 1 && this.#waiting.length <= 1;
    const spaceMs = isAlone ? 0 : begunAt + spacingMs() - clock.now();
    const waitMs = Math.max(gatherMs, spaceMs);
    if (waitMs <= 0 || this.#weight >= weightMax) return;
    const gathered = Promise.withResolvers<void>();
    const cancel = clock.after(waitMs, gathered.resolve);
    this.#hurry = gathered.resolve;
    await gathered.promise;
    this.#hurry = null;
    cancel();
  }

  #take(): Waiting<Op, Answer>[] {
    const { weightOf, weightMax } = this.#options;
    let weight = 0;
    let count = 0;
    while (count < this.#waiting.length && (count === 0 || weight < weightMax)) {
      weight += weightOf((this.#waiting[count] as Waiting<Op, Answer>).op);
      count += 1;
    }
    this.#weight -= weight;
    return this.#waiting.splice(0, count);
  }

  async #run(round: readonly Waiting<Op, Answer>[]): Promise<void> {
    try {
      const answers = await this.#options.run(round.map(({ op }) => op));
      for (const [index, { resolve, reject }] of round.entries()) {
        const answer = answers[index] as Answer | Error;
        if (answer instanceof Error) reject(answer);
        else resolve(answer);
      }
    } catch (error) {
      for (const { reject } of round) reject(error as Error);
    }
  }
}
