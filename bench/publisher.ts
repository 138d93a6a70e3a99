// The publishers as one process: some connections, each sending its next request when the last
// one is answered, as fast as they can or at a rate that is shared among them.

import { connect, type Socket } from "node:net";
import { answerParent } from "./intercom.ts";
import { buildRequest, type ReusableRequest, type Target } from "./load.ts";
import { Latencies, nowMs, sleep } from "./measure.ts";
import { cutPieces, statusOf } from "./wire.ts";

export interface PublishOrder {
  readonly target: Target;
  readonly connections: number;
  readonly eventsPerRequest: number;
  /** Number of the first event; the next order continues after the last one. */
  readonly first: number;
  /** Ends after so many accepted events or so much time, whichever comes first. */
  readonly eventsMax: number;
  readonly msMax: number;
  /** Requests per second over all connections; null: as fast as they are answered. */
  readonly perSecond: number | null;
}

export interface Published {
  readonly accepted: number;
  /** Requests answered with anything but 200. */
  readonly refused: number;
  readonly next: number;
  readonly startedAt: number;
  readonly ms: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** After a refusal, so that an overloaded broker is not asked in a tight loop. */
const REFUSED_PAUSE_MS = 20;

/** One connection that carries one request at a time. */
interface Courier {
  readonly request: ReusableRequest;
  /** Resolves to the status of the answer. */
  send(): Promise<number>;
  close(): void;
}

async function openCourier(order: PublishOrder): Promise<Courier> {
  const request = buildRequest(order.target, order.eventsPerRequest);
  const socket: Socket = connect({ port: order.target.port, host: "127.0.0.1", noDelay: true });
  let settle: { resolve(status: number): void; reject(error: Error): void } | null = null;
  const fail = (error: Error): void => settle?.reject(error);
  await new Promise<void>((resolve, reject) => {
    socket.once("connect", resolve);
    socket.once("error", reject);
  });
  socket.on("error", fail);
  socket.on("close", () => fail(new Error("the server closed a publisher's connection")));
  socket.on(
    "data",
    cutPieces((head) => settle?.resolve(statusOf(head))),
  );
  return {
    request,
    send: () =>
      new Promise((resolve, reject) => {
        settle = { resolve, reject };
        socket.write(request.bytes);
      }),
    close: () => {
      settle = null;
      socket.destroy();
    },
  };
}

async function publish(order: PublishOrder): Promise<Published> {
  const couriers = await Promise.all(
    Array.from({ length: order.connections }, () => openCourier(order)),
  );
  const latencies = new Latencies();
  const startedAt = nowMs();
  const endAt = startedAt + order.msMax;
  let [accepted, refused, next, sent, inFlight] = [0, 0, order.first, 0, 0];
  /** When the request after the `sent` so far may go. */
  const turnAt = (): number =>
    order.perSecond === null ? 0 : startedAt + (sent * 1000) / order.perSecond;

  const run = async (courier: Courier): Promise<void> => {
    for (;;) {
      const dueAt = turnAt();
      const isOver = accepted + inFlight >= order.eventsMax || Math.max(nowMs(), dueAt) >= endAt;
      if (isOver) return;
      sent += 1;
      inFlight += courier.request.events;
      const first = next;
      next += courier.request.events;
      const earlyMs = dueAt - nowMs();
      if (earlyMs > 0) await sleep(earlyMs);
      const sentAt = nowMs();
      courier.request.number(first, sentAt);
      const status = await courier.send();
      inFlight -= courier.request.events;
      latencies.add(nowMs() - sentAt);
      if (status === 200) accepted += courier.request.events;
      else {
        refused += 1;
        await sleep(REFUSED_PAUSE_MS);
      }
    }
  };
  await Promise.all(couriers.map(run));
  const ms = nowMs() - startedAt;
  for (const courier of couriers) courier.close();
  const [p50Ms, p99Ms] = [latencies.quantile(0.5), latencies.quantile(0.99)];
  return { accepted, refused, next, startedAt, ms, p50Ms, p99Ms };
}

answerParent(publish);
