// The rules of each attempt, checked against what was seen from outside. They are not written a
// second time: waits and decisions are computed by core again, with the policy and the outcome that
// were seen. What is checked is that the broker follows them through crashes, lost answers and full
// disks.

import type { Policy } from "../../src/core/delivery/policy.ts";
import { type Decision, decide, expire, isSuccess } from "../../src/core/delivery/retry.ts";
import type { Instant } from "../../src/core/ports.ts";
import { dispatcherLoad } from "./dispatcher-load.ts";
import { endpointKey, tellEndpoints } from "./endpoint-history.ts";
import { aboutSend, aboutTale, type Finding, type Invariant } from "./finding.ts";
import {
  excuse,
  type History,
  type LostLease,
  type Sent,
  type Settled,
  type Span,
  slackMs,
  type Tale,
} from "./history.ts";

export const invariants: Readonly<Record<string, Invariant>> = {
  "R-1 to R-6, L-1 to L-4: every decision is the one of the law": decidedByLaw,
  "R-1, R-2: no attempt before it is due": notEarly,
  "D-3, R-1, H-4: every attempt is made when it is due": punctual,
  "R-5: attempts never exceed their limit": counted,
  "R-5: no lease runs out before its send is settled": settledInTime,
  "D-2: a broker that is stopped settles every send before": settledAtStop,
  "R-6: no attempt after the time to live": alive,
  "L-1: nothing is sent after we gave up": notAfterTheEnd,
  "R-3, P-7: what is never retried is not retried": finalIsFinal,
  "R-4: a late success takes the retry back": lateCounts,
  "P-2, P-3: answers are waited for as long as the profile says": patient,
  "B-1, B-5, P-9: batches keep their limits": batched,
  "H-1, H-2: unhealthy endpoints are left alone, and no endpoint is overrun": healthy,
  "H-1: the health of an endpoint outlives the broker": remembered,
};

function* decidedByLaw(history: History): Iterable<Finding> {
  for (const tale of history.tales) {
    for (const step of tale.steps) {
      if (step.kind !== "settled" || !step.isCounted) continue;
      const wrong =
        step.send === null ? judgeUnsent(history, tale, step) : judgeSent(history, step);
      if (wrong !== null) yield aboutTale(tale, wrong);
    }
  }
}

/** A settlement after a send: what the rules say about its outcome. */
function judgeSent(history: History, step: Settled): string | null {
  const { settlement, before } = step;
  const send = step.send as NonNullable<Settled["send"]>;
  const { policy } = history.terms(send);
  const heard = history.heard(send);
  if (heard === null) return "settled before its answer was heard";
  const late = history.heardLate(send);
  if (late !== null && late.seq < step.mark.seq && isSuccess(policy.profile, late.outcome)) {
    if (settlement.kind === "gone") return null;
  }
  const { outcome, at: now } = heard;
  if (outcome.kind === "noReply" && outcome.why === "canceled") {
    return settlement.kind === "back" ? null : `broken off, and settled as ${settlement.kind}`;
  }
  if (history.isHalved(send)) {
    return settlement.kind === "back" ? null : `to be halved, and settled as ${settlement.kind}`;
  }
  const delivery = send.deliveries.find(({ lease }) => lease === settlement.lease);
  const { attempts = 0, since = 0, stage = "deliver" } = delivery ?? {};
  const standing = { stage, since, dueAt: before.dueAt, attempts: attempts + 1, policy };
  const sentAt = send.begun.at;
  const soonest = decide(standing, outcome, { now, sentAt, chance: 0 });
  const latest = decide(standing, outcome, { now, sentAt, chance: 1 - 2 ** -32 });
  const saw = `${before.stage} attempt ${attempts + 1} ${JSON.stringify(outcome)}`;
  return isSettledAs(soonest, latest, { step, now, policy })
    ? null
    : `${saw}: the law says ${soonest.kind}, settled as ${JSON.stringify(settlement)}`;
}

function isSettledAs(
  soonest: Decision,
  latest: Decision,
  { step, now, policy }: { readonly step: Settled; readonly now: number; readonly policy: Policy },
): boolean {
  const { settlement, before } = step;
  switch (soonest.kind) {
    case "delivered":
    case "drop":
      return settlement.kind === "gone";
    case "retry":
      return (
        settlement.kind === "due" &&
        settlement.stage === before.stage &&
        settlement.attempts === soonest.wait.step &&
        settlement.since === soonest.since &&
        settlement.at >= soonest.at &&
        settlement.at <= (latest as typeof soonest).at
      );
    case "deadLetter":
      return (
        settlement.kind === "due" &&
        settlement.stage === "deadLetter" &&
        isGathered(settlement.at, soonest.at, policy) &&
        settlement.since === now &&
        settlement.attempts === 0 &&
        settlement.reason === soonest.reason
      );
    default:
      return soonest satisfies never;
  }
}

