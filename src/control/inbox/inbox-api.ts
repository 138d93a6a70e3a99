// Test inboxes in our own API, and the first run: one call that makes a topic, an inbox and a
// subscription, and sends an event from one to the other.

import type { InboxRequestView, InboxView } from "../../core/api/views.ts";
import { type InboxRequest, inboxLimits } from "../../core/inbox/inbox.ts";
import type { Clock } from "../../core/ports.ts";
import { Refusal } from "../../core/refusal.ts";
import type { Registry } from "../../core/registry.ts";
import { baseUrlOf, type Request } from "../../core/request.ts";
import type { LiveCatalog } from "../../core/routing/live-catalog.ts";
import { plainSubscription, type Subscription } from "../../core/subscription.ts";
import { isoInstant } from "../../core/text/time.ts";
import { plainTopic } from "../../core/topic.ts";
import type { Handlers } from "../api/serve.ts";
import type { HandshakePort } from "../handshake/port.ts";
import type { Came, Inbox, Inboxes } from "./inboxes.ts";

export interface InboxHandlerDeps {
  readonly catalog: () => LiveCatalog;
  readonly registry: Registry;
  readonly handshakes: HandshakePort;
  readonly refresh: () => Promise<void>;
  readonly makeKey: () => string;
  readonly clock: Clock;
  /** Publishes one event of the Event Grid schema; our own id of it. */
  readonly publishOwn: (topic: string, event: object) => Promise<string>;
}

type InboxHandlers = Pick<
  Handlers,
  | ("makeInbox" | "listInboxes" | "showInbox" | "answerInbox" | "clearInbox" | "removeInbox")
  | "showMe"
>;

export function inboxHandlers(deps: InboxHandlerDeps, inboxes: Inboxes): InboxHandlers {
  const viewWith = (inbox: Inbox, came: Came) =>
    viewOf(inbox, came, inboxes.urlOf(inbox), deps.catalog());
  const view = async (inbox: Inbox) =>
    viewWith(inbox, await inboxes.came(inbox.name, Number.MAX_SAFE_INTEGER));
  return {
    makeInbox: async ({ body }) => await view(await inboxes.make(body.name)),
    async listInboxes() {
      const [all, sums] = [await inboxes.list(), await inboxes.sums()];
      const value = all.flatMap((inbox) => {
        const came = sums.get(inbox.name);
        return came === undefined ? [] : [viewWith(inbox, came)];
      });
      return { value, next: null };
    },
    async showInbox({ params, query }) {
      const inbox = await inboxes.find(params.name);
      const came = await inboxes.came(inbox.name, query.after);
      return { inbox: viewWith(inbox, came), requests: came.requests.map(requestView) };
    },
    async answerInbox({ params, body: { mode, delayMs } }) {
      const usual = mode === "slow" ? inboxLimits.slowMs : 0;
      return await view(await inboxes.setAnswer(params.name, { mode, delayMs: delayMs ?? usual }));
    },
    clearInbox: async ({ params }) => await view(await inboxes.clear(params.name)),
    async removeInbox({ params }) {
      const shown = await view(await inboxes.find(params.name));
      await inboxes.remove(params.name);
      return shown;
    },
    showMe: ({ request }) => showMe(deps, inboxes, request),
  };
}

function viewOf(inbox: Inbox, came: Came, url: string, catalog: LiveCatalog): InboxView {
  const { name, createdAt, answer } = inbox;
  const { received, kept, lastAt } = came;
  return {
    ...{ name, url, createdAt: isoInstant(createdAt), answer, received, kept },
    lastAt: lastAt === null ? null : isoInstant(lastAt),
    subscriptions: catalog.subscriptions
      .filter(
        ({ destination }) =>
          destination.kind === "webhook" && withoutOrigin(destination.url) === withoutOrigin(url),
      )
      .map(({ topic, domainTopic, name: own }) => ({ topic, domainTopic, name: own })),
  };
}

/** It has an address at every broker; the key in it is its own. */
function withoutOrigin(url: string): string {
  return url.replace(/^\w+:\/\/[^/]*/, "");
}

export function requestView({ at, headers, ...request }: InboxRequest): InboxRequestView {
  const shown = Object.entries(headers).map(([name, value]) => ({ name, value }));
  return { ...request, at: isoInstant(at), headers: shown };
}

// The first run.

const own = "show-me";

/** Makes what is missing, and sends one more event. Refusal: Conflict. */
async function showMe(deps: InboxHandlerDeps, inboxes: Inboxes, request: Request) {
  const { catalog, registry, refresh, makeKey, clock } = deps;
  const inbox = await inboxes.make(own);
  const known = catalog().topic(own);
  if (known === undefined) {
    const keys = { key1: makeKey(), key2: makeKey() };
    await registry.putTopic({ ...plainTopic, name: own, ...keys, origin: "api" });
  } else if (known.kind !== "topic" || known.inputSchema !== "EventGridSchema") {
    const words = `There is another ${known.kind} named ${own}: remove it first.`;
    throw new Refusal("Conflict", words);
  }
  await subscribe(deps, inboxes.urlOf(inbox), request);
  await refresh();
  const event = await deps.publishOwn(own, {
    ...{ id: `${own}-${clock.now()}`, subject: "first/run", eventType: "Posthorn.ShowMe" },
    ...{ eventTime: isoInstant(clock.now()), dataVersion: "1" },
    data: { hello: "This event was published, routed, delivered to a test inbox and noted." },
  });
  const names = { topic: own, subscription: own, inbox: own };
  return { ...names, event, story: `/api/v1/events/${encodeURIComponent(event)}` };
}

/** The handshake is a real one, and over at once. */
async function subscribe(deps: InboxHandlerDeps, url: string, request: Request): Promise<void> {
  const { catalog, registry, handshakes } = deps;
  const known = catalog().named({ topic: own, domainTopic: null, name: own });
  if (known !== undefined && isAt(known, url) && known.state === "Succeeded") return;
  const handshake = handshakes.prepare(null, null, { baseUrl: baseUrlOf(request) });
  const isOver = handshake === null;
  const written = await registry.putSubscription({
    ...plainSubscription,
    ...{ topic: own, name: own, destination: { kind: "webhook", url }, origin: "api", handshake },
    ...{ isActive: isOver, state: isOver ? "Succeeded" : "Creating" },
  });
  const verdict = await handshakes.begin(written);
  if (verdict.state !== "Failed") return;
  throw new Refusal("Conflict", `The inbox could not be subscribed: ${verdict.why}`);
}

function isAt({ destination }: Subscription, url: string): boolean {
  return destination.kind === "webhook" && destination.url === url;
}
