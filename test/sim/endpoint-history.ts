// What each endpoint went through in each life of the broker, known by its requests alone: the
// rules of health folded once more from outside, and the times at which nothing more could be sent
// to it. A life begins with what the store remembers of the one before.

import {
  fold,
  type Gate,
  gate,
  type Health,
  healthyStart,
  recallHealth,
  rememberedHealth,
} from "../../src/core/delivery/health.ts";
import { isSuccess } from "../../src/core/delivery/retry.ts";
import type { Instant } from "../../src/core/ports.ts";
import { endpointKeyOf, type SubscriptionId } from "../../src/core/subscription.ts";
import { excuse, type History, type Span, slackMs } from "./history.ts";
import type { LifeNote, Mark, SendNote, Version } from "./journal.ts";

/** A request that should not have been made when it was. */
export interface Trespass {
  readonly send: SendNote;
  readonly words: string;
}

export interface EndpointTale {
  readonly trespasses: readonly Trespass[];
  /** What the store should remember of its health at the end of the life, and does not. */
  readonly forgotten: string | null;
  /** When the endpoint had no room for one more. */
  readonly full: readonly Span[];
  /** When a dispatcher had as much leased as it takes. */
  readonly busy: ReadonlyMap<SubscriptionId, readonly Span[]>;
}

type Moment = Mark &
  (
    | { readonly kind: "begun" | "ended" | "late"; readonly send: SendNote }
    /** What an operator did to the endpoint. */
    | { readonly kind: "closed" | "opened" | "hastened" }
  );

const alwaysOpen: Gate = { kind: "open", atOnce: Number.POSITIVE_INFINITY };

/** By life and endpoint; see `endpointKey`. */
export function tellEndpoints(history: History): ReadonlyMap<string, EndpointTale> {
  const moments = new Map<string, Moment[]>();
  for (const send of history.journal.sends) {
    if (send.stage === "deadLetter") continue;
    const key = endpointKey(history, send);
    const known = moments.get(key) ?? [];
    moments.set(key, known);
    known.push({ kind: "begun", ...send.begun, send });
    const heard = history.heard(send);
    if (heard !== null) known.push({ kind: "ended", seq: heard.seq, at: heard.at, send });
    const late = history.heardLate(send);
    if (late !== null && isSuccess(history.terms(send).policy.profile, late.outcome)) {
      known.push({ kind: "late", seq: late.seq, at: late.at, send });
    }
  }
  const tales = new Map<string, EndpointTale>();
  for (const [key, known] of moments) {
    const { send } = known.find((moment) => "send" in moment) as { readonly send: SendNote };
    const watch = new Watch(history, send);
    const all = [...known, ...ordersTo(history, send)];
    for (const moment of all.toSorted((a, b) => a.seq - b.seq)) watch.see(moment);
    tales.set(key, watch.close());
  }
  return tales;
}

/** What operators did to the endpoint of this send, in its life; from the broker's own facts. */
function* ordersTo(history: History, send: SendNote): Iterable<Moment> {
  const { life, endpoint } = send;
  const key = endpointKeyOf(send.subscription.destination);
  for (const { seq, at, name, fields, ...fact } of history.journal.facts) {
    if (fact.life !== life) continue;
    if (name === "deliveries.hastened" && fields.tested === true) {
      const slot = String(fields.subscription);
      const isHere = history
        .versions(slot, seq, seq)
        .some(({ draft }) => draft !== null && endpointKeyOf(draft.destination) === key);
      if (isHere) yield { kind: "hastened", seq, at };
    } else if (fields.endpoint === endpoint) {
      if (name === "endpoint.closed") yield { kind: "closed", seq, at };
      if (name === "endpoint.opened" || name === "endpoint.reset")
        yield { kind: "opened", seq, at };
    }
  }
}

/** Health and room are shared by all that send to one URL under the same rules, in one life. */
export function endpointKey(history: History, send: SendNote): string {
  return `${send.life} ${memoKey(history, send)}`;
}

