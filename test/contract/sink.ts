// What every destination must satisfy, whatever it speaks: a sink returns an outcome and never
// throws because of an endpoint, uses only our clock for timeouts, reports late answers, and stops
// at once when asked to. A destination's own test calls `sinkContract` with a world in which an
// endpoint of its kind does as it is told.

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { Delivery } from "../../src/core/delivery/delivery.ts";
import type { Outcome } from "../../src/core/delivery/outcome.ts";
import type { Parcel, Sink } from "../../src/core/delivery/sink.ts";
import type { Activity, Clock, Instant } from "../../src/core/ports.ts";
import type { Subscription } from "../../src/core/subscription.ts";
import { makeEvent, startAt, subscriptionDraft } from "./fixture.ts";

/**
 * What the endpoint does with a request: accept it, refuse it, close the connection, or never
 * answer.
 */
export type Behaviour = "accept" | "refuse" | "breakOff" | "hold";

export interface SinkWorld<D> {
  readonly sink: Sink<D> & { close(): Promise<void> };
  /** Where the endpoint is. */
  readonly destination: D;
  /** An address without a listener. */
  readonly nowhere: D;
  /** The texts of the events in each request that has reached the endpoint. */
  received(): readonly (readonly string[])[];
  /** From now on. At first the endpoint accepts. */
  behave(how: Behaviour): void;
  /** Resolves when so many requests have reached the endpoint. */
  reached(count: number): Promise<void>;
  /** Accepts all that is held. */
  release(): void;
  closeEndpoint(): Promise<void>;
  /** Where one request carries one event. */
  readonly carriesOne?: boolean;
  /** For clients that do not report a broken connection. */
  readonly breaksSilently?: boolean;
}

export type OpenSinkWorld<D> = (deps: {
  readonly clock: Clock;
  readonly activity: Activity;
}) => Promise<SinkWorld<D>>;

/** Time that a test moves. */
export class HandClock implements Clock {
  #now: Instant = startAt;
  readonly #alarms = new Set<{ readonly at: Instant; readonly ring: () => void }>();

  /** Alarms that have not rung and were not called off. */
  get alarms(): number {
    return this.#alarms.size;
  }

  now(): Instant {
    return this.#now;
  }

