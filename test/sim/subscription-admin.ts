// Whoever manages subscriptions in the simulated world: makes them at the start, then adds, changes
// and removes some, one change at a time. Each change is written into the journal with the time it
// took, because a publish that comes in between may see the old state or the new one.

import { profileNames } from "../../src/core/delivery/profile.ts";
import type { Clock } from "../../src/core/ports.ts";
import { filterForAll } from "../../src/core/routing/filter.ts";
import { plainSubscription, type SubscriptionDraft } from "../../src/core/subscription.ts";
import { plainTopic } from "../../src/core/topic.ts";
import type { Everything, Life } from "./broker-life.ts";
import { Dice } from "./dice.ts";
import type { Journal, Version } from "./journal.ts";
import type { Weather } from "./weather.ts";

export const eventTypes = ["order.made", "order.paid", "Stock.Low"] as const;
export const subjects = ["/shop/a/1", "/shop/b/22", "/Shop/A/3", "/depot/7"] as const;

const minuteMs = 60_000;

export interface SubscriptionAdminOptions {
  readonly weather: Weather;
  readonly journal: Journal;
  readonly clock: Clock;
  /** The life that is ready for work now, or null. */
  readonly life: () => { readonly life: Life; readonly store: Everything } | null;
}

export class SubscriptionAdmin {
  readonly topics: readonly string[];
  readonly #options: SubscriptionAdminOptions;
  readonly #dice: Dice;
  readonly #splitDice: Dice;
  /** The state of each subscription, by its name; what is asked for last comes last. */
  readonly #current = new Map<string, Version>();
  /** A change whose end nobody has seen yet. */
  #open: { readonly from: Version; readonly to: Version } | null = null;
  #made = 0;

  constructor(options: SubscriptionAdminOptions) {
    this.#options = options;
    this.#dice = new Dice(options.weather.seed, "desk");
    this.#splitDice = new Dice(options.weather.seed, "halving");
    this.topics = Array.from(
      { length: options.weather.topics },
      (_, index) => `topic-${index + 1}`,
    );
  }

  /** Before the first life, straight into the store. */
  async furnish(bare: Everything): Promise<void> {
    const { weather, journal } = this.#options;
    for (const name of this.topics) {
      const profile = this.#dice.isHit(0.5) ? null : this.#dice.pick(profileNames);
      journal.topicProfiles.set(name, profile ?? weather.profile);
      await bare.putTopic({
        ...plainTopic,
        name,
        key1: `${name}-key`,
        key2: "other",
        profile,
        origin: "api",
      });
    }
    for (let count = 0; count < weather.subscriptions; count += 1) {
      const draft = this.#draft(this.#newName(), this.#dice.pick(this.topics));
      const written = await bare.putSubscription(draft);
      const { id, revision } = written;
      journal.recorded(written);
      this.#add({ slot: draft.name, draft, id, revision, possibleFrom: 0 });
      journal.say(() => `admin: ${draft.name} is ${id}: ${JSON.stringify(draft)}`);
    }
  }

