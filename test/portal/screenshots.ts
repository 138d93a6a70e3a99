// Pictures of every page, light, dark and narrow, with little in the broker, with much (10,000
// deliveries and names as long as they may be), and with trouble of every kind.
// `npm run screenshots [folder] [pages]`; without a folder they go to `screenshots/`; what looks
// ugly in them should be fixed. Pages are named by commas: `overview,story`.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import type { Browser, Page } from "playwright-core";
import { openChromium } from "../fixtures/chromium.ts";
import type { Scope } from "../fixtures/webhook.ts";
import {
  cloudEventWith,
  deadLetterDestination,
  eventWith,
  openStage,
  type Stage,
} from "./stage.ts";

const folder = process.argv[2] ?? "screenshots";
/** Only these pages, by their names. */
const only = process.argv[3]?.split(",") ?? null;

const looks = [
  { name: "light", colorScheme: "light", width: 1280 },
  { name: "dark", colorScheme: "dark", width: 1280 },
  { name: "narrow", colorScheme: "light", width: 390 },
] as const;

interface Shot {
  readonly name: string;
  readonly path: string;
  /** What is to be seen before the picture is taken. */
  readonly until?: string;
}

const long = "a-subscription-name-of-the-sixty-four-letters-that-azure-allows1";

function shotsOf({
  topic,
  subscription,
  event,
  first,
}: Record<"topic" | "subscription" | "event" | "first", string>) {
  const own = `/portal/topics/${topic}/subscriptions/${subscription}`;
  const shots: readonly Shot[] = [
    { name: "overview", path: "/" },
    { name: "topics", path: "/portal/topics" },
    { name: "newtopic", path: "/portal/topics?new=topic" },
    { name: "topic", path: `/portal/topics/${topic}` },
    { name: "publish", path: `/portal/topics/${topic}?tab=publish` },
    { name: "keys", path: `/portal/topics/${topic}?tab=keys` },
    { name: "topicsettings", path: `/portal/topics/${topic}?tab=settings` },
    { name: "subscriptions", path: "/portal/subscriptions" },
    { name: "newsubscription", path: "/portal/subscriptions/new" },
    { name: "subscription", path: own },
    { name: "subscriptionsettings", path: `${own}?tab=settings` },
    { name: "handshake", path: `${own}?tab=handshake` },
    { name: "filter", path: `${own}?tab=filter` },
    { name: "signing", path: `${own}?tab=signing` },
    { name: "deliveries", path: "/portal/deliveries" },
    { name: "tail", path: "/portal/deliveries?tail=on" },
    { name: "story", path: `/portal/deliveries/${event}` },
    { name: "firststory", path: `/portal/deliveries/${first}` },
    { name: "queues", path: "/portal/queues" },
    { name: "receive", path: "/portal/topics/shop%2Forders/subscriptions/billing?tab=receive" },
    { name: "deadletters", path: "/portal/dead-letters" },
    { name: "endpoints", path: "/portal/endpoints" },
    { name: "brokers", path: "/portal/brokers" },
    { name: "inboxes", path: "/portal/inboxes" },
    { name: "inbox", path: "/portal/inboxes/show-me" },
    { name: "whatif", path: "/portal/what-if", until: "The first event" },
    { name: "settings", path: "/portal/settings" },
  ];
  return shots;
}

async function take(page: Page, stage: Stage, shot: Shot, file: string): Promise<void> {
  await page.goto(stage.url + shot.path);
  await page.locator("h1").waitFor();
  // Charts and sparklines come after the page.
  await page.waitForLoadState("load");
  await page.locator("[aria-busy=true]").first().waitFor({ state: "detached" });
  if (shot.until !== undefined) await page.getByText(shot.until).first().waitFor();
  await page.screenshot({ path: file, fullPage: true });
}

async function takeAll(
  stage: Stage,
  browser: Browser,
  { prefix, shots }: { readonly prefix: string; readonly shots: readonly Shot[] },
): Promise<void> {
  for (const { name, colorScheme, width } of looks) {
    const page = await stage.visit(browser, "/", {
      colorScheme,
      viewport: { width, height: 800 },
      reducedMotion: "reduce",
    });
    for (const shot of shots.filter(({ name: own }) => only?.includes(own) ?? true)) {
      await take(page, stage, shot, join(folder, `${prefix}-${shot.name}-${name}.png`));
    }
    await page.context().close();
  }
}

