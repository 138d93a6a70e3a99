// Problems, charts and stories as an operator uses them, and how many clicks the usual tasks take.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Browser, Locator, Page } from "playwright-core";
import { becomes, deadLetterDestination, eventWith, openStage, type Stage } from "./stage.ts";

async function sees(page: Page, words: string | RegExp): Promise<void> {
  await page.getByText(words).first().waitFor();
}

const webhook = (stage: Stage, path: string) => ({
  destination: {
    endpointType: "WebHook",
    properties: { endpointUrl: `${stage.receiver.url}/${path}` },
  },
});

/** `billing` is fine; `warehouse` answers 503 and `legacy-erp` 400, with words of their own. */
async function fill(stage: Stage): Promise<void> {
  stage.receiver.answer = ({ path }) => {
    if (path.includes("bad")) return 503;
    return path.includes("wrong") ? 400 : 200;
  };
  stage.receiver.body = "the database is full";
  await stage.makeTopic("orders");
  await stage.subscribe("orders", "billing", webhook(stage, "good"));
  await stage.subscribe("orders", "warehouse", {
    ...webhook(stage, "bad"),
    deadLetterDestination,
  });
  await stage.subscribe("orders", "legacy-erp", {
    ...webhook(stage, "wrong"),
    deadLetterDestination,
  });
  await stage.publish("orders", [
    eventWith({ id: "told" }),
    ...Array.from({ length: 14 }, () => eventWith()),
  ]);
  await stage.advance({ to: "next" });
}

/** Clicks, counted. Typing is not a click. */
function counting() {
  let clicks = 0;
  return {
    click: async (where: Locator) => {
      clicks += 1;
      await where.click();
    },
    count: () => clicks,
  };
}

