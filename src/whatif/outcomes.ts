// The result of a what-if, collected from the notes that dispatchers write for stories. Event 1 is
// the one that is followed; of the others only their ends are counted.

import type { SimulatedAttempt, Simulation } from "../core/api/views.ts";
import { explain } from "../core/delivery/retry.ts";
import type { Instant } from "../core/ports.ts";
import type { AttemptedNote, EndedNote, StoryNote } from "../core/story/note.ts";
import { isoInstant, wordsOfMs } from "../core/text/time.ts";
import { type Plan, returnAt, sawOf } from "../core/whatif/order.ts";

const followed = 1;
/** More than this nobody reads, and a year of retries may have fifty thousand. */
const attemptsShownMax = 2_000;
const loadPointsMax = 60;
const loadStepsMs = [100, 1_000, 10_000, 60_000, 300_000, 900_000, 3_600_000, 86_400_000];
const secondMs = 1_000;

type End = Simulation["end"];

export class Outcomes {
  readonly #plan: Plan;
  readonly #attempts: Simulation["attempts"][number][] = [];
  #attemptsMade = 0;
  readonly #writes: SimulatedAttempt[] = [];
  #end: End | null = null;
  #writtenAtMs: number | null = null;
  #lostAtMs: number | null = null;
  #written = 0;
  #unwritten = 0;
  #saved = 0;
  #lost = 0;
  #settledAtMs = 0;

  constructor(plan: Plan) {
    this.#plan = plan;
  }

  note(note: StoryNote): void {
    if (note.kind === "attempted") this.#attempted(note);
    else if (note.kind === "ended") this.#ended(note);
  }

  #attempted(note: AttemptedNote): void {
    const { delivery, decision, endedAt, isLate } = note;
    const isFollowed = delivery.id.event === followed;
    if (isFollowed && isLate) this.#late(note.number, endedAt);
    else if (isFollowed && delivery.stage === "deadLetter") keep(this.#writes, attemptOf(note));
    else if (isFollowed) {
      this.#attemptsMade += 1;
      keep(this.#attempts, { ...attemptOf(note), lateAtMs: null });
    }
    if (decision.kind === "retry") return;
    if (delivery.stage === "deadLetter") {
      this.#letterEnded(isFollowed, decision.kind === "delivered", endedAt);
      return;
    }
    const isDelivered = decision.kind === "delivered";
    this.#settled(isFollowed, {
      kind: isDelivered ? "delivered" : decision.kind === "drop" ? "dropped" : "deadLettered",
      atMs: endedAt,
      reason: isDelivered ? null : decision.reason,
      words: explain(decision, sayAfter),
    });
  }

  /** Ended without an attempt. */
  #ended({ at, delivery, decision, reason, words, nextDueAt }: EndedNote): void {
    const isFollowed = delivery.id.event === followed;
    if (delivery.stage === "deadLetter") {
      this.#letterEnded(isFollowed, false, at);
      return;
    }
    this.#settled(isFollowed, {
      kind: decision === "drop" ? "dropped" : "deadLettered",
      ...{ atMs: at, reason },
      words: nextDueAt === null ? words : words.replace(isoInstant(nextDueAt), sayAfter(nextDueAt)),
    });
  }

  #late(number: number, atMs: Instant): void {
    const attempt = this.#attempts[number - 1];
    if (attempt !== undefined) this.#attempts[number - 1] = { ...attempt, lateAtMs: atMs };
  }

  #letterEnded(isFollowed: boolean, isWritten: boolean, at: Instant): void {
    if (isWritten) this.#written += 1;
    else this.#unwritten += 1;
    if (!isFollowed) return;
    if (isWritten) this.#writtenAtMs = at;
    else this.#lostAtMs = at;
  }

  #settled(isFollowed: boolean, end: Omit<End, "writtenAtMs">): void {
    this.#settledAtMs = Math.max(this.#settledAtMs, end.atMs);
    if (isFollowed) this.#end = { ...end, writtenAtMs: null };
    else if (end.kind === "delivered") this.#saved += 1;
    else this.#lost += 1;
  }

  /** `requests`: when each was sent, in order. */
  read(requests: readonly Instant[]): Simulation {
    const { backlog, outage, deadLetter } = this.#plan;
    if (this.#end === null) throw new Error("the event that is followed has come to no end");
    const returnsAtMs = returnAt(outage);
    const since = returnsAtMs ?? 0;
    const after = backlog === 0 ? [] : requests.filter((at) => at >= since);
    // What comes long after the return is shown in detail: a probe may be hours away.
    const beginsAt = after[0] ?? since;
    const lastMs = (after.at(-1) ?? since) - beginsAt;
    const loadStepMs =
      loadStepsMs.find((stepMs) => lastMs / stepMs < loadPointsMax) ??
      (loadStepsMs.at(-1) as number);
    const load = countPer(after, beginsAt, loadStepMs);
    return {
      attempts: this.#attempts,
      attemptsMade: this.#attemptsMade,
      end: { ...this.#end, writtenAtMs: this.#writtenAtMs },
      deadLetters: deadLetter
        ? {
            ...{ attempts: this.#writes, lostAtMs: this.#lostAtMs },
            ...{ written: this.#written, lost: this.#unwritten },
          }
        : null,
      returnsAtMs,
      load: backlog === 0 ? null : load,
      loadStepMs,
      peakPerSecond: peakIn(after, since),
      settledAtMs: this.#settledAtMs,
      saved: this.#saved,
      lost: this.#lost,
    };
  }
}

function keep<T>(list: T[], item: T): void {
  if (list.length < attemptsShownMax) list.push(item);
}

function attemptOf({ number, startedAt, delivery, outcome, decision }: AttemptedNote) {
  const heldMs = startedAt - delivery.dueAt;
  const held = heldMs > 0 ? `held back for ${wordsOfMs(heldMs)}; ` : "";
  return {
    ...{ number, atMs: startedAt, heldMs, saw: sawOf(outcome) },
    words: `${held}${explain(decision, sayAfter)}`,
    nextDueAtMs: decision.kind === "retry" ? decision.at : null,
  };
}

/** `after 2 min 5 s`: counted from the publish. */
function sayAfter(atMs: number): string {
  return `after ${wordsOfMs(atMs)}`;
}

/** How many of the times, which are in order, fall into each step; none is left out. */
function countPer(
  instants: readonly Instant[],
  since: Instant,
  stepMs: number,
): { readonly atMs: number; readonly requests: number }[] {
  const counts: number[] = [];
  for (const at of instants) {
    const place = Math.floor((at - since) / stepMs);
    while (counts.length <= place) counts.push(0);
    counts[place] = (counts[place] ?? 0) + 1;
  }
  return counts.map((requests, place) => ({ atMs: since + place * stepMs, requests }));
}

/** The most of them, which are in order, within one second. */
function peakIn(instants: readonly Instant[], since: Instant): number {
  let most = 0;
  let second = -1;
  let count = 0;
  for (const at of instants) {
    const place = Math.floor((at - since) / secondMs);
    count = place === second ? count + 1 : 1;
    second = place;
    most = Math.max(most, count);
  }
  return most;
}