/** One topic, one event; and the welcome before that. */
async function withLittle(t: Scope, browser: Browser): Promise<void> {
  const stage = await openStage(t);
  await takeAll(stage, browser, {
    prefix: "none",
    shots: [
      { name: "overview", path: "/" },
      { name: "inboxes", path: "/portal/inboxes" },
      { name: "queues", path: "/portal/queues" },
      { name: "subscriptions", path: "/portal/subscriptions" },
      { name: "deliveries", path: "/portal/deliveries" },
      { name: "deadletters", path: "/portal/dead-letters" },
    ],
  });
  await takeSignin(stage, browser);
  const { event: first } = await stage.ask<ShowMe>("POST", "/api/v1/show-me", {});
  await openQueue(stage);
  await stage.makeTopic("orders");
  await stage.subscribe("orders", "billing");
  stage.receiver.answer = (_, count) => (count <= 2 ? 503 : 200);
  await stage.publish("orders", [eventWith({ id: "the-first" })]);
  await stage.advance({ to: "next" });
  const names = { topic: "orders", subscription: "billing", event: "the-first", first };
  await takeAll(stage, browser, { prefix: "little", shots: shotsOf(names) });
}

interface ShowMe {
  readonly event: string;
}

/** A queue with a little in it, of which something is locked. */
async function openQueue(stage: Stage): Promise<void> {
  await stage.makeQueue("shop", "orders", "billing");
  await stage.publishTo("shop", "orders", ["one", "two", "three"].map(cloudEventWith));
  const path = "/api/v1/topics/shop%2Forders/subscriptions/billing/receive";
  await stage.ask("POST", path, { max: 1 });
}

/** As whoever has not signed in sees it. */
async function takeSignin({ url }: Stage, browser: Browser): Promise<void> {
  for (const { name, colorScheme, width } of looks) {
    const viewport = { width, height: 800 };
    const context = await browser.newContext({ colorScheme, viewport });
    const page = await context.newPage();
    await page.goto(`${url}/signin`);
    await page.screenshot({ path: join(folder, `none-signin-${name}.png`) });
    await context.close();
  }
}

const rounds = 25;
const perRound = 100;
/** Of the charts, which are drawn on by real time. */
const pointsWanted = 8;

/** 10,000 deliveries: 2,500 events for four subscriptions, two of which are in trouble. */
async function withMuch(t: Scope, browser: Browser): Promise<void> {
  const stage = await openStage(t);
  stage.receiver.answer = ({ path }) => {
    if (path.includes("broken")) return 503;
    return path.includes("refusing") ? 400 : 200;
  };
  stage.receiver.body = '{"error":"the connection to the database is gone"}';
  const at = (path: string, over: object = {}) => ({
    destination: {
      endpointType: "WebHook",
      properties: { endpointUrl: `${stage.receiver.url}/${path}`, maxEventsPerBatch: 50 },
    },
    ...over,
  });
  const { event: first } = await stage.ask<ShowMe>("POST", "/api/v1/show-me", {});
  await openQueue(stage);
  await stage.makeTopic("orders");
  await stage.makeTopic("a-topic-with-the-fifty-letters-that-a-name-can-be");
  for (const name of ["payments", "shipping", "returns", "audit", "metering", "sensors", "users"]) {
    await stage.makeTopic(name);
    await stage.subscribe(name, `${name}-archive`);
  }
  await stage.subscribe("orders", "billing", at("billing"));
  await stage.subscribe(
    "orders",
    long,
    at(`an/address/that/is/rather/long/for/any/column/${long}`),
  );
  const broken = at("broken/hook", {
    retryPolicy: { maxDeliveryAttempts: 6 },
    deadLetterDestination,
  });
  await stage.subscribe("orders", "warehouse", broken);
  await stage.subscribe("orders", "loyalty", at("refusing/hook", { deadLetterDestination }));
  await stage.subscribe("orders", "vip-only", {
    filter: {
      advancedFilters: [
        { operatorType: "NumberGreaterThan", key: "data.amount", value: 1_000_000 },
      ],
    },
  });
  for (let round = 0; round < rounds; round++) await publishRound(stage, round, perRound);
  await stage.advance({ advance: "PT4M" });
  for (let round = rounds; (await countPoints(stage)) < pointsWanted; round++) {
    await publishRound(stage, round, 1 + ((round * 7) % 40));
    await setTimeout(1_000);
  }
  await takeLive(stage, browser);
  const names = { topic: "orders", subscription: "warehouse", event: "told", first };
  await takeAll(stage, browser, { prefix: "much", shots: shotsOf(names) });
}

