// Ctrl-K, `/`, back to where one was, times in one's own zone, one box to search, rows that stay
// where they are, forms that lose nothing.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { becomes, eventWith, openStage } from "./stage.ts";

async function sees(page: Page, words: string | RegExp): Promise<void> {
  await page.getByText(words).first().waitFor();
}

const heading = (page: Page, name: string) => page.getByRole("heading", { name, level: 1 });

export function finish(browser: () => Browser): void {
  test("Ctrl-K goes to topics, subscriptions, events and pages by their names", async (t) => {
    const stage = await openStage(t);
    await stage.makeTopic("orders");
    await stage.subscribe("orders", "billing");
    await stage.publish("orders", [eventWith({ id: "8f3c-the-one" })]);
    const page = await stage.visit(browser(), "/");
    const find = async (text: string, option: RegExp) => {
      await page.keyboard.press("Control+k");
      await page.getByRole("combobox", { name: /Topic, subscription/ }).fill(text);
      await page.getByRole("option", { name: option }).first().waitFor();
      await page.keyboard.press("Enter");
    };
    await heading(page, "Overview").waitFor();
    await find("bill", /^billing/);
    await heading(page, "billing").waitFor();
    await find("ord", /^orders/);
    await heading(page, "orders").waitFor();
    await find("8f3c", /8f3c-the-one.*Shop\.Ordered/);
    await heading(page, "8f3c-the-one").waitFor();
    await find("what", /^What-if/);
    await heading(page, "What-if").waitFor();
    await page.keyboard.press("Control+k");
    await page.getByRole("dialog").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
  });

  test("what is typed after Ctrl-K is not lost while the box is loaded", async (t) => {
    const stage = await openStage(t);
    await stage.makeTopic("orders");
    const page = await stage.visit(browser(), "/");
    await heading(page, "Overview").waitFor();
    const typed = Promise.withResolvers<void>();
    await page.route(/palette/, async (route) => {
      await typed.promise;
      await route.continue();
    });
    await page.keyboard.press("Control+k");
    await becomes(page, 'document.activeElement.tagName === "INPUT"');
    await page.keyboard.type("orders");
    typed.resolve();
    await page.getByRole("option", { name: /^orders/ }).waitFor();
    const box = page.getByRole("combobox", { name: /Topic, subscription/ });
    assert.equal(await box.inputValue(), "orders");
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Go to or search" }).first().click();
    assert.equal(await box.inputValue(), "", "the next time it is empty");
  });

  test("a slash puts the cursor into the search of the page", async (t) => {
    const stage = await openStage(t);
    const page = await stage.visit(browser(), "/portal/deliveries");
    const box = page.getByRole("textbox", { name: "Search events" });
    await box.waitFor();
    await page.keyboard.press("/");
    await becomes(page, 'document.activeElement?.hasAttribute("data-search")');
    await page.keyboard.type("a/b");
    assert.equal(await box.inputValue(), "a/b", "while typing it is a letter like any other");
  });

  test("back leads to where the page was left", async (t) => {
    const stage = await openStage(t);
    await stage.makeTopic("orders");
    await stage.publish(
      "orders",
      Array.from({ length: 60 }, (_, index) => eventWith({ id: `old-${index}` })),
    );
    const page = await stage.visit(browser(), "/portal/deliveries");
    const link = page.getByRole("link", { name: "old-20", exact: true });
    await link.scrollIntoViewIfNeeded();
    await becomes(page, "scrollY > 200");
    const left: number = await page.evaluate("scrollY");
    await link.click();
    await heading(page, "old-20").waitFor();
    // Another page begins at its top.
    await becomes(page, "scrollY === 0");
    await page.goBack();
    await link.waitFor();
    await becomes(page, `Math.abs(scrollY - ${left}) < 5`);
  });

  test("what deletes is red", async (t) => {
    const stage = await openStage(t);
    await stage.makeTopic("orders");
    const page = await stage.visit(browser(), "/portal/topics/orders");
    await page.getByRole("button", { name: "Delete", exact: true }).click();
    const yes = page.getByRole("button", { name: "Delete it" });
    await yes.waitFor();
    await yes.focus();
    const color: string = await page.evaluate(
      "getComputedStyle(document.activeElement).backgroundColor",
    );
    const [red = 0, green = 0, blue = 0] = (color.match(/\d+/g) ?? []).map(Number);
    assert.ok(red > 150 && green < 90 && blue < 90, color);
  });

  test("times are in the zone that the bar names", async (t) => {
    const stage = await openStage(t);
    await stage.makeTopic("orders");
    await stage.publish("orders", [eventWith({ id: "timed" })]);
    const page = await stage.visit(browser(), "/portal/deliveries", {
      timezoneId: "Europe/Berlin",
    });
    const time = page.getByRole("table", { name: "Events" }).locator("time").first();
    // An hour after UTC in winter.
    await time.filter({ hasText: /^09:00:00$/ }).waitFor();
    await page.getByRole("button", { name: "Times are in local time, UTC+01:00" }).click();
    await page.getByRole("menuitemradio", { name: "UTC", exact: true }).click();
    await page.getByRole("button", { name: "Times are in UTC" }).waitFor();
    await time.filter({ hasText: /^08:00:00$/ }).waitFor();
  });

  test("a range of time is chosen or typed, and stands in the address", async (t) => {
    const stage = await openStage(t);
    await stage.makeTopic("orders");
    await stage.publish("orders", [eventWith({ id: "early" })]);
    await stage.advance({ advance: "PT3H" });
    await stage.publish("orders", [eventWith({ id: "late" })]);
    const page = await stage.visit(browser(), "/portal/deliveries");
    const [early, late] = ["early", "late"].map((name) => page.getByRole("link", { name }));
    const choose = async (from: string) => {
      await page.getByRole("button", { name: /^Time range/ }).click();
      await page.getByRole("textbox", { name: "From" }).fill(from);
      await page.getByRole("button", { name: "Apply" }).click();
    };
    await early?.waitFor();
    await page.getByRole("button", { name: "Time range: Any time" }).click();
    await page.getByRole("button", { name: "1 h", exact: true }).click();
    await early?.waitFor({ state: "detached" });
    await late?.waitFor();
    await page.waitForURL(/range=1h/);
    await choose("2030-01-01");
    await early?.waitFor();
    await choose("10:00");
    await early?.waitFor({ state: "detached" });
    await choose("4h");
    await early?.waitFor();
    await page.reload();
    await early?.waitFor();
    // It goes along to other pages.
    await page.getByRole("link", { name: "Subscriptions" }).first().click();
    await page.getByRole("button", { name: "Time range: Last hour" }).waitFor();
  });

  test("one box finds events by named words and by parts of words", async (t) => {
    const stage = await openStage(t);
    await stage.makeTopic("orders");
    await stage.subscribe("orders", "billing");
    stage.receiver.answer = ({ body }) => (body.includes("8f3c") ? 503 : 200);
    await stage.publish("orders", [
      eventWith({ id: "8f3c-1111", eventType: "Shop.Paid" }),
      eventWith({ id: "another-one" }),
    ]);
    const page = await stage.visit(browser(), "/portal/deliveries");
    const box = page.getByRole("textbox", { name: "Search events" });
    const other = page.getByRole("link", { name: "another-one" });
    for (const words of ["8f3c", "type:Shop.Paid", "state:failing", "paid 8f3c", "state:waiting"]) {
      await other.waitFor();
      await box.fill(words);
      await box.press("Enter");
      await other.waitFor({ state: "detached" });
      await page.getByRole("link", { name: "8f3c-1111" }).waitFor();
      await page.getByRole("button", { name: "Clear" }).click();
    }
    await page.getByRole("button", { name: "failing", exact: true }).click();
    await other.waitFor({ state: "detached" });
    await becomes(page, 'document.querySelector("[data-search]").value === "state:failing"');
    await box.fill("state:bogus");
    await box.press("Enter");
    await sees(page, /state/);
  });

  test("rows stay under the pointer, and new ones are counted above them", async (t) => {
    const stage = await openStage(t);
    await stage.makeTopic("orders");
    await stage.publish("orders", [eventWith({ id: "first-of-all" })]);
    const page = await stage.visit(browser(), "/portal/deliveries");
    const link = page.getByRole("link", { name: "first-of-all" });
    await page.getByRole("img", { name: /^Rate/ }).waitFor();
    await link.hover();
    const before = await link.boundingBox();
    await stage.publish("orders", [eventWith({ id: "second" }), eventWith({ id: "third" })]);
    const fresh = page.getByRole("button", { name: "2 new" });
    await fresh.waitFor();
    assert.deepEqual(await link.boundingBox(), before, "it has not moved");
    await fresh.click();
    await page.getByRole("link", { name: "third" }).waitFor();
    await page.getByRole("button", { name: "Pause" }).click();
    await page.mouse.move(5, 5);
    await stage.publish("orders", [eventWith({ id: "fourth" })]);
    await page.getByRole("button", { name: "1 new" }).waitFor();
    assert.equal(await page.getByRole("link", { name: "fourth" }).count(), 0);
  });

  test("the live tail is filtered and paused, and says who still waits", async (t) => {
    const stage = await openStage(t);
    await stage.makeTopic("orders");
    stage.receiver.answer = ({ path }) => (path.includes("bad") ? 503 : 200);
    await stage.subscribe("orders", "billing");
    const endpointUrl = `${stage.receiver.url}/bad`;
    await stage.subscribe("orders", "broken", {
      destination: { endpointType: "WebHook", properties: { endpointUrl } },
    });
    const page = await stage.visit(browser(), "/portal/deliveries?tail=on");
    await sees(page, "No attempt since this page was opened");
    await stage.publish("orders", [eventWith({ id: "tailed" })]);
    const tail = page.getByRole("table", { name: "Latest attempts" });
    await tail.getByText("billing").waitFor();
    await tail.getByText("broken").waitFor();
    const filtered = page.waitForRequest(/live\?q=tailed/);
    await page.getByRole("textbox", { name: "Filter the live tail" }).fill("tailed broken");
    await filtered;
    await tail.getByText("billing").waitFor({ state: "detached" });
    await tail.getByText("broken").waitFor();
    await page.getByRole("textbox", { name: "Filter the live tail" }).fill("subscription:bill");
    await tail.getByText("billing").waitFor();
    await tail.getByText("broken").waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Search", exact: true }).click();
    const row = page.getByRole("row").filter({ hasText: "tailed" });
    await row.locator("[data-title='Still waits']").getByText("broken").waitFor();
  });

  test("what is typed in a form is not lost without a question", async (t) => {
    const stage = await openStage(t);
    await stage.makeTopic("orders");
    await stage.subscribe("orders", "billing");
    const page = await stage.visit(browser(), "/portal/topics/orders/subscriptions/billing");
    await page.getByRole("tab", { name: "Settings" }).click();
    await page.getByRole("textbox", { name: "Subject begins with" }).fill("/orders/");
    const asked = page.waitForEvent("dialog");
    const click = page.getByRole("link", { name: "Endpoints" }).first().click();
    const dialog = await asked;
    assert.match(dialog.message(), /not saved/);
    await dialog.dismiss();
    await click;
    await page.getByRole("textbox", { name: "Subject begins with" }).waitFor();
    assert.match(page.url(), /subscriptions\/billing/);
    const askedAgain = page.waitForEvent("dialog");
    const tab = page.getByRole("tab", { name: "State" }).click();
    await (await askedAgain).dismiss();
    await tab;
    const typed = page.getByRole("textbox", { name: "Subject begins with" });
    assert.equal(await typed.inputValue(), "/orders/", "another tab is another form");
    await page.getByRole("button", { name: "Reset" }).click();
    await page.getByRole("link", { name: "Endpoints" }).first().click();
    await heading(page, "Endpoints").waitFor();
  });

  test("a change is shown beside what it was, before it is saved", async (t) => {
    const stage = await openStage(t);
    await stage.makeTopic("orders");
    await stage.subscribe("orders", "billing");
    const own = "/portal/topics/orders/subscriptions/billing?tab=settings";
    const page = await stage.visit(browser(), own);
    await page.getByText("Retry policy").click();
    await page.getByRole("textbox", { name: "Maximum attempts" }).fill("7");
    const changes = page.getByRole("region", { name: "Changes" });
    await changes.getByText("1 change to be saved").waitFor();
    assert.match((await changes.textContent()) ?? "", /Maximum attempts30 → 7/);
    await page.getByRole("button", { name: "Save" }).click();
    await sees(page, "Saved");
    await changes.waitFor({ state: "detached" });
  });

  test("an endpoint is tested while the form is filled", async (t) => {
    const stage = await openStage(t, { handshake: "on" });
    await stage.makeTopic("orders");
    stage.receiver.answer = () => 418;
    const page = await stage.visit(browser(), "/portal/subscriptions/new?topic=orders");
    await page.getByRole("textbox", { name: "URL" }).fill(stage.receiver.url);
    await page.getByRole("button", { name: "Test now" }).click();
    await page.getByText("What was said").click();
    await page.locator("pre").filter({ hasText: /^418/ }).waitFor();
    assert.equal(stage.receiver.received.length, 1, "it was really asked");
    await page.getByRole("textbox", { name: "URL" }).fill("http://127.0.0.1:1/other");
    await page.getByText("What was said").waitFor({ state: "detached" });
  });

  test("a filter is tried on the latest events, and their types are offered", async (t) => {
    const stage = await openStage(t);
    await stage.makeTopic("orders");
    await stage.publish("orders", [
      eventWith({ id: "paid", eventType: "Shop.Paid" }),
      eventWith(),
      eventWith(),
    ]);
    const page = await stage.visit(browser(), "/portal/subscriptions/new?topic=orders");
    await sees(page, "3 of the last 3 events match.");
    await page.getByRole("button", { name: /^Shop\.Paid/ }).click();
    await sees(page, "1 of the last 3 events matches.");
    assert.equal(
      await page.getByRole("textbox", { name: "Event types" }).inputValue(),
      "Shop.Paid",
    );
    await sees(page, /includedEventTypes/);
  });

  test("dead letters go to a folder unless somebody wants them dropped", async (t) => {
    const stage = await openStage(t);
    await stage.makeTopic("orders");
    const page = await stage.visit(browser(), "/portal/subscriptions/new?topic=orders");
    const fold = page.locator("details").filter({ hasText: "Dead letters" });
    await fold.getByText(/^kept in letters/).waitFor();
    await page.getByRole("combobox", { name: "Undeliverable events" }).click();
    await page.getByRole("option", { name: "are dropped" }).click();
    await fold.getByText(/an event is gone when its attempts are used up/).waitFor();
    await fold.getByText("none: undeliverable events are dropped").waitFor();
  });

  test("settings that are folded say how they are, and open at a fault", async (t) => {
    const stage = await openStage(t);
    await stage.makeTopic("orders");
    const page = await stage.visit(browser(), "/portal/subscriptions/new?topic=orders");
    await page.getByRole("textbox", { name: "Name" }).first().fill("billing");
    await page.getByRole("textbox", { name: "URL" }).fill("https://example.com");
    const policy = page.locator("details").filter({ hasText: "Retry policy" });
    const attempts = page.getByRole("textbox", { name: "Maximum attempts" });
    await policy.locator("summary").click();
    await attempts.fill("99");
    await policy.locator("summary").click();
    await policy.getByText("99 attempts").waitFor();
    await page.getByRole("button", { name: "Create", exact: true }).click();
    await sees(page, /Must be a whole number from 1 to 30/);
    await becomes(page, 'document.activeElement.getAttribute("aria-invalid") === "true"');
    assert.ok(await attempts.isVisible(), "it was folded away");
  });
}
