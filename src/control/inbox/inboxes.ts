// Test inboxes: webhooks inside the broker, on the same listener as everything else, so that
// handshakes, retries and batches are real requests over loopback. An inbox is a memo in the store;
// what came is kept in memory, the latest of it.
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

export const inboxPath = "/inboxes";
const memoKind = "inbox";

export interface InboxDeps {
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
}

export class Inboxes {
  readonly #deps: InboxDeps;
  readonly #inboxes = new Map<string, Inbox>();
  readonly #closing = new AbortController();
  readonly #onRequest: (inbox: Inbox, request: InboxRequest) => void;
  #read: Promise<void> | null = null;

  constructor(deps: InboxDeps, onRequest: (inbox: Inbox, request: InboxRequest) => void) {
    this.#deps = deps;
    this.#onRequest = onRequest;
  }

  /** By name. */
  async list(): Promise<readonly Inbox[]> {
    await this.#recall();
    return [...this.#inboxes.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1));
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
    return await this.#put({ ...record, name, requests: [], received: 0, deliveries: 0 });
  }

  async setAnswer(name: string, answer: InboxAnswer): Promise<Inbox> {
    return await this.#put({ ...(await this.find(name)), answer });
  }

  /** Forgets what came. */
  async clear(name: string): Promise<Inbox> {
    const inbox = { ...(await this.find(name)), requests: [] };
    this.#inboxes.set(name.toLowerCase(), inbox);
    return inbox;
  }

  async remove(name: string): Promise<Inbox> {
    const inbox = await this.find(name);
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
    const { clock } = this.#deps;
    const number = inbox.received + 1;
    const { reply, kept } = receive(arrivedIn(head, bytes), inbox.answer, {
      ...{ turn: inbox.deliveries, number, at: clock.now() },
    });
    const now: Inbox = {
      ...inbox,
      requests: keepLatest(inbox.requests, kept),
      received: number,
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
    await this.#deps.memos.putMemo(memoKind, name.toLowerCase(), record);
    this.#inboxes.set(name.toLowerCase(), inbox);
    return inbox;
  }

  /** Once; again if it failed. */
  #recall(): Promise<void> {
    this.#read ??= this.#recallOnce().catch((error) => {
      this.#read = null;
      throw error;
    });
    return this.#read;
  }

  async #recallOnce(): Promise<void> {
    for (const { key, record } of await this.#deps.memos.notes(memoKind)) {
      const kept = record as Record & { readonly name: string };
      this.#inboxes.set(key, { ...kept, requests: [], received: 0, deliveries: 0 });
    }
  }
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
