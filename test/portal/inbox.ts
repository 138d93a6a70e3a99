// *Show me*, and a test inbox as a destination: its requests as they come, its answers as chosen.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { api, eventWith, openStage, startAt, topicId } from "./stage.ts";

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
    await page.getByRole("button", { name: /^attempt 1 to show-me/ }).click();
    await page.getByText(/^Request, \d+ B/).waitFor();
    await page.getByRole("link", { name: "its test inbox" }).click();
    await page.getByRole("button", { name: "500", exact: true }).waitFor();
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

  test("slow, flapping and too large: each answer is seen in the inbox and in the story", async (t) => {
    // The clock waits for endpoints, and a slow inbox for the clock.
    const clock = ["--clock", "virtual", "--clock-start", startAt, "--clock-patience", "PT5S"];
    const stage = await openStage(t, { handshake: "on", options: [...clock, "--seed", "1"] });
    await stage.ask("POST", "/api/v1/show-me", {});
    await stage.advance({ advance: "PT0S" });
    const page = await stage.visit(browser(), "/portal/inboxes/show-me");
    const requests = page.getByRole("list", { name: "Requests, the latest first" });
    await requests.getByText("1 event").waitFor();
    const key = await stage.ask<{ key1: string }>("POST", `${topicId("show-me")}/listKeys?${api}`);
    const publish = async (id: string, advance: string) => {
      const answer = await fetch(`${stage.url}/topics/show-me/api/events`, {
        method: "POST",
        headers: { "aeg-sas-key": key.key1 },
        body: JSON.stringify([eventWith({ id })]),
      });
      assert.equal(answer.status, 200);
      await stage.advance({ advance });
    };
    const answers = async (name: string, words: RegExp) => {
      await page.goto(`${stage.url}/portal/inboxes/show-me`);
      await page.getByRole("button", { name, exact: true }).click();
      await sees(page, words);
    };
    const story = (id: string) => page.goto(`${stage.url}/portal/deliveries/${id}`);

    await answers("Slow", /after a while \(5 s\)/);
    await publish("slowly", "PT6S");
    await story("slowly");
    await page.getByRole("heading", { name: "1 of 1 delivered" }).waitFor();
    await sees(page, /after 5\.\d s/);

    await answers("Flapping", /by turns|every other/);
    await publish("by-turns", "PT2M");
    await story("by-turns");
    await page.getByRole("heading", { name: "1 of 1 delivered" }).waitFor();
    await sees(page, "told to fail every other time");
    await sees(page, "200: delivered with attempt 2");

    await answers("413", /too large/);
    await publish("too-much", "PT1S");
    await story("too-much");
    await sees(page, /^413 /);
    await sees(page, "told to find everything too large");
    await page.goto(`${stage.url}/portal/inboxes/show-me`);
    await requests.getByText("413").first().waitFor();
  });
}