/**
 * A settlement without a send: given back, expired, out of attempts because their limit was
 * lowered, or with nowhere to go any more.
 */
function judgeUnsent(history: History, tale: Tale, step: Settled): string | null {
  const { settlement, before, mark } = step;
  if (settlement.kind === "back") return null;
  const all = history.journal.versions.filter(({ id }) => id === tale.subscription);
  const possible = all.filter(({ possibleUntil }) => possibleUntil >= (step.claim?.mark.seq ?? 0));
  // The dead letters of a deleted subscription are written by its last terms.
  const isDeleted = possible.every(({ draft }) => draft === null);
  const states = isDeleted ? all.filter(({ draft }) => draft !== null).slice(-1) : possible;
  const policies = states.flatMap(({ draft }) =>
    draft === null ? [] : [history.termsOf(draft).policy],
  );
  const { least: heldMs } = history.heldMs(tale, before.since, {
    seq: step.claim?.mark.seq ?? mark.seq,
    at: mark.at,
  });
  const isRight = policies.some((policy) => {
    // A dead letter is dropped without a try only where there is nowhere to write it.
    if (before.stage === "deadLetter") return settlement.kind === "gone" && !policy.deadLetter;
    const { ttlMs, attemptsMax } = policy;
    const isUsedUp = attemptsMax !== null && before.attempts >= attemptsMax;
    if (settlement.kind === "due") {
      const { stage, at, since, reason } = settlement;
      const isOver = isUsedUp || since - before.since - heldMs >= ttlMs;
      const law = expire({ ...before, heldMs, policy }, since);
      const isLater = law?.kind === "deadLetter" && isGathered(at, law.at, policy);
      const why = isUsedUp ? "MaxDeliveryAttemptsExceeded" : "TimeToLiveExceeded";
      const isDue = since >= before.dueAt;
      return isOver && isDue && isLater && stage === "deadLetter" && reason === why;
    }
    const isOver = isUsedUp || mark.at - before.since - heldMs >= ttlMs;
    return isOver && mark.at >= before.dueAt && !policy.deadLetter;
  });
  return isRight ? null : `ended without a send as ${JSON.stringify(settlement)}`;
}

function* notEarly(history: History): Iterable<Finding> {
  for (const tale of history.tales) {
    for (const [index, step] of tale.sent.entries()) {
      const { mark, before, send } = step;
      if (mark.at < before.dueAt) {
        yield aboutTale(tale, `sent ${before.dueAt - mark.at} ms before it was due`);
      }
      const earlier = tale.sent[index - 1];
      if (earlier === undefined || earlier.send.stage !== send.stage) continue;
      if (tale.settledOf.get(earlier.send)?.settlement.kind !== "due") continue;
      if (before.isHastened === true) continue;
      const heard = history.heard(earlier.send);
      if (heard === null) continue;
      const { since, attempts } = earlier.delivery;
      const { stage } = earlier.send;
      const { policy } = history.terms(earlier.send);
      const standing = { stage, since, attempts: attempts + 1, policy };
      const law = decide(standing, heard.outcome, { now: heard.at, chance: 0 });
      if (law.kind === "retry" && mark.at < law.at) {
        yield aboutTale(tale, `sent ${law.at - mark.at} ms earlier than the law allows`);
      }
    }
  }
}

/** Unless the endpoint was unhealthy or full, the disk failing, or the broker down. */
function* punctual(history: History): Iterable<Finding> {
  const endpoints = tellEndpoints(history);
  const load = dispatcherLoad(history);
  for (const tale of history.tales) {
    for (const step of tale.sent) {
      const isOnTime = step.mark.at <= step.before.dueAt + slackMs;
      if (isOnTime || step.send.stage !== "deliver") continue;
      const endpoint = endpoints.get(endpointKey(history, step.send));
      const spans: Span[] = [
        ...history.journal.diskTroubles,
        ...(endpoint?.full ?? []),
        ...(endpoint?.busy.get(tale.subscription) ?? []),
        ...load.whenFull(step.life, tale.subscription),
        ...awaySpans(history, tale, step),
        ...steeredSpans(history, tale, step),
      ];
      const latest = excuse(step.before.dueAt, spans) + slackMs;
      if (step.mark.at > latest) {
        const lateMs = step.mark.at - step.before.dueAt;
        const words = `attempt made ${lateMs} ms after it was due, for no reason`;
        yield aboutSend(history, step.send, words);
      }
    }
  }
}

