// Events and their stories: what was accepted, which subscriptions matched, every attempt with its
// decision, and the current state. Notes say what happened (core/story/story.ts); the store has the
// current state, and is asked about every delivery that waits according to the notes.

import type { eventQuery } from "../../core/api/orders.ts";
import type { Infer } from "../../core/api/schema.ts";
import type {
  EndpointView,
  EventSummary,
  HealthView,
  SearchPage,
  Story,
} from "../../core/api/views.ts";
import { heldMs } from "../../core/delivery/flow.ts";
import { type PolicyDefaults, policyOf } from "../../core/delivery/policy.ts";
import { type ProfileName, profiles } from "../../core/delivery/profile.ts";
import type { Ledger, Seen } from "../../core/ledger.ts";
import type { Clock, Instant } from "../../core/ports.ts";
import { defaultsUnder } from "../../core/pull/pull-rules.ts";
import { Refusal } from "../../core/refusal.ts";
import type { Catalog } from "../../core/registry.ts";
import type { Chronicle, EventQuery, Fate, Listed, Retention } from "../../core/story/chronicle.ts";
import { isOpen, readCursor, sayRetention } from "../../core/story/chronicle.ts";
import { readSearchWords } from "../../core/story/search-words.ts";
import { type Live, type LiveStates, storyOf, summaryOfListed } from "../../core/story/story.ts";
import type { Subscription, SubscriptionId } from "../../core/subscription.ts";
import { isSameName } from "../../core/text/compare.ts";
import { isoInstant, parseInstant } from "../../core/text/time.ts";
import { shownAs } from "../../core/text/wording.ts";
import { healthIn } from "./endpoints.ts";
import { type RebuildDeps, rebuildRequests } from "./rebuild.ts";
import type { Handlers } from "./serve.ts";

export interface EventsDeps extends Pick<RebuildDeps, "postOf"> {
  readonly chronicle: Pick<Chronicle, "search" | "find">;
  /** How long and how much is kept. */
  readonly retention: Retention;
  readonly ledger: Ledger;
  readonly catalog: () => Catalog;
  readonly profile: ProfileName;
  readonly defaults: PolicyDefaults;
  readonly endpoints: () => Promise<readonly EndpointView[]>;
  readonly clock: Clock;
}

const usualLimit = 50;

export function eventHandlers(deps: EventsDeps): Pick<Handlers, "findEvents" | "showStory"> {
  return {
    findEvents: ({ query }) => search(deps, queryOf(query)),
    showStory: ({ params }) => tell(deps, params.id),
  };
}

function queryOf({ q, from, to, limit, ...words }: Infer<typeof eventQuery>): EventQuery {
  return {
    ...(q !== undefined && readSearchWords(q)),
    ...words,
    ...(from !== undefined && { from: parseInstant(from, "from") }),
    ...(to !== undefined && { to: parseInstant(to, "to") }),
    limit: limit ?? usualLimit,
  };
}

async function search(deps: EventsDeps, query: EventQuery): Promise<SearchPage<EventSummary>> {
  const { found, next } = await seek(deps, query);
  const states = await liveOf(deps, found);
  const value: EventSummary[] = [];
  for (const [index, listed] of found.entries()) {
    const live = states[index] ?? nothingLive;
    if (query.isFailing === true && !hasBeenTried(live)) continue;
    if (!hasVanished(listed, live)) value.push(summaryOfListed(listed, live));
    else {
      const again = await look(deps, listed.event);
      value.push(
        again === null ? summaryOfListed(listed, live) : summaryOfListed(again, again.live),
      );
    }
  }
  const searchedTo = next === null ? null : isoInstant(readCursor(next).at);
  return { value, next, searchedTo };
}

/** A look at a time goes so far; an empty one is followed by another, so many times. */
const looksMax = 8;

async function seek({ chronicle }: EventsDeps, query: EventQuery) {
  const whole = query.after === undefined ? wholeIdIn(query) : null;
  if (whole !== null) {
    const named = await chronicle.search(whole);
    if (named.found.length > 0) return named;
  }
  let page = await chronicle.search(query);
  for (let looks = 1; looks < looksMax && page.found.length === 0; looks += 1) {
    if (page.next === null) break;
    page = await chronicle.search({ ...query, after: page.next });
  }
  return page;
}

/** If the words are one word: it may be an id, and those are found at once. */
function wholeIdIn({ words = [], idPart, ...rest }: EventQuery): EventQuery | null {
  const [word, ...others] = idPart === undefined ? words : [idPart, ...words];
  return word === undefined || others.length > 0 ? null : { ...rest, id: word };
}

