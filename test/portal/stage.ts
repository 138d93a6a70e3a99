// The stage for everything that looks at the portal: the real program with a virtual clock and a
// folder for dead letters, an endpoint on a real socket, and a tab of the browser that has signed
// in by the link that the program prints.

import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { type Program, startProgram } from "../fixtures/program.ts";
import { openReceiver, type Receiver } from "../fixtures/receiver.ts";
import type { Scope } from "../fixtures/webhook.ts";

export const startAt = "2030-01-01T08:00:00.000Z";
export const adminKey = "cG9ydGFsLXRlc3Q=";

const group = "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/posthorn";
export const account = `${group}/providers/Microsoft.Storage/storageAccounts/letters`;
const provider = `${group}/providers/Microsoft.EventGrid`;

export const api = "api-version=2025-02-15";

export function topicId(name: string): string {
  return `${provider}/topics/${name}`;
}

/** On a machine that has much else to do. */
const patienceMs = 60_000;

export interface Stage {
  readonly url: string;
  readonly program: Program;
  readonly receiver: Receiver;
  /** Asks the broker as a script would, with the admin key. */
  ask<T>(method: string, path: string, body?: unknown): Promise<T>;
  makeTopic(name: string, properties?: object): Promise<void>;
  subscribe(topic: string, name: string, properties?: object): Promise<void>;
  publish(topic: string, events: readonly object[]): Promise<void>;
  /** An event subscription of a namespace topic, that clients fetch from. */
  makeQueue(namespace: string, topic: string, name: string): Promise<void>;
  publishTo(namespace: string, topic: string, events: readonly object[]): Promise<void>;
  advance(target: object): Promise<void>;
  /** A new tab, signed in, at that address, which gets live updates. */
  visit(browser: Browser, path: string, options?: BrowserContextOptions): Promise<Page>;
}

export async function openStage(
  t: Scope,
  {
    handshake = "off",
    options = ["--clock", "virtual", "--clock-start", startAt, "--seed", "1"],
  }: { readonly handshake?: "on" | "off"; readonly options?: readonly string[] } = {},
): Promise<Stage> {
  const folder = mkdtempSync(join(tmpdir(), "posthorn-portal-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const letters = join(folder, "letters");
  mkdirSync(join(letters, "given-up"), { recursive: true });
  const config = join(folder, "config.json");
  writeFileSync(config, JSON.stringify({ storageAccounts: { letters: { folder: letters } } }));
  const program = await startProgram([
    ...["--config", config, "--data", join(folder, "data"), "--admin-key", adminKey],
    ...["--handshake", handshake, ...options],
  ]);
  t.after(() => program.end("SIGKILL"));
  const receiver = await openReceiver(t);
  const { url } = program;
  const ask = async <T>(method: string, path: string, body?: unknown): Promise<T> => {
    const headers = { authorization: `Bearer ${adminKey}`, "content-type": "application/json" };
    const answer = await fetch(url + path, {
      method,
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    assert.ok(answer.ok, `${method} ${path}: ${answer.status} ${text}`);
    return (text === "" ? null : JSON.parse(text)) as T;
  };
  const arm = (method: string, id: string, body?: unknown) => ask(method, `${id}?${api}`, body);
  return {
    url,
    program,
    receiver,
    ask,
    async makeTopic(name, properties = {}) {
      const keyed = { key1: adminKey, ...properties };
      await arm("PUT", topicId(name), { location: "local", properties: keyed });
    },
    async subscribe(topic, name, properties = {}) {
      const id = `${provider}/topics/${topic}/providers/Microsoft.EventGrid`;
      const destination = { endpointType: "WebHook", properties: { endpointUrl: receiver.url } };
      await arm("PUT", `${id}/eventSubscriptions/${name}`, {
        properties: { destination, ...properties },
      });
    },
    async publish(topic, events) {
      const answer = await fetch(`${url}/topics/${topic}/api/events`, {
        method: "POST",
        headers: { "aeg-sas-key": adminKey, "content-type": "application/json" },
        body: JSON.stringify(events),
      });
      assert.equal(answer.status, 200, await answer.text());
    },
    async makeQueue(namespace, topic, name) {
      const own = `${provider}/namespaces/${namespace}`;
      await arm("PUT", own, { location: "local" });
      await arm("PUT", `${own}/topics/${topic}`, { properties: {} });
      const deliveryConfiguration = { deliveryMode: "Queue" };
      await arm("PUT", `${own}/topics/${topic}/eventSubscriptions/${name}`, {
        properties: { deliveryConfiguration },
      });
    },
    async publishTo(namespace, topic, events) {
      const own = `${provider}/namespaces/${namespace}`;
      const { key1 } = (await arm("POST", `${own}/listKeys`)) as { readonly key1: string };
      const path = `/namespaces/${namespace}/topics/${topic}:publish?api-version=2024-06-01`;
      const answer = await fetch(url + path, {
        method: "POST",
        headers: {
          authorization: `SharedAccessKey ${key1}`,
          "content-type": "application/cloudevents-batch+json; charset=utf-8",
        },
        body: JSON.stringify(events),
      });
      assert.equal(answer.status, 200, await answer.text());
    },
    async advance(target) {
      await ask("POST", "/clock", target);
    },
    async visit(browser, path, given = {}) {
      const context = await browser.newContext({
        viewport: { width: 1280, height: 900 },
        ...given,
      });
      t.after(() => context.close());
      const page = await context.newPage();
      page.setDefaultTimeout(patienceMs);
      const { url: link } = await ask<{ url: string }>("POST", "/api/v1/links");
      // What happens before the page listens is not in its live tail.
      const live = page.waitForResponse(/\/api\/v1\/live/);
      if (path === "/") {
        await page.goto(link);
        await page.waitForURL(`${url}/`);
      } else {
        await context.request.get(link);
        await page.goto(url + path);
      }
      await live;
      return page;
    },
  };
}

/** Where dead letters of a subscription go. */
export const deadLetterDestination = {
  endpointType: "StorageBlob",
  properties: { resourceId: account, blobContainerName: "given-up" },
};

let count = 0;

export function eventWith(over: object = {}): object {
  count += 1;
  return {
    id: `event-${count}`,
    eventType: "Shop.Ordered",
    subject: `/orders/${count}`,
    eventTime: startAt,
    dataVersion: "1.0",
    data: { amount: 40 + count },
    ...over,
  };
}

export function cloudEventWith(id: string): object {
  return { id, specversion: "1.0", source: "/shop", type: "Shop.Ordered", data: { amount: 7 } };
}

/** Waits in the page until this is true; the page's own policy forbids Playwright's way to. */
export async function becomes(page: Page, expression: string): Promise<void> {
  await page.evaluate(`new Promise((go) => {
    const look = () => ((${expression}) ? go(null) : requestAnimationFrame(look));
    look();
  })`);
}
