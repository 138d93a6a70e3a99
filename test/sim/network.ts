// The simulated endpoints, and the dead-letter stores, as sinks. Each has moods that come and go; a
// request meets the mood of the moment it arrives in, and what is drawn for it then is what
// happens: when it is answered, with what, and whether the events were taken.

import type { Stage } from "../../src/core/delivery/delivery.ts";
import type { Outcome, Silence } from "../../src/core/delivery/outcome.ts";
import type { Parcel, Sink } from "../../src/core/delivery/sink.ts";
import type { Clock, Instant } from "../../src/core/ports.ts";
import type { DeadLetterDestination, Destination } from "../../src/core/subscription.ts";
import { endpointOf } from "../../src/core/subscription.ts";
import { Dice } from "./dice.ts";
import type { Journal, SendNote } from "./journal.ts";
import {
  drawEpisodes,
  type EndpointMood,
  type Episode,
  episodeAt,
  type Trouble,
} from "./weather.ts";

/** What becomes of one request. */
interface Fate {
  /** Null: never. */
  readonly answerMs: number | null;
  readonly outcome: Outcome;
  /** Whether the endpoint takes the events, which it does when it answers. */
  readonly isTaken: boolean;
}

/** After this, an endpoint forgets a request that it will never answer. */
const forgetMs = 300_000;

const successes = [200, 200, 200, 201, 202, 203, 204] as const;
const finals = [400, 401, 403, 404, 413] as const;
const silences: readonly Silence[] = ["connection", "dns", "tls"];
/** A mixture for endpoints that are never twice the same. */
const fits: readonly EndpointMood[] = [
  ...(["well", "well", "well", "erring", "erring", "refusing"] as const),
  ...(["hanging", "lossy", "slow", "final"] as const),
];

export interface NetworkOptions {
  readonly seed: number;
  readonly clock: Clock;
  readonly journal: Journal;
  readonly trouble: Trouble<EndpointMood>;
  readonly strayFaults: number;
  /** Whether an event spoils the batch it is in. */
  readonly spoils: (publication: number) => boolean;
  /** Statuses that are failures and may be tried again. */
  readonly errors: readonly number[];
  readonly from: Instant;
  /** When all endpoints are well for good. */
  readonly calmAt: () => Instant;
  readonly until: Instant;
}

class Endpoint {
  readonly #dice: Dice;
  readonly #patience: Dice;
  readonly #episodes: readonly Episode<EndpointMood>[];
  readonly #capacity: number;
  readonly #options: NetworkOptions;
  /** Requests that it has not answered yet. */
  open = 0;

  constructor(name: string, options: NetworkOptions) {
    this.#options = options;
    this.#dice = new Dice(options.seed, `endpoint ${name}`);
    this.#patience = new Dice(options.seed, `patience of ${name}`);
    this.#episodes = drawEpisodes(this.#dice, options.trouble, options);
    this.#capacity = this.#dice.whole(1, 3);
  }

  draw(waitMs: number, publications: readonly number[]): Fate {
    const { calmAt, clock, strayFaults, spoils } = this.#options;
    const now = clock.now();
    if (now >= calmAt()) return this.#fate("well", waitMs, [200]);
    const mood = episodeAt(this.#episodes, now)?.mood ?? "well";
    if (mood === "well" && publications.some(spoils)) return this.#says(400);
    return this.#fate(this.#dice.isHit(strayFaults) ? "flapping" : mood, waitMs, successes);
  }

  #fate(mood: EndpointMood, waitMs: number, statuses: readonly number[]): Fate {
    const dice = this.#dice;
    const takes = (answerMs: number | null): Fate => ({
      answerMs,
      outcome: { kind: "answered", status: dice.pick(statuses) },
      isTaken: true,
    });
    switch (mood) {
      case "well":
        return takes(dice.isHit(0.5) ? 0 : dice.whole(1, 200));
      case "slow":
        return takes(dice.spread(500, waitMs * 1.5));
      case "erring":
        return this.#says(dice.pick(this.#options.errors));
      case "final":
        return this.#says(dice.pick(finals));
      case "refusing":
        return this.#isSilent(dice.whole(0, 2_000), false);
      case "hanging":
        return dice.isHit(0.4) ? takes(null) : takes(dice.whole(waitMs, waitMs + 200_000));
      case "lossy":
        return this.#isSilent(dice.spread(1, waitMs), true);
      case "flapping":
        return this.#fate(dice.pick(fits), waitMs, statuses);
      case "full":
        return this.open > this.#capacity ? this.#says(429) : takes(dice.spread(50, waitMs));
      default:
        return mood satisfies never;
    }
  }

  #says(status: number): Fate {
    const answerMs = this.#dice.whole(0, 500);
    const retryAfterMs = this.#dice.isHit(0.2) ? { retryAfterMs: this.#drawPatience() } : {};
    return { answerMs, outcome: { kind: "answered", status, ...retryAfterMs }, isTaken: false };
  }

  /** Mostly short, and now and then longer than anyone heeds. */
  #drawPatience(): number {
    return this.#patience.isHit(0.5) ? 1_000 : this.#patience.spread(1_000, 6 * 3_600_000);
  }

  #isSilent(answerMs: number, isTaken: boolean): Fate {
    const why = isTaken ? "connection" : this.#dice.pick(silences);
    return { answerMs, outcome: { kind: "noReply", why }, isTaken };
  }
}

