// An order to send dead letters again, as someone wrote it, checked. That letters and subscriptions
// are still there is seen when their turn comes; what can be refused at once is.

import type { StorageAccount } from "../../core/azure/storage.ts";
import type { LetterPath } from "../../core/deadletter/letter-path.ts";
import { letterId, parseLetterId } from "../../core/deadletter/letter-path.ts";
import {
  containersOf,
  type LetterQuery,
  letterQueryNames,
  parseLetterQuery,
} from "../../core/deadletter/letter-query.ts";
import { redriveLimits } from "../../core/deadletter/redrive.ts";
import type { Catalog } from "../../core/ports.ts";
import { Refusal } from "../../core/refusal.ts";
import type { Request } from "../../core/request.ts";
import { endpointOf, type SubscriptionId } from "../../core/subscription.ts";
import { isSameName } from "../../core/text/compare.ts";
import { checkMembers, refuseValue } from "../../core/text/wording.ts";
import { readMembers } from "../arm/body.ts";

export interface Order {
  readonly letters:
    | { readonly kind: "ids"; readonly places: readonly LetterPath[] }
    | { readonly kind: "query"; readonly query: LetterQuery };
  readonly target: Target;
  readonly perSecond: number;
  readonly isDryRun: boolean;
  /** Also what has been sent again too often. */
  readonly force: boolean;
}

/** `words` name it to people, without secrets. */
export type Target = { readonly words: string } & (
  | { readonly kind: "home" }
  | { readonly kind: "subscription"; readonly id: SubscriptionId }
  | { readonly kind: "url"; readonly url: string }
);

const urlCharactersMax = 2_048;
const perSecondMin = 0.01;

/** Refusals: InvalidSetting, InputJsonInvalid, NotFound for an account or a subscription. */
export function readOrder(
  request: Request,
  { catalog, accounts }: { catalog: Catalog; accounts: readonly StorageAccount[] },
): Order {
  const members = readMembers(request, ["ids", "query", "to", "perSecond", "dryRun", "force"]);
  const [ids, query] = [members.ids ?? null, members.query ?? null];
  if ((ids === null) === (query === null)) {
    const found = ids === null ? "neither" : "both";
    throw new Refusal("InvalidSetting", `the request must have ids or query, and has ${found}`);
  }
  const order: Order = {
    letters:
      ids === null
        ? { kind: "query", query: readQuery(query) }
        : { kind: "ids", places: readIds(ids) },
    target: readTarget(members.to ?? null, catalog),
    perSecond: readRate(members.perSecond ?? redriveLimits.perSecondDefault),
    isDryRun: readTruth(members.dryRun, "dryRun"),
    force: readTruth(members.force, "force"),
  };
  if (order.letters.kind === "query") containersOf(order.letters.query, catalog, accounts);
  return order;
}

function readQuery(value: unknown): LetterQuery {
  return parseLetterQuery(checkMembers(value, "query", letterQueryNames), "query.");
}

/** Each once, in the order given. */
function readIds(value: unknown): readonly LetterPath[] {
  const { idsMax } = redriveLimits;
  if (!Array.isArray(value) || value.length === 0 || value.length > idsMax) {
    const allowed = `an array of 1 to ${idsMax} ids; for more, write a query`;
    throw refuseValue({ field: "ids", value, allowed });
  }
  const places = value.map((id, index) => {
    const field = `ids[${index}]`;
    if (typeof id !== "string") throw refuseValue({ field, value: id, allowed: "a text" });
    return parseLetterId(id, field);
  });
  return [...new Map(places.map((place) => [letterId(place), place])).values()];
}

function readTarget(value: unknown, catalog: Catalog): Target {
  if (value === null) return { kind: "home", words: "the subscriptions they were meant for" };
  const to = checkMembers(value, "to", ["topic", "subscription", "domainTopic", "url"]);
  const isUrl = (to.url ?? null) !== null;
  const isNamed = [to.topic, to.subscription, to.domainTopic].some((name) => name !== undefined);
  if (isUrl === isNamed) {
    const words = "to must have topic and subscription, or url";
    throw new Refusal("InvalidSetting", words, { target: "to" });
  }
  return isUrl ? readUrl(to.url) : readSubscription(to, catalog);
}

/** The URL is told by its shape alone: its query often is a secret. */
function readUrl(value: unknown): Target {
  const url = typeof value === "string" ? URL.parse(value) : null;
  const isFine =
    url !== null &&
    /^https?:$/.test(url.protocol) &&
    url.username === "" &&
    url.password === "" &&
    !url.href.includes("#") &&
    url.href.length <= urlCharactersMax;
  if (isFine) {
    return { kind: "url", url: url.href, words: endpointOf({ kind: "webhook", url: url.href }) };
  }
  const allowed =
    `an absolute http or https URL of at most ${urlCharactersMax} characters, without user name, ` +
    "password and fragment";
  throw refuseValue({ field: "to.url", value, allowed, secret: true });
}

function readSubscription(
  to: { readonly topic?: unknown; readonly subscription?: unknown; readonly domainTopic?: unknown },
  { subscriptions }: Catalog,
): Target {
  const text = (name: "topic" | "subscription" | "domainTopic") => {
    const value = to[name];
    if (typeof value === "string" && value !== "") return value;
    throw refuseValue({ field: `to.${name}`, value, allowed: "a name" });
  };
  const [topic, name] = [text("topic"), text("subscription")];
  const domainTopic = (to.domainTopic ?? null) === null ? null : text("domainTopic");
  const words = [topic, ...(domainTopic === null ? [] : [domainTopic]), name].join("/");
  const found = subscriptions.find(
    (one) =>
      isSameName(one.topic, topic) &&
      isSameName(one.name, name) &&
      isSameName(one.domainTopic ?? "", domainTopic ?? ""),
  );
  if (found === undefined) throw new Refusal("NotFound", `There is no subscription '${words}'.`);
  return { kind: "subscription", id: found.id, words };
}

function readRate(value: unknown): number {
  const { perSecondMax } = redriveLimits;
  if (typeof value === "number" && value >= perSecondMin && value <= perSecondMax) return value;
  const allowed = `a number of events a second from ${perSecondMin} to ${perSecondMax}`;
  throw refuseValue({ field: "perSecond", value, allowed });
}

function readTruth(value: unknown, field: string): boolean {
  if (value === undefined || value === null) return false;
  if (typeof value === "boolean") return value;
  throw refuseValue({ field, value, allowed: "true or false" });
}
