// What would become of an event, and of those behind it, if the endpoint did this and that: the
// laws of retry, health and batches, played from instant to instant without a broker. The same
// order gives the same answer; with a seed, the attempts are those of a broker with that seed whose
// subscription is called `simulated`, for as long as nothing else is sent to the endpoint.
//
// Assumed: the broker itself takes no time, and publishes go in one by one. Deliberately absent:
// late answers, the dead-letter store's own outages, and rates an endpoint may ask for.

import type { Simulation } from "../api/views.ts";
import { Heap } from "../deadletter/heap.ts";
import { formBatches } from "../delivery/batch.ts";
import {
  fold,
  gate,
  type Health,
  type HealthRules,
  healthRules,
  healthyStart,
} from "../delivery/health.ts";
import type { Outcome } from "../delivery/outcome.ts";
import type { PolicyDefaults } from "../delivery/policy.ts";
import { type Decision, decide, expire, explain, isSuccess } from "../delivery/retry.ts";
import type { Chance } from "../ports.ts";
import { Refusal } from "../refusal.ts";
import { wordsOfMs } from "../text/time.ts";
import { checkOrder, meet, type Plan, returnAt } from "./outage.ts";

export const simulatedName = "simulated";

/** What a broker would bring along; without it, everything is as it is by default. */
export interface SimulationDeps {
  readonly defaults?: PolicyDefaults;
  readonly rules?: HealthRules;
  readonly sendsMax?: number;
  /** Needed for orders with a seed. */
  readonly seeded?: (seed: number) => Chance;
}

const sendsMaxDefault = 64;
/** Beyond this an answer would not come soon enough to be waited for. */
const requestsMax = 2_000_000;
const loadPointsMax = 60;
const loadStepsMs = [100, 1_000, 10_000, 60_000, 300_000, 900_000, 3_600_000, 86_400_000];
const secondMs = 1_000;

/** An event on its way. The first is the one that is followed. */
interface Traveller {
  readonly number: number;
  readonly since: number;
  dueAt: number;
  attempts: number;
}

interface Send {
  readonly place: number;
  readonly sentAt: number;
  readonly endsAt: number;
  readonly batch: readonly Traveller[];
  readonly outcome: Outcome;
  readonly saw: string;
}

type Step = Simulation["attempts"][number];

/** Refusal: InvalidSetting, naming the member of the order. */
export function simulate(order: unknown, deps: SimulationDeps = {}): Simulation {
  return new Play(checkOrder(order, deps.defaults), deps).run();
}

