// The weather of a run: everything that a seed decides about it beforehand, as one value that can
// be printed. Each run has only some kinds of trouble and each in a strength of its own, because a
// storm of everything hides what a steady drizzle of one thing would find.

import { type ProfileName, profileNames } from "../../src/core/delivery/profile.ts";
import type { Instant } from "../../src/core/ports.ts";
import { wordsOfMs } from "../../src/core/text/time.ts";
import { Dice } from "./dice.ts";

/** `shared`: the memory store as others would use it too: leases and late calls outlive a crash. */
export type StoreKind = "memory" | "shared" | "sqlite";
export const storeKinds: readonly StoreKind[] = ["memory", "shared", "sqlite"];

export type DiskMood =
  | "calm"
  | "slow"
  /** Everything hangs until it is over. */
  | "stalled"
  /** Most calls are quick, and some take minutes, longer than leases last. */
  | "erratic"
  | "flaky"
  | "broken"
  | "full";

export type EndpointMood =
  | "well"
  | "slow"
  /** Statuses that are retried. */
  | "erring"
  /** Statuses that some profiles never retry. */
  | "final"
  /** No connection, no name, no trust. */
  | "refusing"
  /** Answers late or never. */
  | "hanging"
  /** Takes the events, and its answer is lost. */
  | "lossy"
  /** Anything, one request after the other. */
  | "flapping"
  /** Takes a few at a time and answers 429 to the rest. */
  | "full";

export interface Weather {
  readonly seed: number;
  readonly store: StoreKind;
  readonly profile: ProfileName;
  readonly auth: boolean;
  /** How long the first phase lasts. */
  readonly safetyMs: number;
  readonly endpointSendsMax: number;
  readonly topics: number;
  readonly subscriptions: number;
  readonly endpoints: number;
  readonly publishes: number;
  readonly eventsPerPublishMax: number;
  readonly publishersPatience: number;
  readonly answersLostToPublishers: number;
  /** Subscriptions added, changed and removed on the way. */
  readonly changes: number;
  /** What operators do on the way. */
  readonly acts: number;
  /** Of the subscriptions, how many have spoilt batches halved; of the events, how many spoil. */
  readonly splits: number;
  readonly poison: number;
  /** Of receivers to pull queues; none: there are no such queues. */
  readonly visits: number;
  readonly crashes: {
    readonly perPortCall: number;
    readonly perDay: number;
    readonly max: number;
  };
  readonly stopsPerDay: number;
  readonly downMsMax: number;
  readonly disk: Trouble<DiskMood> & {
    readonly latencyMsMax: number;
    readonly gatherMs: number;
    readonly waitingCharsMax: number;
    readonly wakeDelayMsMax: number;
  };
  readonly network: Trouble<EndpointMood> & { readonly strayFaults: number };
  readonly deadLetters: Trouble<EndpointMood>;
}

export interface Trouble<Mood> {
  readonly moods: readonly Mood[];
  /** Of the time, roughly. */
  readonly share: number;
}

const hourMs = 3_600_000;

export function drawWeather(seed: number, store?: StoreKind): Weather {
  const dice = new Dice(seed, "weather");
  const drawnStore = dice.pick(storeKinds);
  const safetyMs = dice.spread(2 * hourMs, 72 * hourMs);
  const eventsPerPublishMax = dice.pick([1, 3, 12, 40]);
  const steering = new Dice(seed, "steering");
  return {
    seed,
    store: store ?? drawnStore,
    profile: dice.isHit(0.5) ? "azure" : dice.pick(profileNames),
    auth: dice.isHit(0.5),
    safetyMs,
    endpointSendsMax: dice.pick([1, 2, 4, 8]),
    topics: dice.whole(1, 3),
    subscriptions: dice.whole(1, 7),
    endpoints: dice.whole(1, 4),
    publishes: dice.spread(4, Math.min(50, 10 + Math.round(100 / eventsPerPublishMax))),
    eventsPerPublishMax,
    publishersPatience: dice.whole(1, 8),
    answersLostToPublishers: dice.pick([0, 0, 0.1]),
    changes: dice.pick([0, 0, 3, 12]),
    acts: steering.pick([0, 0, 4, 20]),
    splits: steering.pick([0, 0.5, 1]),
    poison: steering.pick([0, 0, 0.05, 0.3]),
    visits: new Dice(seed, "visits").pick([0, 0, 0, 12, 0, 0, 0, 40]),
    crashes: {
      perPortCall: dice.pick([0, 0, 0.0002, 0.001, 0.005]),
      perDay: dice.pick([0, 0, 2, 12]),
      max: 30,
    },
    stopsPerDay: dice.pick([0, 0, 1, 6]),
    downMsMax: dice.spread(100, 2 * hourMs),
    disk: {
      moods: dice.some(["slow", "stalled", "erratic", "flaky", "broken", "full"], 0.4),
      share: dice.isHit(0.4) ? 0 : dice.spread(60_000, hourMs) / safetyMs,
      latencyMsMax: dice.pick([0, 0, 3, 20, 300]),
      gatherMs: dice.pick([0, 0, 2, 100]),
      waitingCharsMax: dice.pick([20_000, 1_000_000]),
      wakeDelayMsMax: dice.pick([0, 0, 500]),
    },
    network: {
      moods: dice.some(
        ["slow", "erring", "final", "refusing", "hanging", "lossy", "flapping", "full"],
        0.4,
      ),
      share: dice.pick([0, 0.1, 0.3, 0.6, 0.9]),
      strayFaults: dice.pick([0, 0, 0.01, 0.1]),
    },
    deadLetters: {
      moods: dice.some(["slow", "erring", "refusing", "hanging", "flapping"], 0.5),
      share: dice.pick([0, 0.2, 0.7]),
    },
  };
}