/** As the store remembers it. */
function memoKey(history: History, send: SendNote): string {
  const law = history.terms(send).policy.profile.delayedDelivery ? "delayed" : "plain";
  return `${law} ${endpointKeyOf(send.subscription.destination)}`;
}

class Watch {
  readonly #history: History;
  readonly #life: LifeNote;
  readonly #delayed: boolean;
  /** Until when the broker had reason to see the endpoint as we do. */
  #knownUntil: Instant;
  readonly #trespasses: Trespass[] = [];
  readonly #full: Span[] = [];
  readonly #busy = new Map<SubscriptionId, Span[]>();
  readonly #flying = new Map<SubscriptionId, { count: number; window: number }>();
  readonly #memoKey: string;
  #health: Health;
  /** What is to be remembered of it, and since when. */
  #remembered: Health | null;
  #rememberedAt: Instant;
  /** By an operator, before this life perhaps. */
  #isClosed: boolean;
  #sends = 0;
  #at: Instant;

  constructor(history: History, first: SendNote) {
    this.#history = history;
    this.#life = history.life(first.life);
    this.#delayed = history.terms(first).policy.profile.delayedDelivery;
    const isKnown = isKnownThroughout(history, first);
    this.#knownUntil = isKnown ? Number.POSITIVE_INFINITY : this.#life.started.at;
    this.#at = this.#life.started.at;
    const { seq } = this.#life.started;
    this.#isClosed =
      history.journal.closures.findLast((one) => one.seq < seq && one.endpoint === first.endpoint)
        ?.isClosed ?? false;
    this.#memoKey = memoKey(history, first);
    const record = this.#memoAt(seq);
    this.#remembered = record && recallHealth(record, this.#at);
    this.#rememberedAt = this.#at;
    this.#health = this.#remembered ?? healthyStart;
  }

  #memoAt(seq: number): object | null {
    const { healths } = this.#history.journal;
    return healths.findLast((one) => one.seq < seq && one.key === this.#memoKey)?.record ?? null;
  }

