// Pull queues: what is available, locked and how old; received by hand, and what the story says.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { promisify } from "node:util";
import type { Browser } from "playwright-core";
import { cloudEventWith, openStage } from "./stage.ts";

const run = promisify(execFile);

export function queues(browser: () => Browser): void {
  test("a queue is looked at, received from by hand, and its stories say by whom", async (t) => {
    const stage = await openStage(t);
    await stage.makeQueue("shop", "orders", "billing");
    await stage.publishTo("shop", "orders", ["one", "two", "three", "four"].map(cloudEventWith));
    const page = await stage.visit(browser(), "/portal/queues");
    const row = page.getByRole("table", { name: "Pull queues" }).getByRole("row").nth(1);
    await row.getByText("shop/orders").waitFor();
    assert.deepEqual(await row.locator("td:nth-child(4), td:nth-child(5)").allTextContents(), [
      "4",
      "0",
    ]);
    await row.getByRole("button", { name: "Receive…" }).click();
    await page.getByText("Nothing is received").waitFor();
    await page.getByRole("button", { name: "Receive 10", exact: true }).click();
    const received = page.getByRole("list", { name: "Received events" }).getByRole("listitem");
    await received.nth(3).waitFor();
    await page.locator("dt:text-is('Locked') + dd:text-is('4')").waitFor();
    const of = (id: string) => received.filter({ hasText: `"id": "${id}"` });

    await of("one").getByRole("button", { name: "Acknowledge" }).click();
    await page.getByText("1 event acknowledged").first().waitFor();
    await of("one").waitFor({ state: "detached" });
    await of("two").getByRole("button", { name: "Release…" }).click();
    await page.getByRole("menuitem", { name: "At once" }).click();
    await page.getByText("1 event released").first().waitFor();
    await of("three").getByRole("button", { name: "Reject" }).click();
    await page.getByText("1 event rejected").first().waitFor();
    await stage.advance({ advance: "PT30S" });
    await of("four").getByText("locked for 30 s").waitFor();
    await of("four").getByRole("button", { name: "Renew" }).click();
    await of("four").getByText("locked for 1 min").waitFor();
    await stage.advance({ advance: "PT2M" });
    await of("four").getByText("its lock has ended").waitFor();
    await of("four").getByRole("button", { name: "Put aside" }).click();
    await page.getByRole("button", { name: "Receive 10", exact: true }).click();
    await of("four").getByText("delivery 2").waitFor();
    assert.equal(await received.count(), 2, "what was released, and what lapsed");

    await of("four").getByRole("link", { name: "four" }).click();
    await page.getByRole("heading", { name: "0 of 1 delivered, 1 waiting" }).waitFor();
    await page.getByText(/received by an operator at 127\.0\.0\.1 \(delivery 1 of/).waitFor();
    await page.getByText(/lock of delivery 1 lapsed; available again/).waitFor();
    await page.getByText(/received by an operator at 127\.0\.0\.1 \(delivery 2 of/).waitFor();
  });

  test("a queue is made, changed and published to, on pages that know what it is", async (t) => {
    const stage = await openStage(t);
    const page = await stage.visit(browser(), "/portal/queues");
    const button = (name: string) => page.getByRole("button", { name, exact: true });
    const fill = (name: string, text: string) =>
      page.getByRole("textbox", { name, exact: true }).fill(text);
    await page.getByText("No pull queue yet").waitFor();
    await button("Create").first().click();
    for (const [name, text] of [
      ["Namespace", "shop"],
      ["Topic", "orders"],
      ["Name", "billing"],
    ] as const) {
      await fill(name, text);
    }
    await page.mouse.click(5, 5);
    await button("Create").last().click();
    await page.getByText("Nothing is received").waitFor();

    await page.getByRole("tab", { name: "State" }).click();
    await page.locator("dt:text-is('A lock lasts') + dd:text-is('1 min')").waitFor();
    await page.getByText("CloudEvents v1.0").waitFor();
    assert.equal(await page.getByText(/must be/).count(), 0, "nothing is refused");
    assert.equal(await button("Try now").count(), 0, "nothing is sent");

    await page.getByRole("tab", { name: "Settings" }).click();
    await fill("Lock duration, in seconds", "30");
    await button("Save").click();
    await page.getByText(/^Must be .* from 60 to 300/).waitFor();
    await fill("Lock duration, in seconds", "120");
    await fill("Time to live", "12h");
    const changes = page.getByRole("region", { name: "Changes" });
    await changes.getByText("2 changes to be saved").waitFor();
    await changes.locator("del:text-is('60') + ins:text-is('120')").waitFor();
    await button("Save").click();
    await page.getByText("Saved").first().waitFor();
    await page.getByRole("tab", { name: "State" }).click();
    await page.locator("dt:text-is('A lock lasts') + dd:text-is('2 min')").waitFor();
    await page.locator("dt:text-is('Time to live') + dd:text-is('12 h')").waitFor();

    await page.getByRole("link", { name: "shop/orders" }).click();
    await button("New queue").click();
    await fill("Name", "audit");
    await button("Create").click();
    await page.getByRole("heading", { name: "audit", level: 1 }).waitFor();

    await page.goto(`${stage.url}/portal/topics/shop%2Forders?tab=publish`);
    await page.getByText("The topic accepts this event.").waitFor();
    await button("Publish").click();
    await page.getByText("Accepted.").first().waitFor();
    await page.getByRole("tab", { name: "Keys and snippets" }).click();
    await page.getByRole("switch", { name: "Insert key1" }).check();
    const snippet = page.locator("pre").filter({ hasNotText: "<key1>" });
    await snippet.filter({ hasText: "curl" }).waitFor();
    await run("sh", ["-c", `${await snippet.textContent()} --fail`]);
    await page.getByRole("tab", { name: "JavaScript" }).click();
    await snippet.filter({ hasText: "EventGridSenderClient" }).waitFor();
    const script = (await snippet.textContent()) ?? "";
    await run(process.execPath, ["--input-type=module", "--eval", script]);
    await page.goto(`${stage.url}/portal/topics/shop%2Forders/subscriptions/audit?tab=receive`);
    await page.locator("dt:text-is('Available') + dd:text-is('3')").waitFor();

    await page.goto(`${stage.url}/portal/endpoints`);
    await page.getByText("No endpoint yet").waitFor();
  });
}
