// Test inboxes: webhooks inside the broker, on the same listener as everything else, so that
// handshakes, retries and batches are real requests over loopback. An inbox is a memo in the store;
// what came is kept in memory, the latest of it. The brokers of a cluster have the same inboxes,
// each with what came to it; who looks at one asks the others.
//
// Anybody who reaches the listener reaches an inbox; the key in its URL keeps strangers out.

import { timingSafeEqual } from "node:crypto";
import {
  type InboxAnswer,
  type InboxReply,
  type InboxRequest,
  inboxLimits,
  inboxNameRule,
  keepLatest,
  receive,
} from "../../core/inbox/inbox.ts";
import type { Clock, Instant } from "../../core/ports.ts";
import { Refusal } from "../../core/refusal.ts";
import { judgedBy, type Reply, type RequestHead, type Route } from "../../core/request.ts";
import type { Memos } from "../../core/steering.ts";
import { sleep } from "../../core/text/time.ts";
import { refuseValue, shownAs } from "../../core/text/wording.ts";
import type { Calls } from "../cluster/calls.ts";

export const inboxPath = "/inboxes";
const memoKind = "inbox";

/** Of a cluster: how long what the store says of inboxes is taken for true. */
const freshMs = 1_000;
const lookMs = 2_000;

export interface InboxDeps {
  /** This broker's name. */
  readonly broker: string;
  /** Whether there may be others. */
  readonly isShared: boolean;
  readonly calls: Pick<Calls, "answer" | "askAll">;
  readonly memos: Memos;
  readonly clock: Clock;
  readonly makeKey: () => string;
  /** Where the broker reaches its own listener; null: it is not open yet. */
  readonly ownUrl: () => string | null;
}

/** As it is stored. */
interface Record {
  readonly key: string;
  readonly createdAt: Instant;
  readonly answer: InboxAnswer;
}

export interface Inbox extends Record {
  readonly name: string;
  readonly requests: readonly InboxRequest[];
  /** Since the broker started. */
  readonly received: number;
  /** Of these, deliveries. */
  readonly deliveries: number;
  readonly lastNumber: number;
}

/** What came to one broker, or to all of them. */
export interface Came {
  /** Since the brokers started. */
  readonly received: number;
  readonly lastAt: Instant | null;
  /** How many requests are kept. */
  readonly kept: number;
  /** Those that were asked for, the latest first. */
  readonly requests: readonly InboxRequest[];
}

type Look = { readonly name: string; readonly after: number };

const nothingCame = { requests: [], received: 0, deliveries: 0, lastNumber: 0 };

export class Inboxes {
  readonly #deps: InboxDeps;
  readonly #inboxes = new Map<string, Inbox>();
  readonly #closing = new AbortController();
  readonly #onRequest: (inbox: Inbox, request: InboxRequest) => void;
  #read: Promise<void> | null = null;
  #readAt: Instant = Number.NEGATIVE_INFINITY;
  /** Counts what is written here: what was read meanwhile may be older. */
  #writes = 0;

