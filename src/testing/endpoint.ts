// An endpoint for a test: a real HTTP server with scripted answers that agrees to handshakes by
// itself and remembers what it received.

import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

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
  readonly events: readonly Readonly<Record<string, unknown>>[];
  readonly headers: IncomingHttpHeaders;
  /** As received, byte for byte. */
  readonly body: string;
  readonly step: Step;
}

export interface ScriptedEndpoint {
  readonly url: string;
  /** In the order they came. */
  readonly arrivals: readonly Arrival[];
  /** The events of all arrivals, including refused ones. */
  readonly events: readonly Readonly<Record<string, unknown>>[];
  /** The answers to the next deliveries, one each; then `otherwise` again. */
  answers(...steps: readonly Step[]): void;
  /** The answer when there is no step left; 200 by default. */
  otherwise(step: Step | ((arrival: Omit<Arrival, "step">) => Step)): void;
  /** Whether it agrees to handshakes; true by default. */
  agrees(isAgreeing: boolean): void;
  close(): Promise<void>;
}

export async function openEndpoint(): Promise<ScriptedEndpoint> {
  const arrivals: Arrival[] = [];
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
    return answer(step, response);
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
    close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      return closed;
    },
  };
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
function eventsIn(body: string): readonly Readonly<Record<string, unknown>>[] {
  try {
    const parsed: unknown = JSON.parse(body);
    return Array.isArray(parsed) ? parsed : [parsed as Readonly<Record<string, unknown>>];
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
