// *Show me*, and a test inbox as a destination: its requests as they come, its answers as chosen.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { eventWith, openStage } from "./stage.ts";

async function sees(page: Page, words: string | RegExp): Promise<void> {
  await page.getByText(words).first().waitFor();
}

export function inbox(browser: () => Browser): void {
  test("the first event is seen after one click", async (t) => {
    const stage = await openStage(t, { handshake: "on", options: [] });
    const page = await stage.visit(browser(), "/");
    await page.getByRole("button", { name: "Show me" }).click();
    await page.getByRole("heading", { name: "1 of 1 delivered" }).waitFor();
    await sees(page, "200: delivered with attempt 1");
  });

  test("an inbox shows requests as they come, and answers as it is told", async (t) => {
    const stage = await openStage(t, { handshake: "on", options: [] });
    await stage.makeTopic("orders");
    const page = await stage.visit(browser(), "/portal/inboxes");
    await page.getByRole("button", { name: "Create" }).first().click();
    await page.getByRole("textbox", { name: "Name" }).fill("trial");
    await page.getByRole("button", { name: "Create", exact: true }).last().click();
    await page.getByRole("heading", { name: "trial", level: 1 }).waitFor();
    await sees(page, "Nothing has come yet");
    await page.getByRole("button", { name: "Subscribe it", exact: true }).click();
    await page.getByRole("combobox", { name: "Endpoint type" }).waitFor();
    await page.getByRole("button", { name: "Create", exact: true }).click();
    await sees(page, "running");
    await page.goto(`${stage.url}/portal/inboxes/trial`);
    const requests = page.getByRole("list", { name: "Requests, the latest first" });
    await requests.getByText("Handshake").waitFor();
    await stage.publish("orders", [eventWith({ id: "into-the-inbox" })]);
    await requests.getByText("1 event").waitFor();
    await requests.getByText("1 event").click();
    await sees(page, /"id": "into-the-inbox"/);
    await page.getByText("aeg-event-type").first().waitFor();
    await page.getByRole("button", { name: "500", exact: true }).click();
    await sees(page, "Refuses everything");
    await stage.publish("orders", [eventWith({ id: "refused-by-it" })]);
    await page.goto(`${stage.url}/portal/deliveries/refused-by-it`);
    await sees(page, /500/);
    await page.getByRole("heading", { name: "0 of 1 delivered, 1 waiting" }).waitFor();
    await page.goto(`${stage.url}/portal/inboxes/trial`);
    await page.getByRole("button", { name: "Delete", exact: true }).click();
    await page.getByRole("button", { name: "Delete it" }).click();
    await sees(page, "No test inbox yet");
    assert.match(page.url(), /\/portal\/inboxes$/);
  });
}
