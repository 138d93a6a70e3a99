// Those who fetch from pull queues. They come now and then, ask for events, and acknowledge,
// release, reject, renew or forget what they get, some of it too late; some hang up while they
// wait, and some die between the receive and the acknowledgement. What they were told is what the
// broker will be held to.

import type { Clock } from "../../src/core/ports.ts";
import type { Reply, Request } from "../../src/core/request.ts";
import { plainSubscription, type Subscription } from "../../src/core/subscription.ts";
import { plainTopic } from "../../src/core/topic.ts";
import type { Everything, Life } from "./broker-life.ts";
import { Dice } from "./dice.ts";
import type { Journal, Publication } from "./journal.ts";
import type { Got, Order, Visit } from "./pull-journal.ts";
import type { Weather } from "./weather.ts";

const namespace = "depot";
const topic = "parcels";
const key = "depot-key";
const secondMs = 1_000;
const minuteMs = 60_000;

/** When all is well, the queues are emptied at these times: after locks, delays and restarts. */
const emptiedAfterMs = [minuteMs, 12 * minuteMs, 75 * minuteMs, 150 * minuteMs, 220 * minuteMs];

/** Chosen for each event; the last is to do nothing. */
const deeds = [
  ...(["acknowledge", "acknowledge", "acknowledge", "release", "release"] as const),
  ...(["reject", "renewLock", "renewLock", "forget"] as const),
];

export interface ReceiversOptions {
  readonly weather: Weather;
  readonly journal: Journal;
  readonly clock: Clock;
  /** Also one that is stopping. */
  readonly life: () => Life | null;
}

export class Receivers {
  readonly #options: ReceiversOptions;
  readonly #dice: Dice;

  constructor(options: ReceiversOptions) {
    this.#options = options;
    this.#dice = new Dice(options.weather.seed, "pull queues");
  }

  get #queues(): readonly Subscription[] {
    return [...this.#options.journal.pull.queues.values()];
  }

  /** Before the first life, straight into the store. */
  async furnish(bare: Everything): Promise<void> {
    const { weather, journal } = this.#options;
    if (weather.visits === 0) return;
    const dice = this.#dice;
    const keys = { key1: key, key2: "other", origin: "api" } as const;
    await bare.putTopic({
      ...{ ...plainTopic, ...keys, name: namespace, kind: "namespace", lockKey: "secret" },
    });
    await bare.putTopic({
      ...{ ...plainTopic, ...keys, name: `${namespace}/${topic}`, kind: "namespaceTopic" },
      ...{ profile: "namespace", inputSchema: "CloudEventSchemaV1_0" },
    });
    for (let number = dice.whole(1, 2); number > 0; number -= 1) {
      const name = `pull-${number}`;
      const queue = await bare.putSubscription({
        ...{ ...plainSubscription, topic: `${namespace}/${topic}`, name, origin: "api" },
        deliverySchema: "CloudEventSchemaV1_0",
        destination: { kind: "pull", lockMs: dice.whole(60, 300) * secondMs },
        retryPolicy: {
          maxDeliveryAttempts: dice.whole(1, 10),
          eventTimeToLiveMs: dice.spread(2, 480) * minuteMs,
        },
        deadLetter: dice.isHit(0.5)
          ? null
          : { kind: "blob", resourceId: "/letters", container: `${name}-letters` },
      });
      journal.pull.queues.set(queue.id, queue);
      journal.say(() => `receivers: ${name} is ${queue.id}: ${JSON.stringify(queue)}`);
    }
  }

