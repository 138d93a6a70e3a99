// An endpoint to try things with: it listens on port 9000, agrees to get events when it is asked,
// prints every event it is sent and answers 200. With `--fail N` it answers the first N deliveries
// with 503, so that retries can be watched.
//
//   node examples/receiver.ts --fail 2

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { parseArgs } from "node:util";

const { values } = parseArgs({
  options: { fail: { type: "string", default: "0" }, port: { type: "string", default: "9000" } },
});
let failuresLeft = Number(values.fail);

interface Received {
  readonly id: string;
  readonly data?: { readonly validationCode?: string };
}

createServer(async (request, response) => {
  const body = await text(request);
  if (request.method === "OPTIONS") agreeToCloudEvents(response);
  else if (request.headers["aeg-event-type"] === "SubscriptionValidation") agree(body, response);
  else receive(request, body, response);
}).listen(Number(values.port), "127.0.0.1", () => {
  console.log(`waiting for events at http://127.0.0.1:${values.port}/hook`);
});

/** Before the first event of the Event Grid schema comes a question, answered with its code. */
function agree(body: string, response: ServerResponse): void {
  const [question] = JSON.parse(body) as [Received];
  console.log("agreed to receive events");
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify({ validationResponse: question.data?.validationCode }));
}

function agreeToCloudEvents(response: ServerResponse): void {
  console.log("agreed to receive CloudEvents");
  response.writeHead(200, { "WebHook-Allowed-Origin": "*", "WebHook-Allowed-Rate": "*" }).end();
}

function receive(request: IncomingMessage, body: string, response: ServerResponse): void {
  const parsed = JSON.parse(body) as Received | readonly Received[];
  const status = failuresLeft-- > 0 ? 503 : 200;
  // The service counts the attempts that went before this one.
  const attempt = Number(request.headers["aeg-delivery-count"] ?? 0) + 1;
  for (const { id } of [parsed].flat() as Received[]) {
    console.log(`event ${id}, attempt ${attempt}: answered ${status}`);
  }
  response.writeHead(status).end();
}
