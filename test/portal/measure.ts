// How much of the browser's main thread each page takes while 1,000 events a second go to 1,000
// subscriptions: `npm run portal:measure [seconds]`. It prints the share of the thread and the
// longest task of each page, in processor time, so that other work on the machine does not count;
// it fails beyond 15 % or 100 ms.

import { setTimeout } from "node:timers/promises";
import type { Browser } from "playwright-core";
import { openChromium } from "../fixtures/chromium.ts";
import type { Scope } from "../fixtures/webhook.ts";
import { buildPortal } from "./build.ts";
import { eventWith, openStage, type Stage } from "./stage.ts";

const seconds = Number(process.argv[2] ?? 10);
const topics = 10;
const subscriptionsEach = 100;
const eventsASecond = 1_000;
const batch = 100;
const shareMax = 0.15;
const taskMsMax = 100;

const pages = [
  "/",
  "/portal/subscriptions",
  "/portal/endpoints",
  "/portal/deliveries",
  "/portal/topics",
  "/portal/brokers",
  "/portal/inboxes",
] as const;

/** Every event goes to one subscription of its topic; one endpoint in ten fails. */
async function fill(stage: Stage): Promise<void> {
  for (let topic = 0; topic < topics; topic++) {
    await stage.makeTopic(`topic-${topic}`);
    const names = Array.from({ length: subscriptionsEach }, (_, index) => index);
    await Promise.all(
      names.map((index) => {
        const path = index % 10 === 0 ? "bad" : "good";
        const endpointUrl = `${stage.receiver.url}/${path}/${topic}/${index}`;
        return stage.subscribe(`topic-${topic}`, `subscription-${index}`, {
          destination: { endpointType: "WebHook", properties: { endpointUrl } },
          filter: { subjectEndsWith: `/${index}` },
        });
      }),
    );
  }
}

/** Until the signal; at the wanted rate as far as the machine allows it. Resolves to the count. */
async function load(stage: Stage, signal: AbortSignal): Promise<number> {
  let sent = 0;
  const began = performance.now();
  while (!signal.aborted) {
    const events = Array.from({ length: batch }, (_, index) =>
      eventWith({ subject: `/orders/${(sent + index) % subscriptionsEach}` }),
    );
    await stage.publish(`topic-${(sent / batch) % topics}`, events);
    sent += batch;
    stage.receiver.received.length = 0;
    const aheadMs = (sent / eventsASecond) * 1_000 - (performance.now() - began);
    if (aheadMs > 0) await setTimeout(aheadMs);
  }
  return sent;
}

interface TraceEvent {
  readonly name: string;
  readonly ph: string;
  readonly pid: number;
  readonly tid: number;
  readonly tdur?: number;
  readonly args?: { readonly name?: string };
}

/** Of the thread that runs the page: its share and its longest task, in processor time. */
async function measure(browser: Browser, stage: Stage, path: string) {
  const page = await stage.visit(browser, path);
  await page.locator("h1").waitFor();
  // The first load is not what a page that stays open costs.
  await setTimeout(3_000);
  const session = await browser.newBrowserCDPSession();
  const events: TraceEvent[] = [];
  session.on("Tracing.dataCollected", ({ value }) => {
    events.push(...(value as unknown as TraceEvent[]));
  });
  const complete = new Promise((resolve) => session.once("Tracing.tracingComplete", resolve));
  const includedCategories = ["toplevel", "disabled-by-default-devtools.timeline"];
  await session.send("Tracing.start", {
    traceConfig: { includedCategories },
    transferMode: "ReportEvents",
  });
  await setTimeout(seconds * 1_000);
  await session.send("Tracing.end");
  await complete;
  await page.context().close();
  const mains = events.filter(
    ({ name, args }) => name === "thread_name" && args?.name === "CrRendererMain",
  );
  // Several renderers may be there; the one of the page works most.
  const sums = mains.map(({ pid, tid }) => {
    const own = events.filter(
      (each) =>
        each.pid === pid && each.tid === tid && each.ph === "X" && /RunTask$/.test(each.name),
    );
    const tasksMs = own.map(({ tdur = 0 }) => tdur / 1_000);
    return {
      share: tasksMs.reduce((sum, ms) => sum + ms, 0) / (seconds * 1_000),
      longestMs: Math.max(0, ...tasksMs),
    };
  });
  const [most] = sums.toSorted((one, other) => other.share - one.share);
  if (most === undefined || most.share === 0) throw new Error("the trace has no task of the page");
  return most;
}

const ends: (() => unknown)[] = [];
const scope: Scope = { after: (end) => ends.unshift(end) };
const stop = new AbortController();
try {
  await buildPortal();
  const browser = await openChromium(scope);
  const stage = await openStage(scope, { options: [] });
  stage.receiver.answer = ({ path }) => (path.startsWith("/bad") ? 503 : 200);
  await fill(stage);
  const began = performance.now();
  const loading = load(stage, stop.signal);
  let isWithin = true;
  for (const path of pages) {
    const { share, longestMs } = await measure(browser, stage, path);
    const isFine = share <= shareMax && longestMs <= taskMsMax;
    isWithin &&= isFine;
    const figures = `${(share * 100).toFixed(1).padStart(5)} % of the main thread, longest task`;
    console.log(
      `${path.padEnd(24)} ${figures} ${longestMs.toFixed(0).padStart(4)} ms${isFine ? "" : "  too much"}`,
    );
  }
  stop.abort();
  const sent = await loading;
  const rate = sent / ((performance.now() - began) / 1_000);
  console.log(
    `published ${rate.toFixed(0)} events a second to ${topics * subscriptionsEach} subscriptions`,
  );
  if (!isWithin) process.exitCode = 1;
} finally {
  stop.abort();
  for (const end of ends) await end();
}