export class Network {
  readonly #options: NetworkOptions;
  readonly #endpoints = new Map<string, Endpoint>();

  constructor(options: NetworkOptions) {
    this.#options = options;
  }

  /** The way out as one life of the broker sees it. */
  sink(life: number): Sink<Destination> {
    return {
      send: (parcel, destination, limits) =>
        this.#send({ life, parcel, stage: "deliver", name: endpointOf(destination) }, limits),
    };
  }

  deadLetterSink(life: number): Sink<DeadLetterDestination> {
    return {
      send: (parcel, destination, limits) =>
        this.#send({ life, parcel, stage: "deadLetter", name: destination.container }, limits),
    };
  }

  #send(
    what: {
      readonly life: number;
      readonly parcel: Parcel;
      readonly stage: Stage;
      readonly name: string;
    },
    limits: { readonly waitMs: number; readonly lateMs: number; readonly signal: AbortSignal },
  ): Promise<Outcome> {
    const { journal, clock } = this.#options;
    const endpoint = this.#endpoint(what.name);
    endpoint.open += 1;
    const { deliveries } = what.parcel;
    const numbers = deliveries.map(({ event }) => journal.numberOf(event));
    const fate = endpoint.draw(limits.waitMs, numbers);
    const note: SendNote = {
      begun: journal.mark(),
      life: what.life,
      subscription: what.parcel.subscription,
      stage: what.stage,
      endpoint: what.name,
      deliveries,
      limits: { waitMs: limits.waitMs, lateMs: limits.lateMs },
      ended: null,
      late: null,
      taken: null,
      brokenOff: null,
    };
    journal.sending(note);
    this.#say(note, `sends attempt ${(note.deliveries[0]?.attempts ?? 0) + 1}`);
    const request = new OpenRequest(note, {
      journal,
      clock,
      say: (words) => this.#say(note, words),
    });
    clock.after(fate.answerMs ?? forgetMs, () => {
      endpoint.open -= 1;
      if (fate.answerMs === null) return;
      if (fate.isTaken) note.taken = journal.mark();
      request.answer(fate.outcome);
    });
    return request.wait(limits.signal);
  }

  #say({ life, endpoint, subscription, deliveries }: SendNote, words: string): void {
    const { journal } = this.#options;
    const about = deliveries.map(({ event }) => journal.numberOf(event));
    journal.say(() => `life ${life}: ${endpoint} for ${subscription.name}: ${words}`, about);
  }

  #endpoint(name: string): Endpoint {
    let endpoint = this.#endpoints.get(name);
    if (endpoint === undefined) {
      endpoint = new Endpoint(name, this.#options);
      this.#endpoints.set(name, endpoint);
    }
    return endpoint;
  }
}

/** A request as the sink sees it: answered in time, answered late, or never. */
class OpenRequest {
  readonly #note: SendNote;
  readonly #deps: { journal: Journal; clock: Clock; say: (words: string) => void };
  readonly #first = Promise.withResolvers<Outcome>();
  readonly #late = Promise.withResolvers<Outcome | null>();
  #state: "open" | "late" | "over" = "open";
  #cancel: () => void = () => {};
  #leaveSignal: () => void = () => {};

  constructor(
    note: SendNote,
    deps: { journal: Journal; clock: Clock; say: (words: string) => void },
  ) {
    this.#note = note;
    this.#deps = deps;
  }

  wait(signal: AbortSignal): Promise<Outcome> {
    const { waitMs } = this.#note.limits;
    this.#cancel = this.#deps.clock.after(waitMs, () => this.#timeOut());
    const breakOff = () => this.#breakOff();
    if (signal.aborted) breakOff();
    else signal.addEventListener("abort", breakOff, { once: true });
    this.#leaveSignal = () => signal.removeEventListener("abort", breakOff);
    return this.#first.promise;
  }

  answer(outcome: Outcome): void {
    if (this.#state === "open") {
      this.#end(outcome);
    } else if (this.#state === "late") {
      this.#close();
      this.#note.late = { ...this.#deps.journal.mark(), outcome };
      this.#deps.say(`answers late: ${wordsOf(outcome)}`);
      this.#late.resolve(outcome);
    }
  }

  #timeOut(): void {
    const { waitMs, lateMs } = this.#note.limits;
    if (lateMs <= waitMs) {
      this.#end({ kind: "noReply", why: "timeout" });
      return;
    }
    this.#tell({ kind: "noReply", why: "timeout", late: this.#late.promise });
    this.#state = "late";
    this.#cancel = this.#deps.clock.after(lateMs - waitMs, () => {
      this.#close();
      this.#late.resolve(null);
    });
  }

  #breakOff(): void {
    this.#note.brokenOff = this.#deps.journal.mark();
    if (this.#state === "open") this.#tell({ kind: "noReply", why: "canceled" });
    this.#close();
    this.#late.resolve(null);
  }

  #end(outcome: Outcome): void {
    this.#close();
    this.#tell(outcome);
  }

  #tell(outcome: Outcome): void {
    this.#note.ended = { ...this.#deps.journal.mark(), outcome };
    this.#deps.say(wordsOf(outcome));
    this.#first.resolve(outcome);
  }

  #close(): void {
    this.#state = "over";
    this.#cancel();
    this.#leaveSignal();
  }
}

function wordsOf(outcome: Outcome): string {
  return outcome.kind === "answered" ? `answers ${outcome.status}` : `no reply, ${outcome.why}`;
}
