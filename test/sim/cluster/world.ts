// Two or three brokers at once on one simulated database, with crashes, freezes, cuts and clocks
// that differ; first everything that can go wrong may, then all is well and everything must come to
// its end. What was sent by whom is written down, and held against the law at the end (laws.ts).

import { slotOf } from "../../../src/core/cluster/slot.ts";
import type { Outcome } from "../../../src/core/delivery/outcome.ts";
import type { Parcel, Sink } from "../../../src/core/delivery/sink.ts";
import { Refusal } from "../../../src/core/refusal.ts";
import type { Request } from "../../../src/core/request.ts";
import {
  type Destination,
  endpointOf,
  plainSubscription,
  type Subscription,
  type SubscriptionDraft,
} from "../../../src/core/subscription.ts";
import { isoInstant } from "../../../src/core/text/time.ts";
import { plainTopic } from "../../../src/core/topic.ts";
import { seededChance } from "../../../src/runtime/chance.ts";
import { seededIds } from "../../../src/runtime/ids.ts";
import { usualRhythm } from "../../../src/store/cluster/slot-keeper.ts";
import { assemble, type Rooms } from "../../../src/wiring.ts";
import { SimClock } from "../clock.ts";
import { Dice } from "../dice.ts";
import { SimDatabase } from "./database.ts";
import { judgeCluster } from "./laws.ts";
import { Process } from "./process.ts";

const startAt = Date.UTC(2030, 0, 1);
const minuteMs = 60_000;
/** When all is well, everything ends within this: the longest wait of an unhealthy endpoint. */
const calmMsMax = 6 * 60 * minuteMs;

export interface ClusterSend {
  readonly process: Process;
  readonly subscription: number;
  readonly endpoint: string;
  readonly events: readonly string[];
  readonly begunAt: number;
  endedAt: number;
  isTaken: boolean;
  /** Who owned the slot at this moment, by the database. */
  readonly owner: string | null;
  /** How long before it was due, if it was. */
  readonly earlyMs: number;
}

export interface ClusterPublish {
  readonly id: string;
  readonly askedAt: number;
  answeredAt: number;
  isAccepted: boolean;
  /** Subscriptions that were in force throughout. */
  wanted: readonly number[];
}

export interface ClusterHold {
  readonly subscription: number;
  readonly process: Process;
  readonly from: number;
  until: number;
}

export interface ClusterRun {
  readonly seed: number;
  readonly brokers: number;
  readonly processes: readonly Process[];
  readonly sends: readonly ClusterSend[];
  readonly publishes: readonly ClusterPublish[];
  readonly holds: readonly ClusterHold[];
  /** Deleted on the way: what waited for them is dropped. */
  readonly removed: ReadonlySet<number>;
  /** What waits though all is well. */
  readonly left: number;
  readonly faults: readonly string[];
  readonly simulatedMs: number;
}

export interface ClusterReport extends ClusterRun {
  readonly violations: readonly string[];
}

export async function simulateCluster(seed: number, brokers: number): Promise<ClusterReport> {
  const run = await new ClusterWorld(seed, brokers).run();
  return { ...run, violations: judgeCluster(run) };
}

interface Seat {
  process: Process;
  rooms: Rooms | null;
  isStopping: boolean;
}

class ClusterWorld {
  readonly #seed: number;
  readonly #count: number;
  readonly #clock = new SimClock(startAt, () => {});
  readonly #dice: Dice;
  readonly #database: SimDatabase;
  readonly #seats: Seat[] = [];
  readonly #processes: Process[] = [];
  readonly #sends: ClusterSend[] = [];
  readonly #publishes: ClusterPublish[] = [];
  readonly #holds: ClusterHold[] = [];
  readonly #faults: string[] = [];
  /** By subscription: since when it is in force. */
  readonly #inForce = new Map<number, number>();
  /** Who is being changed: others may or may not see it. */
  readonly #unsettled = new Set<number>();
  readonly #removed = new Set<number>();
  readonly #troubleMs: number;
  readonly #failing: number;
  #isCalm = false;
  #started = 0;

  constructor(seed: number, count: number) {
    this.#seed = seed;
    this.#count = count;
    this.#dice = new Dice(seed, "cluster");
    this.#database = new SimDatabase(this.#clock, new Dice(seed, "database"));
    this.#troubleMs = this.#dice.spread(2 * minuteMs, 15 * minuteMs);
    this.#failing = this.#dice.pick([0, 0.1, 0.4]);
  }

