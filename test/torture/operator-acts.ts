// An operator in a hurry: orders of every kind, many at once, twice, in the wrong order, to things
// just removed, while load goes on; sometimes the broker is killed in the middle of them. Each may
// be carried out or refused, and none may end in a 5xx. What the ledger counts is only paused and
// let go on.

import type { Dice } from "../sim/dice.ts";
import type { Act, Acts, Stage } from "./acts.ts";
import { adminKey, topicKey } from "./broker.ts";
import { pause } from "./publishers.ts";

interface Order {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
}

const group =
  "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/posthorn/providers/Microsoft.EventGrid";
const version = "api-version=2025-02-15";
const arm = (method: string, path: string, body?: unknown): Order => ({
  ...{ method, path: `${group}/${path}?${version}`, body },
});
const own = (method: string, path: string, body: unknown = {}): Order => ({
  ...{ method, path: `/api/v1${path}`, ...(method !== "GET" && method !== "DELETE" && { body }) },
});
const atOnce = 8;
const orderMsMax = 30_000;

type Draw = (dice: Dice, url: string) => Order;

const nameOf = (dice: Dice) => `hasty-${dice.whole(1, 3)}`;
const queueOf = (dice: Dice) => `/topics/${nameOf(dice)}/subscriptions/sub${dice.whole(1, 2)}`;
const event = (dice: Dice) => ({
  ...{ id: `o-${dice.whole(1, 1e6)}`, subject: "o", eventType: "t", dataVersion: "1" },
  ...{ eventTime: "2030-01-01T00:00:00Z", data: {} },
});
const subscription = (dice: Dice, url: string) => ({
  properties: {
    destination: {
      endpointType: "WebHook",
      properties: { endpointUrl: `${url}-${dice.whole(1, 4)}` },
    },
    filter: dice.pick([{}, { subjectBeginsWith: "o" }, { includedEventTypes: ["t", "u"] }]),
    retryPolicy: { maxDeliveryAttempts: dice.whole(1, 30), eventTimeToLiveInMinutes: 5 },
    eventDeliverySchema: dice.pick(["EventGridSchema", "CloudEventSchemaV1_0"]),
  },
});
const pullSubscription = {
  properties: { deliveryConfiguration: { deliveryMode: "Queue", queue: {} } },
};

const draws: readonly Draw[] = [
  (dice) => arm("PUT", `topics/${nameOf(dice)}`, { location: "here" }),
  (dice) => arm("DELETE", `topics/${nameOf(dice)}`),
  (dice) =>
    arm("POST", `topics/${nameOf(dice)}/regenerateKey`, { keyName: dice.pick(["key1", "key2"]) }),
  (dice) => arm("POST", `topics/${nameOf(dice)}/listKeys`),
  ...Array.from(
    { length: 4 },
    (): Draw => (dice, url) => {
      const path = `topics/${nameOf(dice)}/eventSubscriptions/sub${dice.whole(1, 2)}`;
      return arm("PUT", path, subscription(dice, url));
    },
  ),
  (dice) => arm("DELETE", `topics/${nameOf(dice)}/eventSubscriptions/sub${dice.whole(1, 2)}`),
  (dice) => arm("PUT", `namespaces/${nameOf(dice)}`, { location: "here" }),
  (dice) => arm("DELETE", `namespaces/${nameOf(dice)}`),
  (dice) => arm("PUT", `namespaces/${nameOf(dice)}/topics/events`, { properties: {} }),
  (dice) =>
    arm(
      "PUT",
      `namespaces/${nameOf(dice)}/topics/events/eventSubscriptions/pulled`,
      pullSubscription,
    ),
  (dice) => ({
    ...{ method: "POST", path: `/topics/${nameOf(dice)}/api/events` },
    body: Array.from({ length: dice.whole(1, 20) }, () => event(dice)),
  }),
  ...["pause", "resume", "skip", "hasten", "validate"].map(
    (word): Draw =>
      (dice) =>
        own("POST", `${queueOf(dice)}/${word}`),
  ),
  (dice) => own("POST", `${queueOf(dice)}/drain`, { rate: dice.whole(1, 50) }),
  (dice) => own("POST", `${queueOf(dice)}/signing`, { overlapMs: dice.whole(0, 1_000) }),
  (dice) =>
    own("POST", `/topics/orders/subscriptions/moody/${dice.pick(["pause", "resume", "hasten"])}`),
  ...["close", "open", "reset"].map(
    (word): Draw =>
      (dice, url) =>
        own("POST", `/endpoints/${word}`, { endpoint: `${url}-${dice.whole(1, 4)}` }),
  ),
  (_dice, url) => own("POST", "/try-url", { url: `${url}-1` }),
  (dice) => own("POST", `/events/healthy-${dice.whole(1, 500)}/resend`),
  (dice) => own("GET", `/events/healthy-${dice.whole(1, 500)}`),
  () => own("GET", "/events?limit=20"),
  () => own("GET", "/overview"),
  () => own("GET", "/problems"),
  (dice) => own("POST", "/redrives", { subscription: "sub1", topic: nameOf(dice), rate: 5 }),
  () => own("GET", "/redrives"),
  (dice) => own("POST", "/inboxes", { name: nameOf(dice) }),
  (dice) => own("POST", `/inboxes/${nameOf(dice)}/answer`, { mode: "flapping" }),
  (dice) => own("DELETE", `/inboxes/${nameOf(dice)}`),
  () => own("POST", "/show-me"),
];

/** Only of a store in a file. */
const backup: Draw = () => own("POST", "/backups");

async function carryOut(stage: Stage, { method, path, body }: Order): Promise<void> {
  const { fleet, ledger } = stage;
  const { url } = fleet;
  if (url === null) return;
  const begun = performance.now();
  try {
    const answer = await fetch(`${url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${adminKey}`,
        "aeg-sas-key": topicKey,
        "content-type": "application/json",
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(orderMsMax),
    });
    const text = await answer.text();
    ledger.orderAnswer(answer.status);
    ledger.judgeOrder(answer.status, begun, () => `${answer.status} to ${method} ${path}: ${text}`);
  } catch {
    // It was killed, or is frozen.
  }
}

function hasty(hasFiles: boolean): Act {
  const all = hasFiles ? [...draws, backup] : draws;
  return {
    times: 2,
    explains: [],
    async run(stage) {
      const { fleet, dice, endpoints } = stage;
      const url = `${endpoints.urls.get("healthy")}-hasty`;
      const orders = Array.from({ length: dice.whole(50, 200) }, () => dice.pick(all)(dice, url));
      const isKilled = dice.isHit(0.3);
      const work = async () => {
        for (let next = orders.pop(); next !== undefined; next = orders.pop()) {
          await carryOut(stage, next);
        }
      };
      const working = Array.from({ length: atOnce }, work);
      if (isKilled) {
        const broker = fleet.pick(dice);
        await pause(dice.whole(1, 500));
        await broker.end("SIGKILL");
        await broker.start();
      }
      await Promise.all(working);
      await fleet.untilReady();
      await carryOut(stage, own("POST", "/topics/orders/subscriptions/moody/resume"));
    },
  };
}

export const operatorActs = (hasFiles: boolean): Acts => ({ "hasty operator": hasty(hasFiles) });
