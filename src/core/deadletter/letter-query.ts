// Which dead letters a query selects, and where to look for them: the query as written, the
// containers it covers, and the subscription a record belongs to. Nothing is read here.
//
// A path has the name of the subscription and no topic, and a name is unique within its topic only.
// An Event Grid record names its topic, a CloudEvent does not. If the subscription is not certain,
// it is not guessed.

import type { DeadLetterQuery } from "../api/orders.ts";
import { containerNameRule, findAccount, type StorageAccount } from "../azure/storage.ts";
import type { Instant } from "../ports.ts";
import { Refusal } from "../refusal.ts";
import type { Catalog } from "../registry.ts";
import type { Subscription } from "../subscription.ts";
import { parseInstant } from "../text/time.ts";
import { refuseValue, shownAs } from "../text/wording.ts";
import { type Topic, topicArmId } from "../topic.ts";
import type { LetterHead } from "./letter.ts";
import { type LetterPath, subscriptionIn } from "./letter-path.ts";
import type { BlobContainer } from "./letter-store.ts";

/** Null: any. */
export interface LetterQuery {
  readonly account: string | null;
  readonly container: string | null;
  readonly topic: string | null;
  readonly subscription: string | null;
  readonly reason: string | null;
  readonly outcome: string | null;
  readonly type: string | null;
  readonly from: Instant | null;
  readonly to: Instant | null;
  /** Whether they have been redriven before. */
  readonly redriven: boolean | null;
}

const anything: LetterQuery = {
  ...{ account: null, container: null, topic: null, subscription: null, reason: null },
  ...{ outcome: null, type: null, from: null, to: null, redriven: null },
};

/** `at`: the prefix of names in refusals. Refusal: InvalidSetting. */
export function letterQueryOf(asked: DeadLetterQuery, at = ""): LetterQuery {
  const { from, to, ...rest } = asked;
  const query = {
    ...anything,
    ...rest,
    ...(from !== undefined && { from: parseInstant(from, `${at}from`) }),
    ...(to !== undefined && { to: parseInstant(to, `${at}to`) }),
  };
  if (query.from === null || query.to === null || query.from <= query.to) return query;
  const target = `${at}to`;
  throw new Refusal("InvalidSetting", `${target} must not be before ${at}from`, { target });
}

/**
 * Those that subscriptions name; any other when account and container are both given. Refusals:
 * NotFound for an account that is not in the settings, InvalidSetting.
 */
export function containersOf(
  { account, container }: Pick<LetterQuery, "account" | "container">,
  { subscriptions }: Catalog,
  accounts: readonly StorageAccount[],
): readonly BlobContainer[] {
  const known = accounts.find(({ name }) => isSame(name, account));
  if (account !== null && known === undefined) {
    const words = `There is no storage account ${shownAs(account)} in the settings.`;
    throw new Refusal("NotFound", words);
  }
  if (container !== null && !containerNameRule.test(container)) {
    const allowed = "3 to 63 lower-case letters, digits and single hyphens";
    throw refuseValue({ field: "container", value: container, allowed });
  }
  if (known !== undefined && container !== null) return [{ account: known.name, container }];
  const named = new Map<string, BlobContainer>();
  for (const subscription of subscriptions) {
    const place = containerOf(subscription, accounts);
    if (place === null) continue;
    if (known !== undefined && place.account !== known.name) continue;
    if (container !== null && place.container !== container) continue;
    named.set(`${place.account}/${place.container}`, place);
  }
  return [...named.values()];
}

/** Null: it has no dead-letter destination, or an account that is no longer in the settings. */
export function containerOf(
  { deadLetter }: Pick<Subscription, "deadLetter">,
  accounts: readonly StorageAccount[],
): BlobContainer | null {
  const account = deadLetter && findAccount(accounts, deadLetter.resourceId);
  return account ? { account: account.name, container: deadLetter.container } : null;
}

/** The subscription it belongs to. */
export type Home =
  | { readonly kind: "known"; readonly subscription: Subscription; readonly topic: Topic }
  /** `why` is a sentence. */
  | { readonly kind: "unknown"; readonly why: string };

export function homeOf(
  place: LetterPath,
  letter: LetterHead,
  { topics, subscriptions }: Catalog,
  accounts: readonly StorageAccount[],
): Home {
  const name = subscriptionIn(place.path);
  const candidates = subscriptions
    .filter((each) => isSame(each.name, name))
    .flatMap((subscription) => {
      const topic = topics.find((each) => isSame(each.name, subscription.topic));
      const isOurs = topic !== undefined && mayBeOf(letter, topic, subscription);
      return isOurs ? { subscription, topic } : [];
    });
  const near = candidates.filter(({ subscription }) => {
    const own = containerOf(subscription, accounts);
    return own?.account === place.account && own.container === place.container;
  });
  const [one, another] = near.length > 0 ? near : candidates;
  if (one === undefined) {
    const of = letter.source === "" ? "" : ` of ${letter.source}`;
    return { kind: "unknown", why: `There is no subscription ${shownAs(name)}${of} here.` };
  }
  if (another === undefined) return { kind: "known", ...one };
  return { kind: "unknown", why: `Several subscriptions are called ${shownAs(name)}.` };
}

/** By the topic's whole id, or by its name alone where the record comes from Azure. */
function mayBeOf(letter: LetterHead, topic: Topic, subscription: Subscription): boolean {
  if (letter.form === "cloudEvent") return subscription.deliverySchema === "CloudEventSchemaV1_0";
  if (letter.source === "") return true;
  const id = topicArmId(topic);
  const { domainTopic } = subscription;
  if (topic.kind !== "domain")
    return isSame(letter.source, id) || isSame(nameOf(letter), topic.name);
  const [, ofDomain, within] = /\/domains\/([^/]+)\/topics\/([^/]+)$/i.exec(letter.source) ?? [];
  return (
    isSame(ofDomain ?? "", topic.name) && (domainTopic === null || isSame(domainTopic, within))
  );
}

/** The last name in the id of an Event Grid record's topic; null: it has none. */
export function topicNameIn(letter: LetterHead): string | null {
  return letter.form === "cloudEvent" || letter.source === "" ? null : nameOf(letter);
}

function nameOf({ source }: LetterHead): string {
  const [, domain] = /\/domains\/([^/]+)\/topics\/[^/]+$/i.exec(source) ?? [];
  return domain ?? source.slice(source.lastIndexOf("/") + 1);
}

/** What a dead letter says, apart from location and time, which the walk has checked. */
export interface LetterFacts {
  readonly topic: string | null;
  readonly subscription: string;
  readonly letter: LetterHead;
  readonly redriven: number;
}

export function matchesLetter(query: LetterQuery, facts: LetterFacts): boolean {
  const { letter } = facts;
  const is = (wanted: string | null, found: string | null) =>
    wanted === null || isSame(wanted, found);
  return (
    is(query.topic, facts.topic) &&
    is(query.subscription, facts.subscription) &&
    is(query.reason, letter.reason) &&
    is(query.outcome, letter.outcome) &&
    is(query.type, letter.type) &&
    (query.redriven === null || query.redriven === facts.redriven > 0)
  );
}

function isSame(one: string, other: string | null | undefined): boolean {
  return one.toLowerCase() === other?.toLowerCase();
}
