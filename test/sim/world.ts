// The simulated world: the whole broker between simulated publishers and endpoints, on a simulated
// clock and disk, in a weather drawn from a seed. Two phases: first everything that can go wrong
// may, then all is well and everything must come to its end. The same seed is the same run, byte
// for byte.

import type { Instant } from "../../src/core/ports.ts";
import { seededChance } from "../../src/runtime/chance.ts";
import { seededIds } from "../../src/runtime/ids.ts";
import { assemble, type Environment, type RoomRules, type Rooms } from "../../src/wiring.ts";
import { type Everything, Life } from "./broker-life.ts";
import { SimClock } from "./clock.ts";
import { Dice } from "./dice.ts";
import { type Disk, type OpenStore, openDisk } from "./disk.ts";
import { erraticMsMax, slowMsMax } from "./disk-faults.ts";
import { excuse, slackMs } from "./history.ts";
import { judge, type Violation } from "./invariants.ts";
import { Journal } from "./journal.ts";
import { Network } from "./network.ts";
import { Operator } from "./operator.ts";
import { Publishers } from "./publishers.ts";
import { Receivers } from "./receivers.ts";
import { SubscriptionAdmin } from "./subscription-admin.ts";
import { type DiskMood, drawEpisodes, type Episode, type Weather } from "./weather.ts";

const startAt: Instant = Date.UTC(2030, 0, 1);
const dayMs = 24 * 3_600_000;

/**
 * When all is well, everything ends within this: the longest step of a schedule (12 h), the longest
 * wait of an unhealthy endpoint (2 h), and an hour for backlogs and dead letters.
 */
const calmMsMax = 15 * 3_600_000;

/** No weather makes for so many. */
const sendsMax = 30_000;

/** What endpoints and dead-letter stores say when they cannot; to the former, 205 is no success. */
const errors = [500, 502, 503, 504, 408, 409, 429, 301, 302, 418];

/** Broken parts to put in, so that the invariants can show that they bite. */
export interface Plant {
  /** In place of the memory store, beneath the disk's troubles. */
  readonly store?: (store: Everything) => Everything;
  /** In place of what the broker stands on. */
  readonly deps?: (deps: Environment) => Environment;
  readonly rules?: Partial<RoomRules>;
}

export interface Options {
  readonly weather: Weather;
  /** Whether to keep the trace, for its hash and for people. */
  readonly isTraced?: boolean;
  /** Crash at this port call, counted over all lives, and at no other. */
  readonly crashAt?: number;
  readonly plant?: Plant;
}

export interface Run {
  readonly weather: Weather;
  readonly journal: Journal;
  readonly violations: readonly Violation[];
  readonly hash: string;
  readonly simulatedMs: number;
  /** Port calls, over all lives. */
  readonly calls: number;
}

export async function simulate(options: Options): Promise<Run> {
  const world = new World(options);
  await world.run();
  const { journal } = world;
  const { weather } = options;
  return {
    weather,
    journal,
    violations: judge(journal, weather),
    hash: journal.hash(),
    simulatedMs: journal.endAt - journal.startAt,
    calls: world.calls,
  };
}

class World {
  readonly journal: Journal;
  readonly #options: Options;
  readonly #weather: Weather;
  readonly #clock: SimClock;
  readonly #crashDice: Dice;
  readonly #disk: Disk;
  readonly #admin: SubscriptionAdmin;
  readonly #operator: Operator;
  readonly #network: Network;
  readonly #letters: Network;
  readonly #publishers: Publishers;
  readonly #receivers: Receivers;
  readonly #ids;
  readonly #chance;
  #life: Life | null = null;
  /** What the life has open. */
  #open: OpenStore | null = null;
  #isStopping = false;
  #livesBegun = 0;
  #crashes = 0;
  #callsBefore = 0;

