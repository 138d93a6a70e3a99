// Sends a kept event again, delivered ones included. For the broker it is a new event, with a new
// system id and a new time to live; the publisher's id, time and data stay as they were. It goes to
// the subscriptions whose filters match now, or to those named, whatever their filters.

import type { ResendOrder } from "../../core/api/orders.ts";
import type { ResentView } from "../../core/api/views.ts";
import type { Event } from "../../core/event.ts";
import type { Ledger } from "../../core/ledger.ts";
import type { Clock, Ids, Log, Store } from "../../core/ports.ts";
import { Refusal } from "../../core/refusal.ts";
import type { LiveCatalog } from "../../core/routing/live-catalog.ts";
import { Members } from "../../core/routing/members.ts";
import type { Directory } from "../../core/routing/route.ts";
import { isConversionAllowed } from "../../core/schema/convert.ts";
import { type Chronicle, type Entry, isOpen } from "../../core/story/chronicle.ts";
import { recallEvent, recallFields } from "../../core/story/recall.ts";
import type { Subscription } from "../../core/subscription.ts";
import { shownAs } from "../../core/text/wording.ts";
import { namedSubscription, namedTopic } from "./names.ts";
import type { Handlers } from "./serve.ts";

export interface ResendDeps {
  readonly chronicle: Pick<Chronicle, "find" | "note">;
  readonly ledger: Ledger;
  readonly deliveries: Pick<Store, "append">;
  readonly catalog: () => LiveCatalog;
  readonly directory: Pick<Directory, "entry">;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
}

export function resendHandlers(deps: ResendDeps): Pick<Handlers, "resendEvent"> {
  return {
    resendEvent: ({ params, body }) => resend(deps, params.id, body),
  };
}

/** Refusals: NotFound, Conflict, and those of the store's append. */
async function resend(deps: ResendDeps, id: string, order: ResendOrder): Promise<ResentView> {
  const entry = await deps.chronicle.find(id);
  if (entry === null) {
    const words = `There is no event ${shownAs(id)}, or nothing is kept of it any more.`;
    throw new Refusal("NotFound", words);
  }
  const kept = await eventOf(deps, entry);
  const at = deps.clock.now();
  const event: Event = { ...kept, systemId: deps.ids.next(), publishedAt: at, hops: 0 };
  const to = targetsOf(deps, entry, event, order.subscriptions);
  const [number = null] = to.length === 0 ? [] : await append(deps, event, to);
  const { subject, type, domainTopic } = entry;
  deps.chronicle.note({
    ...{ kind: "accepted", at, event, id: entry.id, subject, type, domainTopic, number },
    ...{ acceptedWith: "resend", to: to.map((each) => each.id) },
    roll: (order.subscriptions ? null : rollOf(deps, event, domainTopic)) ?? new Members(to),
  });
  const subscriptions = to.map(({ name }) => name);
  const { topic } = event;
  const named = { topic, event: event.systemId, id: entry.id };
  deps.log.fact("info", "event.resent", { ...named, of: entry.event, subscriptions });
  return { ...named, subscriptions };
}

function rollOf({ directory }: ResendDeps, { topic }: Event, domainTopic: string | null) {
  return directory.entry(topic)?.roll(domainTopic) ?? null;
}

function append({ deliveries }: ResendDeps, event: Event, to: readonly Subscription[]) {
  return deliveries.append([{ event, to: to.map(({ id }) => id) }], event.publishedAt);
}

/** As it waits in the store, or as it was kept with its story. Refusal: Conflict. */
async function eventOf({ ledger }: ResendDeps, entry: Entry): Promise<Event> {
  const { number, passages } = entry;
  const open = passages.filter(({ state }) => isOpen(state));
  const asked = open.map(({ subscription }) => ({ event: number ?? 0, subscription }));
  const seen = asked.length === 0 ? [] : await ledger.look(asked.slice(0, 1_000));
  const waiting = seen.find((each) => each?.event.systemId === entry.event);
  if (waiting) return waiting.event;
  const kept = recallEvent(entry);
  if (kept !== null) return kept;
  throw new Refusal(
    "Conflict",
    `Of the event ${shownAs(entry.id)} only its story is kept, not the event itself: it cannot ` +
      "be sent again. With `--story-texts all` later ones can.",
  );
}

/** Refusals: NotFound, Conflict. */
function targetsOf(
  { catalog, directory }: ResendDeps,
  entry: Entry,
  event: Event,
  names: readonly string[] | undefined,
): readonly Subscription[] {
  const { name: topic } = namedTopic(catalog(), event.topic);
  const { domainTopic } = entry;
  if (names === undefined) {
    const found = directory.entry(topic);
    const ids = found?.route(recallFields(event), domainTopic) ?? [];
    return ids.flatMap((id) => found?.subscription(id) ?? []);
  }
  const chosen = new Map<number, Subscription>();
  for (const name of names) {
    const one =
      catalog().named({ topic, domainTopic, name }) ??
      namedSubscription(catalog(), { params: { topic, name }, query: {} });
    if (!one.isActive) {
      throw new Refusal("Conflict", `The subscription ${shownAs(one.name)} is ${one.state}.`);
    }
    if (!isConversionAllowed(event.schema, one.deliverySchema)) {
      const words = `An event in the schema ${event.schema} cannot be delivered as`;
      throw new Refusal("Conflict", `${words} ${one.deliverySchema}: ${shownAs(one.name)}.`);
    }
    chosen.set(one.id, one);
  }
  return [...chosen.values()];
}
