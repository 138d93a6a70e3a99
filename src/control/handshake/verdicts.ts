// Those who wait for the verdict of a handshake, whoever runs it.

import { isOpen } from "../../core/handshake/handshake.ts";
import type { Handshake, Subscription, SubscriptionId } from "../../core/subscription.ts";
import type { Asked, Verdict } from "./port.ts";

interface Wait {
  readonly code: string;
  readonly verdict: Promise<Verdict>;
  /** Only the first call counts. */
  readonly tell: (verdict: Verdict) => void;
}

export const succeeded: Verdict = { state: "Succeeded" };
export const stopping: Verdict = { state: "Failed", why: "The broker is stopping." };
export const replaced: Verdict = {
  state: "Failed",
  why: "A newer write of the subscription has replaced it.",
};

export class Verdicts {
  readonly #waits = new Map<SubscriptionId, Wait>();

  isAwaited({ id, handshake }: Asked): boolean {
    return this.#waits.get(id)?.code === handshake.code;
  }

  /** Resolves with that of this handshake. An older one of the subscription was dismissed. */
  of({ id, handshake: { code } }: Asked): Promise<Verdict> {
    const known = this.#waits.get(id);
    if (known?.code === code) return known.verdict;
    const { promise, resolve } = Promise.withResolvers<Verdict>();
    this.#waits.set(id, { code, verdict: promise, tell: resolve });
    return promise;
  }

  /** Tells what the record says, if it says how the handshake ended or that it needs a person. */
  tellByRecord({ id, state, handshake }: Subscription): void {
    const wait = this.#waits.get(id);
    if (wait === undefined) return;
    if (handshake?.code !== wait.code) this.end(id, replaced);
    else if (state === "AwaitingManualAction") wait.tell({ state });
    else if (!isOpen(state)) this.end(id, verdictIn(handshake));
  }

  end(id: SubscriptionId, verdict: Verdict): void {
    this.#waits.get(id)?.tell(verdict);
    this.#waits.delete(id);
  }

  /** The broker stops; another one, or the next start, goes on with the handshakes. */
  close(): void {
    for (const { tell } of this.#waits.values()) tell(stopping);
  }
}

function verdictIn({ ended }: Handshake): Verdict {
  return ended?.isAgreed === false ? { state: "Failed", why: ended.why } : succeeded;
}