export function operator(browser: () => Browser): void {
  test("what is wrong comes first, with what the endpoint said and what helps", async (t) => {
    const stage = await openStage(t);
    await fill(stage);
    const page = await stage.visit(browser(), "/");
    const problems = page.getByRole("region", { name: "Problems" });
    const card = problems.getByRole("listitem").filter({ hasText: "warehouse" }).first();
    await card.getByText("Answers 503").waitFor();
    await card.getByText("the database is full").waitFor();
    await card.getByText(/\d+ failures/).waitFor();
    await card.getByText(/\d+ waiting/).waitFor();
    await card.getByText(/^next try/).waitFor();
    const figures = await page.getByRole("region", { name: "Now" }).boundingBox();
    const place = await problems.boundingBox();
    assert.ok((place?.y ?? 0) < (figures?.y ?? 0), "above everything else");
    stage.receiver.answer = () => 200;
    await card.getByRole("button", { name: /^Try now/ }).click();
    await sees(page, "Tried now: what waits is on its way");
    for (const path of ["/portal/endpoints", "/portal/subscriptions"]) {
      await page.goto(stage.url + path);
      await page.locator("h1").waitFor();
    }
  });

  test("equal errors are one card, five are shown, and each button does what it says", async (t) => {
    const stage = await openStage(t);
    stage.receiver.answer = ({ path }) => Number(path.split("/").at(-1)) || 200;
    stage.receiver.body = "out of order";
    await stage.makeTopic("orders");
    const paths = ["a/503", "b/503", "c/503", "d/503", "500", "502", "504", "429"];
    for (const path of paths) {
      await stage.subscribe("orders", `at-${path.replace("/", "-")}`, webhook(stage, path));
    }
    await stage.subscribe("orders", "held", webhook(stage, "held"));
    await stage.ask("POST", "/api/v1/topics/orders/subscriptions/held/pause");
    const endpoint = `${stage.receiver.url}/shut`;
    await stage.subscribe("orders", "shut", webhook(stage, "shut"));
    await stage.ask("POST", "/api/v1/endpoints/close", { endpoint });
    await stage.publish("orders", Array.from({ length: 12 }, eventWith));
    await stage.advance({ advance: "PT1M" });
    const page = await stage.visit(browser(), "/");
    const cards = page.getByRole("region", { name: "Problems" }).locator("li");
    const button = (name: string | RegExp) => page.getByRole("button", { name });
    const titled = (name: string) =>
      cards.filter({ has: page.getByRole("heading", { name, exact: true }) });
    const more = button(/^\d+ more$/);
    await more.waitFor();
    assert.equal(await cards.getByRole("heading").count(), 5);
    await more.click();
    await titled("Paused").waitFor();
    await titled("Answers 503").getByText("and 1 more").click();
    await titled("Answers 503").getByRole("link", { name: "orders / at-d-503" }).waitFor();
    await titled("Closed by an operator").getByRole("button", { name: "Open" }).click();
    await titled("Closed by an operator").waitFor({ state: "detached" });
    await titled("Paused").getByRole("button", { name: "Resume" }).click();
    await titled("Paused").waitFor({ state: "detached" });
    await titled("Answers 503").getByRole("button", { name: "Pause (4)" }).click();
    await titled("Paused").getByText("and 1 more").waitFor();
    await titled("Answers 500").getByRole("button", { name: "Close" }).click();
    await titled("Closed by an operator").getByText("at-500").waitFor();
    stage.receiver.answer = () => 200;
    await titled("Answers 502").getByRole("button", { name: "Try now" }).click();
    await titled("Answers 502").waitFor({ state: "detached" });
  });

  test("what is dropped says since when, and leads to the setting that keeps it", async (t) => {
    const stage = await openStage(t);
    stage.receiver.answer = () => 400;
    await stage.makeTopic("orders");
    await stage.subscribe("orders", "careless");
    await stage.advance({ advance: "PT11M" });
    await stage.publish("orders", [eventWith({ id: "lost" })]);
    await stage.advance({ advance: "PT2M" });
    const page = await stage.visit(browser(), "/");
    const card = page.getByRole("region", { name: "Problems" }).locator("li");
    await card.getByRole("heading", { name: "Events are dropped" }).waitFor();
    await card.getByText(/^for 2 min/).waitFor();
    await card.getByRole("button", { name: "Keep dead letters" }).click();
    await page.getByRole("combobox", { name: "Undeliverable events" }).waitFor();
  });

  test("why an event waits is told in its story, with what the endpoint said", async (t) => {
    const stage = await openStage(t);
    await fill(stage);
    await stage.publish("orders", [eventWith({ id: "behind-them" })]);
    const page = await stage.visit(browser(), "/portal/deliveries/behind-them");
    await page.getByRole("button", { name: /^warehouse/ }).click();
    await sees(page, "Why it waits:");
    const card = page.getByRole("region", { name: "Problems" }).locator("li");
    await card.getByRole("heading", { name: "Answers 503" }).waitFor();
    await card.getByText("the database is full").waitFor();
    stage.receiver.answer = () => 200;
    await card.getByRole("button", { name: "Try now" }).click();
    await page.getByRole("button", { name: /^attempt 1 to warehouse, 200/ }).waitFor();
  });

  test("a pause is a problem until it is ended", async (t) => {
    const stage = await openStage(t);
    await stage.makeTopic("orders");
    await stage.subscribe("orders", "billing");
    const page = await stage.visit(browser(), "/portal/subscriptions");
    await page.getByRole("table", { name: "Subscriptions" }).waitFor();
    await stage.ask("POST", "/api/v1/topics/orders/subscriptions/billing/pause");
    const problems = page.getByRole("region", { name: "Problems" });
    await problems.getByText("billing").waitFor();
    await problems.getByRole("button", { name: "Resume" }).click();
    await sees(page, "Resumed");
    await problems.waitFor({ state: "detached" });
  });

  test("charts have units, ticks and a range, and lead to the deliveries of a span", async (t) => {
    const stage = await openStage(t);
    await fill(stage);
    const page = await stage.visit(browser(), "/portal/topics/orders", { timezoneId: "UTC" });
    for (const name of ["Success, % of attempts", "Backlog, events"]) {
      await page.getByRole("img", { name }).waitFor();
    }
    const chart = page.getByRole("img", { name: /^Rate, a (second|minute)$/ });
    await page.getByRole("img", { name: /^Latency, m?s$/ }).waitFor();
    const below = (times: RegExp) => chart.locator("text").filter({ hasText: times }).first();
    await below(/^07:\d\d$/).waitFor();
    await page.getByRole("button", { name: "Time range: Last hour" }).click();
    await page.getByRole("button", { name: "6 h", exact: true }).click();
    await page.waitForURL(/range=6h/);
    await page.getByRole("button", { name: "Time range: Last 6 h" }).waitFor();
    // Until they are there the chart is that of the hour.
    await below(/^0[345]:\d\d$/).waitFor();
    await chart.scrollIntoViewIfNeeded();
    const box = await chart.boundingBox();
    assert.ok(box !== null);
    const y = box.y + 40;
    await page.mouse.move(box.x + box.width * 0.5, y);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.8, y, { steps: 4 });
    await page.mouse.move(box.x + box.width + 5, y, { steps: 4 });
    await page.mouse.up();
    await page.getByRole("heading", { name: "Deliveries", level: 1 }).waitFor();
    const { searchParams } = new URL(page.url());
    const span =
      Date.parse(searchParams.get("to") ?? "") - Date.parse(searchParams.get("from") ?? "");
    assert.ok(span > 2 * 3_600_000 && span < 4 * 3_600_000, `${span} ms`);
    assert.equal(searchParams.get("q"), "topic:orders");
    await page.getByRole("link", { name: "told", exact: true }).waitFor();
  });

  test("the story is one picture, and an attempt opens with request and answer", async (t) => {
    const stage = await openStage(t);
    await fill(stage);
    const page = await stage.visit(browser(), "/portal/deliveries/told");
    await page.getByRole("heading", { name: /^1 of 3 delivered/ }).waitFor();
    const lanes = page.getByRole("list", { name: "Deliveries" }).getByRole("listitem");
    await lanes.nth(2).waitFor();
    const names = await lanes.allTextContents();
    assert.match(names.at(-1) ?? "", /billing/, "what is fine comes last");
    await page.getByRole("button", { name: /^attempt 1 to warehouse/ }).click();
    await page.getByRole("heading", { name: "To warehouse" }).waitFor();
    const open = page.getByRole("listitem").filter({ hasText: "Attempt 1" });
    await open.getByText(/^Request, \d+ B/).waitFor();
    await open
      .locator("pre")
      .filter({ hasText: /^POST http.*aeg-event-type: Notification/s })
      .waitFor();
    await open
      .locator("pre")
      .filter({ hasText: /^503\n.*the database is full/s })
      .waitFor();
    await open.getByRole("button", { name: "Copy the request as curl" }).waitFor();
  });

  test("an attempt that succeeded opens, too, recorded or said to be made again", async (t) => {
    const stage = await openStage(t);
    await stage.makeTopic("orders");
    await stage.subscribe("orders", "billing");
    stage.receiver.body = "thanks";
    for (const id of ["first-of-a-minute", "second"]) {
      await stage.publish("orders", [eventWith({ id })]);
      await stage.advance({ advance: "PT1S" });
    }
    const page = await stage.visit(browser(), "/portal/deliveries/first-of-a-minute");
    const open = page.getByRole("listitem").filter({ hasText: "Attempt 1" });
    const codes = open.locator("pre");
    await page.getByRole("button", { name: "Attempt 1", exact: true }).click();
    await open.getByText(/^Request, \d+ B/).waitFor();
    await codes.filter({ hasText: /^200\ndate: .*thanks/s }).waitFor();
    await page.goto(`${stage.url}/portal/deliveries/second`);
    await page.getByRole("button", { name: "Attempt 1", exact: true }).click();
    await open.getByText(/^Request, made again, \d+ B/).waitFor();
    await open.getByText(/made again from the event and the subscription as it is now/).waitFor();
    await open.getByText("Answer, of which the headers were not recorded").waitFor();
    await codes.filter({ hasText: /^POST http.*aeg-delivery-count: 0.*"id": "second"/s }).waitFor();
  });

  test("an event is sent again after success, copied as curl, and published edited", async (t) => {
    const stage = await openStage(t);
    await stage.makeTopic("orders");
    await stage.subscribe("orders", "billing");
    await stage.publish("orders", [eventWith({ id: "once-more", data: { amount: 7 } })]);
    const page = await stage.visit(browser(), "/portal/deliveries/once-more", {
      permissions: ["clipboard-read", "clipboard-write"],
    });
    await sees(page, "200: delivered with attempt 1");
    await page.getByRole("button", { name: "Copy as curl" }).click();
    await sees(page, "Copied as curl");
    const copied: string = await page.evaluate("navigator.clipboard.readText()");
    assert.match(copied, /^curl -X POST .*api\/events/);
    assert.match(copied, /"id": "once-more"/);
    await page.getByRole("button", { name: "Send again" }).first().click();
    await sees(page, "Sent again");
    // The words of the first story may still be there.
    await stage.receiver.came(2);
    await sees(page, "200: delivered with attempt 1");
    assert.equal(stage.receiver.received.length, 2);
    await page.getByRole("button", { name: "Publish an edited copy" }).click();
    const editor = page.getByRole("textbox", { name: /An event, or a list/ });
    await becomes(page, `document.querySelector("textarea")?.value.includes('"amount": 7')`);
    const text = (await editor.inputValue()).replace('"amount": 7', '"amount": 8');
    assert.doesNotMatch(text, /once-more/, "it is another event");
    await editor.fill(text);
    await page.getByRole("button", { name: "Publish", exact: true }).click();
    await sees(page, "Accepted.");
    await sees(page, "200: delivered with attempt 1");
    await stage.receiver.came(3);
    assert.match(stage.receiver.received.at(-1)?.body ?? "", /"amount": ?8/);
  });

  test("a list sends only what has changed", async (t) => {
    const stage = await openStage(t);
    await stage.makeTopic("orders");
    for (const name of ["billing", "shipping", "audit"]) await stage.subscribe("orders", name);
    const page = await stage.visit(browser(), "/portal/topics");
    const changed = page.waitForResponse(async (answer) => {
      if (!answer.url().includes("/subscriptions?since=")) return false;
      return (await answer.json()).value.length > 0;
    });
    await page.goto(`${stage.url}/portal/subscriptions`);
    const table = page.getByRole("table", { name: "Subscriptions" });
    await table.getByText("shipping").waitFor();
    await stage.ask("POST", "/api/v1/topics/orders/subscriptions/audit/pause");
    await table.getByText("paused").waitFor();
    const { value, isWhole } = await (await changed).json();
    assert.deepEqual(
      [isWhole, value.map(({ name }: { name: string }) => name)],
      [false, ["audit"]],
    );
    assert.equal(await table.getByRole("row").count(), 4, "the others are still there");
  });

  test("why has it not arrived: at most 2 clicks", async (t) => {
    const stage = await openStage(t);
    await fill(stage);
    const page = await stage.visit(browser(), "/");
    const clicks = counting();
    await clicks.click(page.getByRole("link", { name: "Deliveries", exact: true }).first());
    await clicks.click(page.getByRole("link", { name: "told", exact: true }));
    await sees(page, /MaxDeliveryAttempts|never retried|503: at least/);
    assert.ok(clicks.count() <= 2, `${clicks.count()} clicks`);
  });

  test("the last hour of one error is sent again: at most 3 clicks", async (t) => {
    const stage = await openStage(t);
    await fill(stage);
    await stage.advance({ advance: "PT10M" });
    stage.receiver.answer = () => 200;
    const page = await stage.visit(browser(), "/");
    const clicks = counting();
    await clicks.click(page.getByRole("link", { name: "Dead letters", exact: true }).first());
    await clicks.click(page.getByRole("button", { name: /^Redrive BadRequest of legacy-erp/ }));
    await sees(page, "15 letters, BadRequest, legacy-erp, last hour");
    await clicks.click(page.getByRole("button", { name: "Redrive 15 letters" }));
    await sees(page, "The dead letters are being sent again");
    // Ten a second, by the broker's clock.
    await stage.advance({ advance: "PT5S" });
    await sees(page, "15 dead letters sent again");
    assert.ok(clicks.count() <= 3, `${clicks.count()} clicks`);
  });

  test("dead letters are in the order of time, the newest first", async (t) => {
    const stage = await openStage(t);
    stage.receiver.answer = () => 400;
    await stage.makeTopic("orders");
    await stage.subscribe("orders", "legacy-erp", { deadLetterDestination });
    const ids = ["first", "second", "third", "fourth", "fifth"];
    for (const id of ids) {
      await stage.publish("orders", [eventWith({ id })]);
      await stage.advance({ advance: "PT6M" });
    }
    const page = await stage.visit(browser(), "/portal/dead-letters");
    const letters = page.getByRole("table", { name: "Dead letters", exact: true });
    for (const id of ids) await letters.getByRole("link", { name: id }).waitFor();
    assert.deepEqual(await letters.getByRole("link").allTextContents(), ids.toReversed());
  });

  test("a group of dead letters is that of one topic, whole in its words", async (t) => {
    const stage = await openStage(t);
    stage.receiver.answer = () => 400;
    for (const [topic, count] of [
      ["orders", 2],
      ["returns", 3],
    ] as const) {
      await stage.makeTopic(topic);
      await stage.subscribe(topic, "legacy-erp", {
        ...webhook(stage, topic),
        deadLetterDestination,
      });
      await stage.publish(topic, Array.from({ length: count }, eventWith));
    }
    await stage.advance({ advance: "PT1S" });
    const page = await stage.visit(browser(), "/portal/dead-letters");
    await sees(page, "5 events are on the way here");
    await stage.advance({ advance: "PT10M" });
    const groups = page.getByRole("table", { name: "Dead letters by reason and endpoint" });
    const group = groups.getByRole("row").filter({ hasText: "/orders" });
    await group.getByText("UndeliverableDueToHttpBadRequest").waitFor();
    const cut: number = await page.evaluate(`[...document.querySelectorAll("td span")].filter(
      (text) => /^Undeliverable/.test(text.textContent) && text.scrollWidth > text.clientWidth,
    ).length`);
    assert.equal(cut, 0, "no reason is cut");
    await group.getByRole("button", { name: /^Redrive/ }).click();
    await sees(page, "2 letters, BadRequest, legacy-erp, last hour");
  });

  test("two subscriptions' success over a day is compared: at most 3 clicks", async (t) => {
    const stage = await openStage(t);
    await fill(stage);
    const page = await stage.visit(browser(), "/");
    const clicks = counting();
    await clicks.click(page.getByRole("link", { name: "Subscriptions", exact: true }).first());
    await clicks.click(page.getByRole("button", { name: /^Time range/ }));
    await clicks.click(page.getByRole("button", { name: "24 h", exact: true }));
    const table = page.getByRole("table", { name: "Subscriptions" });
    const success = (name: string) =>
      table.getByRole("row").filter({ hasText: name }).locator("[data-title=Success]");
    await success("billing").getByText("100 %").waitFor();
    await success("warehouse").getByText("0 %", { exact: true }).waitFor();
    assert.ok(clicks.count() <= 3, `${clicks.count()} clicks`);
  });
}