  #become(health: Health): void {
    const before = this.#health.kind;
    this.#health = health;
    if (before === health.kind) return;
    const remembered = rememberedHealth(health, this.#remembered);
    if (remembered === this.#remembered) return;
    this.#remembered = remembered;
    this.#rememberedAt = this.#at;
  }

  /** Unless the change was too late for the disk. */
  #forgotten(): string | null {
    const { diskTroubles } = this.#history.journal;
    const end = this.#life.ended;
    if (!this.#delayed || end === null || end.at >= this.#knownUntil) return null;
    if (end.at <= excuse(this.#rememberedAt, diskTroubles) + slackMs) return null;
    const record = this.#memoAt(end.seq) as Partial<{ kind: string; waitMs: number }> | null;
    const expected = this.#remembered;
    const isSame =
      expected === null || !("waitMs" in expected)
        ? record === null
        : record?.kind === expected.kind && record.waitMs === expected.waitMs;
    return isSame ? null : `the store remembers ${JSON.stringify(record)} of ${expected?.kind}`;
  }

  see(moment: Moment): void {
    this.#passTime(moment.at);
    if (!("send" in moment)) {
      this.#obey(moment);
      return;
    }
    const { send, at } = moment;
    const sentAt = send.begun.at;
    switch (moment.kind) {
      case "begun":
        this.#check(send);
        this.#sends += 1;
        this.#fly(send, send.deliveries.length);
        this.#become(fold(this.#health, { kind: "sent", at }));
        return;
      case "ended": {
        this.#sends -= 1;
        this.#fly(send, -send.deliveries.length);
        const { outcome } = send.ended as NonNullable<SendNote["ended"]>;
        const isBrokenOff = outcome.kind === "noReply" && outcome.why === "canceled";
        const isNeither = isBrokenOff || this.#history.isHalved(send);
        const kind = isSuccess(this.#history.terms(send).policy.profile, outcome)
          ? "succeeded"
          : "failed";
        this.#become(fold(this.#health, isNeither ? { kind: "unsent" } : { kind, at, sentAt }));
        return;
      }
      case "late":
        this.#hearLate(send);
        this.#become(fold(this.#health, { kind: "succeeded", at, sentAt }));
        return;
    }
  }

  #obey({ kind, at }: Exclude<Moment, { send: SendNote }>): void {
    const health = this.#health;
    if (kind === "hastened") {
      const isSick = health.kind === "unhealthy" && health.until > at;
      if (isSick) this.#health = { ...health, until: at };
    } else {
      this.#isClosed = kind === "closed";
      if (!this.#isClosed) this.#become(healthyStart);
    }
  }

  close(): EndpointTale {
    this.#passTime(this.#life.ended?.at ?? Number.POSITIVE_INFINITY);
    const unknown = { from: this.#knownUntil, until: Number.POSITIVE_INFINITY };
    return {
      trespasses: this.#trespasses.filter(({ send }) => send.begun.at < this.#knownUntil),
      forgotten: this.#forgotten(),
      full: [...this.#full, unknown],
      busy: this.#busy,
    };
  }

  /** The broker listens for it once the timeout is settled, which may take the disk long. */
  #hearLate({ ended }: SendNote): void {
    const at = ended?.at ?? 0;
    if (excuse(at, this.#history.journal.diskTroubles) === at) return;
    this.#knownUntil = Math.min(this.#knownUntil, this.#at);
  }

  #gate(now: Instant): Gate {
    if (this.#isClosed) return { kind: "closed", until: Number.POSITIVE_INFINITY };
    return this.#delayed ? gate(this.#health, now) : alwaysOpen;
  }

  #check(send: SendNote): void {
    const state = this.#gate(send.begun.at);
    const { endpointSendsMax } = this.#history.weather;
    if (state.kind === "closed") {
      const words = `sent while ${this.#health.kind}`;
      this.#trespasses.push({ send, words });
    } else if (this.#sends >= Math.min(endpointSendsMax, state.atOnce)) {
      const words = `sent beside ${this.#sends} others`;
      this.#trespasses.push({ send, words });
    }
  }

  #fly(send: SendNote, count: number): void {
    const { id } = send.subscription;
    const known = this.#flying.get(id) ?? { count: 0, window: 0 };
    const events = this.#history.terms(send).batch?.maxEvents ?? 1;
    known.count += count;
    known.window = 2 * Math.max(this.#history.weather.endpointSendsMax, events);
    this.#flying.set(id, known);
  }

  /** Nothing happens here until then: how it was in the meantime. */
  #passTime(until: Instant): void {
    const from = this.#at;
    this.#at = until;
    if (until <= from) return;
    const state = this.#gate(from);
    const atOnce = state.kind === "open" ? state.atOnce : 1;
    for (const [subscription, { count, window }] of this.#flying) {
      if (2 * count < Math.min(window, 2 * atOnce)) continue;
      const spans = this.#busy.get(subscription) ?? [];
      spans.push({ from, until });
      this.#busy.set(subscription, spans);
    }
    if (state.kind === "closed") {
      this.#full.push({ from, until: Math.min(until, state.until) });
    } else if (this.#sends >= Math.min(this.#history.weather.endpointSendsMax, atOnce)) {
      this.#full.push({ from, until });
    }
  }
}

/** An endpoint that nobody subscribes with is forgotten, with its health and its sends. */
function isKnownThroughout(history: History, first: SendNote): boolean {
  const { journal } = history;
  const life = history.life(first.life);
  const law = history.terms(first).policy.profile.delayedDelivery;
  const pointsThere = ({ draft }: Version) =>
    draft !== null &&
    endpointKeyOf(draft.destination) === endpointKeyOf(first.subscription.destination) &&
    history.termsOf(draft).policy.profile.delayedDelivery === law;
  const until = life.ended?.seq ?? Number.POSITIVE_INFINITY;
  const slots = new Set(journal.versions.map(({ slot }) => slot));
  return [...slots].some((slot) =>
    history.versions(slot, life.started.seq, until).every(pointsThere),
  );
}
