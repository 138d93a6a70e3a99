// What is wrong, as a list: pure judgements about the state of a broker, each with who is
// concerned, since when, what the endpoint said, and what happens next. Equal problems are one,
// with members.
//
// Numbers that say when something is worth a card are here and nowhere else.

import type { Stage } from "../delivery/delivery.ts";
import type { Outcome } from "../delivery/outcome.ts";
import type { QueueCount } from "../ledger.ts";
import type { Instant } from "../ports.ts";
import type { EndpointState, Trouble } from "../steering.ts";
import type { Subscription, SubscriptionId } from "../subscription.ts";

export const problemKinds = [
  ...(["store", "dispatcher", "disk", "unhealthy", "failing", "handshake", "dropping"] as const),
  ...(["deadLetterStore", "deadLetters", "closed", "paused"] as const),
] as const;
export type ProblemKind = (typeof problemKinds)[number];

/** Who has it. */
export interface Bearer {
  /** By its name; null: it is not about an endpoint. */
  readonly endpoint: string | null;
  readonly subscriptions: readonly Subscription[];
  readonly since: Instant | null;
  /** Failures in a row; of what was dropped or dead-lettered, how many events lately. */
  readonly failures: number;
  readonly waiting: number;
  readonly nextTryAt: Instant | null;
}

export interface Problem extends Pick<Bearer, "since" | "failures" | "waiting" | "nextTryAt"> {
  /** The same as long as it is the same problem. */
  readonly id: string;
  readonly kind: ProblemKind;
  readonly severity: "error" | "warning";
  readonly title: string;
  readonly words: string;
  readonly status: number | null;
  /** The first line of what the endpoint said, or the system's own words. */
  readonly answer: string | null;
  /** The worst first. */
  readonly members: readonly [Bearer, ...Bearer[]];
}

/** What was counted of one subscription within the last hour. */
export interface Lately {
  readonly subscription: SubscriptionId;
  readonly dropped: number;
  readonly deadLettered: number;
  /** When the first of them was counted. */
  readonly since: Instant;
}

export interface Situation {
  readonly now: Instant;
  readonly endpoints: readonly (EndpointState & {
    readonly subscriptions: readonly Subscription[];
  })[];
  readonly subscriptions: readonly Subscription[];
  readonly queues: readonly QueueCount[];
  readonly lately: readonly Lately[];
  /** Of the data folder; null: nothing is kept on a disk. */
  readonly disk: { readonly freeBytes: number; readonly totalBytes: number } | null;
  /** Why nothing can be written; null: it can. */
  readonly storeFailure: string | null;
  /** Dispatchers that a bug of ours has stopped. */
  readonly stoppedDispatchers: number;
}

/** An endpoint that is not unhealthy yet has a problem after so many failures in a row. */
const failuresShown = 3;
/** So many dead letters within an hour are a pile. */
const deadLettersShown = 10;
/** Dead letters are gathered for some minutes before they are written. */
const deadLetterPatienceMs = 15 * 60_000;
const gibibyte = 2 ** 30;
const diskLow = { share: 0.1, bytes: gibibyte };
const diskOut = { share: 0.02, bytes: gibibyte / 4 };
const answerCharsMax = 200;

/** One bearer's problem, before equal ones are joined. */
type Finding = Pick<Problem, "kind" | "severity" | "title" | "words" | "status" | "answer"> & {
  readonly bearer: Bearer;
};

/** The same, found at once: there may be thousands of each. */
interface Looked extends Situation {
  queueOf(subscription: Subscription, stage: Stage): QueueCount | undefined;
  latelyOf(subscription: Subscription): Lately | undefined;
}

function lookInto(situation: Situation): Looked {
  const keyOf = (id: SubscriptionId, stage: Stage) => `${id} ${stage}`;
  const queues = new Map(situation.queues.map((one) => [keyOf(one.subscription, one.stage), one]));
  const lately = new Map(situation.lately.map((one) => [one.subscription, one]));
  return {
    ...situation,
    queueOf: ({ id }, stage) => queues.get(keyOf(id, stage)),
    latelyOf: ({ id }) => lately.get(id),
  };
}

