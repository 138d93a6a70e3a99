// Wrong input in each form: what the broker says stands at the field that it is about.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { becomes, openStage } from "./stage.ts";

interface Slip {
  readonly what: string;
  readonly path: string;
  readonly do: (page: Page) => Promise<void>;
  /** The broker's own words, and the field beside which they stand. */
  readonly says: RegExp;
}

const fill = async (page: Page, name: string, value: string) =>
  page.getByRole("textbox", { name }).first().fill(value);
/** Dialogs come last on a page. */
const click = async (page: Page, name: string) =>
  page.getByRole("button", { name, exact: true }).last().click();

const slips: readonly Slip[] = [
  {
    what: "a topic without a proper name",
    path: "/portal/topics?new=topic",
    async do(page) {
      await fill(page, "Name", "x");
      await click(page, "Create");
    },
    says: /^Must be 2 to 50 letters, digits and hyphens, and is "x"$/,
  },
  {
    what: "a port that is none",
    path: "/portal/topics/orders?tab=settings",
    async do(page) {
      await fill(page, "Own port", "99999");
      await click(page, "Save");
    },
    says: /^Must be a whole number from 1 to 65535, and is the number 99999$/,
  },
  {
    what: "addresses that are none",
    path: "/portal/topics/orders?tab=settings",
    async do(page) {
      await fill(page, "Addresses that may publish", "10.0.0.0/8\nnowhere");
      await click(page, "Save");
    },
    says: /^Entry 2: ipMask must be an IP address/,
  },
  {
    what: "an event that lacks a member",
    path: "/portal/topics/orders?tab=publish",
    async do(page) {
      await fill(page, "An event, or a list of them", '{"id": "1"}');
      await click(page, "Publish");
    },
    says: /Event at index 0: 'subject' is missing/,
  },
  {
    what: "an endpoint that is no URL",
    path: "/portal/subscriptions/new?topic=orders",
    async do(page) {
      await fill(page, "Name", "billing");
      await fill(page, "URL", "ftp://example.com");
      await click(page, "Create");
    },
    says: /^Must be an absolute http or https URL/,
  },
  {
    what: "more attempts than there are",
    path: "/portal/subscriptions/new?topic=orders",
    async do(page) {
      await fill(page, "Name", "billing");
      await fill(page, "URL", "https://example.com");
      await page.getByText("Retry policy").click();
      await fill(page, "Maximum attempts", "31");
      await click(page, "Create");
    },
    says: /^Must be a whole number from 1 to 30/,
  },
  {
    what: "a filter without a key",
    path: "/portal/subscriptions/new?topic=orders",
    async do(page) {
      await fill(page, "Name", "billing");
      await fill(page, "URL", "https://example.com");
      await click(page, "Add a filter");
      await click(page, "Create");
    },
    says: /^Entry 1: key must be/,
  },
  {
    what: "a storage account that nobody knows",
    path: "/portal/subscriptions/new?topic=orders",
    async do(page) {
      await fill(page, "Name", "billing");
      await fill(page, "URL", "https://example.com");
      await page.getByRole("combobox", { name: "Undeliverable events" }).click();
      await page.getByRole("option", { name: /by its resource id/ }).click();
      await fill(page, "Storage account for dead letters", "letters");
      await click(page, "Create");
    },
    says: /^Must be/,
  },
  {
    what: "a length of time that is none",
    path: "/",
    async do(page) {
      await page.getByRole("button", { name: /^Virtual clock/ }).click();
      await fill(page, "By a duration", "soon");
      await page.keyboard.press("Enter");
    },
    says: /^advance must be /,
  },
  {
    what: "a drain of nothing",
    path: "/portal/topics/orders/subscriptions/known",
    async do(page) {
      await page.getByRole("button", { name: "More" }).click();
      await page.getByRole("menuitem", { name: "Drain slowly…" }).click();
      await fill(page, "Events a second", "-1");
      await click(page, "Drain");
    },
    says: /^Must be/,
  },
  {
    what: "a backlog that is too long",
    path: "/portal/what-if",
    async do(page) {
      await fill(page, "Events during the outage", "1000000");
    },
    says: /^Must be a whole number from 0 to 5000/,
  },
  {
    what: "an outage that is no length of time",
    path: "/portal/what-if",
    async do(page) {
      await fill(page, "Outage, in minutes", "abc");
    },
    says: /^The outage must be a number of minutes, or empty$/,
  },
  {
    what: "a search from no time at all",
    path: "/portal/deliveries",
    async do(page) {
      await page.getByRole("button", { name: /^Time range/ }).click();
      await fill(page, "From", "yesterday");
      await click(page, "Apply");
    },
    says: /^Not a time: write 10:00, 1h or 2026-11-16$/,
  },
];

export function forms(browser: () => Browser): void {
  test("wrong input gives the broker's own words", async (t) => {
    const stage = await openStage(t);
    await stage.makeTopic("orders");
    await stage.subscribe("orders", "known");
    const page = await stage.visit(browser(), "/");
    for (const slip of slips) {
      await t.test(slip.what, async () => {
        await page.goto(stage.url + slip.path);
        await slip.do(page);
        await page.getByText(slip.says).first().waitFor();
      });
    }
  });

  test("a fault that is out of sight is scrolled to, and has the focus", async (t) => {
    const stage = await openStage(t);
    await stage.makeTopic("orders");
    const page = await stage.visit(browser(), "/portal/subscriptions/new?topic=orders", {
      viewport: { width: 1280, height: 500 },
    });
    await fill(page, "Name", "billing");
    await fill(page, "URL", "ftp://example.com");
    const url = page.getByRole("textbox", { name: "URL" });
    const create = page.getByRole("button", { name: "Create", exact: true });
    await create.scrollIntoViewIfNeeded();
    assert.ok(((await url.boundingBox())?.y ?? 0) < 0, "it is above the screen");
    await create.click();
    await page.getByText(/Must be an absolute http/).waitFor();
    await becomes(page, 'document.activeElement.getAttribute("aria-invalid") === "true"');
    // It is on the screen.
    const top = "document.activeElement.getBoundingClientRect().top";
    await becomes(page, `${top} >= 0 && ${top} < 500`);
    await fill(page, "URL", "https://example.com");
    await page.getByText(/Must be an absolute http/).waitFor({ state: "detached" });
  });
}