  after(ms: number, ring: () => void): () => void {
    const alarm = { at: this.#now + ms, ring };
    this.#alarms.add(alarm);
    return () => this.#alarms.delete(alarm);
  }

  advance(ms: number): void {
    const until = this.#now + ms;
    for (;;) {
      const [next] = [...this.#alarms].sort((a, b) => a.at - b.at);
      if (next === undefined || next.at > until) break;
      this.#now = next.at;
      this.#alarms.delete(next);
      next.ring();
    }
    this.#now = until;
  }
}

/** Counts what is in progress outside; ending something twice is an error. */
export class CountedActivity implements Activity {
  inside = 0;
  outside = 0;

  begin(kind: "inside" | "outside"): () => void {
    this[kind] += 1;
    let isOver = false;
    return () => {
      assert.ok(!isOver, "ended twice");
      isOver = true;
      this[kind] -= 1;
    };
  }
}

export interface ParcelDraft {
  readonly name?: string;
  /** Sends made before this one. */
  readonly attempts?: number;
  readonly dataVersion?: string;
}

/** A parcel of events with these texts. */
export function parcelOf(texts: readonly string[], draft: ParcelDraft = {}): Parcel {
  const { name = "warehouse", attempts = 0, dataVersion = "1.0" } = draft;
  const subscription: Subscription = { ...subscriptionDraft({ name }), id: 1, revision: 1 };
  const deliveries = texts.map(
    (text, index): Delivery => ({
      id: { event: index + 1, subscription: 1 },
      stage: "deliver",
      lease: 1,
      leasedUntil: startAt + 300_000,
      dueAt: startAt,
      attempts,
      since: startAt,
      last: null,
      reason: null,
      event: makeEvent(`event-${index + 1}`, { text, dataVersion }),
    }),
  );
  return { subscription, deliveries };
}

const parcel = parcelOf(['{"id":"a"}']);
const waitMs = 30_000;
const lateMs = 180_000;

export function sinkContract<D>(name: string, openWorld: OpenSinkWorld<D>): void {
  const open = async (t: TestContext) => {
    const clock = new HandClock();
    const activity = new CountedActivity();
    const world = await openWorld({ clock, activity });
    t.after(async () => {
      await world.sink.close();
      await world.closeEndpoint();
    });
    const never = new AbortController().signal;
    const send = (over: { to?: D; lateMs?: number; signal?: AbortSignal } = {}) =>
      world.sink.send(parcel, over.to ?? world.destination, {
        waitMs,
        lateMs: over.lateMs ?? lateMs,
        signal: over.signal ?? never,
      });
    /** Sends to an endpoint that does not answer, and waits until it has the request. */
    const sendHeld = async (over: { lateMs?: number; signal?: AbortSignal } = {}) => {
      world.behave("hold");
      const reached = world.reached(world.received().length + 1);
      const sent = watch(send(over));
      await reached;
      world.behave("accept");
      return sent;
    };
    return { ...world, clock, activity, send, sendHeld };
  };

  test(`${name}: what the endpoint accepts is answered, and every event has arrived`, async (t) => {
    const { sink, destination, received, clock, activity, carriesOne } = await open(t);
    const texts = ['{"id":"b","data":"ü"}', ...(carriesOne ? [] : ['{"id":"a"}'])];
    const signal = new AbortController().signal;
    const outcome = await sink.send(parcelOf(texts), destination, { waitMs, lateMs, signal });
    assert.equal(outcome.kind, "answered");
    assert.deepEqual(received(), [texts]);
    assert.equal(activity.outside, 0);
    assert.equal(clock.alarms, 0, "no alarm is left behind");
  });

  test(`${name}: a refusal is an answer too`, async (t) => {
    const { send, behave } = await open(t);
    const accepted = answeredOf(await send());
    behave("refuse");
    const refused = answeredOf(await send());
    assert.notEqual(refused.status, accepted.status);
  });

  test(`${name}: an endpoint that breaks off, or is not there, is no reply`, async (t) => {
    const { send, behave, reached, received, nowhere, clock, activity, breaksSilently } =
      await open(t);
    behave("breakOff");
    const broken = send({ lateMs: waitMs });
    await reached(received().length + 1);
    if (breaksSilently) clock.advance(waitMs);
    assert.equal((await broken).kind, "noReply");
    assert.equal((await send({ to: nowhere })).kind, "noReply");
    behave("accept");
    assert.equal((await send()).kind, "answered", "and one that comes back is found again");
    assert.equal(activity.outside, 0);
    assert.equal(clock.alarms, 0);
  });

  test(`${name}: the wait ends when the clock says so, and not before (P-2)`, async (t) => {
    const { send, sendHeld, clock, activity } = await open(t);
    const held = await sendHeld({ lateMs: waitMs });
    clock.advance(waitMs - 1);
    assert.equal((await send()).kind, "answered");
    assert.equal(held.isSettled, false);
    assert.equal(activity.outside, 1);
    clock.advance(1);
    assert.equal(activity.outside, 0);
    const { why, late } = noReplyOf(await held.outcome);
    assert.equal(why, "timeout");
    assert.equal(late, undefined, "there is no later than the wait");
    assert.equal(clock.alarms, 0);
  });

  test(`${name}: a success that comes late is told (R-4, P-3)`, async (t) => {
    const { sendHeld, release, clock, activity } = await open(t);
    const held = await sendHeld();
    clock.advance(waitMs);
    const { why, late } = noReplyOf(await held.outcome);
    assert.equal(why, "timeout");
    assert.equal(activity.outside, 0, "time does not wait for what is late");
    clock.advance(lateMs - waitMs - 1);
    release();
    assert.equal((await late)?.kind, "answered");
    assert.equal(clock.alarms, 0);
  });

  test(`${name}: what does not come until the late limit does not come (R-4, P-3)`, async (t) => {
    const { send, sendHeld, release, clock } = await open(t);
    const held = await sendHeld();
    clock.advance(waitMs);
    const { late } = noReplyOf(await held.outcome);
    clock.advance(lateMs - waitMs);
    release();
    assert.equal(await late, null);
    assert.equal((await send()).kind, "answered", "and the next send is not disturbed");
  });

  test(`${name}: an abort breaks off its own sends and no others`, async (t) => {
    const { sendHeld, release, clock, activity } = await open(t);
    const stop = new AbortController();
    const mine = await sendHeld({ signal: stop.signal });
    const other = await sendHeld();
    stop.abort();
    assert.equal(noReplyOf(await mine.outcome).why, "canceled");
    release();
    assert.equal((await other.outcome).kind, "answered");
    assert.equal(activity.outside, 0);
    assert.equal(clock.alarms, 0);
  });

  test(`${name}: after an abort nothing is sent any more`, async (t) => {
    const { send, received } = await open(t);
    assert.equal(noReplyOf(await send({ signal: AbortSignal.abort() })).why, "canceled");
    assert.equal((await send()).kind, "answered");
    assert.equal(received().length, 1);
  });

  test(`${name}: an abort ends the waiting for a late answer`, async (t) => {
    const { sendHeld, clock } = await open(t);
    const stop = new AbortController();
    const held = await sendHeld({ signal: stop.signal });
    clock.advance(waitMs);
    const { late } = noReplyOf(await held.outcome);
    stop.abort();
    assert.equal(await late, null);
    assert.equal(clock.alarms, 0);
  });

  test(`${name}: closing breaks off what is open, and may be done twice`, async (t) => {
    const { send, sendHeld, sink, clock, activity } = await open(t);
    const late = await sendHeld();
    clock.advance(waitMs);
    const told = noReplyOf(await late.outcome);
    const held = await sendHeld();
    await Promise.all([sink.close(), sink.close()]);
    assert.equal(noReplyOf(await held.outcome).why, "canceled");
    assert.equal(await told.late, null);
    assert.equal(noReplyOf(await send()).why, "canceled");
    await sink.close();
    assert.equal(activity.outside, 0);
    assert.equal(clock.alarms, 0);
  });
}

export function answeredOf(outcome: Outcome): Extract<Outcome, { kind: "answered" }> {
  assert.ok(outcome.kind === "answered", `answered, not ${JSON.stringify(outcome)}`);
  return outcome;
}

export function noReplyOf(outcome: Outcome): Extract<Outcome, { kind: "noReply" }> {
  assert.ok(outcome.kind === "noReply", `no reply, not ${JSON.stringify(outcome)}`);
  return outcome;
}

interface Watched {
  readonly outcome: Promise<Outcome>;
  isSettled: boolean;
}

/** Wrapped, because a promise handed over by `await` would be waited for. */
function watch(outcome: Promise<Outcome>): Watched {
  const watched: Watched = { outcome, isSettled: false };
  void outcome.then(() => {
    watched.isSettled = true;
  });
  return watched;
}
