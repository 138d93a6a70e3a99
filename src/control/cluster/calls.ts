// Questions between brokers of a cluster, through the store's mail. What a question does is its
// verb; each is answered once, also if the mail comes twice. A refusal at the other end is a
// refusal here, with the same code and words.

import type { Ownership } from "../../core/cluster/ownership.ts";
import type { Peers } from "../../core/cluster/peers.ts";
import type { Slot } from "../../core/cluster/slot.ts";
import type { Clock, Log } from "../../core/ports.ts";
import { Refusal, type RefusalCode } from "../../core/refusal.ts";

export interface CallsDeps {
  readonly ownership: Ownership;
  readonly peers: Peers;
  readonly clock: Clock;
  readonly log: Log;
}

type Letter =
  | {
      readonly kind: "question";
      readonly id: string;
      readonly from: string;
      readonly verb: string;
      readonly order: unknown;
    }
  | { readonly kind: "answer"; readonly id: string; readonly value: unknown }
  | {
      readonly kind: "refusal";
      readonly id: string;
      readonly code: RefusalCode;
      readonly words: string;
    };

interface Waiting {
  resolve(value: unknown): void;
  reject(error: Refusal): void;
}

/** How long another broker may take, unless the question says otherwise. */
const usualWaitMs = 10_000;
/** Questions whose repetition is recognised. */
const answeredMax = 1_000;

export class Calls {
  readonly #deps: CallsDeps;
  readonly #verbs = new Map<string, (order: never) => Promise<unknown>>();
  readonly #waiting = new Map<string, Waiting>();
  readonly #answered = new Set<string>();
  #asked = 0;

  constructor(deps: CallsDeps) {
    this.#deps = deps;
    deps.peers.onPost((text) => {
      const letter = letterIn(text);
      if (letter === null) deps.log.fact("warn", "call.unreadable", {});
      else void this.#receive(letter);
    });
  }

  /** What is done here when another broker asks for it. */
  answer<Order>(verb: string, act: (order: Order) => Promise<unknown>): void {
    this.#verbs.set(verb, act);
  }

  /** Refusals: those of the other broker; Unavailable, when it does not answer. */
  async ask<T>(to: string, verb: string, order: unknown, waitMs = usualWaitMs): Promise<T> {
    const { ownership, clock } = this.#deps;
    this.#asked += 1;
    const id = `${ownership.broker}/${this.#asked}`;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#waiting.set(id, { resolve, reject });
    const cancel = clock.after(waitMs, () => reject(refuseSilent(to)));
    try {
      const question = { kind: "question", id, from: ownership.broker, verb, order } as const;
      // Whichever comes first: the mail may hang as well.
      const posted = this.#post(to, question).then(() => promise);
      return (await Promise.race([posted, promise])) as T;
    } finally {
      cancel();
      this.#waiting.delete(id);
    }
  }

  /** Asks all others at once; those that do not answer in time are left out. */
  async askAll<T>(verb: string, order: unknown, waitMs: number): Promise<readonly T[]> {
    const { peers, ownership } = this.#deps;
    const others = (await peers.list()).filter(({ id }) => id !== ownership.broker);
    const answers = await Promise.allSettled(
      others.map(({ id }) => this.ask<T>(id, verb, order, waitMs)),
    );
    return answers.flatMap((answer) => (answer.status === "fulfilled" ? [answer.value] : []));
  }

  /** The other broker that owns the slot; null: this one does, or none at the moment. */
  async ownerElsewhere(slot: Slot): Promise<string | null> {
    const { peers, ownership } = this.#deps;
    if (ownership.isMine(slot)) return null;
    const owner = (await peers.list()).find(({ slots }) => slots.includes(slot));
    return owner === undefined || owner.id === ownership.broker ? null : owner.id;
  }

  async #receive(letter: Letter): Promise<void> {
    if (letter.kind === "answer") this.#waiting.get(letter.id)?.resolve(letter.value);
    else if (letter.kind === "refusal") {
      this.#waiting.get(letter.id)?.reject(new Refusal(letter.code, letter.words));
    } else if (!this.#answered.has(letter.id)) {
      this.#remember(letter.id);
      const { from, id, verb, order } = letter;
      // If it cannot be posted, the other waits in vain, and is told so there.
      await this.#post(from, await this.#carryOut(id, verb, order)).catch(() => {});
    }
  }

  async #carryOut(id: string, verb: string, order: unknown): Promise<Letter> {
    const act = this.#verbs.get(verb);
    if (act === undefined) {
      const words = `The broker '${this.#deps.ownership.broker}' does not know '${verb}'.`;
      return { kind: "refusal", id, code: "Unavailable", words };
    }
    try {
      return { kind: "answer", id, value: (await act(order as never)) ?? null };
    } catch (error) {
      if (error instanceof Refusal) {
        return { kind: "refusal", id, code: error.code, words: error.message };
      }
      this.#deps.log.fact("error", "call.failed", { verb, error: String(error) });
      return { kind: "refusal", id, code: "Unavailable", words: String(error) };
    }
  }

  #remember(id: string): void {
    this.#answered.add(id);
    if (this.#answered.size <= answeredMax) return;
    for (const oldest of this.#answered) {
      this.#answered.delete(oldest);
      return;
    }
  }

  #post(to: string, letter: Letter): Promise<void> {
    return this.#deps.peers.post(to, JSON.stringify(letter));
  }
}

/** Null: no broker wrote it, or one of another release. */
function letterIn(text: string): Letter | null {
  try {
    const letter = JSON.parse(text);
    const names = wordsOf.get(letter.kind);
    return names?.every((name) => typeof letter[name] === "string") ? letter : null;
  } catch {
    return null;
  }
}

/** What each kind of letter has in words. */
const wordsOf: ReadonlyMap<unknown, readonly string[]> = new Map([
  ["question", ["id", "from", "verb"]],
  ["answer", ["id"]],
  ["refusal", ["id", "code", "words"]],
]);

function refuseSilent(broker: string): Refusal {
  const words = `The broker '${broker}', which serves it, does not answer. Try again.`;
  return new Refusal("Unavailable", words, { retryAfterMs: 1_000 });
}
