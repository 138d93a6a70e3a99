// A request for a redrive, checked against the catalog. Whether dead letters and subscriptions
// still exist is seen when their turn comes; what can be refused at once is.

import type { RedriveOrder } from "../../core/api/orders.ts";
import type { StorageAccount } from "../../core/azure/storage.ts";
import type { LetterPath } from "../../core/deadletter/letter-path.ts";
import { letterId, parseLetterId } from "../../core/deadletter/letter-path.ts";
import {
  containersOf,
  type LetterQuery,
  letterQueryOf,
} from "../../core/deadletter/letter-query.ts";
import { redriveLimits } from "../../core/deadletter/redrive.ts";
import { Refusal } from "../../core/refusal.ts";
import type { Catalog } from "../../core/registry.ts";
import { endpointOf, type SubscriptionId } from "../../core/subscription.ts";
import { isSameName } from "../../core/text/compare.ts";
import { readWebUrl, urlWords } from "../../core/text/web-url.ts";
import { refuseValue } from "../../core/text/wording.ts";

export interface Order {
  readonly letters:
    | { readonly kind: "ids"; readonly places: readonly LetterPath[] }
    | { readonly kind: "query"; readonly query: LetterQuery };
  readonly target: Target;
  readonly perSecond: number;
  readonly isDryRun: boolean;
  /** Also what has been redriven too often. */
  readonly force: boolean;
}

/** `words` describe it without secrets. */
export type Target = { readonly words: string } & (
  | { readonly kind: "home" }
  | { readonly kind: "subscription"; readonly id: SubscriptionId }
  | { readonly kind: "url"; readonly url: string }
);

/** Refusals: InvalidSetting, NotFound for an account or a subscription. */
export function readOrder(
  { ids, query, to, perSecond, dryRun, force }: RedriveOrder,
  { catalog, accounts }: { catalog: Catalog; accounts: readonly StorageAccount[] },
): Order {
  if ((ids === undefined) === (query === undefined)) {
    const found = ids === undefined ? "neither" : "both";
    throw new Refusal("InvalidSetting", `the request must have ids or query, and has ${found}`);
  }
  const order: Order = {
    letters:
      ids === undefined
        ? { kind: "query", query: letterQueryOf(query ?? {}, "query.") }
        : { kind: "ids", places: readIds(ids) },
    target: readTarget(to, catalog),
    perSecond: perSecond ?? redriveLimits.perSecondDefault,
    isDryRun: dryRun ?? false,
    force: force ?? false,
  };
  if (order.letters.kind === "query") containersOf(order.letters.query, catalog, accounts);
  return order;
}

/** Each once, in the order given. */
function readIds(ids: readonly string[]): readonly LetterPath[] {
  const places = ids.map((id, index) => parseLetterId(id, `ids[${index}]`));
  return [...new Map(places.map((place) => [letterId(place), place])).values()];
}

function readTarget(to: RedriveOrder["to"], catalog: Catalog): Target {
  if (to === undefined) return { kind: "home", words: "the subscriptions they were meant for" };
  return "url" in to ? readUrl(to.url) : readSubscription(to, catalog);
}

/** The URL is described only by its type: its query is often a secret. */
function readUrl(value: string): Target {
  if (readWebUrl(value) !== null) {
    return { kind: "url", url: value, words: endpointOf({ kind: "webhook", url: value }) };
  }
  const allowed = urlWords("http or https");
  throw refuseValue({ field: "to.url", value, allowed, secret: true });
}

function readSubscription(
  {
    topic,
    subscription: name,
    domainTopic,
  }: Extract<RedriveOrder["to"], { readonly topic: string }>,
  { subscriptions }: Catalog,
): Target {
  const words = [topic, ...(domainTopic === undefined ? [] : [domainTopic]), name].join("/");
  const found = subscriptions.find(
    (one) =>
      isSameName(one.topic, topic) &&
      isSameName(one.name, name) &&
      isSameName(one.domainTopic ?? "", domainTopic ?? ""),
  );
  if (found === undefined) throw new Refusal("NotFound", `There is no subscription '${words}'.`);
  return { kind: "subscription", id: found.id, words };
}
