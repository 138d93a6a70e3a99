// The way out over HTTP: the events of a parcel become one POST, and whatever the world does with
// it becomes an outcome. Headers and body are those that Event Grid sends (message.ts); what may
// become of a request is shown in exchange.ts.
//
// Deliberately absent: batches, retries, health and how many sends may be under way together, which
// are decided before and after a send (dispatch/endpoint.ts).

import type { Activity, Clock, Sink } from "../../core/ports.ts";
import type { WebHookDestination } from "../../core/subscription.ts";
import type { EgressPolicy } from "../policy.ts";
import { Connections, type Trust } from "./connections.ts";
import { canceled, Exchange, type Floor, silent } from "./exchange.ts";
import { postOf, type Target, targetOf } from "./message.ts";
import { sign } from "./signature.ts";

export interface WebhookOptions {
  readonly clock: Clock;
  readonly activity: Activity;
  /** Requests to one URL that may stay open after their wait; others are broken off. */
  readonly lateMax: number;
  /** How much of an answer is kept, for people. */
  readonly answerBytesMax?: number;
  /** How much of an answer is read to save its connection; if there is more, that is closed. */
  readonly answerDrainBytesMax?: number;
  /** How long a connection may lie idle; less where the endpoint says so. */
  readonly keepAliveMs?: number;
  /** How many connections may lie idle, over all endpoints. */
  readonly idleMax?: number;
  /** Authorities to trust beside those of the system, as PEM. */
  readonly ca?: readonly string[];
  /** Whose certificates will do; those of known authorities if not said. */
  readonly trust?: Trust;
  /** Without it every address may be connected to. */
  readonly policy?: EgressPolicy | undefined;
}

/** A URL, and headers that whoever guards it asks for. */
export interface Address extends WebHookDestination {
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Webhook extends Sink<Address> {
  /** Breaks off what is open. */
  close(): Promise<void>;
}

export function openWebhook(options: WebhookOptions): Webhook {
  const floor: Floor = {
    answerBytesMax: 1_024,
    answerDrainBytesMax: 65_536,
    ...options,
    connections: new Connections({ keepAliveMs: 4_000, idleMax: 1_024, ca: [], ...options }),
    late: new Map(),
    exchanges: new Set(),
  };
  const targets = new WeakMap<Address, Target | null>();
  const find = (destination: Address) => {
    const known = targets.get(destination);
    if (known !== undefined) return known;
    const target = targetOf(destination);
    targets.set(destination, target);
    return target;
  };
  const cancel = (isMeant: (exchange: Exchange) => boolean) => {
    for (const exchange of [...floor.exchanges].filter(isMeant)) exchange.cancel();
  };
  // One listener per signal and not per send: a signal looks at all it has when one is added.
  const heeded = new WeakSet<AbortSignal>();
  const heed = (signal: AbortSignal) => {
    if (heeded.has(signal)) return;
    heeded.add(signal);
    const stop = () => cancel(({ limits }) => limits.signal === signal);
    signal.addEventListener("abort", stop, { once: true });
  };
  let isClosed = false;
  return {
    send(parcel, destination, limits) {
      if (isClosed || limits.signal.aborted) return Promise.resolve(canceled);
      const target = find(destination);
      if (target === null) return Promise.resolve(silent("connection", "The URL is not usable."));
      heed(limits.signal);
      const post = postOf(parcel, target.path, destination.headers);
      const signed = sign(post, parcel, options.clock.now());
      return new Exchange(floor, target, signed, limits).outcome;
    },
    async close() {
      isClosed = true;
      cancel(() => true);
      await floor.connections.close();
    },
  };
}
