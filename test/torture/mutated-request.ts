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
const queue = "/namespaces/scratched/topics/events/eventsubscriptions/mine";

/** Requests as they should be. */
const requests: readonly (readonly [request: string, body: unknown])[] = [
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
  ["POST /namespaces/scratched/topics/events:publish?api-version=2024-06-01", [cloudEvent]],
  ["POST /topics/events:publish?api-version=2024-06-01", [cloudEvent]],
  [`POST ${queue}:receive?api-version=2024-06-01&maxEvents=5&maxWaitTime=10`, {}],
  [`POST ${queue}:acknowledge?api-version=2024-06-01`, { lockTokens: ["m"] }],
  [`POST ${queue}:release?api-version=2024-06-01&releaseDelayInSeconds=60`, { lockTokens: ["m"] }],
  ["POST /api/v1/topics/scratch/subscriptions/m1/receive", { max: 5, waitSeconds: 0 }],
  [
    "POST /api/v1/topics/scratch/subscriptions/m1/locks",
    { order: "release", lockTokens: ["m"], delaySeconds: 10 },
  ],
  [
    "POST /api/v1/topics/scratch/try-filter",
    { filter: subscription.properties.filter, domainTopic: "d" },
  ],
  ["GET /api/v1/topics/scratch/event-types", {}],
  ["POST /api/v1/events/m/resend", { subscription: "m1" }],
  ["GET /api/v1/events/m", {}],
  ["GET /api/v1/problems", {}],
  ["GET /api/v1/brokers", {}],
  ["GET /api/v1/overview", {}],
  ["GET /api/v1/subscriptions?since=1", {}],
  ["POST /api/v1/inboxes", { name: "scratch" }],
  ["POST /api/v1/inboxes/scratch/answer", { mode: "flapping", delayMs: 1 }],
  ["GET /api/v1/inboxes/scratch?after=1", {}],
  ["POST /inboxes/scratch?key=none", eventGrid],
  ["GET /api/v1/backups/none", {}],
  ["GET /api/v1/dead-letters?subscription=m1", {}],
  [`PUT ${group}/namespaces/scratch?${version}`, { location: "here", properties: {} }],
  [
    `PUT ${group}/namespaces/scratch/topics/t/eventSubscriptions/m?${version}`,
    {
      properties: {
        deliveryConfiguration: {
          deliveryMode: "Queue",
          queue: { receiveLockDurationInSeconds: 60, maxDeliveryCount: 3, eventTimeToLive: "P1D" },
        },
      },
    },
  ],
  ["GET /metadata/endpoints", {}],
  ["GET /healthz", {}],
  ["GET /metrics", {}],
  ["GET /openapi.json", {}],
  ["POST /signin", {}],
  ["GET /", {}],
];
const good = requests.map(([request, body]) => {
  const [method = "", path = ""] = request.split(" ");
  return [method, path, body] as const;
});
const methods = ["GET", "POST", "PUT", "PATCH", "OPTIONS", "HEAD", "get", "M-SEARCH"];
const types = ["application/json", "application/cloudevents+json", "text/plain", ";;", ""];
const odd = ["", "-1", "0", "999999999999", "%00", "%ff", "../..", "é", "{}", "null", "[]", "\t"];
const oddValues: readonly unknown[] = [
  ...[null, true, -1, 0, 1.5, 1e308, "", "\u0000", "é\ud800", [], {}, [[]], [null], { a: {} }],
  ...["x".repeat(5_000), { __proto__: 1, constructor: 1, toString: 1, length: -1 }, "2030-99-99"],
];

/** One as it goes over the wire. */
export interface Mutated {
  /** Characters of one byte each. */
  readonly text: string;
  readonly isHead: boolean;
  /** Whether it is one at all, and a reader can find where the next begins. */
  readonly isSound: boolean;
}

interface Wanted {
  readonly adminKey: string;
  /** Of the topic and the namespace that nothing depends on. */
  readonly scratchKey: string;
  /** Whether the connection is to be closed behind it. */
  readonly isLast: boolean;
}

export function mutatedRequest(dice: Dice, wanted: Wanted): Mutated {
  const { adminKey, scratchKey, isLast } = wanted;
  const [right, usual, template] = dice.pick(good);
  const isKnown = dice.isHit(0.4);
  // What has none is refused with one, before anybody looks at the rest of it.
  const isBare = right === "GET" && dice.isHit(0.9);
  const body = isBare ? "" : Buffer.from(bodyOf(dice, template)).toString("latin1");
  const isMeasured = isBare || dice.isHit(0.9);
  const isOdd = !isBare && isMeasured && dice.isHit(0.1);
  const length = isOdd ? dice.pick(odd) : String(body.length);
  const isChunked = !isMeasured && dice.isHit(0.5);
  const name = `x-${dice.pick(odd)}`;
  const headers = [
    `host: ${dice.isHit(0.1) ? dice.pick(odd) : "127.0.0.1"}`,
    `content-type: ${isKnown ? "application/json" : dice.pick(types)}`,
    ...(isBare ? [] : [isMeasured ? `content-length: ${length}` : "transfer-encoding: chunked"]),
    ...(dice.isHit(0.5) ? [`aeg-sas-key: ${dice.isHit(0.5) ? scratchKey : dice.pick(odd)}`] : []),
    ...(isKnown ? [`authorization: Bearer ${adminKey}`] : strangersKey(dice)),
    ...(dice.isHit(0.2) ? [`${name}: ${dice.pick(odd)}`] : []),
    ...(dice.isHit(0.1) ? ["expect: 100-continue"] : []),
    ...(isLast ? ["connection: close"] : []),
  ];
  const path = dice.isHit(0.3) ? bend(dice, usual) : usual;
  const protocol = dice.isHit(0.03) ? dice.pick(["HTTP/1.0", "HTTP/2.0", "HTP"]) : "HTTP/1.1";
  // An operator's DELETE of a bent path might be one of everything.
  const other = dice.pick(isKnown ? methods : [...methods, "DELETE"]);
  const method = dice.isHit(0.7) ? right : other;
  const sent = isChunked ? `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n` : body;
  return {
    text: `${method} ${path} ${protocol}\r\n${headers.join("\r\n")}\r\n\r\n${sent}`,
    isHead: method === "HEAD",
    isSound:
      (isChunked || (isMeasured && length === String(body.length))) &&
      protocol === "HTTP/1.1" &&
      /^[A-Z-]+ \/[!-~]*$/.test(`${method} ${path}`) &&
      /^[\w.%-]+$/.test(name),
  };
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
  const members = value as Readonly<Record<string, unknown>>;
  const swapped = swapValue(dice, members[key]);
  return Array.isArray(value) ? value.with(Number(key), swapped) : { ...members, [key]: swapped };
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
