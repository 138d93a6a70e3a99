// One send by foreign code: the client of a cloud service, or the file system. All we have of it is
// a promise and a signal to abort it. Here it gets what every send has: a timeout on our clock,
// which may be virtual, late answers, and an end when the broker stops. The work itself
// returns the outcome.
//
// A send is `open` until its work or its timeout is over; `late` when the caller knows of the
// timeout and the work may still succeed; then `over`. What is over is aborted.

import type { Outcome } from "../core/delivery/outcome.ts";
import type { Sink } from "../core/delivery/sink.ts";
import type { Activity, Clock } from "../core/ports.ts";
import { canceled, silent } from "./http/exchange.ts";
import { type EgressPolicy, guard } from "./policy.ts";

type Limits = Parameters<Sink["send"]>[2];

/** Never rejects because of the service. Once aborted by the signal, its result does not matter. */
export type Work = (signal: AbortSignal) => Promise<Outcome>;

export interface ClientSendOptions {
  readonly clock: Clock;
  readonly activity: Activity;
  /** Sends that may continue after their timeout; others are aborted. */
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

  /** Aborts everything in flight. */
  close(): void {
    this.#isClosed = true;
    for (const send of [...this.#floor.clientSends]) send.cancel();
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
  readonly #reportLate: PromiseWithResolvers<Outcome | null> = Promise.withResolvers();
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
      this.#tell.resolve({ ...timedOut, late: this.#reportLate.promise });
    }
  }

  #end(outcome: Outcome): void {
    const state = this.#leave();
    if (state === "open") this.#tell.resolve(outcome);
    else if (state === "late") {
      this.#reportLate.resolve(outcome.kind === "answered" ? outcome : null);
    }
  }

  /** A caller that waits gets the bug; when nobody waits any more, it is dropped. */
  #fail(bug: unknown): void {
    const state = this.#leave();
    if (state === "open") this.#tell.reject(bug);
    else if (state === "late") this.#reportLate.reject(bug);
  }

  /** Its state until now. */
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
