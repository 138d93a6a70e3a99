// Requests that make no sense: a good one of each kind, with its bytes, its numbers, its headers or
// its path bent. What they ask for may be refused, answered or cut off, and never ends in a 500.

import type { Dice } from "../sim/dice.ts";

const event =
  '[{"id":"m","subject":"s","eventType":"t","eventTime":"2030-01-01T00:00:00Z","data":{},"dataVersion":"1"}]';
const cloudEvent = '{"specversion":"1.0","id":"m","source":"/s","type":"t","data":1}';
const group =
  "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/posthorn/providers/Microsoft.EventGrid";

const paths = [
  "/topics/none/api/events",
  "/topics/orders/api/events?api-version=2018-01-01",
  "/topics/orders/events?api-version=2019-01-01-preview",
  "/api/events",
  "/api/v1/events?limit=5",
  "/api/v1/topics/orders/explain",
  "/api/v1/simulate",
  "/api/v1/redrives",
  `${group}/topics/orders?api-version=2022-06-15`,
  `${group}/topics/orders/eventSubscriptions/m1?api-version=2022-06-15`,
  "/metadata/endpoints",
  "/healthz",
  "/metrics",
  "/openapi.json",
  "/signin",
  "/",
];
const methods = ["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD", "get", "M-SEARCH"];
const types = ["application/json", "application/cloudevents+json", "text/plain", ";;", ""];
const odd = ["", "-1", "0", "999999999999", "%00", "%ff", "../..", "é", "{}", "null", "[]", "\t"];

/** Without the right key, so that nothing of it is ever accepted. */
export function mutatedRequest(dice: Dice): string {
  const body = bend(dice, dice.pick([event, cloudEvent, "{}", "[", '{"a":{"b":[1,2,{}]}}', ""]));
  const length = dice.isHit(0.1) ? dice.pick(odd) : String(Buffer.byteLength(body));
  const headers = [
    `host: ${dice.isHit(0.1) ? dice.pick(odd) : "127.0.0.1"}`,
    `content-type: ${dice.pick(types)}`,
    dice.isHit(0.9) ? `content-length: ${length}` : "transfer-encoding: chunked",
    ...(dice.isHit(0.5) ? [`aeg-sas-key: ${dice.pick(odd)}`] : []),
    ...(dice.isHit(0.3)
      ? [`authorization: ${dice.pick(["Bearer ", "SharedAccessSignature "])}x`]
      : []),
    ...(dice.isHit(0.2) ? [`x-${dice.pick(odd)}: ${dice.pick(odd)}`] : []),
    ...(dice.isHit(0.1) ? ["expect: 100-continue"] : []),
    "connection: close",
  ];
  const path = dice.isHit(0.3) ? bend(dice, dice.pick(paths)) : dice.pick(paths);
  const version = dice.isHit(0.03) ? dice.pick(["HTTP/1.0", "HTTP/2.0", "HTP"]) : "HTTP/1.1";
  return `${dice.pick(methods)} ${path} ${version}\r\n${headers.join("\r\n")}\r\n\r\n${body}`;
}

/** One to three of: something left out, doubled, put in, or turned into another character. */
function bend(dice: Dice, text: string): string {
  let bent = text;
  for (let times = dice.whole(0, 3); times > 0; times -= 1) {
    const at = dice.whole(0, bent.length);
    const part = bent.slice(at, at + dice.whole(1, 5));
    const instead = dice.pick([
      "",
      part + part,
      dice.pick(odd),
      String.fromCharCode(dice.whole(32, 255)),
    ]);
    bent = bent.slice(0, at) + instead + bent.slice(at + part.length);
  }
  return bent;
}