class Play {
  readonly #plan: Plan;
  readonly #rules: HealthRules;
  readonly #sendsMax: number;
  readonly #chance: Chance;
  /** Everything that waits, the earliest due first, as a store hands it out. */
  readonly #waiting = new Heap<Traveller>(
    (one, other) => one.dueAt < other.dueAt || (one.dueAt === other.dueAt && isOlder(one, other)),
  );
  readonly #sends = new Heap<Send>(
    (one, other) =>
      one.endsAt < other.endsAt || (one.endsAt === other.endsAt && one.place < other.place),
  );
  #health: Health = healthyStart;
  #sendsMade = 0;
  /** Events in sends under way. */
  #sending = 0;
  readonly #sentAt: number[] = [];
  readonly #steps: Step[] = [];
  #end: Simulation["end"] | null = null;
  #saved = 0;
  #lost = 0;
  #now = 0;

  constructor(plan: Plan, { rules, sendsMax, seeded }: SimulationDeps) {
    this.#plan = plan;
    this.#rules = rules ?? healthRules;
    this.#sendsMax = sendsMax ?? sendsMaxDefault;
    this.#chance = chanceFor(plan.seed, seeded);
    for (const traveller of travellersOf(plan)) this.#waiting.add(traveller);
  }

  run(): Simulation {
    for (let at = this.#nextAt(); at !== null; at = this.#nextAt()) {
      this.#now = at;
      while (this.#sends.size > 0 && (this.#sends.first() as Send).endsAt <= at) {
        this.#finish(this.#sends.take() as Send);
      }
      this.#fill();
    }
    return this.#told();
  }

  /** When something can happen next; null: everything has come to its end. */
  #nextAt(): number | null {
    const endsAt = this.#sends.first()?.endsAt ?? Number.POSITIVE_INFINITY;
    const dueAt = this.#waiting.first()?.dueAt;
    if (dueAt === undefined) return this.#sends.size === 0 ? null : endsAt;
    const openAt = this.#openAt();
    return Math.min(endsAt, Math.max(dueAt, openAt, this.#now));
  }

  /** From when on something may be sent; never, while others are to end first. */
  #openAt(): number {
    const now = this.#gate(this.#now);
    if (now.kind === "closed") return now.until;
    return this.#sends.size < Math.min(this.#sendsMax, now.atOnce)
      ? this.#now
      : Number.POSITIVE_INFINITY;
  }

  #gate(at: number) {
    const { delayedDelivery } = this.#plan.policy.profile;
    return delayedDelivery ? gate(this.#health, at) : gate(healthyStart, at);
  }

  #fill(): void {
    const now = this.#now;
    this.#clearAtProbe();
    while ((this.#waiting.first()?.dueAt ?? Number.POSITIVE_INFINITY) <= now) {
      if (this.#openAt() > now) return;
      const batch = this.#nextBatch().filter((traveller) => this.#isAlive(traveller));
      if (batch.length > 0) this.#send(batch);
    }
  }

  /** A sick endpoint's turn clears away what has expired; only then is the probe chosen. */
  #clearAtProbe(): void {
    const health = this.#health;
    if (health.kind !== "unhealthy" || health.until > this.#now) return;
    const { ttlMs } = this.#plan.policy;
    const isOver = ({ dueAt, since }: Traveller) =>
      dueAt <= this.#now && this.#now - since >= ttlMs;
    for (const traveller of this.#waiting.takeWhere(isOver)) this.#isAlive(traveller);
  }

  #nextBatch(): readonly Traveller[] {
    const { batch, eventBytes } = this.#plan;
    const first = this.#waiting.take() as Traveller;
    const together = [first];
    while (
      together.length < Math.min(batch?.maxEvents ?? 1, this.#inHandMax()) &&
      (this.#waiting.first()?.dueAt ?? Number.POSITIVE_INFINITY) <= this.#now
    ) {
      together.push(this.#waiting.take() as Traveller);
    }
    const bytesOf = () => eventBytes;
    const [formed = [], ...rest] = formBatches(together, { policy: batch, bytesOf });
    for (const left of rest.flat()) this.#waiting.add(left);
    return formed;
  }

  /** A probe is one event, and an endpoint that recovers gets no more than it has earned. */
  #inHandMax(): number {
    const { kind } = this.#health;
    if (kind === "unhealthy" && this.#plan.policy.profile.delayedDelivery) return 1;
    const state = this.#gate(this.#now);
    return state.kind === "open" ? Math.max(1, 2 * state.atOnce - this.#sending) : 1;
  }

  /** if not, it has come to its end. */
  #isAlive(traveller: Traveller): boolean {
    const decision = expire(this.#standing(traveller, traveller.attempts), this.#now);
    if (decision === null || decision.kind === "retry") return true;
    this.#conclude(traveller, decision);
    return false;
  }

  #standing({ since }: Traveller, attempts: number) {
    return { stage: "deliver", attempts, since, policy: this.#plan.policy } as const;
  }

  #send(batch: readonly Traveller[]): void {
    const sentAt = this.#now;
    const { outcome, saw, tookMs } = meet(this.#plan, sentAt);
    const place = ++this.#sendsMade;
    if (place > requestsMax) {
      const words = `backlog must be smaller: this would take more than ${requestsMax} requests`;
      throw new Refusal("InvalidSetting", words, { target: "backlog" });
    }
    this.#health = fold(this.#health, { kind: "sent", at: sentAt }, this.#rules);
    this.#sends.add({ place, sentAt, endsAt: sentAt + tookMs, batch, outcome, saw });
    this.#sentAt.push(sentAt);
    this.#sending += batch.length;
  }

  #finish({ batch, outcome, saw, sentAt }: Send): void {
    const now = this.#now;
    const { profile } = this.#plan.policy;
    this.#sending -= batch.length;
    const isDelivered = isSuccess(profile, outcome);
    const kind = isDelivered ? "succeeded" : "failed";
    this.#health = fold(this.#health, { kind, at: now, sentAt }, this.#rules);
    const [first] = batch as [Traveller];
    const purpose = `${simulatedName}/${first.number}/${first.attempts + 1}`;
    const chance = isDelivered ? 0 : this.#chance.draw(purpose);
    for (const traveller of batch) {
      traveller.attempts += 1;
      const standing = this.#standing(traveller, traveller.attempts);
      const decision = decide(standing, outcome, { now, chance });
      if (traveller.number === 1) this.#note(traveller, { sentAt, saw, decision });
      if (decision.kind === "retry") {
        traveller.dueAt = decision.at;
        this.#waiting.add(traveller);
      } else this.#conclude(traveller, decision);
    }
  }

  #note(
    { attempts, dueAt }: Traveller,
    { sentAt, saw, decision }: { sentAt: number; saw: string; decision: Decision },
  ): void {
    const heldMs = sentAt - dueAt;
    const held = heldMs > 0 ? `held back for ${wordsOfMs(heldMs)}; ` : "";
    this.#steps.push({
      number: attempts,
      atMs: sentAt,
      heldMs,
      saw,
      words: `${held}${explain(decision, sayAfter)}`,
      nextDueAtMs: decision.kind === "retry" ? decision.at : null,
    });
  }

  #conclude({ number }: Traveller, decision: Exclude<Decision, { kind: "retry" }>): void {
    const isDelivered = decision.kind === "delivered";
    if (number > 1) {
      if (isDelivered) this.#saved += 1;
      else this.#lost += 1;
      return;
    }
    this.#end = {
      kind: isDelivered ? "delivered" : decision.kind === "drop" ? "dropped" : "deadLettered",
      atMs: this.#now,
      reason: isDelivered ? null : decision.reason,
      words: explain(decision, sayAfter),
      writtenAtMs: decision.kind === "deadLetter" ? decision.at : null,
    };
  }

  #told(): Simulation {
    const { backlog, outage } = this.#plan;
    const returnsAtMs = returnAt(outage);
    const since = returnsAtMs ?? 0;
    const sentAt = backlog === 0 ? [] : this.#sentAt.filter((at) => at >= since);
    // What comes long after the return is looked at closely: a probe may be hours away.
    const beginsAt = sentAt[0] ?? since;
    const lastMs = (sentAt.at(-1) ?? since) - beginsAt;
    const loadStepMs =
      loadStepsMs.find((stepMs) => lastMs / stepMs < loadPointsMax) ??
      (loadStepsMs.at(-1) as number);
    const load = countPer(sentAt, { since: beginsAt, stepMs: loadStepMs });
    return {
      attempts: this.#steps,
      end: this.#end as Simulation["end"],
      returnsAtMs,
      load: backlog === 0 ? null : load,
      loadStepMs,
      peakPerSecond: peakIn(sentAt, { since, stepMs: secondMs }),
      settledAtMs: this.#now,
      saved: this.#saved,
      lost: this.#lost,
    };
  }
}

