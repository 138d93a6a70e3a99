// The endpoints of a cluster under test, on one server: they remember every request, with its count
// of attempts and its answer, so that a ledger can hold each against the law.

import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Scope } from "../fixtures/webhook.ts";

/** One delivery of one event to one endpoint, as the endpoint saw it. */
export interface Arrival {
  readonly endpoint: string;
  readonly id: string;
  /** Attempts that were counted before it. */
  readonly count: number;
  readonly at: number;
  /** Infinity while it is not answered. */
  answeredAt: number;
  status: number;
}

/** `steady` takes everything; `moody` fails the first time or two; `never` fails for ever. */
export const endpointNames = ["steady", "moody", "never"] as const;
export type EndpointName = (typeof endpointNames)[number];

export interface ClusterEndpoints {
  readonly arrivals: readonly Arrival[];
  /** The most requests at one endpoint at the same time, with when that was. */
  readonly crowds: ReadonlyMap<string, { readonly most: number; readonly at: number }>;
  url(name: EndpointName): string;
  /** Ids that the endpoint has accepted. */
  accepted(name: EndpointName): ReadonlySet<string>;
  /** When something was last accepted by the steady endpoint. */
  readonly lastAt: number;
}

const answerMs = 5;

export async function openClusterEndpoints(t: Scope): Promise<ClusterEndpoints> {
  const arrivals: Arrival[] = [];
  const accepted = new Map(endpointNames.map((name) => [name as string, new Set<string>()]));
  const failures = new Map<string, number>();
  const underWay = new Map<string, number>();
  const crowds = new Map<string, { most: number; at: number }>();
  let lastAt = performance.now();

  const statusFor = (endpoint: string, id: string): number => {
    if (endpoint === "steady") return 200;
    if (endpoint === "never") return 500;
    // Every third event fails once, and every ninth twice.
    const number = Number(id.split("-")[1]?.split(".")[0] ?? 0);
    const wanted = number % 9 === 0 ? 2 : number % 3 === 0 ? 1 : 0;
    const failed = failures.get(id) ?? 0;
    if (failed >= wanted) return 200;
    failures.set(id, failed + 1);
    return 500;
  };
  const server = createServer((request, response) => {
    const endpoint = (request.url ?? "").slice(1);
    const count = Number(request.headers["aeg-delivery-count"] ?? 0);
    const begun = performance.now();
    const now = (underWay.get(endpoint) ?? 0) + 1;
    underWay.set(endpoint, now);
    if (now > (crowds.get(endpoint)?.most ?? 0)) crowds.set(endpoint, { most: now, at: begun });
    response.on("close", () => underWay.set(endpoint, (underWay.get(endpoint) ?? 0) - 1));
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const [event] = JSON.parse(Buffer.concat(chunks).toString()) as [{ id: string }];
      const at = performance.now();
      const unanswered = { answeredAt: Number.POSITIVE_INFINITY, status: 0 };
      const arrival: Arrival = { endpoint, id: event.id, count, at, ...unanswered };
      arrivals.push(arrival);
      setTimeout(() => {
        arrival.status = statusFor(endpoint, event.id);
        arrival.answeredAt = performance.now();
        if (arrival.status === 200) accepted.get(endpoint)?.add(event.id);
        if (endpoint === "steady") lastAt = arrival.answeredAt;
        response.writeHead(arrival.status).end();
      }, answerMs);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return {
    arrivals,
    crowds,
    url: (name) => `http://127.0.0.1:${port}/${name}`,
    accepted: (name) => accepted.get(name) as ReadonlySet<string>,
    get lastAt() {
      return lastAt;
    },
  };
}
