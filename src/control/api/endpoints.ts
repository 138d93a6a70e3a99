// Endpoints for operators, by their names: the health of each, its subscriptions, its changes since
// the broker started; and close, open and reset. URLs that differ only in their queries have
// separate health and one name: the worst of them is shown.

import type { endpointOrder } from "../../core/api/orders.ts";
import type { Infer } from "../../core/api/schema.ts";
import type { EndpointView, HealthView } from "../../core/api/views.ts";
import { type Closure, healthRulesText, healthText } from "../../core/delivery/health-text.ts";
import type { Ledger, QueueCount } from "../../core/ledger.ts";
import { ListChanges } from "../../core/list-changes.ts";
import type { Clock, Instant } from "../../core/ports.ts";
import { answerIn } from "../../core/problems/problems.ts";
import type { EndpointUse, Switchboard, Trouble } from "../../core/steering.ts";
import type { Subscription } from "../../core/subscription.ts";
import { isoInstant } from "../../core/text/time.ts";
import type { Operator } from "../operator.ts";
import type { Handlers } from "./serve.ts";

export interface EndpointsDeps {
  readonly switchboard: Switchboard;
  readonly operator: Operator;
  readonly ledger: Ledger;
  readonly clock: Clock;
}

type State = EndpointUse;

/** Changes that are shown per name. */
const historyMax = 50;
/** A closed endpoint to which no subscription sends now. */
const noRules = "no subscription sends there";

export function endpointHandlers(
  deps: EndpointsDeps,
): Pick<Handlers, "listEndpoints" | "closeEndpoint" | "openEndpoint" | "resetEndpoint"> {
  const { operator } = deps;
  const run = deps.clock.now().toString(36);
  const seen = new ListChanges<EndpointView>(run, ({ endpoint }) => endpoint);
  const order =
    (act: (endpoint: string, because: string) => Promise<void>) =>
    async ({ body }: { readonly body: Infer<typeof endpointOrder> }): Promise<EndpointView> => {
      const { endpoint, because = "" } = body;
      await act(endpoint, because);
      const views = await endpointViews(deps);
      return (
        views.find((view) => view.endpoint === endpoint) ?? unused(endpoint, null, deps.clock.now())
      );
    };
  return {
    async listEndpoints({ query }) {
      const { items, ...changes } = seen.answer(await endpointViews(deps), query.since);
      return { value: items, next: null, ...changes };
    },
    closeEndpoint: order((endpoint, because) => operator.close(endpoint, because)),
    openEndpoint: order((endpoint, because) => operator.open(endpoint, because)),
    resetEndpoint: order((endpoint, because) => operator.reset(endpoint, because)),
  };
}

/** In the order of their names; closed ones also if no subscription sends there. */
export async function endpointViews(deps: EndpointsDeps): Promise<EndpointView[]> {
  const { switchboard, ledger } = deps;
  const now = deps.clock.now();
  const waiting = new Map<number, QueueCount>();
  for (const count of await ledger.counts()) {
    if (count.stage === "deliver") waiting.set(count.subscription, count);
  }
  const byName = Map.groupBy((await switchboard.endpoints()).filter(isSentTo), ({ name }) => name);
  const used = [...byName].map(([name, states]) => viewOf(name, states, { waiting, now }));
  const closed = [...switchboard.closures()].flatMap(([name, closure]) =>
    byName.has(name) ? [] : [unused(name, closure, now)],
  );
  return [...used, ...closed].toSorted((a, b) => (a.endpoint < b.endpoint ? -1 : 1));
}

/** Queues are fetched from: there is nothing whose health could be good or bad. */
function isSentTo({ subscriptions }: State): boolean {
  return !subscriptions.some(({ destination }) => destination.kind === "pull");
}

/** The worst first. */
const kinds = ["closed", "unhealthy", "probing", "recovering", "healthy"] as const;

function worstOf(states: readonly State[]): State {
  const rank = ({ closure, health }: State) =>
    kinds.indexOf(closure === null ? health.kind : "closed");
  const [worst] = states.toSorted((a, b) => rank(a) - rank(b));
  return worst as State;
}

/** One name may have several states: of several queries, with and without delayed delivery. */
function viewOf(
  endpoint: string,
  states: readonly State[],
  { waiting, now }: { readonly waiting: ReadonlyMap<number, QueueCount>; readonly now: Instant },
): EndpointView {
  const delayed = states.filter((state) => state.isDelayed);
  const watched = worstOf(delayed.length > 0 ? delayed : states);
  const { isDelayed, rules } = watched;
  const changes = states.flatMap((state) => state.changes).toSorted((a, b) => a.at - b.at);
  const subscriptions = states.flatMap((state) => state.subscriptions);
  const queues = subscriptions.flatMap(({ id }) => waiting.get(id) ?? []);
  const nextDueAt = Math.min(...queues.map((queue) => queue.nextDueAt));
  return {
    endpoint,
    health: healthOf(watched, nextDueAt, now),
    isDelayed,
    subscriptions: states.flatMap((state) =>
      state.subscriptions.map(({ topic, domainTopic, name }) => ({
        ...{ topic, domainTopic, name, health: healthOf(state, nextDueAt, now) },
      })),
    ),
    said: saidOf(watched.trouble),
    sendsUnderWay: states.reduce((sum, { sends }) => sum + sends, 0),
    waiting: queues.reduce((sum, queue) => sum + queue.waiting, 0),
    history: changes
      .slice(-historyMax)
      .toReversed()
      .map(({ at, ...change }) => ({ at: isoInstant(at), ...change })),
    rules: isDelayed
      ? healthRulesText(rules)
      : "its health is not tracked: its profile has no delayed delivery",
  };
}

function saidOf(trouble: Trouble | null): EndpointView["said"] {
  if (trouble === null) return null;
  const { status, answer } = answerIn(trouble);
  return { since: isoInstant(trouble.since), status, answer };
}

function healthOf({ health, closure, failures }: State, nextDueAt: Instant, now: Instant) {
  // Once it may be tried again, that happens with the next delivery that is due.
  const isLeftAlone = closure === null && health.kind === "unhealthy";
  const until = isLeftAlone ? (health.until > now ? health.until : nextDueAt) : now;
  return {
    kind: closure === null ? health.kind : "closed",
    words: healthText(health, closure, now),
    failures,
    until: until > now && Number.isFinite(until) ? isoInstant(until) : null,
  } satisfies HealthView;
}

function unused(endpoint: string, closure: Closure | null, now: Instant): EndpointView {
  const health = { kind: "healthy", failures: 0 } as const;
  return {
    endpoint,
    health: {
      ...{ kind: closure === null ? "healthy" : "closed", failures: 0, until: null },
      words: healthText(health, closure, now),
    },
    ...{
      isDelayed: false,
      subscriptions: [],
      said: null,
      sendsUnderWay: 0,
      waiting: 0,
      history: [],
    },
    rules: noRules,
  };
}

/** The health of a subscription's URL; null when nothing is sent there. */
export function healthIn(
  views: readonly EndpointView[],
): (subscription: Subscription) => HealthView | null {
  const keyOf = ({
    topic,
    domainTopic,
    name,
  }: EndpointView["subscriptions"][number] | Subscription) =>
    `${topic}/${domainTopic ?? ""}/${name}`.toLowerCase();
  const healths = new Map(
    views.flatMap(({ subscriptions }) => subscriptions.map((each) => [keyOf(each), each.health])),
  );
  return (subscription) => healths.get(keyOf(subscription)) ?? null;
}
