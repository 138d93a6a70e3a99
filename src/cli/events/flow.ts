// Pause, resume, drain, skip and hasten a subscription; and its signing secrets. All through the
// broker's own API.

import type { SubscriptionView } from "../../core/api/views.ts";
import { parseLength } from "../../core/text/time.ts";
import { apiPathOf, sourceIn } from "../az/resource-names.ts";
import { openClient } from "../client.ts";
import type { Row, Run } from "../command.ts";
import type { ParsedOptions } from "../option.ts";
import { rateOf } from "../rates.ts";

type Verb = "pause" | "resume" | "drain" | "skip" | "hasten" | "validate";

function steering(verb: Verb, bodyOf: (given: ParsedOptions) => object = () => ({})): Run {
  return async (given, outside) => {
    const path = apiPathOf(sourceIn(given, outside.env), given.one("name") ?? "", verb);
    const { body } = await openClient(given, outside).send("POST", path, bodyOf(given));
    const isView = verb === "pause" || verb === "resume" || verb === "drain";
    return { value: body, ...(isView && { rows: [rowOf(body as never)] }) };
  };
}

export const pauseSubscription = steering("pause");
export const resumeSubscription = steering("resume");
export const drainSubscription = steering("drain", (given) => ({
  perSecond: rateOf(given.one("rate") ?? "", "--rate"),
}));
export const skipSubscription = steering("skip");
export const hastenSubscription = steering("hasten", (given) => {
  const event = given.one("event");
  return event === null ? {} : { event };
});
export const validateSubscription = steering("validate");

/** A subscription in Posthorn's own API, with its backlog and its endpoint's health. */
export const statusOfSubscription: Run = async (given, outside) => {
  const client = openClient(given, outside);
  if (given.has("name")) {
    const view = await client.get(apiPathOf(sourceIn(given, outside.env), given.one("name") ?? ""));
    return { value: view, rows: [rowOf(view as never)] };
  }
  const { value } = await client.get("/api/v1/subscriptions");
  const all = (Array.isArray(value) ? value : []) as SubscriptionView[];
  return { value: all, rows: all.map(rowOf) };
};

function rowOf(view: SubscriptionView): Row {
  return {
    Topic: view.domainTopic === null ? view.topic : `${view.topic}/${view.domainTopic}`,
    Name: view.name,
    State: view.provisioningState,
    Flow: view.flow.kind,
    Waiting: view.waiting,
    DeadLetters: view.waitingDeadLetters,
    Endpoint: view.destination.endpoint,
    Health: view.health.kind,
    NextDue: view.nextDueAt ?? "",
  };
}

export const showSigning: Run = async (given, outside) => {
  const path = apiPathOf(sourceIn(given, outside.env), given.one("name") ?? "", "signing");
  const { body } = await openClient(given, outside).send("GET", path);
  return { value: body.secrets };
};

export const rotateSigning: Run = async (given, outside) => {
  const path = apiPathOf(sourceIn(given, outside.env), given.one("name") ?? "", "signing");
  const [secret, overlap] = [given.one("signing-secret"), given.one("overlap")];
  const { body } = await openClient(given, outside).send("POST", path, {
    ...(secret !== null && { secret }),
    ...(overlap !== null && { overlapMs: parseLength(overlap, "--overlap") }),
    ...(given.isOn("off") === true && { off: true }),
  });
  return { value: body.secrets };
};
