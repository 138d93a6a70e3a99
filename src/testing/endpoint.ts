// An endpoint for a test: a real HTTP server with scripted answers that agrees to handshakes by
// itself, remembers what it received, and can be waited for.

import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import type { Waits } from "./waits.ts";

/** What an endpoint does with one delivery: a status, or a full answer. */
export type Step =
  | number
  /** The request stays open and is never answered. */
  | "silence"
  /** The connection is closed without an answer. */
  | "drop"
  | {
      readonly status: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body?: string;
    };

/** One request with events. */
export interface Arrival {
  /** One, or several when the subscription has batching; as JSON values. */
  readonly events: readonly DeliveredEvent[];
  readonly headers: IncomingHttpHeaders;
  /** As received, byte for byte. */
  readonly body: string;
  readonly step: Step;
}

/** An event as it was delivered. */
export type DeliveredEvent = Readonly<Record<string, unknown>>;

/** All that are given must be so. */
export interface EventQuery {
  readonly id?: string;
  readonly type?: string;
  readonly subject?: string;
  /** Any other condition. */
  readonly where?: (event: DeliveredEvent) => boolean;
}

export interface ScriptedEndpoint {
  readonly url: string;
  /** In the order they came. */
  readonly arrivals: readonly Arrival[];
  /** The events of all arrivals, including refused ones. */
  readonly events: readonly DeliveredEvent[];
  /** The answers to the next deliveries, one each; then `otherwise` again. */
  answers(...steps: readonly Step[]): void;
  /** The answer when there is no step left; 200 by default. */
  otherwise(step: Step | ((arrival: Omit<Arrival, "step">) => Step)): void;
  /** Whether it agrees to handshakes; true by default. */
  agrees(isAgreeing: boolean): void;
  /**
   * Resolves with the first `count` accepted events that fit (default: 1), received already or
   * later. They count as expected.
   */
  received(query?: EventQuery & { readonly count?: number }): Promise<DeliveredEvent[]>;
  /** The accepted events that no `received` has asked for. */
  unexpected(): readonly DeliveredEvent[];
  /** Forgets what it received and its script. */
  reset(): void;
  close(): Promise<void>;
}

export async function openEndpoint(waits: Waits): Promise<ScriptedEndpoint> {
  const arrivals: Arrival[] = [];
  const expected = new Set<DeliveredEvent>();
  const accepted = () =>
    arrivals.filter(({ step }) => isSuccess(step)).flatMap((one) => one.events);
  const script: Step[] = [];
  let usual: (arrival: Omit<Arrival, "step">) => Step = () => 200;
  let isAgreeing = true;
  const server = createServer(async (request, response) => {
    const { headers, method } = request;
    const body = await text(request);
    if (method === "OPTIONS") return agreeToCloudEvents(headers, response, isAgreeing);
    if (headers["aeg-event-type"] === "SubscriptionValidation") {
      return agree(body, response, isAgreeing);
    }
    if (headers["aeg-event-type"] === "SubscriptionDeletion") return void response.end();
    const arrival = { events: eventsIn(body), headers, body };
    const step = script.shift() ?? usual(arrival);
    arrivals.push({ ...arrival, step });
    answer(step, response);
    waits.note();
  });
  server.listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    arrivals,
    get events() {
      return arrivals.flatMap(({ events }) => events);
    },
    answers: (...steps) => void script.push(...steps),
    otherwise(step) {
      usual = typeof step === "function" ? step : () => step;
    },
    agrees(given) {
      isAgreeing = given;
    },
    async received({ count = 1, ...query } = {}) {
      const fitting = () => accepted().filter((event) => fits(event, query));
      const found = await waits.until({
        look: () => (fitting().length >= count ? fitting().slice(0, count) : undefined),
        describe: () => {
          const came = accepted().map(nameOf).join(", ") || "nothing";
          return `${fitting().length} of ${count} events with ${wordsOf(query)} came; accepted: ${came}`;
        },
      });
      for (const event of found) expected.add(event);
      return found;
    },
    unexpected: () => accepted().filter((event) => !expected.has(event)),
    reset() {
      arrivals.length = 0;
      script.length = 0;
      expected.clear();
      usual = () => 200;
      isAgreeing = true;
    },
    close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      return closed;
    },
  };
}

function isSuccess(step: Step): boolean {
  const status = typeof step === "object" ? step.status : step;
  return typeof status === "number" && status >= 200 && status <= 204;
}

/** In either schema. */
function typeOf({ type, eventType }: DeliveredEvent): unknown {
  return eventType ?? type;
}

function fits(event: DeliveredEvent, { id, type, subject, where }: EventQuery): boolean {
  return (
    (id === undefined || event.id === id) &&
    (type === undefined || typeOf(event) === type) &&
    (subject === undefined || event.subject === subject) &&
    (where === undefined || where(event))
  );
}

export function nameOf(event: DeliveredEvent): string {
  return `${String(typeOf(event))} (${String(event.id)})`;
}

function wordsOf({ where, ...query }: EventQuery): string {
  const parts = Object.entries(query).map(([name, value]) => `${name} ${value}`);
  const all = [...parts, ...(where === undefined ? [] : ["that condition"])];
  return all.length === 0 ? "anything" : all.join(" and ");
}

function answer(step: Step, response: ServerResponse): void {
  if (step === "silence") return;
  if (step === "drop") {
    response.destroy();
    return;
  }
  const { status, headers = {}, body = "" } = typeof step === "number" ? { status: step } : step;
  response.writeHead(status, headers).end(body);
}

/** A body that is not JSON, such as a CloudEvent's data in binary form, has no events to show. */
function eventsIn(body: string): readonly DeliveredEvent[] {
  try {
    const parsed: unknown = JSON.parse(body);
    return Array.isArray(parsed) ? parsed : [parsed as DeliveredEvent];
  } catch {
    return [];
  }
}

function agree(body: string, response: ServerResponse, isAgreeing: boolean): void {
  const [question] = eventsIn(body) as readonly { data?: { validationCode?: string } }[];
  const said = { validationResponse: isAgreeing ? question?.data?.validationCode : "no" };
  response.writeHead(isAgreeing ? 200 : 403, { "content-type": "application/json" });
  response.end(JSON.stringify(said));
}

function agreeToCloudEvents(
  headers: IncomingHttpHeaders,
  response: ServerResponse,
  isAgreeing: boolean,
): void {
  const origin = headers["webhook-request-origin"] ?? "*";
  const allowed = { "webhook-allowed-origin": origin.toString(), "webhook-allowed-rate": "*" };
  response.writeHead(isAgreeing ? 200 : 403, isAgreeing ? allowed : {}).end();
}
