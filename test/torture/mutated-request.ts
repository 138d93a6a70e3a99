// Requests that make no sense: a good one of each kind, with its bytes, its numbers, its headers,
// its path or a value in its body bent. What they ask for may be refused, answered or cut off, and
// never ends in a 500. Some have the operator's key, and then name only what nothing depends on.

import type { Dice } from "../sim/dice.ts";

const eventGrid = [
  {
    id: "m",
    subject: "s",
    eventType: "t",
    eventTime: "2030-01-01T00:00:00Z",
    data: {},
    dataVersion: "1",
  },
];
const cloudEvent = { specversion: "1.0", id: "m", source: "/s", type: "t", data: 1 };
const subscription = {
  properties: {
    destination: { endpointType: "WebHook", properties: { endpointUrl: "http://127.0.0.1:1/m" } },
    filter: {
      subjectBeginsWith: "a",
      includedEventTypes: ["t"],
      isSubjectCaseSensitive: true,
      advancedFilters: [
        { operatorType: "NumberInRange", key: "data.n", values: [[1, 2]] },
        { operatorType: "StringContains", key: "data.s", values: ["x"] },
      ],
    },
    retryPolicy: { maxDeliveryAttempts: 3, eventTimeToLiveInMinutes: 5 },
    expirationTimeUtc: "2040-01-01T00:00:00Z",
    eventDeliverySchema: "EventGridSchema",
  },
};
const group =
  "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/posthorn/providers/Microsoft.EventGrid";
const version = "api-version=2022-06-15";

/** Requests as they should be. */
const good: readonly (readonly [request: string, body: unknown])[] = [
  ["POST /topics/none/api/events", eventGrid],
  ["POST /topics/scratch/api/events?api-version=2018-01-01", eventGrid],
  ["POST /topics/scratch/events?api-version=2019-01-01-preview", cloudEvent],
  ["POST /api/events", [cloudEvent]],
  ["GET /api/v1/events?limit=5", {}],
  ["GET /api/v1/events?state=waiting&from=2030-01-01T00:00:00Z&limit=1", {}],
  ["POST /api/v1/topics/scratch/explain", { event: eventGrid[0], subscription: "m1" }],
  [
    "POST /api/v1/simulate",
    { endpoint: [{ status: 503 }], events: 3, policy: { maxDeliveryAttempts: 3 }, seed: 1 },
  ],
  ["POST /api/v1/redrives", { subscription: "m1", topic: "scratch", rate: 1, dryRun: true }],
  ["POST /api/v1/endpoints/reset", { endpoint: "http://127.0.0.1:1/m" }],
  ["POST /api/v1/topics/scratch/subscriptions/m1/drain", { rate: 5 }],
  ["POST /api/v1/topics/scratch/subscriptions/m1/hasten", { event: "m" }],
  ["POST /api/v1/topics/scratch/subscriptions/m1/signing", { overlapMs: 1 }],
  ["GET /api/v1/figures?topic=scratch", {}],
  [
    `PUT ${group}/topics/scratch?${version}`,
    { location: "here", tags: { a: "b" }, properties: {} },
  ],
  [`PUT ${group}/topics/scratch/eventSubscriptions/m1?${version}`, subscription],
  [`PUT ${group}/domains/scratch/topics/one?${version}`, {}],
  ["GET /metadata/endpoints", {}],
  ["GET /healthz", {}],
  ["GET /metrics", {}],
  ["GET /openapi.json", {}],
  ["POST /signin", {}],
  ["GET /", {}],
];
const methods = ["GET", "POST", "PUT", "PATCH", "OPTIONS", "HEAD", "get", "M-SEARCH"];
const types = ["application/json", "application/cloudevents+json", "text/plain", ";;", ""];
const odd = ["", "-1", "0", "999999999999", "%00", "%ff", "../..", "é", "{}", "null", "[]", "\t"];
const oddValues: readonly unknown[] = [
  ...[null, true, -1, 0, 1.5, 1e308, "", "\u0000", "é\ud800", [], {}, [[]], [null], { a: {} }],
  ...["x".repeat(5_000), { __proto__: 1, constructor: 1, toString: 1, length: -1 }, "2030-99-99"],
];

export function mutatedRequest(dice: Dice, adminKey: string): string {
  const [request, template] = dice.pick(good);
  const [right = "", usual = ""] = request.split(" ");
  const isKnown = dice.isHit(0.4);
  const body = bodyOf(dice, template);
  const length = dice.isHit(0.1) ? dice.pick(odd) : String(Buffer.byteLength(body));
  const headers = [
    `host: ${dice.isHit(0.1) ? dice.pick(odd) : "127.0.0.1"}`,
    `content-type: ${isKnown ? "application/json" : dice.pick(types)}`,
    dice.isHit(0.9) ? `content-length: ${length}` : "transfer-encoding: chunked",
    ...(dice.isHit(0.5) ? [`aeg-sas-key: ${dice.pick(odd)}`] : []),
    ...(isKnown ? [`authorization: Bearer ${adminKey}`] : strangersKey(dice)),
    ...(dice.isHit(0.2) ? [`x-${dice.pick(odd)}: ${dice.pick(odd)}`] : []),
    ...(dice.isHit(0.1) ? ["expect: 100-continue"] : []),
    "connection: close",
  ];
  const path = dice.isHit(0.3) ? bend(dice, usual) : usual;
  const protocol = dice.isHit(0.03) ? dice.pick(["HTTP/1.0", "HTTP/2.0", "HTP"]) : "HTTP/1.1";
  // An operator's DELETE of a bent path might be one of everything.
  const other = dice.pick(isKnown ? methods : [...methods, "DELETE"]);
  const method = dice.isHit(0.7) ? right : other;
  return `${method} ${path} ${protocol}\r\n${headers.join("\r\n")}\r\n\r\n${body}`;
}

function strangersKey(dice: Dice): readonly string[] {
  if (!dice.isHit(0.3)) return [];
  return [`authorization: ${dice.pick(["Bearer ", "SharedAccessSignature "])}x`];
}

function bodyOf(dice: Dice, template: unknown): string {
  if (dice.isHit(0.6)) return JSON.stringify(swapValue(dice, template));
  return bend(dice, JSON.stringify(template));
}

/** The same with one value somewhere in it replaced by an odd one. */
function swapValue(dice: Dice, value: unknown): unknown {
  const isLeaf = typeof value !== "object" || value === null;
  const keys = isLeaf ? [] : Object.keys(value);
  if (keys.length === 0 || dice.isHit(0.15)) return dice.pick(oddValues);
  const key = dice.pick(keys);
  const copy = structuredClone(value) as Record<string, unknown>;
  copy[key] = swapValue(dice, copy[key]);
  return copy;
}

/** Up to three times: something left out, doubled, put in, or turned into another character. */
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