/** The worst first. */
export function problemsIn(given: Situation): readonly Problem[] {
  const situation = lookInto(given);
  const findings = [
    ...ownFindings(situation),
    ...situation.endpoints.flatMap((endpoint) => endpointFindings(endpoint, situation)),
    ...situation.subscriptions.flatMap((one) => subscriptionFindings(one, situation)),
  ];
  const equal = Map.groupBy(findings, ({ kind, title, status, answer }) =>
    [kind, title, status, answer && shapeOf(answer)].filter((part) => part !== null).join(" "),
  );
  const problems = [...equal].map(([id, same]) => join(id, same as [Finding, ...Finding[]]));
  return problems.toSorted(
    (one, other) =>
      Number(one.severity === "warning") - Number(other.severity === "warning") ||
      problemKinds.indexOf(one.kind) - problemKinds.indexOf(other.kind) ||
      other.waiting - one.waiting,
  );
}

/** Ids, numbers and times differ between two answers that say the same. */
function shapeOf(answer: string): string {
  return answer.replace(/[\da-f-]*\d[\da-f-]*/gi, "#");
}

function join(id: string, findings: readonly [Finding, ...Finding[]]): Problem {
  const [{ bearer: _bearer, ...first }] = findings;
  const bearers = findings.map(({ bearer }) => bearer);
  const members = bearers.toSorted(
    (one, other) => other.waiting - one.waiting || (one.since ?? 0) - (other.since ?? 0),
  ) as [Bearer, ...Bearer[]];
  const sum = (of: (bearer: Bearer) => number) => bearers.reduce((all, one) => all + of(one), 0);
  return {
    ...{ id, ...first, members },
    since: earliest(bearers.map(({ since }) => since)),
    failures: sum(({ failures }) => failures),
    waiting: sum(({ waiting }) => waiting),
    nextTryAt: earliest(bearers.map(({ nextTryAt }) => nextTryAt)),
  };
}

function earliest(times: readonly (Instant | null)[]): Instant | null {
  const known = times.filter((at) => at !== null);
  return known.length === 0 ? null : Math.min(...known);
}

const nobody: Bearer = {
  ...{ endpoint: null, subscriptions: [], since: null, failures: 0, waiting: 0, nextTryAt: null },
};
const unsaid = { status: null, answer: null };

// The broker itself.

function ownFindings({ storeFailure, stoppedDispatchers, disk }: Situation): Finding[] {
  const found: Finding[] = [];
  if (storeFailure !== null) {
    found.push({
      ...{ kind: "store", severity: "error", title: "The store cannot write", ...unsaid },
      words: `Publishes are refused and deliveries wait: ${storeFailure}.`,
      bearer: nobody,
    });
  }
  if (stoppedDispatchers > 0) {
    found.push({
      ...{ kind: "dispatcher", severity: "error", title: "A dispatcher has stopped", ...unsaid },
      words:
        "This is a bug: see dispatcher.broken in the log. A restart of the broker starts it again.",
      bearer: { ...nobody, failures: stoppedDispatchers },
    });
  }
  const severity = disk && diskSeverity(disk);
  if (disk && severity) {
    const share = Math.round((100 * disk.freeBytes) / Math.max(1, disk.totalBytes));
    found.push({
      ...{ kind: "disk", severity, title: "The disk fills", ...unsaid },
      words: `${megabytes(disk.freeBytes)} are free, ${share} %. When it is full, publishes are refused.`,
      bearer: nobody,
    });
  }
  return found;
}

function diskSeverity(disk: NonNullable<Situation["disk"]>): Problem["severity"] | null {
  const isBelow = ({ share, bytes }: typeof diskLow) =>
    disk.freeBytes < Math.min(bytes, share * disk.totalBytes);
  return isBelow(diskOut) ? "error" : isBelow(diskLow) ? "warning" : null;
}

function megabytes(bytes: number): string {
  return `${Math.round(bytes / 1_048_576)} MB`;
}

