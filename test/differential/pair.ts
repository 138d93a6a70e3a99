// The model and the embedded store, played in step; see differential.test.ts for what is
// compared and what is not.

import assert from "node:assert/strict";
import type { Delivery, Stage } from "../../src/core/delivery/delivery.ts";
import type { Claim, Instant, Settlement, Want } from "../../src/core/ports.ts";
import { Refusal } from "../../src/core/refusal.ts";
import type { Catalog, RecordNames } from "../../src/core/registry.ts";
import { LiveCatalog } from "../../src/core/routing/live-catalog.ts";
import type { SubscriptionId } from "../../src/core/subscription.ts";
import { MemoryStore } from "../../src/store/memory.ts";
import { SqliteEngine } from "../../src/store/sqlite/engine.ts";
import { openMemoryJournal } from "../../src/store/sqlite/journal.ts";
import { openInline } from "../../src/store/sqlite/thread.ts";
import {
  countsOf,
  type Due,
  due,
  makeEvent,
  openFront,
  queueOf,
  startAt,
  subscriptionDraft,
  topicDraft,
  type WholeStore,
} from "../contract/fixture.ts";
import { sabotage } from "../fixtures/failing-disk.ts";

/** A thing that has one number here and another there. */
interface Twin<T> {
  readonly model: T;
  readonly embedded: T;
}

type Side = keyof Twin<unknown>;
type Play = (store: WholeStore, side: Side) => Promise<unknown>;
/** A whole number from 0 to below the bound. */
type Draw = (bound: number) => number;

export interface Step {
  readonly kind: "append" | "claim" | "claimOld" | "settle" | "skip" | "hasten" | "hastenOne";
  /** Chosen by chance; each kind of step makes of them what it needs. */
  readonly draws: readonly number[];
}

export type Round =
  | { readonly kind: "tick"; readonly ms: number }
  | {
      readonly kind: "steps";
      readonly steps: readonly Step[];
      readonly fault: { readonly untouched: number; readonly failuresMax: number } | null;
    }
  | {
      readonly kind: "putTopic" | "putSubscription" | "removeTopic" | "removeSubscription";
      readonly draws: readonly number[];
    };

export const kinds = [
  "append",
  "claim",
  "claimOld",
  "gone",
  "back",
  "due",
  "givenUp",
  "skip",
  "hasten",
  "hastenOne",
  "ignored",
  "late",
  "putTopic",
  "putSubscription",
  "removeTopic",
  "removeSubscription",
  "dropped",
  "refused",
  "roundFailed",
  "appendFailed",
] as const;
export type Kind = (typeof kinds)[number];

interface Claimed extends Twin<Delivery> {
  /** It was settled as due, and nobody has claimed it since as far as we have seen. */
  wasPutBack: boolean;
}

/** A settlement and whether it counted. */
interface Settled extends Settle {
  readonly counted: boolean;
}

interface Settle {
  readonly claimed: Claimed;
  readonly kind: "gone" | "back" | "due";
  readonly more: Omit<Due, "kind" | "delivery" | "lease">;
}

type Noted = RecordNames | null;

/** A store that is to keep step with the model. */
export type Other = WholeStore & {
  /** It may carry out in any order what is asked at once: so it is asked one by one. */
  readonly isShared?: boolean;
  close(): Promise<void>;
};

export function openEmbedded(): Other {
  const options = { path: ":memory:", journal: openMemoryJournal(), journalBytesMax: 4_000 };
  return openFront(openInline(new SqliteEngine(options)));
}

export class Pair {
  readonly model = new MemoryStore();
  readonly embedded: Other;
  readonly #succeeded: Set<Kind>;
  #now: Instant = startAt;
  #eventsMade = 0;
  readonly #subscriptions = new Map<string, Twin<SubscriptionId>>();
  /** Every delivery ever claimed, so that old leases are tried, too. */
  readonly #claimed: Claimed[] = [];
  readonly #latestLease = { model: 0, embedded: 0 };
  readonly #revisions = new Map<string, Twin<number>[]>();
  /** What the notices of each lead to, read record by record. */
  readonly #live = { model: new LiveCatalog(), embedded: new LiveCatalog() };
  readonly #noted = { model: [] as Noted[], embedded: [] as Noted[] };
  readonly #drops = { model: [] as number[], embedded: [] as number[] };

