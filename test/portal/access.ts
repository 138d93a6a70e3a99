// Who can use the portal: people with a keyboard alone, on a phone, with weak eyes; and nobody who
// has not signed in.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { test } from "node:test";
import type { Browser, Page } from "playwright-core";
import {
  adminKey,
  becomes,
  cloudEventWith,
  deadLetterDestination,
  eventWith,
  openStage,
  type Stage,
} from "./stage.ts";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

interface AxeResult {
  readonly violations: readonly {
    readonly id: string;
    readonly help: string;
    readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
  }[];
}

/** Everything of WCAG 2.1 A and AA that can be seen by a machine. */
const everything = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"];

/**
 * What is left out are the two stops at the ends of the page by which Fluent leads the focus out of
 * a dialog: nobody rests on them.
 */
async function faultsOf(page: Page, runOnly: readonly string[]): Promise<string[]> {
  const options = JSON.stringify({ runOnly });
  const result: AxeResult = await page.evaluate(
    `axe.run({ exclude: [["[data-tabster-dummy]"]] }, ${options})`,
  );
  return result.violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html}\n  ${failureSummary}`),
  );
}

/** With something of everything. */
export async function fill(stage: Stage): Promise<void> {
  await stage.ask("POST", "/api/v1/show-me", {});
  await stage.makeQueue("shop", "parcels", "desk");
  await stage.publishTo("shop", "parcels", [cloudEventWith("parcel")]);
  await stage.makeTopic("orders");
  await stage.makeTopic("a-topic-with-a-name-that-is-long-for-any-table");
  stage.receiver.answer = ({ path }) => (path.includes("bad") ? 503 : 200);
  await stage.subscribe("orders", "billing");
  const endpointUrl = `${stage.receiver.url}/bad`;
  await stage.subscribe("orders", "broken", {
    destination: { endpointType: "WebHook", properties: { endpointUrl } },
    retryPolicy: { maxDeliveryAttempts: 2 },
    deadLetterDestination,
  });
  await stage.subscribe("orders", "returns", { filter: { includedEventTypes: ["Shop.Returned"] } });
  await stage.publish("orders", [
    eventWith({ id: "first" }),
    ...Array.from({ length: 12 }, () => eventWith()),
  ]);
  await stage.advance({ advance: "PT10M" });
  await stage.publish("orders", [eventWith({ id: "last" })]);
}

export const everyPage = [
  "/",
  "/portal/topics",
  "/portal/topics?new=topic",
  "/portal/topics/orders",
  "/portal/topics/orders?tab=publish",
  "/portal/topics/orders?tab=keys",
  "/portal/topics/orders?tab=settings",
  "/portal/subscriptions",
  "/portal/subscriptions/new",
  "/portal/topics/orders/subscriptions/broken",
  "/portal/topics/orders/subscriptions/broken?tab=settings",
  "/portal/topics/orders/subscriptions/broken?tab=handshake",
  "/portal/topics/orders/subscriptions/broken?tab=filter",
  "/portal/topics/orders/subscriptions/broken?tab=signing",
  "/portal/deliveries",
  "/portal/deliveries?tail=on",
  "/portal/deliveries/first",
  "/portal/queues",
  "/portal/topics/shop%2Fparcels/subscriptions/desk?tab=receive",
  "/portal/dead-letters",
  "/portal/endpoints",
  "/portal/brokers",
  "/portal/inboxes",
  "/portal/inboxes/show-me",
  "/portal/what-if",
  "/portal/settings",
  "/portal/no-such-page",
];

/** Resolves when the broker has sent its watchers the overview, which it does every second. */
async function beat({ url }: Stage): Promise<void> {
  const headers = { authorization: `Bearer ${adminKey}` };
  const answer = await fetch(`${url}/api/v1/live?kinds=overview`, { headers });
  for await (const chunk of answer.body ?? []) {
    if (Buffer.from(chunk).includes("event: overview")) return;
  }
}

/** Colors that are still on their way from light to dark are no colors of the page. */
const whenStill = `new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go)))
  .then(() => Promise.allSettled(document.getAnimations().map((each) => each.finished)))
  .then(() => null)`;

/** Nothing is loading any more. */
async function settle(page: Page): Promise<void> {
  await page.locator("h1").waitFor();
  await page.locator("[aria-busy=true]").first().waitFor({ state: "detached" });
}

export function access(browser: () => Browser): void {
  test("every page is for everybody: screen readers, light, dark and phones", async (t) => {
    const stage = await openStage(t);
    await fill(stage);
    const wide = { width: 1280, height: 900 };
    const page = await stage.visit(browser(), "/", { reducedMotion: "reduce" });
    const complaints: string[] = [];
    page.on("console", (entry) => {
      if (entry.type() === "error" || entry.type() === "warning") complaints.push(entry.text());
    });
    page.on("pageerror", (error) => complaints.push(String(error)));
    for (const path of everyPage) {
      await t.test(path, async () => {
        await page.setViewportSize(wide);
        await page.emulateMedia({ colorScheme: "light", reducedMotion: "reduce" });
        await page.goto(stage.url + path);
        await settle(page);
        // By the debugger and not as an element, which the page's own policy would refuse.
        await page.evaluate(axe);
        await page.evaluate(whenStill);
        assert.deepEqual(await faultsOf(page, everything), [], "light");
        await page.emulateMedia({ colorScheme: "dark", reducedMotion: "reduce" });
        await page.locator("html[data-look=dark]").waitFor();
        await page.evaluate(whenStill);
        assert.deepEqual(await faultsOf(page, ["color-contrast"]), [], "dark");
        await page.setViewportSize({ width: 360, height: 740 });
        // Charts are drawn again for a phone when they know of it.
        await becomes(page, "document.documentElement.scrollWidth <= 360");
        assert.deepEqual(complaints.splice(0), [], "nothing breaks the page's own policy");
      });
    }
    await page.getByRole("button", { name: "Pages" }).click();
    await page.getByRole("menuitem", { name: "Deliveries" }).click();
    await page.getByRole("heading", { name: "Deliveries", level: 1 }).waitFor();
  });

  test("a topic is made with the keyboard alone", async (t) => {
    const stage = await openStage(t);
    const page = await stage.visit(browser(), "/");
    await page.getByRole("button", { name: "Create a topic" }).waitFor();
    const tabTo = async (name: string) => {
      for (let tabs = 0; tabs < 40; tabs++) {
        await page.keyboard.press("Tab");
        const focused: string = await page.evaluate("document.activeElement?.textContent ?? ''");
        if (focused.includes(name)) return;
      }
      assert.fail(`${name} cannot be reached`);
    };
    await page.keyboard.press("Tab");
    const first = await page.evaluate("document.activeElement?.textContent");
    assert.equal(first, "Skip to content");
    await page.keyboard.press("Enter");
    await tabTo("Create a topic");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor();
    await page.getByRole("textbox", { name: "Name" }).waitFor();
    await page.locator("input:focus").waitFor();
    await page.keyboard.type("by-keyboard");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "by-keyboard", level: 1 }).waitFor();
  });

  test("light and dark follow the system until someone chooses", async (t) => {
    const stage = await openStage(t);
    const page = await stage.visit(browser(), "/", { colorScheme: "dark" });
    const look = () => page.evaluate("document.documentElement.dataset.look");
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    assert.equal(await look(), "dark");
    await page.getByRole("button", { name: "Light or dark" }).click();
    await page.getByRole("menuitemradio", { name: "Light" }).click();
    await page.locator("html[data-look=light]").waitFor();
    await page.reload();
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    assert.equal(await look(), "light");
  });
  test("nothing but the sign-in page is shown to whoever has not signed in", async (t) => {
    const stage = await openStage(t);
    const context = await browser().newContext();
    t.after(() => context.close());
    const page = await context.newPage();
    await page.goto(`${stage.url}/portal/topics`);
    await page.getByRole("heading", { name: "Sign in to Posthorn" }).waitFor();
    await page.getByLabel("Admin key").fill("not the key");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByText("That is not the admin key of this broker.").waitFor();
    await page.getByLabel("Admin key").fill(adminKey);
    await page.getByRole("button", { name: "Sign in" }).click();
    // Where one was going.
    await page.getByRole("heading", { name: "Topics and domains", level: 1 }).waitFor();
    const signedIn = await stage.visit(browser(), "/");
    await signedIn.getByRole("button", { name: "Sign out" }).click();
    await signedIn.getByRole("heading", { name: "Sign in to Posthorn" }).waitFor();
    await signedIn.goto(stage.url);
    await signedIn.getByRole("heading", { name: "Sign in to Posthorn" }).waitFor();
  });

  test("a session that ended leads to the sign-in page, and back to where one was", async (t) => {
    const stage = await openStage(t);
    await fill(stage);
    const page = await stage.visit(browser(), "/portal/subscriptions");
    await page.getByRole("link", { name: "billing" }).waitFor();
    const left = Promise.withResolvers<void>();
    // Else the page may find out by itself, before anybody leaves it.
    await page.route("**/api/v1/**", async (route) => {
      await left.promise;
      await route.continue();
    });
    await page.context().clearCookies();
    await page.getByRole("link", { name: "broken" }).first().click();
    await page.waitForURL(/\/subscriptions\/broken$/);
    left.resolve();
    await page.getByRole("heading", { name: "Sign in to Posthorn" }).waitFor();
    await page.getByLabel("Admin key").fill(adminKey);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("heading", { name: "broken", level: 1 }).waitFor();
    assert.match(page.url(), /\/portal\/topics\/orders\/subscriptions\/broken$/);
  });

  test("a broker that has gone is told in words", async (t) => {
    const stage = await openStage(t);
    const page = await stage.visit(browser(), "/");
    await page.getByRole("heading", { name: "Overview", level: 1 }).waitFor();
    await stage.program.end("SIGKILL");
    await page.getByText("The broker does not answer. Is it running?").waitFor();
    await page.getByText("not live").waitFor();
  });

  test("the overview is there after at most 200 KB", async (t) => {
    const stage = await openStage(t);
    const page = await stage.visit(browser(), "/portal/no-such-page");
    const session = await page.context().newCDPSession(page);
    await session.send("Network.enable");
    await session.send("Network.setCacheDisabled", { cacheDisabled: true });
    let bytes = 0;
    session.on("Network.loadingFinished", ({ encodedDataLength }) => {
      bytes += encodedDataLength;
    });
    await page.goto(stage.url);
    await page.getByRole("heading", { name: "Overview", level: 1 }).waitFor();
    await page.waitForLoadState("load");
    assert.ok(bytes > 50_000 && bytes <= 200_000, `${bytes} bytes`);
  });

  test("a tab that is left open does not grow", async (t) => {
    const stage = await openStage(t);
    await stage.makeTopic("orders");
    await stage.subscribe("orders", "billing");
    const page = await stage.visit(browser(), "/");
    await page.getByText("No attempt since this page was opened").waitFor();
    const session = await page.context().newCDPSession(page);
    const heapAfter = async (name: string): Promise<number> => {
      const before = stage.receiver.received.length;
      await stage.publish(
        "orders",
        Array.from({ length: 60 }, () => eventWith()),
      );
      await stage.receiver.came(before + 60);
      // Sends overtake each other, only the latest attempts are shown, and a second holds no more
      // than two hundred live events: the one that is waited for comes alone, in the next second.
      await beat(stage);
      await stage.publish("orders", [eventWith({ id: name })]);
      await page.getByRole("link", { name, exact: true }).waitFor();
      // What one collection lets go of, only the next one may free.
      for (let time = 0; time < 3; time++) await session.send("HeapProfiler.collectGarbage");
      const { usedSize } = await session.send("Runtime.getHeapUsage");
      return usedSize;
    };
    // From the third round on, all that is kept is full.
    for (const name of ["round-1", "round-2"]) await heapAfter(name);
    const before = await heapAfter("round-3");
    for (const name of ["round-4", "round-5", "round-6"]) await heapAfter(name);
    const grown = (await heapAfter("round-7")) - before;
    assert.ok(grown < 500_000, `${grown} bytes more after 244 events`);
  });
}
