// One redrive from its order to its end. First it finds all its dead letters: what is dead-lettered
// again while it runs belongs to another redrive, so that none can feed itself. Then it reads them
// again one by one and sends them at its rate.
//
// To a subscription, an event is appended to the store like a published one, for that subscription
// only and without its filter; retries, health, pauses and dead letters then work as usual. To a
// URL it is sent once: the dead letter itself is kept, and can be sent again.
//
// What is about to be sent is stored, then counted, then sent. After a crash in between the count
// is one too high, and never too low, because the loop guard relies on it; a redrive that continues
// sends those few once more.

import type { RedriveView } from "../../core/api/views.ts";
import type { LetterPath } from "../../core/deadletter/letter-path.ts";
import {
  NewestLetters,
  redriveLimits,
  turnsOf,
  wasThereAt,
  whyNotAs,
} from "../../core/deadletter/redrive.ts";
import { type ProfileName, profiles } from "../../core/delivery/profile.ts";
import { isSuccess, outcomeName } from "../../core/delivery/retry.ts";
import type { Sink } from "../../core/delivery/sink.ts";
import type { Clock, Ids, Instant, Log, Meter, Store } from "../../core/ports.ts";
import { Refusal } from "../../core/refusal.ts";
import { Members } from "../../core/routing/members.ts";
import type { Chronicle } from "../../core/story/chronicle.ts";
import type { Subscription } from "../../core/subscription.ts";
import { isoInstant, sleep } from "../../core/text/time.ts";
import {
  countsOf,
  type FoundLetter,
  type LetterDeps,
  viewOf,
  type WholeLetter,
} from "./find-letters.ts";
import { type Ear, gatherLetters, heeding, lettersAt } from "./gather.ts";
import type { Order } from "./redrive-order.ts";
import { Progress } from "./redrive-progress.ts";
import type { RedriveProgress } from "./redrive-record.ts";
import {
  type Goal,
  handledKey,
  nameOf,
  notesOf,
  parcelOf,
  type Redrivable,
  routedOf,
  type SubscriptionGoal,
  type UrlGoal,
} from "./redrive-target.ts";

export interface RedriveDeps extends LetterDeps {
  readonly deliveries: Pick<Store, "append">;
  readonly sink: Sink;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly meter: Meter;
  readonly chronicle?: Pick<Chronicle, "note">;
  /** Which answers of a URL are a success, and the timeout. */
  readonly profile: ProfileName;
}

/** How often a full store is retried, and after how long. */
const triesMax = 5;
const retryMs = 1_000;

/** One redrive, which may have been stopped and go on. */
export interface RedriveJob {
  readonly id: string;
  readonly startedAt: Instant;
  /** What was done before it continues; null: it begins. */
  readonly before: RedriveProgress | null;
  /** Keeps how far it is. Durable when it resolves. */
  keep(progress: RedriveProgress): Promise<void>;
  /** Called after each change. */
  tell(view: RedriveView): void;
}

