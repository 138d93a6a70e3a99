// Journeys through the portal as people make them, from the first topic to a dead letter that is
// sent again. Each waits for what it wants to see, and nothing else.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { promisify } from "node:util";
import type { Browser, Page } from "playwright-core";
import { adminKey, deadLetterDestination, eventWith, openStage } from "./stage.ts";

const run = promisify(execFile);

/** The words are somewhere on the page. */
async function sees(page: Page, words: string | RegExp): Promise<void> {
  await page.getByText(words).first().waitFor();
}

/** Dialogs come last on a page. */
async function clickButton(page: Page, name: string | RegExp): Promise<void> {
  await page
    .getByRole("button", { name, exact: typeof name === "string" })
    .last()
    .click();
}

/** Also while the clock is open, and the rest of the page hidden from screen readers. */
async function countsDown(page: Page, words: RegExp): Promise<void> {
  await page.locator("[role=timer]").filter({ hasText: words }).waitFor();
}

export function journeys(browser: () => Browser): void {
  test("a newcomer makes a topic and a subscription, publishes, and sees it arrive", async (t) => {
    const stage = await openStage(t);
    const page = await stage.visit(browser(), "/");
    await sees(page, "Welcome to Posthorn");
    await clickButton(page, "Create a topic");
    await page.getByRole("textbox", { name: "Name" }).fill("orders");
    await clickButton(page, "Create");
    await page.getByRole("heading", { name: "orders", level: 1 }).waitFor();
    await clickButton(page, "Subscribe an endpoint");
    await page.getByRole("textbox", { name: "Name" }).first().fill("billing");
    await page.getByRole("textbox", { name: "URL" }).fill(stage.receiver.url);
    await clickButton(page, "Create");
    await page.getByRole("heading", { name: "billing", level: 1 }).waitFor();
    await sees(page, "running");
    await page.getByRole("link", { name: "orders" }).first().click();
    await page.getByRole("tab", { name: "Publish" }).click();
    await sees(page, "The topic accepts this event.");
    await clickButton(page, "Who would get it?");
    await sees(page, "matches");
    await clickButton(page, "Publish");
    await sees(page, "Accepted.");
    // Live: nobody reloads anything.
    await sees(page, "200: delivered with attempt 1");
    assert.equal(stage.receiver.received.length, 1);
    await page.getByRole("link", { name: "Overview" }).first().click();
    await page.getByRole("table", { name: "Latest attempts" }).getByText("billing").waitFor();
  });

  test("a failing endpoint is counted down, given up on, mended, and served again", async (t) => {
    const stage = await openStage(t);
    stage.receiver.answer = () => 503;
    await stage.makeTopic("orders");
    const retryPolicy = { maxDeliveryAttempts: 2 };
    await stage.subscribe("orders", "billing", { retryPolicy, deadLetterDestination });
    await stage.publish("orders", [eventWith({ id: "unlucky" })]);
    const page = await stage.visit(browser(), "/portal/deliveries?id=unlucky");
    await page.getByRole("link", { name: "unlucky" }).click();
    await sees(page, /503: at least 30 s; step 1 of the schedule is 10 s/);
    await countsDown(page, /Next attempt in 3\d s/);
    await clickButton(page, /^Virtual clock/);
    await clickButton(page, "+ 10 s");
    await countsDown(page, /Next attempt in 2\d s/);
    await clickButton(page, "To the next due time");
    await sees(page, /MaxDeliveryAttemptsExceeded: 503 on attempt 2 of 2/);
    await clickButton(page, "+ 10 min");
    await page.keyboard.press("Escape");
    await sees(page, "dead-lettered");
    stage.receiver.answer = () => 200;
    await page.getByRole("link", { name: "Dead letters" }).click();
    await page.getByRole("checkbox", { name: "Choose unlucky" }).check();
    await clickButton(page, /^Redrive 1 letter…/);
    await sees(page, "1 letter");
    await clickButton(page, "Redrive 1 letter");
    await sees(page, "1 of 1 sent");
    await sees(page, "1 dead letter sent again");
    await stage.ask("POST", "/clock", { advance: "PT1S" });
    await page.goto(`${stage.url}/portal/deliveries/unlucky`);
    await sees(page, /: delivered with attempt/);
    assert.equal(JSON.parse(stage.receiver.received.at(-1)?.body ?? "[]")[0].id, "unlucky");
  });

  test("trying now does not wait for the schedule", async (t) => {
    const stage = await openStage(t);
    stage.receiver.answer = () => 503;
    await stage.makeTopic("orders");
    await stage.subscribe("orders", "billing");
    await stage.publish("orders", [eventWith({ id: "impatient" })]);
    const page = await stage.visit(browser(), "/portal/deliveries/impatient");
    await page.getByRole("timer").waitFor();
    stage.receiver.answer = () => 200;
    await clickButton(page, "Try now");
    await sees(page, "200: delivered with attempt 2");
  });

  test("a subscription is edited, paused and resumed", async (t) => {
    const stage = await openStage(t);
    await stage.makeTopic("orders");
    await stage.subscribe("orders", "billing");
    const page = await stage.visit(browser(), "/portal/topics/orders/subscriptions/billing");
    await page.getByRole("tab", { name: "Settings" }).click();
    await page.getByText("Retry policy").click();
    await page.getByRole("textbox", { name: "Maximum attempts" }).fill("4");
    await sees(page, /always answers 503, 4 attempts would be made/);
    await page.getByRole("textbox", { name: "Subject begins with" }).fill("/orders/");
    await clickButton(page, "Save");
    await sees(page, "Saved");
    await page.getByRole("tab", { name: "State" }).click();
    await page
      .getByText("Maximum attempts")
      .first()
      .locator("xpath=following-sibling::dd")
      .getByText("4");
    await clickButton(page, "Pause");
    await sees(page, "Paused: events wait from now on");
    await stage.publish("orders", [eventWith({ id: "held" })]);
    await page.goto(`${stage.url}/portal/deliveries/held`);
    await sees(page, /paused/);
    assert.equal(stage.receiver.received.length, 0);
    await page.getByRole("link", { name: "billing" }).first().click();
    await clickButton(page, "Resume");
    await sees(page, "Resumed");
    await page.goto(`${stage.url}/portal/deliveries/held`);
    await sees(page, "200: delivered with attempt 1");
  });

  test("the story of an event that matched nothing names the clause that said no", async (t) => {
    const stage = await openStage(t);
    await stage.makeTopic("orders");
    const filter = { includedEventTypes: ["Shop.Returned"] };
    await stage.subscribe("orders", "returns", { filter });
    await stage.publish("orders", [eventWith({ id: "unwanted" })]);
    const page = await stage.visit(browser(), "/portal/deliveries");
    await sees(page, "matched nothing");
    await page.getByRole("link", { name: "unwanted" }).click();
    await sees(page, "It matched no subscription");
    await page
      .getByRole("table", { name: "Subscriptions that it did not match" })
      .getByText(/includedEventTypes/)
      .waitFor();
  });

  test("an endpoint is closed by hand and opened again", async (t) => {
    const stage = await openStage(t);
    await stage.makeTopic("orders");
    await stage.subscribe("orders", "billing");
    await stage.publish("orders", [eventWith()]);
    const page = await stage.visit(browser(), "/portal/endpoints");
    await page.getByRole("table", { name: "Endpoints" }).getByRole("link").first().click();
    await clickButton(page, "Close");
    await page.getByRole("textbox", { name: "Because" }).fill("it is being moved");
    await clickButton(page, "Close it");
    await sees(page, /it is being moved/);
    await stage.publish("orders", [eventWith({ id: "waits-outside" })]);
    await clickButton(page, "Open");
    await stage.advance({ advance: "PT1S" });
    await page.goto(`${stage.url}/portal/deliveries/waits-outside`);
    await sees(page, "200: delivered with attempt 1");
  });

  test("an endpoint that cannot answer the handshake is vouched for by a person", async (t) => {
    const stage = await openStage(t, { handshake: "on" });
    await stage.makeTopic("orders");
    await stage.subscribe("orders", "billing");
    const page = await stage.visit(browser(), "/portal/topics/orders/subscriptions/billing");
    await sees(page, "The endpoint has not agreed yet.");
    await page.getByRole("link", { name: "see the handshake" }).click();
    const address = page.getByText(/\/validate\?|validationCode|[?&]id=/).first();
    const validationUrl = (await address.textContent()) ?? "";
    await sees(page, "asked");
    assert.equal((await fetch(validationUrl.trim())).status, 200);
    await page.getByRole("tab", { name: "State" }).click();
    await sees(page, "running");
    await page.getByRole("tab", { name: "Handshake" }).click();
    await clickButton(page, "Ask again");
    await sees(page, "The endpoint has been asked again");
  });

  test("keys are shown on demand, and snippets work as they are pasted", async (t) => {
    const stage = await openStage(t);
    await stage.makeTopic("orders");
    await stage.subscribe("orders", "billing");
    const page = await stage.visit(browser(), "/portal/topics/orders?tab=keys");
    await sees(page, "<key1>");
    assert.equal(await page.getByText(adminKey).count(), 0);
    await page.getByRole("switch", { name: "Insert key1" }).check();
    const snippet = page.locator("pre").filter({ hasText: adminKey });
    await snippet.filter({ hasText: "curl" }).waitFor();
    await run("sh", ["-c", (await snippet.textContent()) ?? "", "--fail"]);
    await page.getByRole("tab", { name: "JavaScript" }).click();
    await snippet.filter({ hasText: "EventGridPublisherClient" }).waitFor();
    const script = (await snippet.textContent()) ?? "";
    await run(process.execPath, ["--input-type=module", "--eval", script]);
    await page.goto(`${stage.url}/portal/deliveries?type=Shop.Ordered`);
    await page.getByRole("table", { name: "Events" }).getByText("delivered").nth(1).waitFor();
    assert.equal(stage.receiver.received.length, 2);
    await page.goto(`${stage.url}/portal/topics/orders?tab=keys`);
    await clickButton(page, "Regenerate");
    await clickButton(page, "Regenerate it");
    await sees(page, "key2 has been regenerated");
    await page.getByRole("button", { name: "Copy key2" }).waitFor();
  });

  test("a domain has topics of its own, and its events go to theirs", async (t) => {
    const stage = await openStage(t);
    const page = await stage.visit(browser(), "/portal/topics?new=domain");
    await page.getByRole("textbox", { name: "Name" }).fill("customers");
    await clickButton(page, "Create");
    await page.getByRole("tab", { name: "Topics" }).click();
    await page.getByRole("textbox", { name: "Another topic" }).fill("my-topic");
    await clickButton(page, "Add");
    await page
      .getByRole("table", { name: "Topics of this domain" })
      .getByText("my-topic")
      .waitFor();
    await clickButton(page, "Subscribe");
    await page.getByRole("textbox", { name: "Name" }).first().fill("billing");
    await page.getByRole("textbox", { name: "Topic within the domain" }).fill("my-topic");
    await page.getByRole("textbox", { name: "URL" }).fill(stage.receiver.url);
    await clickButton(page, "Create");
    await sees(page, "running");
    await page.goto(`${stage.url}/portal/topics/customers?tab=publish`);
    await clickButton(page, "Publish");
    await sees(page, "200: delivered with attempt 1");
  });

  test("what-if tells when an event would arrive after an outage", async (t) => {
    const stage = await openStage(t);
    const page = await stage.visit(browser(), "/portal/what-if");
    await sees(page, /^Delivered after 2 h/);
    await page.getByText("at most 5,000", { exact: false }).first().waitFor();
    const axis = page.getByRole("img", { name: /^Requests per / }).locator("text");
    await axis.nth(1).waitFor();
    const labels = await axis.allTextContents();
    assert.notEqual(labels.at(-1), labels.at(-2), "the axis says where it begins and ends");
    const outage = page.getByRole("textbox", { name: "Outage, in minutes" });
    await outage.fill("abc");
    await sees(page, "The outage must be a number of minutes, or empty");
    assert.equal(await outage.getAttribute("aria-invalid"), "true");
    // There is no answer to another order.
    await page.getByText(/^Delivered after/).waitFor({ state: "detached" });
    await outage.fill("");
    await sees(page, /^Dead-lettered after 1 d/);
    await page.getByRole("textbox", { name: "Dead-letter store fails" }).fill("10000");
    await sees(page, /Its store fails, so the dead letter is lost after 1 d 14 h/);
  });

  test("what-ifs are asked for one at a time, after the typing", async (t) => {
    const stage = await openStage(t);
    const page = await stage.visit(browser(), "/portal/what-if");
    await sees(page, /^Delivered after 2 h/);
    let [asked, open, most] = [0, 0, 0];
    const turns = [0, 1].map(() => Promise.withResolvers<() => void>());
    await page.route("**/api/v1/simulate", async (route) => {
      asked += 1;
      open += 1;
      most = Math.max(most, open);
      await new Promise<void>((go) => turns[asked - 1]?.resolve(go));
      open -= 1;
      await route.continue();
    });
    const outage = page.getByRole("textbox", { name: "Outage, in minutes" });
    await outage.fill("1");
    const answerFirst = await turns[0]?.promise;
    for (const minutes of ["10", "100", "1000"]) await outage.fill(minutes);
    // The last good drawing stays.
    await sees(page, /^Delivered after 2 h/);
    answerFirst?.();
    const answerSecond = await turns[1]?.promise;
    answerSecond?.();
    await sees(page, /^Delivered after 1[0-9] h/);
    assert.deepEqual([asked, most], [2, 1]);
  });

  test("a tab that nobody sees holds no connection", async (t) => {
    const stage = await openStage(t);
    const page = await stage.visit(browser(), "/portal/settings");
    await page.addInitScript({
      content: `Object.defineProperty(document, "hidden", { get: () => !("isSeen" in window) })`,
    });
    const asked: string[] = [];
    page.on("request", (request) => {
      // What the page before asked for, which was seen, does not count.
      if (request.isNavigationRequest()) asked.length = 0;
      asked.push(new URL(request.url()).pathname);
    });
    await page.reload();
    await page.getByRole("textbox", { name: "Search settings" }).waitFor();
    assert.ok(!asked.includes("/api/v1/live"), "nothing is watched while it is hidden");
    const watched = page.waitForRequest("**/api/v1/live");
    await page.evaluate(
      `window.isSeen = true; document.dispatchEvent(new Event("visibilitychange"))`,
    );
    await watched;
  });

  test("a page that could not be loaded comes when the broker is back", async (t) => {
    const stage = await openStage(t);
    const page = await stage.visit(browser(), "/");
    // What is open already is not aborted by a route: the next overview would load the page again.
    await page.addInitScript(`window.sources = []; window.EventSource = class extends EventSource {
      constructor(...of) { super(...of); window.sources.push(this); }
    }`);
    await page.reload();
    await page.getByRole("heading", { name: "Overview", level: 1 }).waitFor();
    await page.route("**/portal/assets/**", (route) => route.abort());
    await page.route("**/api/**", (route) => route.abort());
    await page.evaluate("for (const source of window.sources) source.close()");
    await page.getByRole("link", { name: "Endpoints" }).first().click();
    await sees(page, "This page could not be loaded");
    await page.unroute("**/portal/assets/**");
    await page.unroute("**/api/**");
    await page.getByRole("heading", { name: "Endpoints", level: 1 }).waitFor();
  });

  test("an endpoint that refuses connections is never shown as healthy", async (t) => {
    const stage = await openStage(t, { handshake: "on" });
    await stage.makeTopic("orders");
    const page = await stage.visit(browser(), "/portal/subscriptions/new?topic=orders");
    await page.getByRole("textbox", { name: "Name" }).first().fill("nobody");
    await page.getByRole("textbox", { name: "URL" }).fill("http://127.0.0.1:1/hook");
    await clickButton(page, "Create");
    await sees(page, "The endpoint of nobody is being asked");
    await sees(page, "not tried");
    assert.equal(await page.getByText("healthy", { exact: true }).count(), 0);
    await page.goto(`${stage.url}/portal/subscriptions`);
    await page
      .getByRole("table", { name: "Subscriptions" })
      .getByText(/creating|failed/)
      .waitFor();
    assert.equal(await page.getByText("healthy", { exact: true }).count(), 0);
  });

  test("what happens while a page opens is seen in it, too", async (t) => {
    const stage = await openStage(t);
    await stage.makeTopic("orders");
    const page = await stage.visit(browser(), "/portal/settings");
    const published = Promise.withResolvers<void>();
    await page.route("**/api/v1/live*", async (route) => {
      await published.promise;
      await route.continue();
    });
    await page.goto(`${stage.url}/portal/deliveries`);
    await sees(page, "No event");
    await stage.publish("orders", [eventWith({ id: "meanwhile" })]);
    published.resolve();
    await page.getByRole("link", { name: "meanwhile" }).waitFor();
  });

  test("an unhealthy endpoint is seen on a phone, and tells of its failures", async (t) => {
    const stage = await openStage(t);
    await stage.makeTopic("orders");
    await stage.subscribe("orders", "billing");
    stage.receiver.answer = () => 500;
    await stage.publish(
      "orders",
      Array.from({ length: 12 }, () => eventWith()),
    );
    await stage.advance({ to: "next" });
    const phone = { viewport: { width: 390, height: 800 } };
    const page = await stage.visit(browser(), "/portal/subscriptions", phone);
    await sees(page, "endpoint unhealthy");
    assert.equal(await page.getByText("running", { exact: true }).count(), 0);
    const { value } = await stage.ask<{ value: { endpoint: string }[] }>(
      "GET",
      "/api/v1/endpoints",
    );
    const endpoint = encodeURIComponent(value[0]?.endpoint ?? "");
    await page.goto(`${stage.url}/portal/endpoints?endpoint=${endpoint}`);
    const failures = page.getByText("Failures in a row").locator("xpath=following-sibling::*[1]");
    assert.ok(Number(await failures.first().textContent()) >= 10);
  });

  test("a test publish shows what becomes of it at every subscription", async (t) => {
    const stage = await openStage(t);
    await stage.makeTopic("orders");
    const names = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh"];
    for (const name of names) await stage.subscribe("orders", name);
    const page = await stage.visit(browser(), "/portal/topics/orders?tab=publish");
    await clickButton(page, "Publish");
    const results = page.getByRole("table", { name: /^Deliveries of/ });
    for (const name of names) {
      await results
        .getByRole("row")
        .filter({ hasText: name })
        .getByText("delivered", { exact: true })
        .waitFor();
    }
  });

  test("whose handshake is not over gets nothing, and that is said", async (t) => {
    const stage = await openStage(t, { handshake: "on" });
    await stage.makeTopic("orders");
    const properties = { endpointUrl: "http://127.0.0.1:1/hook" };
    const destination = { endpointType: "WebHook", properties };
    await stage.subscribe("orders", "nobody", { destination });
    const page = await stage.visit(browser(), "/portal/topics/orders?tab=publish");
    await clickButton(page, "Who would get it?");
    await sees(page, "matches, gets nothing");
    await sees(page, /its handshake is still in progress/);
  });

  test("a search goes on where the broker stopped, and says how far it is", async (t) => {
    const stage = await openStage(t);
    await stage.makeTopic("orders");
    await stage.publish("orders", [eventWith({ id: "far-back" })]);
    const page = await stage.visit(browser(), "/");
    const second = Promise.withResolvers<void>();
    await page.route("**/api/v1/events?*", async (route) => {
      const url = new URL(route.request().url());
      if (url.searchParams.get("after") === "zzz-1") {
        await second.promise;
        url.searchParams.delete("after");
        await route.continue({ url: url.href });
        return;
      }
      const searchedTo = "2029-12-31T23:00:00.000Z";
      await route.fulfill({ json: { value: [], next: "zzz-1", searchedTo } });
    });
    await page.goto(`${stage.url}/portal/deliveries?subject=orders`);
    await sees(page, /Searching further back; searched back to/);
    assert.equal(await page.getByText("No event is like that").count(), 0);
    second.resolve();
    await page.getByRole("link", { name: "far-back" }).waitFor();
  });

  test("settings tell where each value came from", async (t) => {
    const stage = await openStage(t);
    const page = await stage.visit(browser(), "/portal/settings");
    await page.getByRole("textbox", { name: "Search settings" }).fill("handshake");
    const row = page.getByRole("listitem").filter({ hasText: "Whether webhooks must agree" });
    await row.getByText("command line").waitFor();
  });
}