  constructor(deps: InboxDeps, onRequest: (inbox: Inbox, request: InboxRequest) => void) {
    this.#deps = deps;
    this.#onRequest = onRequest;
    const { calls } = deps;
    calls.answer<Look>("inbox", async ({ name, after }) => cameTo(await this.find(name), after));
    calls.answer("inboxes", async () => (await this.list()).map((inbox) => sumsOf(inbox)));
    calls.answer<Look>("clearInbox", async ({ name }) => void this.#empty(await this.find(name)));
  }

  /** By name. */
  async list(): Promise<readonly Inbox[]> {
    await this.#recall();
    return [...this.#inboxes.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** What came to each at all brokers that answer, by name; without the requests. */
  async sums(): Promise<ReadonlyMap<string, Came>> {
    const own = (await this.list()).map((inbox) => sumsOf(inbox));
    const { calls } = this.#deps;
    const told = await calls.askAll<ReturnType<typeof sumsOf>[]>("inboxes", {}, lookMs);
    const byName = Map.groupBy([...own, ...told.flat()], ({ name }) => name);
    return new Map([...byName].map(([name, all]) => [name, together(all)]));
  }

  /** What came to it at all brokers that answer. Refusal: NotFound. */
  async came(name: string, after = 0): Promise<Came> {
    const own = cameTo(await this.find(name), after);
    return together([
      own,
      ...(await this.#deps.calls.askAll<Came>("inbox", { name, after }, lookMs)),
    ]);
  }

  /** Refusal: NotFound. */
  async find(name: string): Promise<Inbox> {
    await this.#recall();
    const found = this.#inboxes.get(name.toLowerCase());
    if (found !== undefined) return found;
    throw new Refusal("NotFound", `There is no inbox ${shownAs(name)}.`);
  }

  /** The one there is, or a new one. Refusals: InvalidSetting, Conflict. */
  async make(name: string): Promise<Inbox> {
    await this.#recall();
    const known = this.#inboxes.get(name.toLowerCase());
    if (known !== undefined) return known;
    this.#checkNew(name);
    const { clock, makeKey } = this.#deps;
    const answer = { mode: "accept", delayMs: 0 } as const;
    const record = { key: makeKey(), createdAt: clock.now(), answer };
    return await this.#put({ ...record, ...nothingCame, name });
  }

  async setAnswer(name: string, answer: InboxAnswer): Promise<Inbox> {
    return await this.#put({ ...(await this.find(name)), answer });
  }

  /** Forgets what came, at every broker. */
  async clear(name: string): Promise<Inbox> {
    const inbox = this.#empty(await this.find(name));
    await this.#deps.calls.askAll("clearInbox", { name }, lookMs);
    return inbox;
  }

  async remove(name: string): Promise<Inbox> {
    const inbox = await this.find(name);
    this.#writes += 1;
    await this.#deps.memos.putMemo(memoKind, name.toLowerCase(), null);
    this.#inboxes.delete(name.toLowerCase());
    return inbox;
  }

  urlOf({ name, key }: Pick<Inbox, "name" | "key">): string {
    return `${this.#deps.ownUrl() ?? ""}${inboxPath}/${name}?key=${encodeURIComponent(key)}`;
  }

  /** Not for admins alone: the broker itself sends to them. */
  get routes(): readonly Route[] {
    const route = judgedBy(async (head) => {
      const { name } = await this.#opened(head);
      return (body) => this.#receive(name, head, body);
    });
    const path = `${inboxPath}/:name`;
    return [
      { method: "POST", path, ...route },
      { method: "OPTIONS", path, ...route },
    ];
  }

  /** Answers that were to come late come now. */
  close(): void {
    this.#closing.abort();
  }

  /** Refusals: NotFound, Unauthorized. */
  async #opened({ params, query }: RequestHead): Promise<Inbox> {
    const inbox = await this.find(params.name ?? "");
    if (isSame(query.key ?? "", inbox.key)) return inbox;
    throw new Refusal("Unauthorized", "The key of the inbox is missing or wrong.");
  }

  async #receive(name: string, head: RequestHead, bytes: Uint8Array): Promise<Reply> {
    const inbox = await this.find(name);
    const at = this.#deps.clock.now();
    const number = nextNumber(inbox.lastNumber, at, this.#deps.broker);
    const { reply, kept } = receive(arrivedIn(head, bytes), inbox.answer, {
      ...{ turn: inbox.deliveries, number, at },
    });
    const now: Inbox = {
      ...inbox,
      requests: keepLatest(inbox.requests, kept),
      received: inbox.received + 1,
      lastNumber: number,
      deliveries: inbox.deliveries + (kept.kind === "events" ? 1 : 0),
    };
    this.#inboxes.set(name.toLowerCase(), now);
    this.#onRequest(now, kept);
    return await this.#answer(reply);
  }

  async #answer({ delayMs, ...reply }: InboxReply): Promise<Reply> {
    if (delayMs > 0) await sleep(this.#deps.clock, delayMs, this.#closing.signal);
    return reply;
  }

  #empty(inbox: Inbox): Inbox {
    const empty = { ...inbox, requests: [] };
    this.#inboxes.set(inbox.name.toLowerCase(), empty);
    return empty;
  }

  #checkNew(name: string): void {
    if (!inboxNameRule.test(name)) {
      const allowed = "a name of 2 to 64 letters, digits and hyphens";
      throw refuseValue({ field: "name", value: name, allowed });
    }
    if (this.#inboxes.size >= inboxLimits.inboxesMax) {
      const words = `There are ${inboxLimits.inboxesMax} inboxes already; remove one first.`;
      throw new Refusal("Conflict", words);
    }
  }

  async #put(inbox: Inbox): Promise<Inbox> {
    const { name, key, createdAt, answer } = inbox;
    const record = { name, key, createdAt, answer };
    this.#writes += 1;
    await this.#deps.memos.putMemo(memoKind, name.toLowerCase(), record);
    this.#inboxes.set(name.toLowerCase(), inbox);
    return inbox;
  }