  async run(): Promise<ClusterRun> {
    const { bare } = this.#database;
    await bare.putTopic({ ...plainTopic, name: "orders", key1: "a", key2: "b", origin: "api" });
    for (let seat = 0; seat < this.#count; seat += 1) this.#start(seat);
    await this.#clock.run(startAt + 5_000);
    const names = this.#dice.whole(2, 8);
    for (let number = 1; number <= names; number += 1) void this.#subscribe(`sub-${number}`);
    this.#schedule();
    await this.#clock.run(startAt + this.#troubleMs);
    this.#isCalm = true;
    for (const { process } of this.#seats) {
      if (process.isFrozen) process.thaw();
      if (process.isCut) process.join();
    }
    await this.#clock.run(this.#clock.now() + 2 * minuteMs);
    await this.#letGo();
    const until = this.#clock.now() + calmMsMax;
    let left = await this.#waiting();
    while (left > 0 && this.#clock.now() < until) {
      await this.#clock.run(this.#clock.now() + 10 * minuteMs);
      left = await this.#waiting();
    }
    await this.#finish();
    return {
      ...{ seed: this.#seed, brokers: this.#count, processes: this.#processes },
      ...{ sends: this.#sends, publishes: this.#publishes, holds: this.#holds, left },
      removed: this.#removed,
      ...{ faults: this.#faults, simulatedMs: this.#clock.now() - startAt },
    };
  }

  async #waiting(): Promise<number> {
    return (await this.#database.bare.counts()).reduce((sum, { waiting }) => sum + waiting, 0);
  }

  /** Politely, one after the other: the last one leaves nothing behind. */
  async #finish(): Promise<void> {
    const slots = this.#database.table.rows().map(({ owner }) => owner);
    for (const { process } of this.#seats) {
      const share = slots.filter((owner) => owner === process.name).length;
      const fair = slots.length / this.#count;
      if (Math.abs(share - fair) > 1) this.#faults.push(`${process.name} owns ${share} slots`);
    }
    for (const seat of this.#seats) {
      const why = seat.rooms?.whyNotReady() ?? "it is not running";
      if (seat.rooms === null || seat.rooms.whyNotReady() !== null) this.#faults.push(why);
      let isClosed = false;
      void seat.rooms?.close(new AbortController().signal).then(() => {
        isClosed = true;
      });
      await this.#clock.run(this.#clock.now() + minuteMs);
      if (!isClosed) this.#faults.push(`${seat.process.name} does not stop in calm`);
    }
    if (this.#database.table.rows().some(({ owner }) => owner !== null)) {
      this.#faults.push("slots are owned though nobody is there");
    }
  }

  // Processes.

  #start(index: number): void {
    this.#started += 1;
    const name = `broker-${this.#started}`;
    const dice = new Dice(this.#seed, name);
    const skewMs = dice.pick([0, 0, -3_000, 3_000, 30_000]);
    const process = new Process(name, { clock: this.#clock, dice, skewMs });
    this.#processes.push(process);
    const seat: Seat = { process, rooms: null, isStopping: false };
    this.#seats[index] = seat;
    const log = {
      fact: (_level: string, fact: string, fields: Readonly<Record<string, unknown>>) => {
        if (fact === "dispatcher.broken") this.#faults.push(`${name}: ${fields.error}`);
      },
    };
    const store = this.#database.open(process, { log, rhythm: usualRhythm });
    assemble(
      {
        ...{ store, log, clock: process.clock, sink: this.#sink(process), deadLetterSink: null },
        ...{ chance: seededChance(this.#seed), ids: seededIds(this.#seed + this.#started) },
        meter: { count: () => {} },
      },
      { profile: "azure", auth: false, defaults: {}, endpointSendsMax: 3 },
    ).then(
      (rooms) => {
        seat.rooms = rooms;
      },
      // As with a real start that fails, somebody starts it again.
      () => this.#restart(index, process, () => process.crash()),
    );
  }

  #restart(index: number, process: Process, end: () => void): void {
    if (!process.isAlive) return;
    end();
    this.#clock.after(this.#dice.spread(100, 30_000), () => this.#start(index));
  }

  #ready(): Seat | null {
    const ready = this.#seats.filter(
      ({ process, rooms, isStopping }) =>
        rooms !== null && process.isAlive && !process.isFrozen && !isStopping,
    );
    return ready.length === 0 ? null : this.#dice.pick(ready);
  }

  #sink(process: Process): Sink {
    const dice = new Dice(this.#seed, `endpoints of ${process.name}`);
    return {
      send: (parcel, destination, { waitMs, signal }) => {
        const send = this.#note(process, parcel, destination);
        const { promise, resolve } = Promise.withResolvers<Outcome>();
        const end = (outcome: Outcome, isTaken: boolean) => {
          if (send.endedAt !== Number.POSITIVE_INFINITY) return;
          send.endedAt = this.#clock.now();
          send.isTaken = isTaken;
          resolve(outcome);
        };
        const isFailing = !this.#isCalm && dice.isHit(this.#failing);
        const tookMs = dice.isHit(0.7) ? dice.whole(1, 50) : dice.spread(50, 20_000);
        const isHanging = isFailing && dice.isHit(0.3);
        if (isHanging) {
          this.#clock.after(waitMs, () => end({ kind: "noReply", why: "timeout" }, false));
        } else {
          const status = isFailing ? dice.pick([500, 503, 429]) : 200;
          this.#clock.after(tookMs, () => end({ kind: "answered", status }, status === 200));
        }
        signal.addEventListener("abort", () => end({ kind: "noReply", why: "canceled" }, false));
        return process.hear(promise);
      },
    };
  }

  #note(process: Process, { subscription, deliveries }: Parcel, to: Destination): ClusterSend {
    const now = this.#clock.now();
    const dues = deliveries.map(
      ({ id }) => this.#database.dueAt.get(`${id.event}/${id.subscription}`) ?? 0,
    );
    const send: ClusterSend = {
      ...{ process, subscription: subscription.id, endpoint: endpointOf(to) },
      events: deliveries.map(({ event }) => JSON.parse(event.text).id as string),
      ...{ begunAt: now, endedAt: Number.POSITIVE_INFINITY, isTaken: false },
      owner: this.#database.ownerOf(slotOf(to)),
      earlyMs: Math.max(...dues) - now,
    };
    this.#sends.push(send);
    return send;
  }

  // What people do.

  #schedule(): void {
    const dice = this.#dice;
    const at = () => dice.whole(1_000, this.#troubleMs - 6_000);
    const times = (most: number, act: () => void) => {
      for (let count = dice.whole(0, most); count > 0; count -= 1) this.#clock.after(at(), act);
    };
    for (let count = dice.whole(10, 60); count > 0; count -= 1) {
      this.#clock.after(at(), () => void this.#publish());
    }
    times(6, () => void this.#subscribe(`sub-${dice.whole(1, 9)}`));
    times(4, () => void this.#hold());
    times(5, () =>
      this.#strike((index, process) => {
        this.#restart(index, process, () => process.crash());
      }),
    );
    times(3, () => this.#strike((index) => void this.#stop(index)));
    times(5, () => this.#strike((_, process) => this.#freeze(process)));
    times(5, () => this.#strike((_, process) => this.#cut(process)));
  }

  #strike(act: (index: number, process: Process) => void): void {
    const index = this.#dice.whole(0, this.#count - 1);
    const seat = this.#seats[index];
    if (seat === undefined || this.#isCalm || seat.isStopping) return;
    const { process } = seat;
    if (process.isAlive && !process.isFrozen && !process.isCut) act(index, process);
  }

  #freeze(process: Process): void {
    process.freeze();
    this.#clock.after(this.#dice.spread(500, 40_000), () => {
      if (process.isFrozen) process.thaw();
    });
  }

  #cut(process: Process): void {
    process.cut();
    this.#clock.after(this.#dice.spread(200, 40_000), () => {
      if (process.isCut) process.join();
    });
  }

  async #stop(index: number): Promise<void> {
    const seat = this.#seats[index];
    if (seat?.rooms == null) return;
    seat.isStopping = true;
    const { process } = seat;
    const abort = new AbortController();
    this.#clock.after(this.#dice.pick([0, 1_000, 20_000]), () => abort.abort());
    const from = this.#clock.now();
    await seat.rooms.close(abort.signal);
    if (abort.signal.aborted)
      process.disturbances.push({ kind: "stop", from, until: this.#clock.now() });
    this.#restart(index, process, () => process.stopped());
  }

  async #publish(): Promise<void> {
    const seat = this.#ready();
    if (seat === null) return;
    const id = `e${this.#publishes.length + 1}`;
    const askedAt = this.#clock.now();
    const wanted = [...this.#inForce]
      .filter(([one]) => !this.#unsettled.has(one))
      .map(([one]) => one);
    const publish = { id, askedAt, answeredAt: askedAt, isAccepted: false, wanted };
    this.#publishes.push(publish);
    const route = seat.rooms?.routes.find(
      ({ method, path }) => method === "POST" && path.startsWith("/topics/:topic/"),
    );
    const events = [
      {
        ...{ id, subject: "s", eventType: "t", dataVersion: "1", data: {} },
        eventTime: isoInstant(askedAt),
      },
    ];
    const request: Request = {
      ...{ method: "POST", scheme: "https", remote: "127.0.0.1", params: { topic: "orders" } },
      ...{ query: {}, headers: {}, body: Buffer.from(JSON.stringify(events)) },
    };
    try {
      const reply = await route?.handle(request);
      publish.isAccepted = reply?.status === 200;
    } catch (error) {
      if (!(error instanceof Refusal)) this.#faults.push(`publish: ${error}`);
      else if (!["Unavailable", "TooManyRequests", "NotFound"].includes(error.code)) {
        this.#faults.push(`publish: ${error.code} ${error.message}`);
      }
    }
    publish.answeredAt = this.#clock.now();
    // Whoever was removed or changed in between may or may not get it.
    publish.wanted = publish.wanted.filter(
      (one) => (this.#inForce.get(one) ?? Number.POSITIVE_INFINITY) <= askedAt,
    );
  }

  /** Creates it, gives it another destination, or deletes it, at any broker. */
  async #subscribe(name: string): Promise<void> {
    const seat = this.#ready();
    if (seat === null) return;
    const { store } = this.#seatStore(seat);
    const known = seat.rooms?.catalog().named({ topic: "orders", domainTopic: null, name });
    if (known !== undefined) {
      this.#unsettled.add(known.id);
      this.#inForce.delete(known.id);
    }
    try {
      if (known !== undefined && this.#dice.isHit(0.3)) {
        this.#removed.add(known.id);
        await store.removeSubscription(known.id);
        return;
      }
      const url = `http://endpoint-${this.#dice.whole(1, 5)}.test/`;
      const { flow, pauses } = known ?? plainSubscription;
      const draft: SubscriptionDraft = {
        ...{ ...plainSubscription, flow, pauses, topic: "orders", name },
        ...{ destination: { kind: "webhook", url }, origin: "api" },
      };
      const written: Subscription = await store.putSubscription(draft, known?.revision ?? 0);
      await seat.rooms?.refresh();
      this.#unsettled.delete(written.id);
      this.#inForce.set(written.id, this.#clock.now());
    } catch (error) {
      if (!(error instanceof Refusal)) this.#faults.push(`subscribe: ${error}`);
    }
  }

  /** A pause that is answered holds wherever it was asked for. */
  async #hold(): Promise<void> {
    const seat = this.#ready();
    const subscriptions = seat?.rooms?.catalog().subscriptions ?? [];
    if (seat === null || subscriptions.length === 0) return;
    const { id } = this.#dice.pick(subscriptions);
    try {
      await seat.rooms?.operator.pause(id);
      const from = this.#clock.now();
      const hold = {
        subscription: id,
        process: seat.process,
        from,
        until: Number.POSITIVE_INFINITY,
      };
      this.#holds.push(hold);
      this.#clock.after(this.#dice.spread(2_000, 60_000), () => void this.#resume(hold));
    } catch (error) {
      if (!(error instanceof Refusal)) this.#faults.push(`pause: ${error}`);
    }
  }

  async #resume(hold: ClusterHold): Promise<void> {
    const seat = this.#ready();
    for (const one of this.#holds) {
      if (one.subscription !== hold.subscription) continue;
      one.until = Math.min(one.until, this.#clock.now());
    }
    await seat?.rooms?.operator.resume(hold.subscription).catch(() => {});
  }

  /** All is well: nothing stays paused. */
  async #letGo(): Promise<void> {
    const { subscriptions } = await this.#database.bare.catalog();
    for (const { id, flow } of subscriptions) {
      if (flow.kind === "running") continue;
      const seat = this.#ready();
      for (const hold of this.#holds) hold.until = Math.min(hold.until, this.#clock.now());
      void seat?.rooms?.operator.resume(id).catch((error) => {
        this.#faults.push(`resume in calm: ${error}`);
      });
    }
    await this.#clock.run(this.#clock.now() + minuteMs);
  }

  #seatStore(seat: Seat) {
    return { store: this.#database.storeOf(seat.process.name) };
  }
}
