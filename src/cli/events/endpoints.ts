// Endpoints: their health, and closing, opening and resetting them. And the state of the broker as
// a whole, and of all brokers of its cluster.

import type { BrokerView, EndpointView, FilterVerdict, Overview } from "../../core/api/views.ts";
import { namesOf, sourceIn } from "../az/resource-names.ts";
import { filterIn } from "../az/subscription-body.ts";
import { openClient } from "../client.ts";
import type { Row, Run } from "../command.ts";
import { readNamed } from "../find-broker.ts";
import { eventsIn } from "./event-file.ts";
import { completed } from "./publish-request.ts";

export const listEndpoints: Run = async (given, outside) => {
  const { value } = await openClient(given, outside).get("/api/v1/endpoints");
  const all = (Array.isArray(value) ? value : []) as EndpointView[];
  return { value: all, rows: all.map(rowOf) };
};

function rowOf({ endpoint, health, waiting, sendsUnderWay, subscriptions }: EndpointView): Row {
  return {
    Endpoint: endpoint,
    Health: health.kind,
    Until: health.until ?? "",
    Waiting: waiting,
    Sending: sendsUnderWay,
    Subscriptions: subscriptions.map(({ topic, name }) => `${topic}/${name}`).join(", "),
    Words: health.words,
  };
}

export const listBrokers: Run = async (given, outside) => {
  const { value } = await openClient(given, outside).get("/api/v1/brokers");
  const all = (Array.isArray(value) ? value : []) as BrokerView[];
  const rows = all.map(
    (broker): Row => ({
      Broker: broker.isSelf ? `${broker.id} *` : broker.id,
      Address: broker.http ?? broker.https ?? "",
      Host: broker.host,
      Version: broker.version,
      Since: broker.startedAt,
      Share: `${Math.round((broker.slots * 100) / 256)} %`,
      Endpoints: broker.endpoints,
      Waiting: broker.waiting,
      PerSecond: broker.rates.delivered,
      OverdueMs: broker.overdueMs,
    }),
  );
  return { value: all, rows };
};

function steering(verb: "open" | "close" | "reset"): Run {
  return async (given, outside) => {
    const because = given.one("because");
    const { body } = await openClient(given, outside).send("POST", `/api/v1/endpoints/${verb}`, {
      endpoint: given.operands[0],
      ...(because !== null && { because }),
    });
    return { value: body, rows: [rowOf(body as unknown as EndpointView)] };
  };
}

export const openEndpoint = steering("open");
export const closeEndpoint = steering("close");
export const resetEndpoint = steering("reset");

export const showStatus: Run = async (given, outside) => {
  const overview = (await openClient(given, outside).get(
    "/api/v1/overview",
  )) as unknown as Overview;
  const { counts, rates } = overview;
  const row: Row = {
    Ready: overview.whyNotReady ?? "yes",
    Topics: overview.topics,
    Subs: overview.subscriptions,
    Waiting: overview.waiting,
    Letters: overview.waitingDeadLetters,
    Delivered: counts.delivered,
    Failed: counts.failed,
    Sick: overview.sick.length,
  };
  const { version, profile, store } = overview;
  const rest = { Published: counts.published, PerSecond: rates.delivered, Version: version };
  return {
    ...{
      value: overview,
      rows: [row],
      wide: [{ ...row, ...rest, Profile: profile, Store: store }],
    },
    ...(overview.whyNotReady !== null && { exitCode: 1 }),
  };
};

/** The dry run of filters: would this event match? */
export const explainFilters: Run = async (given, outside) => {
  const { topic, domainTopic } = namesOf(sourceIn(given, outside.env));
  const file = given.operands[0] ?? "-";
  const text = file === "-" ? await outside.readInput() : readNamed(file, outside.readFile);
  const [event] = eventsIn(text, file === "-" ? "the input" : file);
  const filter = filterIn(given);
  const name = given.one("name");
  const path = `/api/v1/topics/${encodeURIComponent(topic)}/explain`;
  const { body } = await openClient(given, outside).send("POST", path, {
    event: completed(event, outside),
    ...(name !== null && { subscription: name }),
    ...(domainTopic !== null && { domainTopic }),
    ...(Object.keys(filter).length > 0 && { filter }),
  });
  const verdicts = (Array.isArray(body.value) ? body.value : []) as FilterVerdict[];
  const rows = verdicts.flatMap(({ subscription, matches, held, clauses }) =>
    (clauses.length === 0 ? [null] : clauses).map((each) => ({
      Subscription: subscription ?? "(given)",
      Matches: matches ? (held === null ? "yes" : `yes, but ${held}`) : "no",
      Clause: each?.clause ?? "no clause",
      Holds: each === null ? "" : each.holds ? "yes" : "no",
      Because: each?.because ?? "",
    })),
  );
  return { value: verdicts, rows };
};