  /** Once, and again if it failed; of a cluster whenever it may have changed elsewhere. */
  #recall(): Promise<void> {
    const { isShared, clock } = this.#deps;
    if (isShared && clock.now() - this.#readAt >= freshMs) this.#read = null;
    this.#readAt = this.#read === null ? clock.now() : this.#readAt;
    this.#read ??= this.#recallOnce().catch((error) => {
      this.#read = null;
      throw error;
    });
    return this.#read;
  }

  async #recallOnce(): Promise<void> {
    const writes = this.#writes;
    const notes = await this.#deps.memos.notes(memoKind);
    if (writes !== this.#writes) return;
    const gone = new Set(this.#inboxes.keys());
    for (const { key, record } of notes) {
      const kept = record as Record & { readonly name: string };
      this.#inboxes.set(key, { ...(this.#inboxes.get(key) ?? nothingCame), ...kept });
      gone.delete(key);
    }
    for (const key of gone) this.#inboxes.delete(key);
  }
}

function cameTo({ received, requests }: Inbox, after: number): Came {
  return {
    ...{ received, kept: requests.length, lastAt: requests.at(-1)?.at ?? null },
    requests: requests.filter(({ number }) => number > after).toReversed(),
  };
}

function sumsOf(inbox: Inbox): Came & { readonly name: string } {
  return { ...cameTo(inbox, Number.POSITIVE_INFINITY), name: inbox.name };
}

function together(parts: readonly Came[]): Came {
  const sum = (of: (part: Came) => number) => parts.reduce((all, part) => all + of(part), 0);
  const lastAt = Math.max(...parts.map((part) => part.lastAt ?? Number.NEGATIVE_INFINITY));
  return {
    received: sum(({ received }) => received),
    kept: sum(({ kept }) => kept),
    lastAt: Number.isFinite(lastAt) ? lastAt : null,
    requests: parts.flatMap(({ requests }) => requests).toSorted((a, b) => b.number - a.number),
  };
}

/** Rises with time at every broker, and is hardly that of another; with at most 15 digits. */
function nextNumber(last: number, at: Instant, broker: string): number {
  const own = [...broker].reduce((sum, each) => (sum * 31 + each.charCodeAt(0)) % 100, 0);
  return Math.max(last + 1, at * 100 + own);
}

function arrivedIn({ method, headers, params }: RequestHead, bytes: Uint8Array) {
  const texts = Object.entries(headers).map(([name, value]) => [name, String(value ?? "")]);
  return {
    method,
    path: `${inboxPath}/${params.name}`,
    headers: Object.fromEntries(texts) as { readonly [name: string]: string },
    body: new TextDecoder().decode(bytes),
  };
}

/** The time it takes does not depend on where they differ. */
function isSame(given: string, key: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(key)];
  return one.length === other.length && timingSafeEqual(one, other);
}