/** Pauses and drains, what was done to the queue, and sends after which it was given back. */
function steeredSpans(history: History, tale: Tale, { mark }: Sent): readonly Span[] {
  const { acts, lives } = history.journal;
  const skips = acts.flatMap(({ kind, subscription, asked, answered, life }) => {
    if (kind !== "skip" || subscription !== tale.subscription) return [];
    const until = answered?.at ?? lives[life - 1]?.ended?.at ?? Number.POSITIVE_INFINITY;
    return { from: asked.at, until };
  });
  const sends = tale.sent.flatMap(({ send }) => {
    const isBack = tale.settledOf.get(send)?.settlement.kind === "back";
    if (!isBack || send.begun.seq >= mark.seq) return [];
    return { from: send.begun.at, until: send.ended?.at ?? send.begun.at };
  });
  return [...history.flows.held(tale.subscription), ...skips, ...sends];
}

/** The time before this life was ready, before these terms held, and of leases that were lost. */
function awaySpans(history: History, { lost }: Tale, { life, mark, send }: Sent): readonly Span[] {
  const record = history.record(send.subscription);
  // A write by an operator changes the revision, and what the admin asked for holds on.
  const version = history.journal.versions.findLast(
    ({ id, draft, possibleFrom }) =>
      id === send.subscription.id &&
      draft !== null &&
      possibleFrom < mark.seq &&
      JSON.stringify(draft.destination) === JSON.stringify(record?.destination),
  );
  const isKept = (lease: LostLease) =>
    lease.until <= mark.at &&
    (history.weather.store === "shared" || lease.life === life) &&
    (isCutShort(history, lease) || isTroubled(history, lease));
  return [
    history.life(life).ready?.at,
    version?.certainAt,
    ...lost.filter(isKept).map(({ until }) => until),
  ].map((until = Number.POSITIVE_INFINITY) => ({ from: 0, until }));
}

/** The broker died while it held the lease. */
function isCutShort(history: History, { life, until }: LostLease): boolean {
  const end = history.life(life).ended;
  return end?.how === "crash" && end.at <= until;
}

function isTroubled(history: History, { from, until }: Span): boolean {
  return history.journal.diskTroubles.some(
    (trouble) => trouble.from <= until && trouble.until >= from,
  );
}

function* counted(history: History): Iterable<Finding> {
  for (const tale of history.tales) {
    for (const stage of ["deliver", "deadLetter"] as const) {
      let attempts = 0;
      for (const { send, delivery } of tale.sent) {
        if (send.stage !== stage) continue;
        const { attemptsMax } = history.terms(send).policy;
        if (stage === "deliver" && attemptsMax !== null && attempts >= attemptsMax) {
          yield aboutTale(tale, `attempt ${attempts + 1} of ${attemptsMax}`);
        }
        if (delivery.attempts !== attempts) {
          yield aboutTale(tale, `${attempts} attempts counted as ${delivery.attempts}`);
        }
        const kind = tale.settledOf.get(send)?.settlement.kind;
        if (kind !== undefined && kind !== "back") attempts += 1;
      }
    }
  }
}

/** Unless the broker crashed or the disk was in trouble: else an attempt would not be counted. */
function* settledInTime(history: History): Iterable<Finding> {
  for (const tale of history.tales) {
    for (const lease of tale.lost) {
      // What was only held and never sent has lost nothing.
      if (!tale.sent.some(({ delivery }) => delivery.lease === lease.number)) continue;
      if (isCutShort(history, lease) || isTroubled(history, lease)) continue;
      yield aboutTale(tale, "its lease has run out");
    }
  }
}

function* settledAtStop(history: History): Iterable<Finding> {
  for (const tale of history.tales) {
    for (const { send, delivery, life } of tale.sent) {
      const end = history.life(life).ended;
      if (end?.how !== "stop" || isTroubled(history, { from: send.begun.at, until: end.at }))
        continue;
      const isSettled = tale.steps.some(
        (step) => step.kind === "settled" && step.settlement.lease === delivery.lease,
      );
      if (!isSettled) yield aboutSend(history, send, "not settled when the broker stopped");
    }
  }
}

