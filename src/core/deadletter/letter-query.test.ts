import assert from "node:assert/strict";
import { test } from "node:test";
import { subscriptionDraft, topicDraft } from "../../../test/contract/fixture.ts";
import { parseStorageAccounts, storageArmId } from "../azure/storage.ts";
import { Refusal } from "../refusal.ts";
import type { Catalog } from "../registry.ts";
import type { SubscriptionDraft } from "../subscription.ts";
import { type TopicDraft, topicArmId } from "../topic.ts";
import { type Letter, readLetters } from "./letter.ts";
import { containersOf, homeOf, letterQueryOf } from "./letter-query.ts";

const group = { subscriptionId: "s", resourceGroup: "rg" };
const accounts = parseStorageAccounts({ first: { folder: "/a" }, second: { folder: "/b" } });
const anything = letterQueryOf({});

const boxIn = (account: string, container: string) => ({
  deadLetter: { kind: "blob" as const, resourceId: storageArmId({ group, account }), container },
});

function catalogOf(
  topics: readonly Partial<TopicDraft>[],
  subscriptions: readonly Partial<SubscriptionDraft>[],
): Catalog {
  return {
    topics: topics.map((draft) => ({ ...topicDraft(draft), revision: 1 })),
    subscriptions: subscriptions.map((draft, index) => ({
      ...subscriptionDraft(draft),
      ...{ id: index + 1, revision: 1 },
    })),
  };
}

test("one looks where subscriptions send, and elsewhere when both names are given", () => {
  const catalog = catalogOf(
    [{}],
    [
      { name: "one", ...boxIn("FIRST", "box") },
      { name: "two", ...boxIn("first", "box") },
      { name: "three", ...boxIn("second", "box") },
      { name: "four", ...boxIn("lost", "box") },
      { name: "five" },
    ],
  );
  const names = (query: { account?: string; container?: string }) =>
    containersOf({ ...anything, ...query }, catalog, accounts).map(
      ({ account, container }) => `${account}/${container}`,
    );
  assert.deepEqual(names({}), ["first/box", "second/box"]);
  assert.deepEqual(names({ account: "Second" }), ["second/box"]);
  assert.deepEqual(names({ container: "box" }), ["first/box", "second/box"]);
  assert.deepEqual(names({ container: "other" }), []);
  assert.deepEqual(names({ account: "first", container: "other" }), ["first/other"]);
  const isRefused = (code: string) => (error: unknown) =>
    error instanceof Refusal && error.code === code;
  assert.throws(() => names({ account: "lost" }), isRefused("NotFound"));
  assert.throws(() => names({ container: "../up" }), isRefused("InvalidSetting"));
});

test("a query whose end is before its begin is refused by its name", () => {
  const [earlier, later] = ["2030-01-01T00:00:00Z", "2030-01-02T00:00:00Z"];
  assert.equal(letterQueryOf({ from: earlier, to: earlier }).from, Date.parse(earlier));
  assert.equal(letterQueryOf({ to: earlier }).from, null);
  assert.equal(letterQueryOf({ from: earlier }).to, null);
  assert.throws(
    () => letterQueryOf({ from: later, to: earlier }, "query."),
    /query\.to must not be before query\.from/,
  );
});

function letterOf(topic: string): Letter {
  const record = { id: "1", eventType: "t", eventTime: "2030-01-01T00:00:00Z", topic };
  const [read] = readLetters(JSON.stringify({ ...record, deadLetterReason: "r" }));
  assert.equal(read?.kind, "letter");
  return (read as { letter: Letter }).letter;
}

function cloudLetter(): Letter {
  const record = { id: "1", specversion: "1.0", type: "t", source: "/s", deadletterreason: "r" };
  const [read] = readLetters(JSON.stringify(record));
  return (read as { letter: Letter }).letter;
}

const at = (subscription: string, container = "box") => ({
  ...{ account: "first", container, index: 0 },
  path: `${subscription.toUpperCase()}/2030/1/1/0/x.json`,
});

test("a letter is at home with the subscription of its name and topic, and with no other", () => {
  const catalog = catalogOf(
    [{ name: "orders" }, { name: "bills" }, { name: "roof", kind: "domain" }],
    [
      { topic: "orders", name: "main", ...boxIn("first", "box") },
      { topic: "bills", name: "main", ...boxIn("first", "box") },
      { topic: "roof", name: "under", domainTopic: "north" },
      { topic: "roof", name: "under", domainTopic: "south" },
      { topic: "roof", name: "all" },
    ],
  );
  const home = (subscription: string, source: string) => {
    const found = homeOf(at(subscription), letterOf(source), catalog, accounts);
    return found.kind === "known" ? found.subscription.id : found.why;
  };
  const id = (kind: "topic" | "domain", name: string) =>
    topicArmId({ ...topicDraft({ kind, name }) });
  assert.equal(home("main", id("topic", "orders")), 1);
  assert.equal(home("main", id("topic", "bills").toUpperCase()), 2);
  const inAzure = "/subscriptions/x/resourceGroups/y/providers/Microsoft.EventGrid/topics";
  assert.equal(home("main", `${inAzure}/Bills`), 2, "the name is enough where the id is Azure's");
  assert.match(
    String(home("main", `${inAzure}/other`)),
    /^There is no subscription "MAIN" of \S+ here/,
  );
  assert.equal(home("main", ""), 'Several subscriptions are called "MAIN".');
  assert.equal(home("under", `${id("domain", "roof")}/topics/south`), 4);
  assert.equal(home("all", `${id("domain", "roof")}/topics/south`), 5);
  assert.match(String(home("under", `${id("domain", "roof")}/topics/east`)), /^There is no/);
});

test("a CloudEvent names no topic: the container decides, and nobody is guessed", () => {
  const clouds = { deliverySchema: "CloudEventSchemaV1_0" as const };
  const catalog = catalogOf(
    [{ name: "one" }, { name: "two" }, { name: "three" }],
    [
      { topic: "one", name: "main", ...clouds, ...boxIn("first", "box") },
      { topic: "two", name: "main", ...clouds, ...boxIn("first", "other") },
      { topic: "three", name: "main", ...boxIn("first", "box") },
    ],
  );
  const home = (container: string) => {
    const found = homeOf(at("main", container), cloudLetter(), catalog, accounts);
    return found.kind === "known" ? found.subscription.topic : found.why;
  };
  assert.equal(home("box"), "one", "the third takes no CloudEvents");
  assert.equal(home("other"), "two");
  assert.equal(home("copied"), 'Several subscriptions are called "MAIN".');
});