function isOlder(one: Traveller, other: Traveller): boolean {
  return one.number < other.number;
}

/** Without a seed each addition is half its largest: what happens on average. */
function chanceFor(seed: number | null, seeded: SimulationDeps["seeded"]): Chance {
  if (seed === null) return { draw: () => 0.5 };
  if (seeded !== undefined) return seeded(seed);
  throw new Refusal("InvalidSetting", "seed must be left out: there are no seeds here", {
    target: "seed",
  });
}

/** The one that is followed, and the backlog, published evenly over the outage. */
function travellersOf({ backlog, outage }: Plan): readonly Traveller[] {
  const from = outage[0]?.fromMs ?? 0;
  const lengthMs = (returnAt(outage) ?? from) - from;
  const stepMs = lengthMs / (backlog + 1);
  const behind = Array.from({ length: backlog }, (_, index) =>
    Math.floor(from + (index + 1) * stepMs),
  );
  return [0, ...behind].map((at, index) => ({
    number: index + 1,
    since: at,
    dueAt: at,
    attempts: 0,
  }));
}

/** `after 2 min 5 s`: counted from the publish. */
function sayAfter(atMs: number): string {
  return `after ${wordsOfMs(atMs)}`;
}

/** How many of the instants, which are in order, fall into each step; none is left out. */
function countPer(
  instants: readonly number[],
  { since, stepMs }: { readonly since: number; readonly stepMs: number },
): { readonly atMs: number; readonly requests: number }[] {
  const counts: number[] = [];
  for (const at of instants) {
    const place = Math.floor((at - since) / stepMs);
    while (counts.length <= place) counts.push(0);
    counts[place] = (counts[place] ?? 0) + 1;
  }
  return counts.map((requests, place) => ({ atMs: since + place * stepMs, requests }));
}

/** The most of them in one step. */
function peakIn(
  instants: readonly number[],
  { since, stepMs }: { readonly since: number; readonly stepMs: number },
): number {
  const counts = new Map<number, number>();
  let most = 0;
  for (const at of instants) {
    const place = Math.floor((at - since) / stepMs);
    const count = (counts.get(place) ?? 0) + 1;
    counts.set(place, count);
    most = Math.max(most, count);
  }
  return most;
}