  /** Visits come soon after publishes and visits, when there is something to get. */
  schedule(): void {
    const { weather, clock } = this.#options;
    const dice = this.#dice;
    const busyTimes: number[] = [];
    let last = 0;
    for (let number = 1; number <= weather.visits; number += 1) {
      const isPublish = number % 4 === 1;
      const busy = dice.isHit(0.7) || isPublish ? last : dice.pick(busyTimes);
      const soon = Math.min(busy + dice.spread(1, 15 * minuteMs), weather.safetyMs - 1);
      const at = isPublish && dice.isHit(0.5) ? dice.whole(0, weather.safetyMs - 1) : soon;
      busyTimes.push(at);
      last = at;
      if (isPublish) clock.after(at, () => void this.#publish(number));
      else clock.after(at, () => void this.#visit(number));
    }
  }

  /** All is well: whatever is left is fetched and acknowledged. */
  calm(): void {
    for (const queue of this.#queues) {
      for (const ms of emptiedAfterMs) {
        this.#options.clock.after(ms, () => void this.#empty(queue));
      }
    }
  }

  async #empty(queue: Subscription): Promise<void> {
    for (;;) {
      const got = await this.#receive(queue, { max: 100, waitSeconds: 10, leavesAfterMs: null });
      if (got.length === 0) return;
      await this.#order(queue, "acknowledge", got);
    }
  }

  async #publish(number: number): Promise<void> {
    const { weather, journal } = this.#options;
    const dice = new Dice(weather.seed, `pull publisher ${number}`);
    const count = dice.whole(1, 5);
    const life = this.#options.life();
    if (life === null || !life.isPast("publish")) return;
    const publications = Array.from({ length: count }, () => this.#open());
    const numbers = publications.map(({ number }) => number);
    const events = numbers.map((number) => ({
      ...{ specversion: "1.0", id: `e${number}`, source: "/depot", type: "parcel.sent" },
      data: { number },
    }));
    journal.say(() => "publish: asks the namespace", numbers);
    const status =
      (await this.#ask(life, { topic: `${topic}:publish` }, { body: events }))?.status ?? null;
    const told = status === null ? "lost" : status === 200 ? "accepted" : "refused";
    for (const publication of publications) {
      publication.answered = journal.mark();
      publication.answer = told;
    }
    journal.say(() => `publish: ${told} ${status ?? ""}`, numbers);
  }

  #open(): Publication {
    const { journal } = this.#options;
    const number = journal.publications.length + 1;
    const what = { number, topic: `${namespace}/${topic}`, subject: "", eventType: "parcel.sent" };
    const publication = { ...what, asked: journal.mark(), answered: null, answer: null };
    journal.publications.push(publication);
    return publication;
  }

  async #visit(number: number): Promise<void> {
    const dice = new Dice(this.#options.weather.seed, `receiver ${number}`);
    const queue = dice.pick(this.#queues);
    const got = await this.#receive(queue, {
      ...{ max: dice.pick([1, 3, 10]), waitSeconds: dice.pick([10, 30, 120]) },
      leavesAfterMs: dice.isHit(0.1) ? dice.whole(0, 9 * secondMs) : null,
    });
    // It dies with what it has.
    if (dice.isHit(0.15)) return;
    const chosen = Map.groupBy(got, () => dice.pick(deeds));
    for (const [deed, some] of chosen) {
      if (deed !== "forget") void this.#do(queue, { deed, some, dice });
    }
  }