  constructor(options: Options) {
    this.#options = options;
    const { weather } = options;
    const { seed } = weather;
    this.#weather = weather;
    this.#clock = new SimClock(startAt, () => this.#life?.turn());
    this.journal = new Journal({
      now: () => this.#clock.now(),
      isTraced: options.isTraced ?? false,
    });
    this.#crashDice = new Dice(seed, "crashes");
    this.#ids = seededIds(seed);
    this.#chance = seededChance(seed);
    const { journal } = this;
    const clock = this.#clock;
    const phase = { from: startAt, until: startAt + weather.safetyMs };
    const dice = new Dice(seed, "disk");
    const episodes: readonly Episode<DiskMood>[] = drawEpisodes(dice, weather.disk, phase);
    for (const { from, until, mood } of episodes) {
      // A call that was begun at the end of it may be under way long after.
      const tailMs = mood === "erratic" ? erraticMsMax : mood === "slow" ? 2 * slowMsMax : 1_000;
      journal.diskTroubles.push({ from, until: until + tailMs });
      journal.say(() => `disk: ${mood} from ${from - startAt} to ${until - startAt} ms`);
    }
    const plant = options.plant?.store;
    const disk = { weather, episodes, clock, dice, journal };
    this.#disk = openDisk(plant === undefined ? disk : { ...disk, plant });
    const ready = () => this.#ready();
    this.#admin = new SubscriptionAdmin({ weather, journal, clock, life: ready });
    this.#operator = new Operator({ weather, journal, clock, life: ready });
    const network = { seed, clock, journal, ...phase, calmAt: () => journal.calmAt };
    this.#network = new Network({
      ...network,
      trouble: weather.network,
      strayFaults: weather.network.strayFaults,
      spoils: (publication) => new Dice(seed, `poison ${publication}`).isHit(weather.poison),
      errors: [...errors, 205],
    });
    this.#letters = new Network({
      ...network,
      trouble: weather.deadLetters,
      strayFaults: 0,
      spoils: () => false,
      errors,
    });
    this.#publishers = new Publishers({
      weather,
      journal,
      clock,
      topics: this.#admin.topics,
      life: () => this.#openLife(),
    });
    this.#receivers = new Receivers({ weather, journal, clock, life: () => this.#openLife() });
  }

  /** Port calls so far, over all lives. */
  get calls(): number {
    return this.#callsBefore + (this.#life?.calls ?? 0);
  }

  async run(): Promise<void> {
    const { journal } = this;
    const clock = this.#clock;
    await this.#admin.furnish(this.#disk.bare);
    await this.#receivers.furnish(this.#disk.bare);
    this.#begin();
    this.#schedule();
    this.#receivers.schedule();
    const isEndless = () => journal.sends.length > sendsMax;
    await clock.run(startAt + this.#weather.safetyMs, isEndless);
    journal.calmAt = clock.now();
    journal.say(() => "all is well from now on");
    void this.#operator.calm();
    this.#receivers.calm();
    await clock.run(journal.calmAt + calmMsMax, isEndless);
    if (isEndless()) journal.fault(`more than ${sendsMax} sends, and no end`);
    await this.#finish();
    journal.endAt = clock.now();
  }

  // Lives.

  #begin(): void {
    this.#livesBegun += 1;
    const life = new Life(this.#livesBegun, {
      journal: this.journal,
      clock: this.#clock,
      isLast: (call) => this.#isLast(call),
      onCrash: (where) => this.#crash(life, where),
    });
    const open = this.#disk.open(life);
    this.#life = life;
    this.#open = open;
    const { plant } = this.#options;
    const sound: Environment = {
      store: open.store,
      sink: life.sink(this.#network.sink(life.number)),
      deadLetterSink: life.sink(this.#letters.deadLetterSink(life.number)),
      clock: life.clock,
      chance: this.#chance,
      ids: this.#ids,
      log: life.log,
      meter: life.meter,
    };
    const deps = plant?.deps?.(sound) ?? sound;
    assemble(deps, { ...this.#rules(), ...plant?.rules }).then(
      (rooms) => this.#opened(life, rooms),
      // Like a real start that fails: a supervisor starts it again.
      () => this.#crash(life, "start"),
    );
  }

  #opened(life: Life, rooms: Rooms): void {
    if (!life.isAlive) return;
    life.rooms = rooms;
    life.note.ready = this.journal.mark();
    this.journal.say(() => `life ${life.number} is ready`);
    void this.#admin.lookAgain(this.#disk.bare);
  }

  #isLast(callOfLife: number): boolean {
    const { crashAt } = this.#options;
    if (crashAt !== undefined) return this.#callsBefore + callOfLife === crashAt;
    const { perPortCall } = this.#weather.crashes;
    return this.#mayCrash() && perPortCall > 0 && this.#crashDice.isHit(perPortCall);
  }

  #mayCrash(): boolean {
    const isCalm = this.#clock.now() >= this.journal.calmAt;
    return !isCalm && this.#crashes < this.#weather.crashes.max;
  }

  #crash(life: Life, where: string): void {
    if (!life.isAlive) return;
    this.#crashes += 1;
    this.journal.say(() => `life ${life.number} crashes at ${where}`);
    this.#end(life, "crash");
  }

  #end(life: Life, how: "crash" | "stop"): void {
    life.end(how);
    this.#callsBefore += life.calls;
    this.#life = null;
    this.#open = null;
    this.#isStopping = false;
    this.#disk.leave();
    // One that could not even start is given a while.
    const downMs =
      life.rooms === null
        ? this.#crashDice.spread(1_000, 600_000)
        : this.#crashDice.spread(10, this.#weather.downMsMax);
    this.#clock.after(downMs, () => this.#begin());
  }

  /** An orderly stop, with this much time for what is in progress. */
  async #stop(graceMs: number): Promise<void> {
    const ready = this.#ready();
    if (ready === null) return;
    const { life, rooms, open } = ready;
    const { journal } = this;
    const clock = this.#clock;
    this.#isStopping = true;
    journal.say(() => `life ${life.number} is told to stop within ${graceMs} ms`);
    const abort = new AbortController();
    const until = clock.now() + graceMs;
    const cancel = clock.after(graceMs, () => abort.abort());
    await life.outlive(rooms.close(abort.signal));
    cancel();
    if (!life.isAlive) return;
    await life.outlive(open.close());
    if (!life.isAlive) return;
    const lateMs = clock.now() - excuse(until, journal.diskTroubles);
    if (lateMs > slackMs) journal.fault(`a broker stops ${lateMs} ms later than it was told`);
    if (life.alarms > 0) journal.fault(`a stopped broker leaves ${life.alarms} alarms behind`);
    this.#end(life, "stop");
  }

  #ready(): { life: Life; rooms: Rooms; store: Everything; open: OpenStore } | null {
    const life = this.#life;
    const open = this.#open;
    if (life === null || open === null || life.rooms === null || this.#isStopping) return null;
    return { life, rooms: life.rooms, store: open.store, open };
  }

  /** Also one that is stopping, which has to turn publishers away by itself. */
  #openLife(): Life | null {
    return this.#life?.rooms === null ? null : this.#life;
  }

  // Everything that was decided beforehand.

  #schedule(): void {
    const { seed, safetyMs, publishes, changes, acts, crashes, stopsPerDay } = this.#weather;
    const dice = new Dice(seed, "schedule");
    let at = 0;
    const busyTimes: number[] = [];
    for (let number = 1; number <= publishes; number += 1) {
      // Some come together, so that publishes share a round.
      if (!dice.isHit(0.3)) at = dice.whole(0, safetyMs - 1);
      busyTimes.push(at);
      this.#clock.after(at, () => void this.#publishers.publish(number));
    }
    for (const { from, until } of this.journal.diskTroubles) {
      busyTimes.push(from - startAt, dice.whole(from, until) - startAt);
    }
    /** Any time, or soon after something has begun, when there is more to disturb. */
    const drawTime = () =>
      dice.isHit(0.4)
        ? dice.whole(0, safetyMs - 1)
        : Math.min(dice.pick(busyTimes) + dice.spread(1, 120_000), safetyMs - 1);
    for (let count = 0; count < changes; count += 1) {
      this.#clock.after(drawTime(), () => void this.#admin.change());
    }
    const steering = new Dice(seed, "when operators act");
    for (let count = 0; count < acts; count += 1) {
      const someTime = steering.whole(0, safetyMs - 1);
      const soon = steering.pick(busyTimes) + steering.spread(1, 120_000);
      const at = steering.isHit(0.4) ? someTime : Math.min(soon, safetyMs - 1);
      this.#clock.after(at, () => void this.#operator.act());
    }
    const days = safetyMs / dayMs;
    const strike = () => {
      if (this.#life !== null && this.#mayCrash()) this.#crash(this.#life, "some moment");
    };
    for (let count = Math.ceil(crashes.perDay * days); count > 0; count -= 1) {
      this.#clock.after(drawTime(), strike);
    }
    for (let count = Math.ceil(stopsPerDay * days); count > 0; count -= 1) {
      const graceMs = dice.pick([0, 1_000, 20_000, 60_000]);
      this.#clock.after(drawTime(), () => void this.#stop(graceMs));
    }
  }

  /** When everything has come to its end, there is nothing left, and the broker stops at once. */
  async #finish(): Promise<void> {
    const { journal } = this;
    if (this.#clock.alarms > 0) journal.fault(`${this.#clock.alarms} alarms are left in calm`);
    for (const words of await this.#disk.leftovers()) journal.fault(`left in the store: ${words}`);
    const ready = this.#ready();
    if (ready === null) {
      journal.fault("the broker is not running in calm");
      return;
    }
    const why = ready.rooms.whyNotReady();
    if (why !== null) journal.fault(`the broker is not ready in calm: ${why}`);
    const { seq } = journal.mark();
    await this.#clock.run(this.#clock.now());
    let isClosed = false;
    void ready.rooms.close(new AbortController().signal).then(() => {
      isClosed = true;
    });
    await this.#clock.run(this.#clock.now() + 1_000);
    if (!isClosed) journal.fault("the broker does not stop in calm");
    if (journal.sends.some(({ begun }) => begun.seq > seq))
      journal.fault("something is sent at the end");
  }

  #rules(): RoomRules {
    const { profile, auth, endpointSendsMax } = this.#weather;
    return { profile, auth, defaults: {}, endpointSendsMax };
  }
}