/** Whether an attempt has failed of something that waits. */
function hasBeenTried(live: LiveStates): boolean {
  return [...live.values()].some(({ waiting }) => waiting !== null && waiting.attempts > 0);
}

/** Refusal: NotFound. */
async function tell(deps: EventsDeps, id: string): Promise<Story> {
  const seen = await look(deps, id);
  if (seen !== null) {
    const again = hasVanished(seen, seen.live) ? await look(deps, seen.event) : seen;
    const found = again ?? seen;
    return rebuildRequests(deps, found, storyOf(found, found.live));
  }
  const words = `There is no event ${shownAs(id)}, or nothing is kept of it any more.`;
  const kept = sayRetention(deps.retention, deps.clock.now());
  throw new Refusal("NotFound", `${words} ${kept}`);
}

async function look(deps: EventsDeps, id: string) {
  const entry = await deps.chronicle.find(id);
  if (entry === null) return null;
  const listed = { ...entry, fates: entry.passages };
  const [live = nothingLive] = await liveOf(deps, [listed]);
  return { ...listed, live };
}

const nothingLive: LiveStates = new Map();

/**
 * Whether something waited when the notes were read and not when the store was asked: then it ended
 * in between, and its note is there by now.
 */
function hasVanished({ fates }: { readonly fates: readonly Fate[] }, live: LiveStates): boolean {
  return fates.some(({ subscription, state }) => {
    const now = live.get(subscription);
    return isOpen(state) && now?.waiting === null && now.isSubscribed;
  });
}

/** The store's state of each delivery that waits according to the notes, in one call. */
async function liveOf(
  deps: EventsDeps,
  listed: readonly Pick<Listed, "event" | "number" | "fates">[],
): Promise<LiveStates[]> {
  const asked = listed.flatMap(({ event: name, number, fates }, index) =>
    fates.flatMap(({ subscription, state }) =>
      number === null || !isOpen(state) ? [] : [{ index, name, event: number, subscription }],
    ),
  );
  const states = listed.map(() => new Map<SubscriptionId, Live>());
  if (asked.length === 0) return states;
  const describe = await describer(deps);
  for (let place = 0; place < asked.length; place += lookMax) {
    const some = asked.slice(place, place + lookMax);
    const seen = await deps.ledger.look(some);
    for (const [at, { index, name, subscription }] of some.entries()) {
      const waiting = seen[at] ?? null;
      // A store that was restored from a backup may assign its numbers a second time.
      const isIt = waiting?.event.systemId === name;
      states[index]?.set(subscription, describe(subscription, isIt ? waiting : null));
    }
  }
  return states;
}

const lookMax = 1_000;

async function describer(deps: EventsDeps) {
  const { topics, subscriptions } = deps.catalog();
  const known = new Map(subscriptions.map((each) => [each.id, each]));
  const healthOf = healthIn(await deps.endpoints());
  const now = deps.clock.now();
  return (id: SubscriptionId, waiting: Seen | null): Live => {
    const subscription = known.get(id);
    if (subscription === undefined) return { ...gone, waiting };
    const topic = topics.find(({ name }) => isSameName(name, subscription.topic));
    const profile = profiles[topic?.profile ?? deps.profile];
    const { ttlMs, attemptsMax, deadLetterLimitMs } = policyOf(
      subscription,
      profile,
      defaultsUnder(profile, topic ?? {}, deps.defaults),
    );
    return {
      waiting,
      isSubscribed: true,
      held: waiting?.stage === "deliver" ? heldBy(subscription, healthOf(subscription)) : null,
      expiresAt: waiting && endOf(waiting, { subscription, ttlMs, deadLetterLimitMs, now }),
      attemptsMax,
    };
  };
}

const gone: Live = {
  waiting: null,
  isSubscribed: false,
  held: null,
  expiresAt: null,
  attemptsMax: null,
};

/** During a pause an event does not age, in the first stage. */
function endOf(
  { stage, since }: Seen,
  of: {
    readonly subscription: Subscription;
    readonly ttlMs: number;
    readonly deadLetterLimitMs: number;
    readonly now: Instant;
  },
): Instant {
  if (stage === "deadLetter") return since + of.deadLetterLimitMs;
  return since + of.ttlMs + heldMs(of.subscription, since, of.now);
}

function heldBy({ flow }: Subscription, health: HealthView | null): string | null {
  if (flow.kind === "paused") return `The subscription is paused since ${isoInstant(flow.since)}.`;
  return health === null || !holding.includes(health.kind) ? null : health.words;
}

const holding: readonly string[] = ["unhealthy", "probing", "closed"];
