// One redrive from its order to its end. First it finds its letters, all of them: what is
// dead-lettered again while it runs belongs to another redrive, so that none can feed itself. Then
// it reads them again in turn and sends them at its pace.
//
// To a subscription an event is appended to the store like any published one, for that subscription
// alone and past its filter; from there on retries, health, pauses and dead letters are as ever. To
// a URL it is sent once: the letter itself is the copy that is kept, and can be sent again.
//
// The crash line: an event is counted before it is sent. A crash in between has counted one too
// many, and never one too few, for the guard against loops relies on it.

import type { RedriveView } from "../../core/api/views.ts";
import type { LetterPath } from "../../core/deadletter/letter-path.ts";
import { redriveLimits, turnsOf, whyNotAs } from "../../core/deadletter/redrive.ts";
import { type ProfileName, profiles } from "../../core/delivery/profile.ts";
import { isSuccess, outcomeName } from "../../core/delivery/retry.ts";
import type { Clock, Ids, Instant, Log, Meter, Sink, Store } from "../../core/ports.ts";
import { Refusal } from "../../core/refusal.ts";
import type { Chronicle } from "../../core/story/chronicle.ts";
import type { Subscription } from "../../core/subscription.ts";
import { isoInstant, sleep } from "../../core/text/time.ts";
import type { FoundLetter, LetterDeps } from "./find-letters.ts";
import { type Ear, gatherLetters, heeding, lettersAt } from "./gather.ts";
import type { Order } from "./redrive-order.ts";
import { Progress } from "./redrive-progress.ts";
import {
  type Goal,
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
  /** Which answers of a URL are a success, and how long one is waited for. */
  readonly profile: ProfileName;
}

/** How often a store that has no room is asked, and after how long again. */
const triesMax = 5;
const retryMs = 1_000;

export class Redriving {
  readonly #deps: RedriveDeps;
  readonly #order: Order;
  readonly #tell: (view: RedriveView) => void;
  readonly #stop = new AbortController();
  readonly #startedAt: Instant;
  readonly #id: string;
  #state: RedriveView["state"] = "running";
  #endedAt: Instant | null = null;
  readonly #progress = new Progress();
  readonly #ear: Ear = {
    signal: this.#stop.signal,
    remark: (words) => this.#progress.remark(words),
    miss: (words) => this.#progress.miss(words),
    skip: (words) => this.#progress.skip(words),
  };
  readonly #over = Promise.withResolvers<void>();

  /** `tell` is called after each change. */
  constructor(deps: RedriveDeps, order: Order, tell: (view: RedriveView) => void) {
    this.#deps = { ...deps, reader: heeding(deps.reader, this.#stop.signal) };
    this.#order = order;
    this.#tell = tell;
    this.#startedAt = deps.clock.now();
    this.#id = deps.ids.next();
  }

  get isRunning(): boolean {
    return this.#state === "running";
  }

  /** Resolves when nothing of it is under way any more. */
  get ended(): Promise<void> {
    return this.#over.promise;
  }

  get view(): RedriveView {
    return {
      id: this.#id,
      state: this.#state,
      startedAt: isoInstant(this.#startedAt),
      endedAt: this.#endedAt === null ? null : isoInstant(this.#endedAt),
      to: this.#order.target.words,
      perSecond: this.#order.perSecond,
      ...this.#progress.shown,
    };
  }

  /** What is under way ends; what is left is not sent. */
  stop(): void {
    this.#stop.abort();
  }

  /** Never rejects for something the world did. */
  async run(): Promise<void> {
    const { log } = this.#deps;
    const { target, perSecond, force } = this.#order;
    const named = { redrive: this.#id, to: target.words };
    log.fact("info", "redrive.started", { ...named, perSecond, force });
    try {
      const places = await this.#find();
      await this.#send(places);
      const end = this.#progress.hasSeenNothing ? "failed" : "done";
      this.#end(this.#stop.signal.aborted ? "stopped" : end);
    } catch (error) {
      this.#progress.remark(String(error));
      this.#end("failed");
    }
    const { counts } = this.#progress;
    const level = this.#state === "done" && counts.failed === 0 ? "info" : "warn";
    log.fact(level, "redrive.ended", { ...named, state: this.#state, ...counts });
  }

  /** What would be sent, and what would not and why. */
  async tryOut(): Promise<void> {
    let found = 0;
    for await (const letter of gatherLetters(this.#deps, this.#order, this.#ear)) {
      found += 1;
      if (this.#passageOf(letter) !== null) this.#progress.show(letter.view);
    }
    const { letters } = this.#order;
    this.#progress.total = letters.kind === "ids" ? letters.places.length : found;
    this.#end("dryRun");
  }

  #end(state: RedriveView["state"]): void {
    this.#state = state;
    this.#endedAt = this.#deps.clock.now();
    this.#tell(this.view);
    this.#over.resolve();
  }

  async #find(): Promise<readonly LetterPath[]> {
    const { letters } = this.#order;
    if (letters.kind === "ids") {
      this.#progress.total = letters.places.length;
      return letters.places;
    }
    const places: LetterPath[] = [];
    for await (const { place } of gatherLetters(this.#deps, this.#order, this.#ear)) {
      this.#progress.total = places.push(place);
    }
    this.#tell(this.view);
    return places;
  }

  async #send(places: readonly LetterPath[]): Promise<void> {
    const { clock } = this.#deps;
    const { together, gapMs } = turnsOf(this.#order.perSecond);
    let group: Redrivable[] = [];
    let nextAt = clock.now();
    const flush = async () => {
      await sleep(clock, Math.max(0, nextAt - clock.now()), this.#stop.signal);
      if (this.#stop.signal.aborted) return;
      // A turn that came late is not made up for by a burst.
      nextAt = Math.max(nextAt, clock.now()) + gapMs;
      await this.#sendGroup(group);
      group = [];
      this.#tell(this.view);
    };
    for await (const found of lettersAt(this.#deps, places, this.#ear)) {
      const passage = this.#passageOf(found);
      if (passage === null) continue;
      group.push(passage);
      if (group.length === together) await flush();
    }
    if (group.length > 0) await flush();
  }

  /** Null: it is skipped, and why is told. */
  #passageOf(found: FoundLetter): Redrivable | null {
    const { view, letter } = found;
    const skip = (why: string) => {
      this.#progress.skip(`${nameOf(view, letter)}: ${why}`);
      return null;
    };
    const { timesMax } = redriveLimits;
    if (view.redriven >= timesMax && !this.#order.force) {
      return skip(
        `It has been sent again ${view.redriven} times; \`force\` sends it all the same.`,
      );
    }
    const goal = this.#goalOf(found);
    if (typeof goal === "string") return skip(goal);
    if (goal.kind === "url") return { found, goal };
    const { subscription, topic } = goal;
    if (!subscription.isActive) return skip("The subscription is not active.");
    const why = whyNotAs(letter, topic.inputSchema, subscription.deliverySchema);
    return why === null ? { found, goal } : skip(why);
  }

  /** A sentence: it goes nowhere. */
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
    const noted = await this.#insist(() => redriven.noteRedriven(group.flatMap(notesOf)));
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
      chronicle?.note({
        ...{ kind: "accepted", at, event, id, subject, type, number: appended.value + index },
        ...{ domainTopic: subscription.domainTopic, acceptedWith: "redrive" },
        ...{ to: [subscription.id], roll: { members: [subscription] } },
      });
      this.#count(subscription);
    }
  }

  /** A store without room is asked again for a while. */
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