// Endpoints.

function endpointFindings(
  state: Situation["endpoints"][number],
  { now, queueOf }: Looked,
): Finding[] {
  const { name, subscriptions, health, closure, trouble, failures } = state;
  const own = subscriptions.flatMap((subscription) => queueOf(subscription, "deliver") ?? []);
  const waiting = own.reduce((sum, queue) => sum + queue.waiting, 0);
  const bearer = { endpoint: name, subscriptions, failures, waiting };
  if (closure !== null) {
    const because = closure.because === "" ? "" : `: ${closure.because}`;
    return [
      {
        ...{ kind: "closed", severity: "warning", title: "Closed by an operator", ...unsaid },
        words: `Nothing is sent there until it is opened${because}.`,
        bearer: { ...bearer, since: closure.at, nextTryAt: null },
      },
    ];
  }
  const isUnhealthy = state.isDelayed && health.kind !== "healthy";
  if (!isUnhealthy && failures < failuresShown) return [];
  // It answers again: of interest only while something waits for that.
  const isRecovering = health.kind === "recovering";
  if (isRecovering && waiting === 0) return [];
  // What is paused is not tried, however long it has been due.
  const running = subscriptions.filter(({ flow }) => flow.kind !== "paused");
  const isPaused = running.length === 0 && subscriptions.length > 0;
  const nextDueAt = earliest(running.map((one) => queueOf(one, "deliver")?.nextDueAt ?? null));
  const nextAt = health.kind === "unhealthy" && health.until > now ? health.until : nextDueAt;
  const { title, status, answer } = isRecovering
    ? { title: "Recovers", ...unsaid }
    : answerIn(trouble);
  const severity = isUnhealthy && !isRecovering ? "error" : "warning";
  return [
    {
      ...{ kind: isUnhealthy ? "unhealthy" : "failing", severity, title, status, answer },
      words: unhealthyWords(health.kind, waiting),
      bearer: {
        ...bearer,
        since: trouble?.since ?? state.changes.at(-1)?.at ?? null,
        // What is due now is tried at once, or waits for a send under way.
        nextTryAt: nextAt === null || isPaused ? null : Math.max(nextAt, now),
      },
    },
  ];
}

function unhealthyWords(kind: EndpointState["health"]["kind"], waiting: number): string {
  switch (kind) {
    case "unhealthy":
      if (waiting === 0)
        return "Nothing waits for it; the next event will show whether it is back.";
      return "It is left alone; then one event is tried, and the others follow when it succeeds.";
    case "probing":
      return "One event is being tried; the others follow when it succeeds.";
    case "recovering":
      return "It answers again, and gets more and more.";
    case "healthy":
      return "Its failures are retried by the schedule.";
    default:
      return kind satisfies never;
  }
}

/** The title says what to look for. */
export function answerIn(trouble: Trouble | null): Pick<Finding, "title" | "status" | "answer"> {
  if (trouble === null) return { title: "Fails", status: null, answer: null };
  const { outcome } = trouble;
  if (outcome.kind === "answered") {
    const { status, excerpt, detail } = outcome;
    return { title: `Answers ${status}`, status, answer: firstLine(excerpt ?? detail) };
  }
  return { title: silences[outcome.why], status: null, answer: firstLine(outcome.detail) };
}

const silences: Readonly<Record<Extract<Outcome, { kind: "noReply" }>["why"], string>> = {
  timeout: "Does not answer in time",
  connection: "Cannot be connected to",
  dns: "Its name cannot be found",
  tls: "No secure connection",
  canceled: "Was interrupted",
};

/** Null: there is none. */
export function firstLine(text: string | undefined): string | null {
  const line =
    text
      ?.split(/\r?\n/)
      .find((each) => each.trim() !== "")
      ?.trim() ?? "";
  if (line === "") return null;
  return line.length > answerCharsMax ? `${line.slice(0, answerCharsMax)}…` : line;
}

// Subscriptions.