  constructor(succeeded: Set<Kind>, other: Other) {
    this.#succeeded = succeeded;
    this.embedded = other;
    for (const side of ["model", "embedded"] as const) {
      this[side].onDropped((_, count) => this.#drops[side].push(count));
      this[side].onChange((changed) => this.#noted[side].push(changed));
    }
  }

  static async open(succeeded: Set<Kind>, other: Other): Promise<Pair> {
    const pair = new Pair(succeeded, other);
    for (const name of ["one", "two"]) {
      for (const store of [pair.model, pair.embedded]) {
        await store.putTopic(topicDraft({ name: "topic-0" }));
        await store.putSubscription(subscriptionDraft({ topic: "topic-0", name }));
      }
    }
    await pair.#compareCatalogs();
    return pair;
  }

  async play(round: Round): Promise<void> {
    switch (round.kind) {
      case "tick":
        this.#now += round.ms;
        break;
      case "steps":
        await this.#steps(round);
        break;
      default:
        await this.#register(round);
    }
    await this.#compareEverything();
  }

  /** Drops are reported in the end, by both. */
  async close(): Promise<void> {
    const { model, embedded } = this.#drops;
    for (let left = 1000; embedded.length < model.length; left--) {
      assert.ok(left > 0, "a drop is never told");
      await this.embedded.counts();
    }
    assert.deepEqual(embedded, model);
    if (model.some((count) => count > 0)) this.#succeeded.add("dropped");
  }

  /** All at once on the embedded store; then, one by one, on the model what did not fail. */
  async #steps({ steps, fault }: Extract<Round, { kind: "steps" }>): Promise<void> {
    if (this.embedded.isShared === true) {
      for (const step of steps) {
        const play = this.#plan(step);
        const here = await play(this.embedded, "embedded");
        await this.#compare(step, await play(this.model, "model"), here);
      }
      return;
    }
    const disk = fault === null ? null : sabotage(fault);
    const played = steps.map((step) => {
      const play = this.#plan(step);
      return { step, play, here: play(this.embedded, "embedded") };
    });
    const ends = await Promise.allSettled(played.map(({ here }) => here)).finally(() =>
      disk?.end(),
    );
    const failed = ends.filter(({ status }) => status === "rejected");
    if (disk === null || disk.failures === 0) assert.deepEqual(failed, []);
    for (const [index, { step, play, here }] of played.entries()) {
      if (ends[index]?.status === "rejected") continue;
      await this.#compare(step, await play(this.model, "model"), await here);
    }
    if (failed.length === 0) return;
    const areAppends = played.every(({ step }, index) => {
      return (ends[index]?.status === "rejected") === (step.kind === "append");
    });
    this.#succeeded.add(
      areAppends && failed.length < steps.length ? "appendFailed" : "roundFailed",
    );
  }

