// Trying things before they exist: a URL is asked as a handshake would ask it, and a filter is
// tried on the latest real events of a topic. Nothing is stored and no event is sent.

import type { TriedEvent, TriedFilter, TriedUrl } from "../../core/api/views.ts";
import type { EventFields } from "../../core/event.ts";
import { type Ask, type EndpointAnswer, judge, questionOf } from "../../core/handshake/question.ts";
import type { Clock, Ids } from "../../core/ports.ts";
import { Refusal } from "../../core/refusal.ts";
import { explainFilter } from "../../core/routing/filter/explain.ts";
import { parseFilter } from "../../core/routing/filter/parse.ts";
import type { Filter } from "../../core/routing/filter.ts";
import type { LiveCatalog } from "../../core/routing/live-catalog.ts";
import type { Chronicle, Entry, Listed } from "../../core/story/chronicle.ts";
import { recallFields } from "../../core/story/recall.ts";
import { plainSubscription } from "../../core/subscription.ts";
import { isSameName } from "../../core/text/compare.ts";
import { isoInstant } from "../../core/text/time.ts";
import { readWebUrl, urlWords } from "../../core/text/web-url.ts";
import { refuseValue } from "../../core/text/wording.ts";
import { namedTopic } from "./names.ts";
import type { Handlers } from "./serve.ts";

export interface TryOutDeps {
  readonly chronicle: Pick<Chronicle, "search" | "find">;
  readonly catalog: () => LiveCatalog;
  readonly clock: Clock;
  readonly ids: Ids;
  /** Undefined: nobody can be asked. */
  readonly ask?: Ask | undefined;
}

const waitMs = 15_000;
const answerCharsMax = 4_096;
const eventsTried = 50;
/** Of so many of the latest events the types are listed. */
const eventsForTypes = 500;

export function tryOutHandlers(
  deps: TryOutDeps,
): Pick<Handlers, "tryUrl" | "tryFilter" | "listEventTypes"> {
  return {
    tryUrl: ({ body }) => tryUrl(deps, body),
    tryFilter: ({ params, body }) => tryFilter(deps, params.topic, body),
    async listEventTypes({ params }) {
      const { name } = namedTopic(deps.catalog(), params.topic);
      const { found } = await deps.chronicle.search({ topic: name, limit: eventsForTypes });
      return { value: typesOf(found), next: null };
    },
  };
}

// A URL.

/** Refusals: InvalidSetting, Conflict. */
async function tryUrl(
  { ask, clock, ids }: TryOutDeps,
  order: { readonly url: string; readonly deliverySchema?: TriedSchema },
): Promise<TriedUrl> {
  const { url, deliverySchema = "EventGridSchema" } = order;
  if (readWebUrl(url) === null) {
    const allowed = urlWords("http or https");
    throw refuseValue({ field: "url", value: url, allowed, secret: true });
  }
  if (ask === undefined) throw new Refusal("Conflict", "This broker asks no endpoints.");
  const terms = {
    ...plainSubscription,
    destination: { kind: "webhook", url },
    deliverySchema,
  } as const;
  const startedAt = clock.now();
  const code = ids.next().toUpperCase();
  const occasion = { name: "test", terms, url, topicId: "", eventId: ids.next(), now: startedAt };
  // There is no subscription that a call of it could agree to.
  const question = questionOf(occasion, { code, validationUrl: "" });
  const answer = await ask({ ...question, waitMs, signal: new AbortController().signal });
  const { kind, why } = judge(question, code, answer);
  const { method, headers, body } = question;
  return {
    ...{ verdict: kind, words: why, durationMs: clock.now() - startedAt },
    request: { method, headers: listOf(headers), body },
    answer: answer.kind === "noReply" ? null : answerView(answer),
  };
}

type TriedSchema = "EventGridSchema" | "CloudEventSchemaV1_0" | "CustomInputSchema";

function answerView({ status, headers, body }: Extract<EndpointAnswer, { kind: "answered" }>) {
  return { status, headers: listOf(headers), body: body.slice(0, answerCharsMax) };
}

function listOf(headers: Readonly<Record<string, string | string[] | undefined>>) {
  return Object.entries(headers).map(([name, value]) => ({ name, value: String(value ?? "") }));
}

// A filter.

/** Refusals: NotFound, and those of a filter. */
async function tryFilter(
  deps: TryOutDeps,
  name: string,
  { filter: given, domainTopic }: { readonly filter: object; readonly domainTopic?: string },
): Promise<TriedFilter> {
  const topic = namedTopic(deps.catalog(), name);
  const filter = parseFilter(given, "filter");
  const limit = domainTopic === undefined ? eventsTried : eventsForTypes;
  const { found } = await deps.chronicle.search({ topic: topic.name, limit });
  const asked = found
    .filter((one) => domainTopic === undefined || isSameName(one.domainTopic ?? "", domainTopic))
    .slice(0, eventsTried);
  const events: TriedEvent[] = [];
  for (const listed of asked) {
    events.push(tried(filter, listed, await deps.chronicle.find(listed.event)));
  }
  const matched = events.filter(({ matches }) => matches).length;
  return { looked: events.length, matched, events, types: typesOf(found) };
}

function tried(filter: Filter, listed: Listed, entry: Entry | null): TriedEvent {
  const { event, id, type, subject, acceptedAt } = listed;
  const text = entry?.text ?? null;
  const fields: EventFields =
    entry !== null && text !== null
      ? recallFields({ ...entry, text })
      : {
          ...{ id, subject, eventType: type, topic: listed.topic, parsed: {} },
          ...{ dataVersion: entry?.dataVersion ?? "", schema: entry?.schema ?? "EventGridSchema" },
        };
  const { matches, clauses } = explainFilter(filter, fields);
  const no = clauses.find(({ holds }) => !holds);
  return {
    ...{ event, id, type, subject, acceptedAt: isoInstant(acceptedAt), matches },
    ...{ clause: no?.clause ?? null, because: no?.because ?? null, isHeadOnly: text === null },
  };
}

/** The most frequent first. */
function typesOf(found: readonly Listed[]) {
  const byType = Map.groupBy(found, ({ type }) => type);
  return [...byType]
    .map(([type, events]) => ({
      ...{ type, count: events.length },
      lastAt: isoInstant(Math.max(...events.map(({ acceptedAt }) => acceptedAt))),
    }))
    .toSorted((one, other) => other.count - one.count || (one.type < other.type ? -1 : 1));
}