function subscriptionFindings(subscription: Subscription, situation: Looked): Finding[] {
  const found = [
    pausedFinding(subscription, situation),
    handshakeFinding(subscription),
    ...latelyFindings(subscription, situation),
    unwrittenFinding(subscription, situation),
  ];
  return found.filter((finding) => finding !== null);
}

function pausedFinding(subscription: Subscription, { queueOf }: Looked): Finding | null {
  const { flow } = subscription;
  if (flow.kind !== "paused") return null;
  const waiting = queueOf(subscription, "deliver")?.waiting ?? 0;
  return {
    ...{ kind: "paused", severity: "warning", title: "Paused", ...unsaid },
    words:
      "Everything is held back until it is resumed; nothing is dropped and nothing grows older.",
    bearer: { ...nobody, subscriptions: [subscription], since: flow.since, waiting },
  };
}

/** A system's own words, as in `connect ECONNREFUSED`, end without one. */
function withStop(sentence: string): string {
  return /[.!?]$/.test(sentence) ? sentence : `${sentence}.`;
}

function handshakeFinding(subscription: Subscription): Finding | null {
  const { state, handshake } = subscription;
  const last = handshake?.exchanges.at(-1);
  const isAsking = state === "Creating" || state === "Updating";
  if (state === "Succeeded" || (isAsking && last === undefined)) return null;
  const said = last?.answer ?? "";
  const status = /^\d{3}\b/.exec(said)?.[0];
  const because = withStop(last?.verdict ?? "There was no handshake.");
  const gets = subscription.isActive
    ? "It still gets events by its former settings."
    : "It gets no events.";
  return {
    ...{ kind: "handshake", severity: state === "Failed" ? "error" : "warning" },
    title: handshakeTitles[state],
    words: `${because} ${gets}`,
    status: status === undefined ? null : Number(status),
    answer: firstLine(status === undefined ? said : said.slice(status.length)),
    bearer: {
      ...nobody,
      subscriptions: [subscription],
      since: handshake?.startedAt ?? null,
      failures: handshake?.exchanges.length ?? 0,
    },
  };
}

const handshakeTitles: Readonly<Record<Exclude<Subscription["state"], "Succeeded">, string>> = {
  Failed: "The handshake failed",
  AwaitingManualAction: "The handshake waits for a person",
  Creating: "The handshake is not answered yet",
  Updating: "The handshake is not answered yet",
};

function latelyFindings(subscription: Subscription, { latelyOf }: Looked): Finding[] {
  const counted = latelyOf(subscription);
  if (counted === undefined) return [];
  const { dropped, deadLettered, since } = counted;
  const bearer = { ...nobody, subscriptions: [subscription], since };
  const where = subscription.deadLetter === null ? "There is no dead-letter destination." : "";
  return [
    ...(dropped === 0
      ? []
      : [
          {
            ...({
              kind: "dropping",
              severity: "error",
              title: "Events are dropped",
              ...unsaid,
            } as const),
            words: `They are lost. ${where}`.trim(),
            bearer: { ...bearer, failures: dropped },
          },
        ]),
    ...(deadLettered < deadLettersShown
      ? []
      : [
          {
            ...({
              kind: "deadLetters",
              severity: "warning",
              title: "Dead letters pile up",
              ...unsaid,
            } as const),
            words: "They are kept, and can be sent again when the cause is mended.",
            bearer: { ...bearer, failures: deadLettered },
          },
        ]),
  ];
}

function unwrittenFinding(subscription: Subscription, { queueOf, now }: Looked): Finding | null {
  const queue = queueOf(subscription, "deadLetter");
  if (queue === undefined || now - queue.oldestAt < deadLetterPatienceMs) return null;
  const { waiting, oldestAt: since, nextDueAt } = queue;
  return {
    ...{ kind: "deadLetterStore", severity: "error", title: "Dead letters cannot be written" },
    ...unsaid,
    words: "Their destination refuses them. They are tried again, and lost after some hours.",
    bearer: {
      ...nobody,
      ...{ subscriptions: [subscription], since, waiting },
      nextTryAt: Math.max(nextDueAt, now),
    },
  };
}
