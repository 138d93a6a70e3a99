// Who gets what was published, from the broker's dry run of the topic's filters: the answer to a
// publish is empty, as in Azure, and stories are written a little later.

import type { FilterVerdict } from "../../core/api/views.ts";
import { isObject } from "../../core/template/expression.ts";
import { BrokerError } from "../broker-error.ts";
import type { Client } from "../client.ts";

/** More events are not looked at one by one. */
const eventsMax = 20;

export interface Matched {
  /** The names of the subscriptions that get at least one of the events. */
  readonly subscriptions: readonly string[];
  /** Those that match and get nothing, each with the reason. */
  readonly held: readonly string[];
}

/** Null for too many events, or if the broker cannot say. */
export async function matchedBy(
  client: Client,
  topic: string,
  events: readonly unknown[],
): Promise<Matched | null> {
  if (events.length > eventsMax || !events.every(isObject)) return null;
  const path = `/api/v1/topics/${encodeURIComponent(topic)}/explain`;
  const [names, held] = [new Set<string>(), new Set<string>()];
  try {
    for (const event of events) {
      const { body } = await client.send("POST", path, { event });
      for (const verdict of (Array.isArray(body.value) ? body.value : []) as FilterVerdict[]) {
        if (!verdict.matches) continue;
        const name = verdict.subscription ?? "";
        if (verdict.held === null) names.add(name);
        else held.add(`${name} matched but gets nothing: ${verdict.held}`);
      }
    }
  } catch (error) {
    // The events are published, whatever becomes of this question.
    if (error instanceof BrokerError) return null;
    throw error;
  }
  return { subscriptions: [...names], held: [...held] };
}

/** For people: what was published, who gets it, and what to type next. */
export function drawPublished(
  topic: string,
  ids: readonly unknown[],
  matched: Matched | null,
): string {
  const [id = null] = ids;
  const what = ids.length === 1 ? (id ?? "an event") : `${ids.length} events`;
  const lines = [`published ${what} to ${topic}`];
  if (matched !== null) lines.push(sayMatched(matched.subscriptions), ...matched.held);
  lines.push(
    `next: posthorn ${id === null ? `event list -t ${topic}` : `explain ${quoted(String(id))}`}`,
  );
  return `${lines.join("\n")}\n`;
}

export function sayMatched(names: readonly string[]): string {
  if (names.length === 0) return "no subscription matched: nobody gets this";
  const what = names.length === 1 ? "1 subscription" : `${names.length} subscriptions`;
  return `${what} matched: ${names.join(", ")}`;
}

/** For a shell. */
export function quoted(text: string): string {
  return /^[\w.:/@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
