// The webhook sink: the events of a parcel become one POST, and its result becomes an outcome.
// Headers and body are Event Grid's (message.ts); exchange.ts handles one request.
//
// Deliberately absent: batches, retries, health and the number of sends in flight, which are
// decided before and after a send (dispatch/endpoint.ts).

import { Chain } from "../../core/chain.ts";
import type { Sink } from "../../core/delivery/sink.ts";
import type { Activity, Clock } from "../../core/ports.ts";
import type { WebHookDestination } from "../../core/subscription.ts";
import { type EgressPolicy, type OwnInboxes, whyNotThere } from "../policy.ts";
import { Connections, type Trust } from "./connections.ts";
import { canceled, Exchange, type Floor, silent } from "./exchange.ts";
import { postOf, type Target, targetOf } from "./message.ts";
import { sign } from "./signature.ts";

export interface WebhookOptions {
  readonly clock: Clock;
  readonly activity: Activity;
  /** Runs it when everything that has already arrived was read. */
  readonly nextTurn: (go: () => void) => void;
  /** Requests to one URL that may stay open after their timeout; others are aborted. */
  readonly lateMax: number;
  /** The same for all URLs together; without it there is no such bound. */
  readonly allLateMax?: number;
  /** How much of an answer is kept, for stories. */
  readonly answerBytesMax?: number;
  /**
   * How much of an answer is read to reuse its connection; if there is more, the connection is
   * closed.
   */
  readonly answerDrainBytesMax?: number;
  /** How long a connection may be idle; less if the endpoint says so. */
  readonly keepAliveMs?: number;
  /** How many connections may be idle, over all endpoints. */
  readonly idleMax?: number;
  /** Authorities to trust in addition to the system's, as PEM. */
  readonly ca?: readonly string[];
  /** Which certificates are accepted. Default: those of known authorities. */
  readonly trust?: Trust;
  /** Without it every address may be connected to. */
  readonly policy?: EgressPolicy | undefined;
  /** Our own inboxes, which are reached over TLS whatever their certificate is. */
  readonly inboxes?: OwnInboxes | undefined;
}

/** A URL, and headers that it requires. */
export interface Address extends WebHookDestination {
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Webhook extends Sink<Address> {
  /** Aborts everything in flight. */
  close(): Promise<void>;
}

export function openWebhook(options: WebhookOptions): Webhook {
  const floor: Floor = {
    answerBytesMax: 1_024,
    answerDrainBytesMax: 65_536,
    allLateMax: Number.POSITIVE_INFINITY,
    ...options,
    connections: new Connections({ keepAliveMs: 4_000, idleMax: 1_024, ca: [], ...options }),
    late: new Map(),
    lateCount: 0,
    exchanges: new Chain(),
    shownAt: new Map(),
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
    for (const exchange of floor.exchanges.list().filter(isMeant)) exchange.cancel();
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
      const blocked = whyNotThere(options.policy, target);
      if (blocked !== null) return Promise.resolve(silent("connection", blocked.message));
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