const alike = 30;

/** Endpoints that fail in every way, many of them alike; a pause; dead letters; dropped events. */
async function withTrouble(t: Scope, browser: Browser): Promise<void> {
  const stage = await openStage(t);
  const statuses = [500, 503, 400, 404, 401, 413, 429];
  stage.receiver.answer = ({ path }) => Number(path.split("/").at(-1)) || 200;
  stage.receiver.body = '{"error":"the connection to the database is gone"}';
  const at = (status: number, over: object = {}) => ({
    destination: {
      endpointType: "WebHook",
      properties: { endpointUrl: `${stage.receiver.url}/${status}` },
    },
    ...over,
  });
  await stage.makeTopic("orders");
  await stage.makeTopic("payments");
  await stage.subscribe("orders", "billing", at(200));
  for (const status of statuses) {
    const over = status === 404 ? {} : { deadLetterDestination };
    await stage.subscribe("orders", `answers-${status}`, at(status, over));
  }
  for (let index = 0; index < alike; index++) {
    const properties = { endpointUrl: `${stage.receiver.url}/of-many-${index}/502` };
    await stage.subscribe("payments", `of-many-${index}`, {
      destination: { endpointType: "WebHook", properties },
    });
  }
  await stage.ask("POST", "/api/v1/topics/orders/subscriptions/billing/pause");
  const events = Array.from({ length: 20 }, (_, index) =>
    eventWith(index === 0 ? { id: "in-trouble" } : {}),
  );
  await stage.publish("orders", events);
  await stage.publish("payments", events);
  for (let round = 0; round < 6; round++) await stage.advance({ advance: "PT2M" });
  const own = "/portal/topics/orders/subscriptions/answers-503";
  await takeAll(stage, browser, {
    prefix: "trouble",
    shots: [
      { name: "overview", path: "/" },
      { name: "subscriptions", path: "/portal/subscriptions" },
      { name: "subscription", path: own },
      { name: "endpoints", path: "/portal/endpoints" },
      { name: "deliveries", path: "/portal/deliveries" },
      { name: "story", path: "/portal/deliveries/in-trouble" },
      { name: "deadletters", path: "/portal/dead-letters" },
    ],
  });
}

/** The overview while something happens, for the documentation. */
async function takeLive(stage: Stage, browser: Browser): Promise<void> {
  for (const colorScheme of ["light", "dark"] as const) {
    const page = await stage.visit(browser, "/", { colorScheme, reducedMotion: "reduce" });
    await page.getByRole("img", { name: /^Rate/ }).waitFor();
    await publishRound(stage, rounds, 12);
    await page.getByRole("table", { name: "Latest attempts" }).waitFor();
    await page.screenshot({ path: join(folder, `live-overview-${colorScheme}.png`) });
    await page.context().close();
  }
}

async function publishRound(stage: Stage, round: number, count: number): Promise<void> {
  const events = Array.from({ length: count }, (_, index) =>
    eventWith({
      ...(round === 0 && index === 0 && { id: "told" }),
      eventType:
        index % 7 === 0 ? "Contoso.Shop.Orders.OrderLineItemQuantityChanged" : "Shop.Ordered",
      subject: index % 5 === 0 ? `/${"very/".repeat(20)}deep/subject` : `/orders/${index}`,
    }),
  );
  await stage.publish("orders", events);
  await stage.advance({ advance: "PT20S" });
}

async function countPoints(stage: Stage): Promise<number> {
  const { points } = await stage.ask<{ points: unknown[] }>("GET", "/api/v1/history?minutes=60");
  return points.length;
}

const ends: (() => unknown)[] = [];
const scope: Scope = { after: (end) => ends.unshift(end) };
try {
  mkdirSync(folder, { recursive: true });
  const browser = await openChromium(scope);
  await withLittle(scope, browser);
  await withTrouble(scope, browser);
  await withMuch(scope, browser);
} finally {
  for (const end of ends) await end();
}