export class Redriving {
  readonly #deps: RedriveDeps;
  readonly #order: Order;
  readonly #job: RedriveJob;
  readonly #stop = new AbortController();
  #state: RedriveView["state"] = "running";
  #endedAt: Instant | null = null;
  readonly #progress: Progress;
  readonly #ear: Ear = {
    signal: this.#stop.signal,
    remark: (words) => this.#progress.remark(words),
    miss: (words) => this.#progress.miss(words),
    skip: (words) => this.#progress.skip(words),
  };
  readonly #over = Promise.withResolvers<void>();

  constructor(deps: RedriveDeps, order: Order, job: RedriveJob) {
    this.#deps = { ...deps, reader: heeding(deps.reader, this.#stop.signal) };
    this.#order = order;
    this.#job = job;
    this.#progress = new Progress(job.before ?? { sent: 0, failed: 0 });
  }

  /** Resolves when nothing of it is in progress any more. */
  get ended(): Promise<void> {
    return this.#over.promise;
  }

  get view(): RedriveView {
    return {
      id: this.#job.id,
      state: this.#state,
      startedAt: isoInstant(this.#job.startedAt),
      endedAt: this.#endedAt === null ? null : isoInstant(this.#endedAt),
      to: this.#order.target.words,
      perSecond: this.#order.perSecond,
      ...this.#progress.shown,
    };
  }

  /** Sends in flight end; the rest is not sent. */
  stop(): void {
    this.#stop.abort();
  }

  /** Never rejects because of a store or an endpoint. */
  async run(): Promise<void> {
    const { log } = this.#deps;
    const { target, perSecond, force } = this.#order;
    const { id, before } = this.#job;
    const named = { redrive: id, to: target.words };
    const name = before === null ? "redrive.started" : "redrive.resumed";
    log.fact("info", name, { ...named, perSecond, force });
    try {
      const places = await this.#find();
      await this.#send(places);
      const end = this.#progress.hasSeenNothing ? "failed" : "done";
      await this.#end(this.#stop.signal.aborted ? "stopped" : end);
    } catch (error) {
      this.#progress.remark(String(error));
      await this.#end("failed");
    }
    const { counts } = this.#progress;
    const level = this.#state === "done" && counts.failed === 0 ? "info" : "warn";
    log.fact(level, "redrive.ended", { ...named, state: this.#state, ...counts });
  }

  /** What would be sent, and what would not and why. */
  async tryOut(): Promise<void> {
    for await (const found of lettersAt(this.#deps, await this.#find(), this.#ear)) {
      if (this.#passageOf(found) !== null) this.#progress.show(viewOf(found.letter, found.times));
    }
    await this.#end("dryRun");
  }

  async #end(state: RedriveView["state"]): Promise<void> {
    this.#state = state;
    this.#endedAt = this.#deps.clock.now();
    try {
      await this.#keep([]);
    } catch (error) {
      const { id: redrive } = this.#job;
      this.#deps.log.fact("warn", "redrive.notKept", { redrive, error: String(error) });
    }
    this.#job.tell(this.view);
    this.#over.resolve();
  }

  /** `underWay`: events that are about to be sent. */
  async #keep(underWay: readonly string[]): Promise<void> {
    const { remarks } = this.#progress.shown;
    const state = this.#state;
    const at = this.#deps.clock.now();
    await this.#job.keep({ state, at, ...this.#progress.counts, remarks, underWay });
  }

  /** One letter for each event: its newest. */
  async #find(): Promise<readonly LetterPath[]> {
    const { lettersMax } = redriveLimits;
    const { letters } = this.#order;
    const newest = new NewestLetters<LetterPath>();
    const isByIds = letters.kind === "ids";
    for await (const found of gatherLetters(this.#deps, this.#order, this.#ear)) {
      for (const each of await this.#leftOf(found)) {
        const event = JSON.stringify([each.subscription, each.letter.source, each.letter.id]);
        const isAgain = newest.has(event);
        if (!isAgain && newest.size === lettersMax) {
          this.#ear.remark(`More than ${lettersMax} match; the rest is for another redrive.`);
          return this.#found(newest);
        }
        newest.add(event, each.letter, each.place);
        if (isAgain && isByIds) this.#ear.skip(`${nameOf(each)}: It is named twice.`);
      }
    }
    return this.#found(newest);
  }

  #found(newest: NewestLetters<LetterPath>): readonly LetterPath[] {
    const { letters } = this.#order;
    const { sent, failed } = this.#job.before ?? { sent: 0, failed: 0 };
    this.#progress.total =
      letters.kind === "ids" ? letters.places.length : sent + failed + newest.size;
    this.#job.tell(this.view);
    return newest.places();
  }

  /** A redrive that continues skips what it has sent, and what came since it began. */
  async #leftOf(found: readonly FoundLetter[]): Promise<readonly FoundLetter[]> {
    const { id, startedAt, before } = this.#job;
    if (before === null) return found;
    const old = found.filter(({ letter }) => wasThereAt(letter, startedAt));
    const keys = old.map((each) => handledKey(id, each));
    const times = await countsOf(this.#deps, keys);
    const again = new Set(before.underWay);
    return old.filter((_, index) => times[index] === 0 || again.has(keys[index] ?? ""));
  }

  async #send(places: readonly LetterPath[]): Promise<void> {
    const { clock } = this.#deps;
    const { together, gapMs } = turnsOf(this.#order.perSecond);
    let group: Redrivable[] = [];
    let nextAt = clock.now();
    const flush = async () => {
      await sleep(clock, Math.max(0, nextAt - clock.now()), this.#stop.signal);
      if (this.#stop.signal.aborted) return;
      // A late turn is not made up for by a burst.
      nextAt = Math.max(nextAt, clock.now()) + gapMs;
      await this.#sendGroup(group);
      group = [];
      this.#job.tell(this.view);
    };
    for await (const found of lettersAt(this.#deps, places, this.#ear)) {
      const passage = this.#passageOf(found);
      if (passage === null) continue;
      group.push(passage);
      if (group.length === together) await flush();
    }
    if (group.length > 0) await flush();
  }

  /** Null: it is skipped, and the reason is reported. */
  #passageOf({
    letter: found,
    times,
  }: {
    readonly letter: WholeLetter;
    readonly times: number;
  }): Redrivable | null {
    const skip = (why: string) => {
      this.#progress.skip(`${nameOf(found)}: ${why}`);
      return null;
    };
    const { timesMax } = redriveLimits;
    if (times >= timesMax && !this.#order.force) {
      return skip(`It has been sent again ${times} times; \`force\` sends it all the same.`);
    }
    const goal = this.#goalOf(found);
    if (typeof goal === "string") return skip(goal);
    if (goal.kind === "url") return { found, times, goal };
    const { subscription, topic } = goal;
    if (!subscription.isActive) return skip("The subscription is not active.");
    const why = whyNotAs(found.letter, topic.inputSchema, subscription.deliverySchema);
    return why === null ? { found, times, goal } : skip(why);
  }

  /** A sentence: why it cannot be sent. */
  #goalOf({ home }: FoundLetter): Goal | string {
    const { target } = this.#order;
    if (target.kind === "url") return target;
    if (target.kind === "home") {
      if (home.kind === "known") return { ...home, kind: "subscription" };
      return `${home.why} Name one with \`to\`.`;
    }
    const { subscriptions, topics } = this.#deps.catalog();
    const subscription = subscriptions.find(({ id }) => id === target.id);
    const topic = topics.find(({ name }) => name === subscription?.topic);
    if (subscription === undefined || topic === undefined) return `${target.words} has gone.`;
    return { kind: "subscription", subscription, topic };
  }

  async #sendGroup(group: readonly Redrivable[]): Promise<void> {
    const { redriven } = this.#deps;
    const { id } = this.#job;
    const notes = group.flatMap((passage) => notesOf(passage, id));
    const noted = await this.#insist(async () => {
      await this.#keep(group.map(({ found }) => handledKey(id, found)));
      await redriven.noteRedriven(notes);
    });
    if (noted.kind === "refused") {
      for (const { found } of group) this.#progress.fail(found, noted.why);
      return;
    }
    const toUrls = group.filter(isToUrl);
    await Promise.all([
      this.#append(group.filter(isToSubscription)),
      ...toUrls.map((passage) => this.#sendToUrl(passage)),
    ]);
  }

  async #append(group: readonly Redrivable<SubscriptionGoal>[]): Promise<void> {
    if (group.length === 0) return;
    const { deliveries, clock, ids, chronicle } = this.#deps;
    const at = clock.now();
    const routed = group.map((passage) => routedOf(passage, { ids, at }));
    const appended = await this.#insist(() => deliveries.append(routed, at));
    for (const [index, { found, goal }] of group.entries()) {
      if (appended.kind === "refused") {
        this.#progress.fail(found, appended.why);
        continue;
      }
      const { subscription } = goal;
      const { id, subject, type } = found.letter;
      const { event } = routed[index] as (typeof routed)[0];
      const number = appended.value[index] ?? null;
      chronicle?.note({
        ...{ kind: "accepted", at, event, id, subject, type, number },
        ...{ domainTopic: subscription.domainTopic, acceptedWith: "redrive" },
        ...{ to: [subscription.id], roll: new Members([subscription]) },
      });
      this.#count(subscription);
    }
  }

  /** A full store is retried for a while. */
  async #insist<T>(
    work: () => Promise<T>,
  ): Promise<{ kind: "done"; value: T } | { kind: "refused"; why: string }> {
    for (let tried = 1; ; tried++) {
      try {
        return { kind: "done", value: await work() };
      } catch (error) {
        const why = error instanceof Error ? error.message : String(error);
        if (tried === triesMax || this.#stop.signal.aborted) return { kind: "refused", why };
        const waitMs = error instanceof Refusal ? error.retryAfterMs : undefined;
        await sleep(this.#deps.clock, waitMs ?? retryMs, this.#stop.signal);
      }
    }
  }

  async #sendToUrl(passage: Redrivable<UrlGoal>): Promise<void> {
    const { sink, clock, ids } = this.#deps;
    const profile = profiles[this.#deps.profile];
    const { found } = passage;
    const { parcel, destination } = parcelOf(passage, { ids, at: clock.now() });
    const { waitMs } = profile;
    const limits = { waitMs, lateMs: waitMs, signal: this.#stop.signal };
    const outcome = await sink.send(parcel, destination, limits);
    if (isSuccess(profile, outcome)) {
      this.#count(found.home.kind === "known" ? found.home.subscription : null);
      return;
    }
    const status = outcome.kind === "answered" ? ` (${outcome.status})` : "";
    this.#progress.fail(found, `${outcomeName(outcome, profile)}${status}.`);
  }

  #count(subscription: Subscription | null): void {
    const { topic = "unknown", name = "unknown" } = subscription ?? {};
    this.#progress.sent += 1;
    this.#deps.meter.count("posthorn_redriven_events_total", { topic, subscription: name });
  }
}

function isToSubscription(passage: Redrivable): passage is Redrivable<SubscriptionGoal> {
  return passage.goal.kind === "subscription";
}

function isToUrl(passage: Redrivable): passage is Redrivable<UrlGoal> {
  return passage.goal.kind === "url";
}