  async #do(
    queue: Subscription,
    what: {
      readonly deed: Exclude<(typeof deeds)[number], "forget">;
      readonly some: readonly Got[];
      readonly dice: Dice;
    },
  ): Promise<void> {
    const { deed, some, dice } = what;
    const lockMs = queue.destination.kind === "pull" ? queue.destination.lockMs : 0;
    // Some come too late.
    const after = () => (dice.isHit(0.4) ? 0 : dice.whole(1, Math.round(lockMs * 1.3)));
    await this.#rest(after());
    if (deed !== "renewLock") return await this.#order(queue, deed, some, dice);
    await this.#order(queue, "renewLock", some);
    await this.#rest(after());
    if (dice.isHit(0.7)) await this.#order(queue, "acknowledge", some);
  }

  async #receive(
    queue: Subscription,
    how: {
      readonly max: number;
      readonly waitSeconds: number;
      readonly leavesAfterMs: number | null;
    },
  ): Promise<readonly Got[]> {
    const { journal, clock } = this.#options;
    const life = this.#options.life();
    if (life === null || !life.isPast("receive request")) return [];
    const asked = journal.mark();
    const visit: Visit = { queue: queue.id, asked, answered: null, left: null, got: [] };
    journal.pull.visits.push(visit);
    const { max, waitSeconds, leavesAfterMs } = how;
    const reply = await this.#ask(
      life,
      { topic, subscription: `${queue.name}:receive` },
      {
        query: { maxEvents: String(max), maxWaitTime: String(waitSeconds) },
        onGone: (listener) => {
          if (leavesAfterMs === null) return;
          clock.after(leavesAfterMs, () => {
            visit.left = journal.mark();
            if (life.isAlive) listener();
          });
        },
      },
    );
    if (reply?.status !== 200 || visit.left !== null) return [];
    const { value } = JSON.parse(String(reply.body)) as {
      value: { brokerProperties: Token; event: { data: { number: number } } }[];
    };
    visit.answered = journal.mark();
    visit.got = value.map(({ brokerProperties: { lockToken, deliveryCount: count }, event }) => {
      return { publication: event.data.number, count, lockToken };
    });
    const numbers = visit.got.map(({ publication }) => publication);
    journal.say(() => `receivers: get ${numbers.length} of ${queue.name}`, numbers);
    return visit.got;
  }

  /** `dice`: for the delay of a release. */
  async #order(
    queue: Subscription,
    kind: Order["kind"],
    some: readonly Got[],
    dice?: Dice,
  ): Promise<void> {
    const { journal } = this.#options;
    const delay = kind === "release" ? dice?.pick([0, 10, 60, 600, 3600]) : undefined;
    const life = this.#options.life();
    if (life === null || !life.isPast("lock request")) return;
    const orders = some.map((got): Order => {
      const named = { kind, queue: queue.id, got, asked: journal.mark() };
      return { ...named, answered: null, answer: "unknown" };
    });
    journal.pull.orders.push(...orders);
    const numbers = some.map(({ publication }) => publication);
    journal.say(() => `receivers: ${kind} ${queue.name}`, numbers);
    const reply = await this.#ask(
      life,
      { topic, subscription: `${queue.name}:${kind}` },
      {
        body: { lockTokens: some.map(({ lockToken }) => lockToken) },
        ...(delay !== undefined && { query: { releaseDelayInSeconds: String(delay) } }),
      },
    );
    if (reply?.status !== 200) return;
    const answer = JSON.parse(String(reply.body)) as { succeededLockTokens: string[] };
    const succeeded = new Set(answer.succeededLockTokens);
    for (const order of orders) {
      order.answered = journal.mark();
      order.answer = succeeded.has(order.got.lockToken) ? "succeeded" : "failed";
    }
    journal.say(() => `receivers: ${kind} counts for ${succeeded.size}`, numbers);
  }

  /** Null: the broker died over it. */
  async #ask(
    life: Life,
    params: { readonly topic: string; readonly subscription?: string },
    what: Pick<Request, "onGone"> & {
      readonly query?: Readonly<Record<string, string>>;
      readonly body?: object;
    },
  ): Promise<Reply | null> {
    const path =
      params.subscription === undefined
        ? "/topics/:topic"
        : "/topics/:topic/eventsubscriptions/:subscription";
    const route = life.rooms?.routes.find((each) => each.method === "POST" && each.path === path);
    if (route === undefined) throw new Error("the broker has no route for receivers");
    const body = Buffer.from(what.body === undefined ? "" : JSON.stringify(what.body));
    const request: Request = {
      ...{ method: "POST", scheme: "https", remote: "127.0.0.1", params, body },
      query: { "api-version": "2024-06-01", ...what.query },
      headers: {
        authorization: `SharedAccessKey ${key}`,
        "content-type": Array.isArray(what.body)
          ? "application/cloudevents-batch+json"
          : "application/json",
      },
      ...(what.onGone !== undefined && { onGone: what.onGone }),
    };
    // The store's failures are its own; anything else that is thrown is a fault.
    const answered = Promise.resolve(route.handle(request)).catch((error) => ({
      ...{ status: 500, body: String(error) },
    }));
    const answer = await life.outlive(answered);
    if (answer.kind === "lost") return null;
    const { status, body: text } = answer.value;
    const isDiskError = status === 500 && /disk/.test(String(text));
    if (![200, 429, 503].includes(status) && !isDiskError) {
      this.#options.journal.fault(`a receiver without fault was answered ${status}: ${text}`);
    }
    return answer.value;
  }

  #rest(ms: number): Promise<void> {
    return new Promise((go) => this.#options.clock.after(ms, go));
  }
}

interface Token {
  readonly lockToken: string;
  readonly deliveryCount: number;
}
