// `posthorn tail`: live facts of a broker, one line each, or one JSON object per line.

import type { LiveEvent } from "../../core/api/views.ts";
import { Refusal } from "../../core/refusal.ts";
import { parseLength } from "../../core/text/time.ts";
import { BrokerError } from "../broker-error.ts";
import { type Client, type Outside, openClient } from "../client.ts";
import type { Run } from "../command.ts";
import type { ParsedOptions } from "../option.ts";
import { type Paint, painter } from "../print/output.ts";
import type { ServerSent } from "./server-sent-events.ts";

/** What is shown by default. */
const kindsDefault: readonly string[] = ["published", "attempt", "ended", "endpoint", "redrive"];

export const tail: Run = async (given, outside) => {
  const client = openClient(given, outside);
  const abort = new AbortController();
  const ignore = outside.onSignal(() => abort.abort());
  const lastMs = given.one("for") === null ? null : parseLength(given.one("for") ?? "", "--for");
  if (lastMs !== null) void outside.sleep(lastMs).then(() => abort.abort());
  const isFailed = given.isOn("failed") === true;
  const paint = painter(outside);
  let left = given.whole("count") ?? Number.POSITIVE_INFINITY;
  const watch = reconnecting(client, pathIn(given), { signal: abort.signal, outside });
  try {
    for await (const { kind, text } of watch.facts) {
      const fact = { kind, ...(JSON.parse(text) as object) } as LiveEvent;
      if (isFailed && !tellsOfFailure(fact)) continue;
      const line = outside.form === "json" ? JSON.stringify(fact) : lineOf(fact, paint);
      if (line === null) continue;
      outside.print(`${line}\n`);
      if (fact.kind !== "missed") left -= 1;
      if (left <= 0) break;
    }
  } finally {
    ignore();
    abort.abort();
  }
  return watch.isConnected() ? {} : { exitCode: 1 };
};

const retryMs = 1_000;

/**
 * A stream that outlives its broker: once it was open, its end is reported, and it is opened again
 * when the broker is back. Throws Complaint. Refusal: Unavailable, if it was never open.
 */
function reconnecting(
  client: Client,
  path: string,
  { signal, outside }: { readonly signal: AbortSignal; readonly outside: Outside },
): { readonly facts: AsyncIterable<ServerSent>; readonly isConnected: () => boolean } {
  let state: "new" | "open" | "lost" = "new";
  const aborted = new Promise<void>((resolve) => {
    signal.addEventListener("abort", () => resolve());
  });
  const onOpen = () => {
    if (state === "lost") {
      const words = "is back; what happened meanwhile is not shown";
      outside.tell(`posthorn: the broker at ${client.server} ${words}\n`);
    }
    state = "open";
  };
  async function* facts() {
    while (!signal.aborted) {
      try {
        yield* client.stream(path, signal, onOpen);
      } catch (error) {
        if (state === "new" || !isAway(error)) throw error;
        if (state === "open") outside.tell(`posthorn: ${error.message}; waiting for it\n`);
        state = "lost";
        await Promise.race([outside.sleep(retryMs), aborted]);
      }
    }
  }
  return { facts: facts(), isConnected: () => state === "open" };
}

/** Stopped, or not ready yet. */
function isAway(error: unknown): error is Error {
  if (error instanceof BrokerError) return error.status === 503;
  return error instanceof Refusal && error.code === "Unavailable";
}

/** The broker filters, so that unwanted facts do not count towards the limit. */
function pathIn(given: ParsedOptions): string {
  const kinds = given.all("only").length > 0 ? given.all("only") : kindsDefault;
  const [topic, name] = [given.one("topic-name"), given.one("name")];
  const query = new URLSearchParams({
    kinds: [...kinds, "missed"].join(","),
    ...(topic !== null && { topic }),
    ...(name !== null && { subscription: name }),
  });
  return `/api/v1/live?${query}`;
}

function tellsOfFailure(fact: LiveEvent): boolean {
  if (fact.kind === "attempt") return fact.attempt.decision !== "delivered";
  return fact.kind === "ended" || fact.kind === "missed";
}

/** Null for what is not shown. */
function lineOf(fact: LiveEvent, paint: Paint): string | null {
  switch (fact.kind) {
    case "published": {
      const { acceptedAt, topic, event, id, type, subject, deliveries } = fact.event;
      const to = deliveries.map(({ subscription }) => subscription).join(", ") || "nobody";
      return `${timeOf(acceptedAt)} ${paint("cyan", "published")} ${topic} ${event} (${id}) ${type} ${subject} → ${to}`;
    }
    case "attempt": {
      const { at, topic, subscription, event, number, outcome, status, durationMs, ...rest } =
        fact.attempt;
      const isDelivered = rest.decision === "delivered";
      const saw = status === null ? outcome : `${status} ${outcome}`;
      const next = rest.nextDueAt === null ? rest.decision : `next ${timeOf(rest.nextDueAt)}`;
      const word = paint(isDelivered ? "green" : "yellow", isDelivered ? "delivered" : "failed   ");
      return `${timeOf(at)} ${word} ${topic}/${subscription} ${event} #${number} ${saw} ${Math.round(durationMs)} ms${isDelivered ? "" : ` → ${next}`}`;
    }
    case "ended": {
      const { at, topic, subscription, event, state, reason } = fact.ended;
      return `${timeOf(at)} ${paint("red", state)} ${topic}/${subscription} ${event} ${reason ?? ""}`.trimEnd();
    }
    case "endpoint": {
      const { endpoint, health, history } = fact.endpoint;
      const at = history[0]?.at;
      return `${at === undefined ? "            " : timeOf(at)} ${paint("magenta", "endpoint ")} ${endpoint} ${health.words}`;
    }
    case "redrive": {
      const { id, state, sent, total, failed } = fact.redrive;
      return `             ${paint("magenta", "redrive  ")} ${id} ${state} ${sent}/${total}, ${failed} failed`;
    }
    case "catalog":
      return `             ${paint("magenta", "changed  ")} topics or subscriptions`;
    case "missed":
      return paint("red", `             … ${fact.count} more, too many to show`);
    default:
      return null;
  }
}

/** The time of day. */
function timeOf(instant: string): string {
  return instant.slice(11, 23);
}