/** A world in which nothing goes wrong, for tests that are about one thing that does. */
export const fairWeather: Weather = {
  seed: 1,
  store: "memory",
  profile: "azure",
  auth: true,
  safetyMs: 2 * hourMs,
  endpointSendsMax: 4,
  topics: 1,
  subscriptions: 3,
  endpoints: 2,
  publishes: 3,
  eventsPerPublishMax: 2,
  publishersPatience: 3,
  answersLostToPublishers: 0,
  changes: 0,
  acts: 0,
  splits: 0,
  poison: 0,
  visits: 0,
  crashes: { perPortCall: 0, perDay: 0, max: 0 },
  stopsPerDay: 0,
  downMsMax: 1_000,
  disk: {
    ...{ moods: ["slow"], share: 0, latencyMsMax: 0 },
    ...{ gatherMs: 0, waitingCharsMax: 1_000_000, wakeDelayMsMax: 0 },
  },
  network: { moods: ["erring"], share: 0, strayFaults: 0 },
  deadLetters: { moods: ["erring"], share: 0 },
};

/** One fact per line, for people. */
export function tellWeather(weather: Weather): string {
  const { crashes, disk, network, deadLetters } = weather;
  const trouble = ({ moods, share }: Trouble<string>) =>
    share === 0 ? "well" : `${moods.join(", ")} for ${(share * 100).toFixed(1)} % of the time`;
  return [
    `seed ${weather.seed}, store ${weather.store}, profile ${weather.profile}`,
    `${wordsOfMs(weather.safetyMs)} of trouble, then calm`,
    `${weather.topics} topics, ${weather.subscriptions} subscriptions and ${weather.changes} ` +
      `changes of them, ${weather.endpoints} endpoints with ${weather.endpointSendsMax} sends each`,
    `${weather.acts} acts of operators, ${weather.splits * 100} % of subscriptions halve, ` +
      `${weather.poison * 100} % of events spoil`,
    `${weather.publishes} publishes of up to ${weather.eventsPerPublishMax} events, ` +
      `${weather.publishersPatience} tries each; ${weather.visits} visits of receivers`,
    `crashes: ${crashes.perPortCall} per port call, ${crashes.perDay} per day; ` +
      `stops: ${weather.stopsPerDay} per day; down for up to ${wordsOfMs(weather.downMsMax)}`,
    `disk: ${trouble(disk)}; latency up to ${disk.latencyMsMax} ms, gathers ${disk.gatherMs} ms, ` +
      `wakes up to ${disk.wakeDelayMsMax} ms late`,
    `endpoints: ${trouble(network)}; ${network.strayFaults * 100} % stray faults`,
    `dead letters: ${trouble(deadLetters)}`,
  ].join("\n");
}

export interface Episode<Mood> {
  readonly from: Instant;
  readonly until: Instant;
  readonly mood: Mood;
}

/** When there is trouble and of which kind; in between all is well. */
export function drawEpisodes<Mood>(
  dice: Dice,
  trouble: Trouble<Mood>,
  { from, until }: { readonly from: Instant; readonly until: Instant },
): readonly Episode<Mood>[] {
  const episodes: Episode<Mood>[] = [];
  if (trouble.share === 0) return episodes;
  const longestMs = (until - from) * trouble.share;
  let at = from;
  for (;;) {
    const lengthMs = dice.spread(5_000, Math.max(10_000, longestMs));
    const calmMs = Math.round((lengthMs * (1 - trouble.share) * 2 * dice.next()) / trouble.share);
    at += calmMs;
    const end = Math.min(at + lengthMs, until);
    if (at >= until) return episodes;
    episodes.push({ from: at, until: end, mood: dice.pick(trouble.moods) });
    at = end;
  }
}

export function episodeAt<Mood>(
  episodes: readonly Episode<Mood>[],
  now: Instant,
): Episode<Mood> | null {
  return episodes.find(({ from, until }) => from <= now && now < until) ?? null;
}
