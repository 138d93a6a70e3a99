// Lists: searched where they are long, whole where they are narrow, with their charts above them.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { becomes, eventWith, openStage, type Stage } from "./stage.ts";

const webhook = (stage: Stage, path: string) => ({
  destination: {
    endpointType: "WebHook",
    properties: { endpointUrl: `${stage.receiver.url}/${path}` },
  },
});

/** Of elements that are like this, the texts of those that do not show all of it. */
function cutIn(page: Page, selector: string): Promise<string[]> {
  return page.evaluate(`[...document.querySelectorAll(${JSON.stringify(selector)})]
    .filter(({ scrollWidth, clientWidth }) => clientWidth > 0 && scrollWidth > clientWidth)
    .map(({ textContent }) => textContent)`);
}

export function lists(browser: () => Browser): void {
  test("long lists are searched, and an endpoint that was chosen comes first", async (t) => {
    const stage = await openStage(t);
    stage.receiver.answer = ({ path }) => (path.includes("bad") ? 503 : 200);
    await stage.makeTopic("orders");
    for (let index = 0; index < 9; index++) {
      await stage.subscribe("orders", `to-${index}`, webhook(stage, `good-${index}`));
    }
    await stage.subscribe("orders", "to-bad", webhook(stage, "bad"));
    await stage.publish("orders", Array.from({ length: 12 }, eventWith));
    await stage.advance({ to: "next" });
    const page = await stage.visit(browser(), "/portal/endpoints");
    const rows = page.getByRole("table", { name: "Endpoints" }).getByRole("row");
    await rows.nth(10).waitFor();
    const box = page.getByRole("textbox", { name: "Search by address" });
    await page.keyboard.press("/");
    await becomes(page, 'document.activeElement?.hasAttribute("data-search")');
    await page.keyboard.type("good-7");
    await rows.nth(2).waitFor({ state: "detached" });
    assert.match((await rows.nth(1).textContent()) ?? "", /good-7/);
    await box.fill("nowhere");
    await page.getByText("None is like that").waitFor();
    await box.fill("good-7");
    const problem = page.getByRole("region", { name: "Problems" }).getByText("Answers 503");
    await problem.waitFor();
    await rows.getByRole("link").click();
    await page.getByText("Failures in a row", { exact: true }).waitFor();
    // That is another endpoint's.
    await problem.waitFor({ state: "detached" });
    await page.goto(`${stage.url}/portal/endpoints?endpoint=http%3A%2F%2Fgone.test`);
    await page.getByText("There is no such endpoint").waitFor();

    await page.goto(`${stage.url}/portal/topics/orders`);
    await page.getByRole("textbox", { name: "Search by name or endpoint" }).fill("to-3");
    const subscriptions = page.getByRole("table", { name: "Subscriptions" }).getByRole("row");
    await subscriptions.nth(2).waitFor({ state: "detached" });
    await subscriptions.getByRole("link", { name: "to-3" }).waitFor();
  });

  test("no heading, state or page's name is cut or wrapped", async (t) => {
    const stage = await openStage(t);
    stage.receiver.answer = () => 503;
    await stage.makeTopic("orders");
    await stage.subscribe("orders", "billing");
    await stage.makeQueue("shop", "orders", "billing");
    await stage.publish("orders", Array.from({ length: 12 }, eventWith));
    await stage.advance({ to: "next" });
    const page = await stage.visit(browser(), "/portal/subscriptions");
    await page.getByText("endpoint unhealthy").waitFor();
    for (const path of ["subscriptions", "queues", "brokers", "topics", "endpoints"]) {
      await page.goto(`${stage.url}/portal/${path}`);
      await page.getByRole("table").last().getByRole("row").nth(1).waitFor();
      assert.deepEqual(await cutIn(page, "th, td:has(.fui-Badge)"), [], path);
    }
    const ways = page.getByRole("navigation", { name: "Pages" }).getByRole("link");
    const heights = await Promise.all(
      (await ways.all()).map(async (way) => (await way.boundingBox())?.height),
    );
    assert.equal(new Set(heights).size, 1, `one line each: ${heights}`);
  });

  test("on a phone subscriptions of the same name are told apart by their topics", async (t) => {
    const stage = await openStage(t);
    for (const topic of ["orders", "returns"]) {
      await stage.makeTopic(topic);
      await stage.subscribe(topic, "billing");
    }
    const page = await stage.visit(browser(), "/portal/subscriptions", {
      viewport: { width: 390, height: 800 },
    });
    const table = page.getByRole("table", { name: "Subscriptions" });
    for (const topic of ["orders", "returns"]) {
      await table.getByRole("link", { name: topic }).waitFor();
    }
  });

  test("test inboxes, pull queues and the live tail have charts, too", async (t) => {
    const stage = await openStage(t);
    await stage.ask("POST", "/api/v1/show-me", {});
    await stage.makeQueue("shop", "orders", "billing");
    const page = await stage.visit(browser(), "/portal/inboxes");
    const queue = "topics/shop%2Forders/subscriptions/billing?tab=receive";
    for (const path of ["inboxes", "deliveries?tail=on", "queues", queue]) {
      await page.goto(`${stage.url}/portal/${path}`);
      await page.getByRole("img", { name: /^Rate/ }).waitFor();
    }
  });

  test("each broker has charts of its own", async (t) => {
    const stage = await openStage(t);
    await stage.makeTopic("orders");
    await stage.subscribe("orders", "billing");
    await stage.publish("orders", [eventWith(), eventWith()]);
    await stage.advance({ advance: "PT1S" });
    const page = await stage.visit(browser(), "/portal/brokers");
    await page.getByRole("img", { name: "2 deliveries, 0 failed attempts" }).waitFor();
    await page.getByRole("img", { name: "Backlog, events" }).waitFor();
    await page.getByRole("link", { name: stage.url }).click();
    await page.waitForURL(/broker=this/);
    await page.getByRole("img", { name: "Backlog, events" }).waitFor({ state: "detached" });
    await page.getByRole("img", { name: /^Rate, a (second|minute)$/ }).waitFor();
    const totals = page.locator("p").filter({ hasText: "failed attempts" });
    await totals.filter({ hasText: /2 published\s*2 delivered/ }).waitFor();
    await page.getByRole("button", { name: "All brokers" }).click();
    await page.getByRole("img", { name: "Backlog, events" }).waitFor();
  });
}