function* alive(history: History): Iterable<Finding> {
  for (const tale of history.tales) {
    const { publishedAt } = tale.append.routed.event;
    const { asked, answered } = tale.publication;
    if (publishedAt < asked.at || publishedAt > (answered?.at ?? asked.at)) {
      yield aboutTale(tale, "its publish time is not when it was published");
    }
    for (const { send, mark } of tale.sent) {
      const ageMs = mark.at - publishedAt - history.heldMs(tale, publishedAt, mark).most;
      const { ttlMs } = history.terms(send).policy;
      if (send.stage === "deliver" && ageMs >= ttlMs) {
        yield aboutTale(tale, `sent at the age of ${ageMs} ms with ${ttlMs} to live`);
      }
    }
  }
}

function* notAfterTheEnd(history: History): Iterable<Finding> {
  for (const tale of history.tales) {
    let isGivenUp = false;
    let isGone = false;
    for (const step of tale.steps) {
      if (step.kind === "sent" && (isGone || (isGivenUp && step.send.stage === "deliver"))) {
        yield aboutTale(tale, `sent to ${step.send.endpoint} after we gave up`);
      } else if (step.kind === "settled" && step.isCounted) {
        isGone ||= step.settlement.kind === "gone";
        isGivenUp ||= step.settlement.kind === "due" && step.settlement.stage === "deadLetter";
      }
    }
  }
}

function* finalIsFinal(history: History): Iterable<Finding> {
  for (const tale of history.tales) {
    let final: number | null = null;
    for (const step of tale.sent) {
      const { send } = step;
      if (send.stage !== "deliver") continue;
      if (final !== null) yield aboutTale(tale, `sent again after a ${final}`);
      const outcome = history.heard(send)?.outcome;
      const { profile, destinationKind } = history.terms(send).policy;
      const codes: readonly number[] = profile.neverRetried[destinationKind];
      const isSettled = tale.settledOf.get(step.send) !== undefined && !history.isHalved(step.send);
      if (outcome?.kind === "answered" && codes.includes(outcome.status) && isSettled) {
        final = outcome.status;
      }
    }
  }
}

/** If it has not been leased again, and nothing prevented the settlement. */
function* lateCounts(history: History): Iterable<Finding> {
  for (const tale of history.tales) {
    for (const { send, delivery } of tale.sent) {
      const { policy } = history.terms(send);
      const late = history.heardLate(send);
      if (late === null || !isSuccess(policy.profile, late.outcome)) continue;
      if (excuse(late.at, history.journal.diskTroubles) > late.at) continue;
      const end = history.life(send.life).ended;
      if (end !== null && end.at <= late.at + slackMs) continue;
      const next = tale.steps.find(
        (step) => step.kind === "claimed" && step.delivery.lease > delivery.lease,
      );
      if (next !== undefined && next.mark.at > late.at + slackMs) {
        yield aboutTale(tale, `claimed again ${next.mark.at - late.at} ms after a late success`);
      }
    }
  }
}

function* patient(history: History): Iterable<Finding> {
  for (const send of history.journal.sends) {
    const { waitMs, lateMs } = history.terms(send).policy.profile;
    if (send.limits.waitMs !== waitMs || send.limits.lateMs !== lateMs) {
      yield aboutSend(history, send, `waited for ${JSON.stringify(send.limits)}`);
    }
  }
}

function* batched(history: History): Iterable<Finding> {
  for (const send of history.journal.sends) {
    if (send.stage !== "deliver") continue;
    const { deliveries } = send;
    const limits = history.terms(send).batch;
    const eventsMax = limits?.maxEvents ?? 1;
    let bytes = 1;
    for (const { event } of deliveries) bytes += Buffer.byteLength(event.text) + 1;
    const isTooLarge = limits !== null && deliveries.length > 1 && bytes > limits.preferredBytes;
    if (deliveries.length > eventsMax || isTooLarge || deliveries.length === 0) {
      yield aboutSend(history, send, `${deliveries.length} events and ${bytes} bytes in a request`);
    }
  }
}

function* healthy(history: History): Iterable<Finding> {
  for (const { trespasses } of tellEndpoints(history).values()) {
    for (const { send, words } of trespasses) {
      yield aboutSend(history, send, `${send.endpoint}: ${words}`);
    }
  }
}

function* remembered(history: History): Iterable<Finding> {
  for (const [key, { forgotten }] of tellEndpoints(history)) {
    if (forgotten !== null) yield { words: `${key}: ${forgotten}`, publication: null };
  }
}

/** L-3: a dead letter may wait a little longer than its pause, for others. */
function isGathered(at: Instant, lawful: Instant, { deadLetterPauseMs }: Policy): boolean {
  return at >= lawful && at <= lawful + deadLetterPauseMs / 30;
}