  /** One change of one subscription, if the broker is there to make it. */
  async change(): Promise<void> {
    const ready = this.#options.life();
    if (ready === null || this.#open !== null) return;
    const { from, draft } = this.#drawChange();
    const { journal } = this.#options;
    const to = this.#add({ ...from, draft, revision: null, possibleFrom: journal.mark().seq });
    this.#open = { from, to };
    journal.say(() => `admin: asks for ${to.slot}: ${JSON.stringify(draft)}`);
    try {
      const answer = await ready.life.outlive(this.#write(ready.store, to));
      if (answer.kind === "lost") return;
    } catch {
      this.#conclude(from);
      return;
    }
    await this.#takeEffect(ready.life, to);
  }

  /** A new life has read the catalog: whatever the store holds now is in effect. */
  async lookAgain(bare: Everything): Promise<void> {
    if (this.#open === null) return;
    const { from, to } = this.#open;
    const { subscriptions } = await bare.catalog();
    const found = subscriptions.find(({ name }) => name === to.slot);
    const isDone =
      to.draft === null
        ? found === undefined
        : found !== undefined && saying(found) === saying(to.draft);
    if (isDone && found !== undefined) {
      to.id = found.id;
      to.revision = found.revision;
    }
    this.#conclude(isDone ? to : from);
  }

  async #write(store: Everything, to: Version): Promise<void> {
    if (to.draft === null) {
      await store.removeSubscription(to.id as number);
      return;
    }
    // How it runs is the operator's to say: it stays as it is.
    const stored = (await store.catalog()).subscriptions.find(({ name }) => name === to.slot);
    const flowState = stored && { flow: stored.flow, pauses: stored.pauses };
    const { id, revision } = await store.putSubscription(
      { ...to.draft, ...flowState },
      stored?.revision ?? 0,
    );
    to.id = id;
    to.revision = revision;
  }

  /** Asks until the broker says that the change is in effect, or leaves that to the broker. */
  async #takeEffect(life: Life, to: Version): Promise<void> {
    const { clock } = this.#options;
    const asks = this.#dice.isHit(0.5);
    for (;;) {
      if (!asks) await this.#rest(30_000);
      if (!life.isAlive || life.rooms === null) return;
      try {
        if (asks) {
          const answer = await life.outlive(life.rooms.refresh());
          if (answer.kind === "lost") return;
        } else if (this.#isDiskTroubled(clock.now() - 31_000)) {
          continue;
        }
        if (this.#open?.to === to) this.#conclude(to);
        return;
      } catch {
        await this.#rest(1_000);
      }
    }
  }

  #isDiskTroubled(since: number): boolean {
    return this.#options.journal.diskTroubles.some(({ from, until }) => {
      return until > since && from <= this.#options.clock.now();
    });
  }

  /** From now on this is the only possible state. */
  #conclude(state: Version): void {
    if (this.#open === null) return;
    const { journal } = this.#options;
    const { from, to } = this.#open;
    this.#open = null;
    const { seq } = journal.mark();
    const other = state === to ? from : to;
    other.possibleUntil = seq;
    state.certainAt = Math.min(state.certainAt, this.#options.clock.now());
    if (state === from) this.#current.set(from.slot, from);
    journal.say(
      () => `admin: ${to.slot} is ${state === to ? "changed" : "as before"}, id ${state.id}`,
    );
  }

  #add(version: Omit<Version, "possibleUntil" | "certainAt">): Version {
    const { journal } = this.#options;
    const possibleUntil = Number.POSITIVE_INFINITY;
    const certainAt = version.possibleFrom === 0 ? journal.startAt : Number.POSITIVE_INFINITY;
    const added: Version = { ...version, possibleUntil, certainAt };
    if (version.possibleFrom > 0 && !this.#current.has(version.slot)) {
      throw new Error(`${version.slot} has no state before this one`);
    }
    journal.versions.push(added);
    this.#current.set(version.slot, added);
    return added;
  }

  #drawChange(): { from: Version; draft: SubscriptionDraft | null } {
    const dice = this.#dice;
    const there = [...this.#current.values()].filter(({ draft }) => draft !== null);
    const kind = there.length === 0 ? "add" : dice.pick(["add", "change", "change", "remove"]);
    if (kind === "add") {
      const slot = this.#newName();
      const nothing = { slot, draft: null, id: null, revision: null, possibleFrom: 0 };
      return { from: this.#add(nothing), draft: this.#draft(slot, dice.pick(this.topics)) };
    }
    const from = dice.pick(there);
    if (kind === "remove") return { from, draft: null };
    const fresh = this.#draft(from.slot, from.draft?.topic ?? "");
    const old = from.draft as SubscriptionDraft;
    // Mostly one thing at a time.
    const part = dice.pick(["destination", "filter", "retryPolicy", "batch", "deadLetter", "all"]);
    return {
      from,
      draft: part === "all" ? fresh : { ...old, [part]: fresh[part as keyof typeof fresh] },
    };
  }

  #newName(): string {
    this.#made += 1;
    return `sub-${this.#made}`;
  }

  #draft(name: string, topic: string): SubscriptionDraft {
    const dice = this.#dice;
    const host = dice.whole(1, this.#options.weather.endpoints);
    const query = dice.isHit(0.3) ? `?code=${name}` : "";
    return {
      ...plainSubscription,
      topic,
      name,
      destination: { kind: "webhook", url: `https://e${host}.test/hook${query}` },
      filter: {
        ...filterForAll,
        includedEventTypes: dice.isHit(0.7) ? null : [dice.pick(eventTypes).toLowerCase()],
        subjectBeginsWith: dice.isHit(0.8) ? "" : dice.pick(["/shop/", "/SHOP/A", "/depot"]),
        subjectEndsWith: dice.isHit(0.9) ? "" : dice.pick(["1", "7"]),
        isSubjectCaseSensitive: dice.isHit(0.3),
      },
      retryPolicy: {
        maxDeliveryAttempts: dice.isHit(0.4) ? null : dice.spread(1, 30),
        eventTimeToLiveMs: dice.isHit(0.4) ? null : dice.spread(1, 1440) * minuteMs,
      },
      batch: dice.isHit(0.6)
        ? null
        : { maxEvents: dice.spread(1, 20), preferredBytes: dice.whole(1, 8) * 1024 },
      splitOnFailure: this.#splitDice.isHit(this.#options.weather.splits),
      deadLetter: dice.isHit(0.5)
        ? null
        : { kind: "blob", resourceId: "/letters", container: `${name}-letters` },
      origin: "api",
    };
  }

  #rest(ms: number): Promise<void> {
    return new Promise((go) => this.#options.clock.after(ms, go));
  }
}

/** What a subscription asks for, without how it runs. */
function saying(draft: SubscriptionDraft): string {
  const { destination, filter, retryPolicy, batch, deadLetter, splitOnFailure } = draft;
  return JSON.stringify([destination, filter, retryPolicy, batch, deadLetter, splitOnFailure]);
}
