// What the API shows of the broker as a whole: how things are, and how they were.

import { scopeKinds } from "../../figures/figures.ts";
import {
  about,
  type Infer,
  instant,
  list,
  named,
  number,
  object,
  optional,
  orNull,
  text,
  truth,
  whole,
  words,
} from "../schema.ts";
import { EndpointView } from "./endpoints.ts";

/** Counted since the broker started, or within one point of a chart. */
export const Counts = named(
  "Counts",
  object({
    published: whole,
    refused: about(whole, "Publishes that were refused."),
    delivered: whole,
    failed: about(whole, "Attempts that failed."),
    deadLettered: whole,
    dropped: whole,
  }),
);
export type Counts = Infer<typeof Counts>;

const Rates = object({ published: number, delivered: number, failed: number });

export const BrokerView = named(
  "Broker",
  object({
    id: about(text, "A new one with every start."),
    host: about(text, "The name of its machine."),
    http: about(orNull(text), "Where it listens, as it sees it itself; null: it does not."),
    https: orNull(text),
    version: text,
    startedAt: instant,
    seenAt: about(instant, "Its last heartbeat, by the database's clock."),
    isSelf: about(truth, "Whether it is the one that answers."),
    slots: about(whole, "Of 256: its share of all endpoints."),
    subscriptions: about(whole, "That it serves."),
    endpoints: about(whole, "That it sends to."),
    waiting: about(whole, "Deliveries that wait for it."),
    overdueMs: about(
      number,
      "How long the earliest of these that nothing holds back has been due: whether it keeps up.",
    ),
    rates: about(Rates, "Events a second, over the last ten seconds."),
    counts: about(Counts, "Since its start."),
  }),
);
export type BrokerView = Infer<typeof BrokerView>;

export const Overview = named(
  "Overview",
  object({
    version: text,
    now: instant,
    startedAt: instant,
    profile: text,
    store: text,
    clock: words("real", "virtual"),
    topics: whole,
    subscriptions: whole,
    waiting: whole,
    waitingDeadLetters: whole,
    oldestAt: about(
      orNull(instant),
      "When the oldest event that still waits was accepted; null: nothing waits.",
    ),
    brokers: about(whole, "How many there are in the cluster; one, if it is alone."),
    rates: about(Rates, "Events a second, over the last ten seconds, of all brokers together."),
    counts: about(Counts, "Since the start of each broker, of all of them together."),
    sick: about(list(EndpointView), "Those that are not healthy, the worst first; at most fifty."),
    whyNotReady: about(orNull(text), "Null: ready to accept publishes."),
  }),
);
export type Overview = Infer<typeof Overview>;

export const History = named(
  "History",
  object({
    stepMs: whole,
    points: about(
      list(object({ at: instant, waiting: whole, ...Counts.members })),
      "The oldest first.",
    ),
  }),
);
export type History = Infer<typeof History>;

const countColumns = ["published", "delivered", "failed", "deadLettered", "dropped"] as const;
const latencyColumns = ["deliveryP50Ms", "deliveryP95Ms", "answerP50Ms", "answerP95Ms"] as const;
export const figureColumns = words(...countColumns, "waiting", ...latencyColumns);
export type FigureColumn = Infer<typeof figureColumns>;

const counted = list(whole);
const measured = list(orNull(whole));

export const FigureSeries = named(
  "FigureSeries",
  object({
    kind: words(...scopeKinds),
    name: about(
      text,
      "Of the topic, subscription or endpoint, the id of a member; empty for the broker.",
    ),
    topic: about(orNull(text), "Of a subscription."),
    domainTopic: orNull(text),
    totals: about(
      object({
        ...{ published: whole, delivered: whole, failed: whole, deadLettered: whole },
        ...{ dropped: whole, deliveryP50Ms: orNull(whole), deliveryP95Ms: orNull(whole) },
        ...{ answerP50Ms: orNull(whole), answerP95Ms: orNull(whole) },
      }),
      "Of the whole range.",
    ),
    published: optional(about(counted, "Of a subscription or endpoint: events that matched.")),
    delivered: optional(counted),
    failed: optional(about(counted, "Attempts that failed.")),
    deadLettered: optional(counted),
    dropped: optional(counted),
    waiting: optional(
      about(
        measured,
        "The most that waited at once; null for the broker: it did not run. Of a member only whether it ran: 0 or null.",
      ),
    ),
    deliveryP50Ms: optional(about(measured, "From the publish to the delivery.")),
    deliveryP95Ms: optional(measured),
    answerP50Ms: optional(about(measured, "How long the endpoint took for an attempt.")),
    answerP95Ms: optional(measured),
  }),
);
export type FigureSeries = Infer<typeof FigureSeries>;

export const FigureChart = named(
  "FigureChart",
  object({
    from: instant,
    to: instant,
    stepMs: about(whole, "The first value of a column is of the step that begins at `from`."),
    series: list(FigureSeries),
  }),
);
export type FigureChart = Infer<typeof FigureChart>;
