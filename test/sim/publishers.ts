// Those who publish. Each has a few events and some patience: refused with 429 or 503, cut off or
// turned away, they wait and try again, and so may publish the same events twice.
// What they were answered is what the broker will be held to.

import type { Clock } from "../../src/core/ports.ts";
import { Refusal } from "../../src/core/refusal.ts";
import type { Reply, Request } from "../../src/core/request.ts";
import { isoInstant } from "../../src/core/text/time.ts";
import { replyToRefusal } from "../../src/runtime/http/error-reply.ts";
import type { Life } from "./broker-life.ts";
import { Dice } from "./dice.ts";
import type { Journal, Publication } from "./journal.ts";
import { eventTypes, subjects } from "./subscription-admin.ts";
import type { Weather } from "./weather.ts";

export interface PublishersOptions {
  readonly weather: Weather;
  readonly journal: Journal;
  readonly clock: Clock;
  readonly topics: readonly string[];
  readonly life: () => Life | null;
}

interface Intent {
  readonly subject: string;
  readonly eventType: string;
  readonly paddingChars: number;
}

export class Publishers {
  readonly #options: PublishersOptions;

  constructor(options: PublishersOptions) {
    this.#options = options;
  }

  /** One publisher's events, from the first try to the last. */
  async publish(number: number): Promise<void> {
    const { weather, topics } = this.#options;
    const dice = new Dice(weather.seed, `publisher ${number}`);
    const topic = dice.pick(topics);
    const intents = Array.from({ length: dice.whole(1, weather.eventsPerPublishMax) }, () => ({
      subject: dice.pick(subjects),
      eventType: dice.pick(eventTypes),
      paddingChars: dice.isHit(0.1) ? dice.spread(100, 20_000) : dice.whole(0, 300),
    }));
    for (let tries = 1; tries <= weather.publishersPatience; tries += 1) {
      const status = await this.#try(topic, intents);
      const isHeard = status !== null && !dice.isHit(weather.answersLostToPublishers);
      if (isHeard && status !== 429 && status !== 503) return;
      const waitMs = dice.spread(100, 600_000);
      await new Promise<void>((go) => this.#options.clock.after(waitMs, go));
    }
  }

  /** The status; null when the broker was not there or died over it. */
  async #try(topic: string, intents: readonly Intent[]): Promise<number | null> {
    const { journal, life: findLife } = this.#options;
    const life = findLife();
    if (life === null || !life.isPast("publish")) return null;
    const publications = intents.map((intent) => this.#open(topic, intent));
    const answer = await life.outlive(ask(life, this.#request(topic, publications, intents)));
    const status = answer.kind === "lost" ? null : answer.value.status;
    const told = status === null ? "lost" : status === 200 ? "accepted" : "refused";
    for (const publication of publications) {
      publication.answered = journal.mark();
      publication.answer = told;
    }
    journal.say(() => `publish: ${told} ${status ?? ""}`, numbersOf(publications));
    if (status !== null && ![200, 429, 503].includes(status)) {
      journal.fault(`a publish without fault was answered ${status}`);
    }
    return status;
  }

  #open(topic: string, { subject, eventType }: Intent): Publication {
    const { journal } = this.#options;
    const number = journal.publications.length + 1;
    const asked = journal.mark();
    const publication = { number, topic, subject, eventType, asked, answered: null, answer: null };
    journal.publications.push(publication);
    return publication;
  }

  #request(
    topic: string,
    publications: readonly Publication[],
    intents: readonly Intent[],
  ): Request {
    const { journal, clock } = this.#options;
    const events = publications.map(({ number, subject, eventType }, index) => ({
      id: `e${number}`,
      subject,
      eventType,
      eventTime: isoInstant(clock.now()),
      data: { number, padding: "x".repeat(intents[index]?.paddingChars ?? 0) },
      dataVersion: "1",
    }));
    journal.say(() => `publish: asks ${topic}`, numbersOf(publications));
    return {
      method: "POST",
      scheme: "https",
      remote: "127.0.0.1",
      params: { topic },
      query: {},
      headers: { "aeg-sas-key": `${topic}-key` },
      body: Buffer.from(JSON.stringify(events)),
    };
  }
}

async function ask(life: Life, request: Request): Promise<Reply> {
  const route = life.rooms?.routes.find(
    ({ method, path }) => method === request.method && path.startsWith("/topics/:topic/"),
  );
  if (route === undefined) throw new Error("the broker has no route to publish by");
  try {
    return await route.handle(request);
  } catch (error) {
    if (error instanceof Refusal) return replyToRefusal(error);
    return { status: 500, body: String(error) };
  }
}

function numbersOf(publications: readonly Publication[]): number[] {
  return publications.map(({ number }) => number);
}