  /** The same operation for both, in the numbers of each. */
  #plan(step: Step): Play {
    const draw = drawFrom(step.draws);
    switch (step.kind) {
      case "append":
        return this.#planAppend(draw);
      case "claim":
      case "claimOld":
        return this.#planClaim(step.kind, draw);
      case "settle":
        return this.#planSettle(draw);
      case "skip":
        return this.#planSkip(draw);
      case "hasten":
      case "hastenOne":
        return this.#planHasten(step.kind, draw);
      default:
        return step.kind satisfies never;
    }
  }

  #planAppend(draw: Draw): Play {
    const now = this.#now;
    const subscriptions = [...this.#subscriptions.values()];
    const events = Array.from({ length: 1 + draw(4) }, () => {
      this.#eventsMade += 1;
      const text = "x".repeat(1 + draw(30));
      const publishedAt = now + 5 - draw(10);
      const event = makeEvent(`e${this.#eventsMade}`, { publishedAt, text });
      return { event, to: subscriptions.filter(() => draw(3) > 0) };
    });
    return (store, side) => {
      const routed = events.map(({ event, to }) => ({ event, to: to.map((twin) => twin[side]) }));
      return store.append(routed, now);
    };
  }

  #planClaim(kind: "claim" | "claimOld", draw: Draw): Play {
    const now = this.#now;
    const subscription = pick([...this.#subscriptions.values()], draw(100));
    const stage: Stage = draw(3) === 0 ? "deadLetter" : "deliver";
    const limits = { max: draw(6), charsMax: 1 + draw(80), now, leaseMs: 1 + draw(20) };
    const all = { max: 1e6, charsMax: 1e9, sinceBefore: now + 3 - draw(12) };
    const want: Want = kind === "claim" ? limits : { ...limits, ...all };
    return async (store, side) => {
      const queue = queueOf(subscription?.[side] ?? 0, stage);
      const look = { ...want, max: 0 };
      if (store.isShared === true)
        return [await store.claim(queue, want), await store.claim(queue, look)];
      return await Promise.all([store.claim(queue, want), store.claim(queue, look)]);
    };
  }

  #planSettle(draw: Draw): Play {
    const settles = Array.from({ length: 1 + draw(3) }, () => this.#planOneSettle(draw));
    const known = settles.filter((one) => one !== null);
    return async (store, side) => {
      const settlements = known.map(({ claimed, kind, more }): Settlement => {
        const delivery = claimed[side];
        if (kind === "due") return due(delivery, more);
        return { kind, delivery: delivery.id, lease: delivery.lease };
      });
      const answers = await store.settle(settlements);
      return known.map((one, index) => ({ ...one, counted: answers[index] }));
    };
  }

  /** There is never more waiting than one step drops. */
  #planSkip(draw: Draw): Play {
    const subscription = pick([...this.#subscriptions.values()], draw(100));
    const stage: Stage = draw(2) === 0 ? "deadLetter" : "deliver";
    return async (store, side) => {
      const { dropped } = await store.skip(queueOf(subscription?.[side] ?? 0, stage), null);
      return dropped;
    };
  }

  #planHasten(kind: "hasten" | "hastenOne", draw: Draw): Play {
    const now = this.#now;
    const subscription = pick([...this.#subscriptions.values()], draw(100));
    const claimed = pick(this.#claimed, this.#claimed.length - 1 - draw(8));
    const stage: Stage = draw(3) === 0 ? "deadLetter" : "deliver";
    return async (store, side) => {
      const isOne = kind === "hastenOne" && claimed !== undefined;
      const id = isOne ? claimed[side].id.subscription : (subscription?.[side] ?? 0);
      const event = isOne ? claimed[side].id.event : null;
      return await store.hasten(queueOf(id, stage), { event, now });
    };
  }

  #planOneSettle(draw: Draw): Settle | null {
    const now = this.#now;
    const claimed = pick(this.#claimed, this.#claimed.length - 1 - draw(8));
    const kind = pick(["gone", "back", "due", "due"] as const, draw(4));
    if (claimed === undefined || kind === undefined) return null;
    const more = {
      at: now + draw(15) - 5,
      stage: draw(3) === 0 ? "deadLetter" : "deliver",
      since: now - draw(5),
      attempts: draw(4),
      last:
        draw(2) === 0
          ? null
          : { at: now, number: 1 + draw(3), outcome: "Busy", status: draw(2) ? 503 : null },
      reason: draw(2) === 0 ? null : "because",
    } as const;
    return { claimed, kind, more };
  }

  async #compare(step: Step, model: unknown, embedded: unknown): Promise<void> {
    switch (step.kind) {
      case "append":
        this.#succeeded.add("append");
        return;
      case "claim":
      case "claimOld": {
        const [claims, looks] = [0, 1].map((index) => ({
          model: (model as Claim[])[index] as Claim,
          embedded: (embedded as Claim[])[index] as Claim,
        })) as [Twin<Claim>, Twin<Claim>];
        this.#compareClaims(step.kind, claims);
        this.#compareClaims(step.kind, looks);
        return;
      }
      case "settle":
        this.#compareSettled(model as Settled[], embedded as Settled[]);
        return;
      case "skip":
        assert.equal(embedded, model);
        if (model !== 0) this.#succeeded.add("skip");
        return;
      case "hasten":
      case "hastenOne":
        assert.deepEqual(embedded, model);
        if ((model as { hastened: number }).hastened > 0) this.#succeeded.add(step.kind);
    }
  }

  #compareClaims(kind: "claim" | "claimOld", claims: Twin<Claim>): void {
    const sorted = (side: Side) => {
      const { deliveries } = claims[side];
      if (kind === "claim") return deliveries;
      return deliveries.toSorted((a, b) => a.id.event - b.id.event);
    };
    const [model, embedded] = [sorted("model"), sorted("embedded")];
    assert.deepEqual(embedded.map(withoutNumbers), model.map(withoutNumbers));
    assert.deepEqual(this.#soon(claims.embedded), this.#soon(claims.model));
    for (const side of ["model", "embedded"] as const) {
      for (const { lease } of claims[side].deliveries) {
        assert.ok(lease > this.#latestLease[side], "leases grow");
        this.#latestLease[side] = lease;
      }
    }
    if (model.length > 0) this.#succeeded.add(kind);
    for (const [index, delivery] of model.entries()) {
      const twin = embedded[index] as Delivery;
      this.#claimed.push({ model: delivery, embedded: twin, wasPutBack: false });
    }
  }

  #compareSettled(model: readonly Settled[], embedded: readonly Settled[]): void {
    assert.deepEqual(
      embedded.map(({ counted }) => counted),
      model.map(({ counted }) => counted),
    );
    for (const { claimed, kind, more, counted } of model) {
      if (!counted) {
        this.#succeeded.add("ignored");
        continue;
      }
      if (claimed.wasPutBack && kind === "gone") this.#succeeded.add("late");
      claimed.wasPutBack = kind === "due";
      const isGivenUp = kind === "due" && more.stage !== claimed.model.stage;
      this.#succeeded.add(isGivenUp ? "givenUp" : kind);
    }
  }

  async #register(round: Extract<Round, { draws: readonly number[] }>): Promise<void> {
    const draw = drawFrom(round.draws);
    const topic = `topic-${draw(2)}`;
    const name = `name-${draw(3)}`;
    const cased = draw(2) === 0 ? topic : topic.toUpperCase();
    const key = round.kind === "putTopic" ? topic : `${topic}/${name}`;
    const known = this.#revisions.get(key) ?? [];
    // Mostly any revision, sometimes the latest and sometimes one that is over.
    const revision = draw(2) === 0 ? undefined : pick(known, known.length - 1 - draw(2));
    const act = async (store: WholeStore, side: Side) => {
      switch (round.kind) {
        case "putTopic":
          return await store.putTopic(topicDraft({ name: cased }), revision?.[side]);
        case "putSubscription": {
          const draft = subscriptionDraft({ topic: cased, name });
          return await store.putSubscription(draft, revision?.[side]);
        }
        case "removeTopic":
          return await store.removeTopic(cased);
        case "removeSubscription":
          return await store.removeSubscription(this.#subscriptions.get(key)?.[side] ?? 0);
      }
    };
    const model = await act(this.model, "model").catch(codeOf);
    const embedded = await act(this.embedded, "embedded").catch(codeOf);
    if (typeof model === "string" || typeof embedded === "string") {
      assert.equal(embedded, model);
      this.#succeeded.add("refused");
      return;
    }
    this.#succeeded.add(round.kind);
    const isRecord = (answer: object | boolean) =>
      typeof answer === "object" && "revision" in answer;
    if (!isRecord(model) || !isRecord(embedded)) {
      // Ids may differ; how many were deleted may not.
      const sizes = [model, embedded].map((gone) => (Array.isArray(gone) ? gone.length : gone));
      assert.equal(sizes[1], sizes[0]);
    } else {
      const latest = known.at(-1);
      const revisions = { model: model.revision, embedded: embedded.revision };
      if (latest !== undefined) assert.ok(revisions.embedded > latest.embedded, "revisions grow");
      this.#revisions.set(key, [...known, revisions]);
    }
    await this.#compareCatalogs();
  }

  async #compareCatalogs(): Promise<void> {
    const [model, embedded] = [await this.#follow("model"), await this.#follow("embedded")];
    assert.deepEqual(
      embedded.topics.map(({ revision: _, ...one }) => one),
      model.topics
        .map(({ revision: _, ...one }) => one)
        .toSorted((a, b) => a.name.toLowerCase().localeCompare(b.name.toLowerCase())),
    );
    const sides = [model, embedded].map(({ subscriptions }) =>
      subscriptions.map(({ id: _, revision: __, ...one }) => one),
    );
    assert.deepEqual(sides[1], sides[0]);
    this.#subscriptions.clear();
    for (const [index, one] of model.subscriptions.entries()) {
      const twin = { model: one.id, embedded: embedded.subscriptions[index]?.id as number };
      this.#subscriptions.set(`${one.topic.toLowerCase()}/${one.name}`, twin);
    }
  }

  /** The whole catalog, which notices and reading what they name lead to as well. */
  async #follow(side: Side): Promise<Catalog> {
    const live = this.#live[side];
    for (const names of this.#noted[side].splice(0)) {
      live.update(names, await this[side].catalog(names ?? undefined));
    }
    const catalog = await this[side].catalog();
    assert.deepEqual(new Set(live.topics), new Set(catalog.topics));
    assert.deepEqual(live.subscriptions, catalog.subscriptions);
    return catalog;
  }

  async #compareEverything(): Promise<void> {
    const ranked = async (side: Side) => {
      const ranks = [...this.#subscriptions.values()].map((twin) => twin[side]);
      return (await countsOf(this[side])).map((count) => ({
        ...count,
        subscription: ranks.indexOf(count.subscription),
      }));
    };
    assert.deepEqual(await ranked("embedded"), await ranked("model"));
    for (const twin of this.#subscriptions.values()) {
      for (const stage of ["deliver", "deadLetter"] as const) {
        const page = async (side: Side) => {
          const queue = queueOf(twin[side], stage);
          const waiting = await this[side].waiting(queue, { after: 0, limit: 1000 });
          const want = { max: 0, charsMax: 1, now: this.#now, leaseMs: 1 };
          const look = this.#soon(await this[side].claim(queue, want));
          return [waiting.map(withoutNumbers), look];
        };
        assert.deepEqual(await page("embedded"), await page("model"));
      }
    }
  }

  #soon({ nextDueAt }: Claim): Instant | null {
    return nextDueAt === null ? null : Math.max(nextDueAt, this.#now);
  }
}

function pick<T>(from: readonly T[], place: number): T | undefined {
  return from.length === 0 ? undefined : from[Math.abs(place) % from.length];
}

function codeOf(error: unknown): string {
  if (error instanceof Refusal) return error.code;
  throw error;
}

function withoutNumbers(delivery: Omit<Delivery, "lease" | "leasedUntil">): unknown {
  const { id: _, lease: __, ...rest } = delivery as Delivery;
  return rest;
}

/** One number after the other, each brought below its bound, and then again from the first. */
function drawFrom(draws: readonly number[]): Draw {
  let place = 0;
  return (bound) => {
    const drawn = draws[place % draws.length] as number;
    place += 1;
    return (drawn + place) % bound;
  };
}
