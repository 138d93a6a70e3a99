// One send that somebody else's code makes: the client of a cloud service, the file system. All we
// have of it is a promise that may take its time and a signal to break it off. Here it gets what
// every send has: a wait on our clock, which may be virtual, answers that come late, and an
// end when the broker stops. What the outcome of the work is, the work says itself.
//
// An errand is `open` until its work or its wait is over; `late` when the caller has been told of
// the timeout and the work may still succeed; then `over`. What is over is broken off.

import type { Outcome } from "../core/delivery/outcome.ts";
import type { Activity, Clock, Sink } from "../core/ports.ts";
import { canceled, silent } from "./http/exchange.ts";
import { type EgressPolicy, guard } from "./policy.ts";

type Limits = Parameters<Sink["send"]>[2];

/** Never rejects for something the world did. Told by the signal to stop, it may say anything. */
export type Work = (signal: AbortSignal) => Promise<Outcome>;

export interface ClientSendOptions {
  readonly clock: Clock;
  readonly activity: Activity;
  /** Errands that may go on after their wait; others are broken off. */
  readonly lateMax: number;
  /** Without it every address may be connected to. */
  readonly policy?: EgressPolicy | undefined;
}

export class ClientSends {
  readonly #floor: Floor;
  #isClosed = false;

  constructor(options: ClientSendOptions) {
    this.#floor = { ...options, clientSends: new Set(), late: 0 };
  }

  run(limits: Limits, work: Work): Promise<Outcome> {
    if (this.#isClosed || limits.signal.aborted) return Promise.resolve(canceled);
    return new ClientSend(this.#floor, limits, work).outcome;
  }

  /** Breaks off what is under way. */
  close(): void {
    this.#isClosed = true;
    for (const errand of [...this.#floor.clientSends]) errand.cancel();
  }
}

interface Floor extends ClientSendOptions {
  readonly clientSends: Set<ClientSend>;
  late: number;
}

class ClientSend {
  readonly outcome: Promise<Outcome>;
  readonly cancel: () => void = () => this.#end(canceled);
  readonly #floor: Floor;
  readonly #limits: Limits;
  readonly #tell: PromiseWithResolvers<Outcome>;
  readonly #tellLate: PromiseWithResolvers<Outcome | null> = Promise.withResolvers();
  readonly #breakOff = new AbortController();
  readonly #endActivity: () => void;
  #callOff: () => void;
  #state: "open" | "late" | "over" = "open";

  constructor(floor: Floor, limits: Limits, work: Work) {
    this.#floor = floor;
    this.#limits = limits;
    this.#tell = Promise.withResolvers();
    this.outcome = this.#tell.promise;
    this.#endActivity = floor.activity.begin("outside");
    this.#callOff = floor.clock.after(limits.waitMs, () => this.#waitIsOver());
    limits.signal.addEventListener("abort", this.cancel, { once: true });
    floor.clientSends.add(this);
    guard(floor.policy, () => work(this.#breakOff.signal)).then(
      (outcome) => this.#end(outcome),
      (bug: unknown) => this.#fail(bug),
    );
  }

  #waitIsOver(): void {
    const { waitMs, lateMs } = this.#limits;
    const timedOut = silent("timeout", "No answer came in time.");
    if (lateMs <= waitMs) this.#end(timedOut);
    else if (this.#floor.late >= this.#floor.lateMax) {
      this.#end({ ...timedOut, late: Promise.resolve(null) });
    } else {
      this.#state = "late";
      this.#floor.late += 1;
      this.#callOff = this.#floor.clock.after(lateMs - waitMs, this.cancel);
      this.#endActivity();
      this.#tell.resolve({ ...timedOut, late: this.#tellLate.promise });
    }
  }

  #end(outcome: Outcome): void {
    const state = this.#leave();
    if (state === "open") this.#tell.resolve(outcome);
    else if (state === "late") {
      this.#tellLate.resolve(outcome.kind === "answered" ? outcome : null);
    }
  }

  /** Whoever waits hears of a bug; when nobody waits any more, there is nobody to tell. */
  #fail(bug: unknown): void {
    const state = this.#leave();
    if (state === "open") this.#tell.reject(bug);
    else if (state === "late") this.#tellLate.reject(bug);
  }

  /** What it was until now. */
  #leave(): "open" | "late" | "over" {
    const state = this.#state;
    if (state === "over") return state;
    this.#state = "over";
    this.#callOff();
    this.#limits.signal.removeEventListener("abort", this.cancel);
    this.#floor.clientSends.delete(this);
    if (state === "late") this.#floor.late -= 1;
    else this.#endActivity();
    this.#breakOff.abort();
    return state;
  }
}
