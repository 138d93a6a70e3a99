// The laws of pull queues, held against what the store handed out, what receivers were told, and
// how each event ended (N-33 to N-42).

import { about, type Finding, type Invariant } from "./finding.ts";
import { excuse, type History, slackMs } from "./history.ts";
import { countMaxOf, type PullTale, type TakenBack } from "./pull-history.ts";

export const invariants: Readonly<Record<string, Invariant>> = {
  "N-34: one receiver at a time has an event": held,
  "N-35, N-36: every delivery is counted, and none is one too many": counted,
  "N-38: nothing acknowledged comes back": gone,
  "N-29: what a receiver is told of a lock is what the store did": told,
  "N-44: only what was locked for one who has gone is taken back": takenBack,
  "N-36, N-39, N-42: an event that nobody acknowledges ends for a reason": reasoned,
  "D-2: nothing unacknowledged is lost": accounted,
  "N-22, N-34: who waits gets what is available": served,
};

function* handingsOf({ pullTales }: History) {
  for (const tale of pullTales) {
    for (const step of tale.steps) if (step.kind === "handed") yield { tale, ...step };
  }
}

function finding({ publication, queue }: PullTale, words: string): Finding {
  return about(publication, `${queue.name}: ${words}`);
}

function* held(history: History): Iterable<Finding> {
  for (const { tale, before, handing } of handingsOf(history)) {
    const early = before.dueAt - handing.now;
    if (early > 0) yield finding(tale, `handed to a ${handing.to} ${early} ms before its time`);
    const isExpired = handing.to === "receiver" && handing.now >= tale.expiresAt;
    if (isExpired) yield finding(tale, "handed out after its life");
  }
}

function* counted(history: History): Iterable<Finding> {
  for (const { tale, before, handing } of handingsOf(history)) {
    const { attempts } = handing.delivery;
    const count = before.count + (handing.to === "receiver" ? 1 : 0);
    if (attempts !== count) yield finding(tale, `handed out as ${attempts} instead of ${count}`);
    if (count > countMaxOf(tale.queue)) yield finding(tale, `handed out ${count} times`);
  }
  const seen = new Set<string>();
  for (const { queue, got } of history.journal.pull.visits) {
    for (const { publication, count } of got) {
      const name = `${publication}/${queue}/${count}`;
      if (seen.has(name)) yield { words: `e${publication} is told twice as ${count}`, publication };
      seen.add(name);
    }
  }
}

function* gone(history: History): Iterable<Finding> {
  for (const { tale, before, handing } of handingsOf(history)) {
    if (before.ended !== null) yield finding(tale, `handed to a ${handing.to} after its end`);
  }
}

/** An order counts if the lock was in force when it was asked for, and only then. */
function* told(history: History): Iterable<Finding> {
  for (const tale of history.pullTales) {
    for (const step of tale.steps) {
      if (step.kind !== "handed" || step.handing.to !== "receiver") continue;
      // Nobody was told of it, and the next one to get it is told the same count.
      if (takingsBack(tale).some(({ handing }) => handing === step.handing)) continue;
      const { attempts, lease } = step.handing.delivery;
      const counts = (until: number) =>
        tale.steps.filter(
          ({ kind, ...one }) =>
            kind === "settled" &&
            "settle" in one &&
            one.settle.counted &&
            one.settle.settlement.lease === lease &&
            one.settle.seq < until,
        ).length;
      const orders = tale.orders.get(attempts) ?? [];
      for (const { kind, answer, answered } of orders) {
        if (answer === "succeeded" && counts(answered?.seq ?? 0) === 0) {
          yield finding(tale, `${kind} of delivery ${attempts} succeeds without effect`);
        }
      }
      const ends = orders.filter(
        ({ kind, answer }) => kind !== "renewLock" && answer === "succeeded",
      );
      if (ends.length > 1) yield finding(tale, `delivery ${attempts} ended more than once`);
      const isKnown = orders.every(({ answer }) => answer !== "unknown");
      const succeeded = orders.filter(({ answer }) => answer === "succeeded").length;
      if (isKnown && counts(Number.POSITIVE_INFINITY) > succeeded) {
        yield finding(tale, `delivery ${attempts} was settled behind its receiver's back`);
      }
    }
  }
}

function takingsBack({ steps }: PullTale): readonly TakenBack[] {
  return steps.filter((step) => step.kind === "takenBack");
}

function* takenBack({ journal, pullTales }: History): Iterable<Finding> {
  for (const tale of pullTales) {
    for (const { handing, settle } of takingsBack(tale)) {
      const { attempts, dueAt } = handing.delivery;
      const hasLeft = journal.pull.visits.some(
        ({ queue, asked, left }) =>
          queue === tale.queue.id &&
          asked.at <= handing.now &&
          (left?.seq ?? settle.seq) < settle.seq,
      );
      if (!hasLeft) yield finding(tale, `delivery ${attempts} was taken from one who waits`);
      const { settlement } = settle;
      const isAsBefore =
        settlement.kind === "due" &&
        settlement.attempts === attempts - 1 &&
        settlement.at === dueAt;
      if (!isAsBefore) yield finding(tale, `delivery ${attempts} was not put back as it was`);
    }
  }
}

function* reasoned(history: History): Iterable<Finding> {
  for (const tale of history.pullTales) {
    const { ended, queue } = tale;
    if (ended === null) continue;
    const { handing } = ended;
    const attempts = handing?.delivery.attempts ?? 0;
    const isOver = attempts >= countMaxOf(queue) || ended.at >= tale.expiresAt;
    const orders = handing?.to === "receiver" ? (tale.orders.get(attempts) ?? []) : [];
    const isAsked = orders.some(
      ({ kind, answer, asked }) =>
        answer !== "failed" &&
        asked.seq < ended.seq &&
        (kind === "reject" || (kind === "acknowledge" && !ended.isLetter)),
    );
    const isEnded = isOver && (handing?.to === "keeper" || orders.some(isRelease));
    if (!isAsked && !isEnded) yield finding(tale, `ended after delivery ${attempts} for no reason`);
    if (ended.isLetter && queue.deadLetter === null) {
      yield finding(tale, "dead-lettered without a place for it");
    }
  }
}

function isRelease({ kind }: { readonly kind: string }): boolean {
  return kind === "release";
}

function* accounted(history: History): Iterable<Finding> {
  const { journal } = history;
  const kept = Map.groupBy(history.pullTales, ({ publication }) => publication);
  for (const publication of journal.publications) {
    if (journal.pull.queues.size === 0 || publication.topic.indexOf("/") < 0) continue;
    const tales = kept.get(publication) ?? [];
    const isKept = tales.length === journal.pull.queues.size;
    const isInTime = tales.every(({ append }) => append.seq < (publication.answered?.seq ?? 0));
    if (publication.answer === "accepted" && !(isKept && isInTime)) {
      yield about(publication, `accepted, and kept for ${tales.length} queues`);
    }
    if (publication.answer === "refused" && tales.length > 0) {
      yield about(publication, "refused, and yet kept");
    }
  }
  for (const tale of history.pullTales) yield* accountedTale(history, tale);
}

function* accountedTale(history: History, tale: PullTale): Iterable<Finding> {
  const { ended, gone, queue } = tale;
  if (ended === null || gone === null) {
    yield finding(tale, "not at its end");
    return;
  }
  const { systemId } = tale.append.routed.event;
  const drops = history.drops(systemId, queue.name);
  if (drops.length > 1) yield finding(tale, "dropped more than once");
  const attempts = ended.handing?.delivery.attempts ?? 0;
  const orders = ended.handing?.to === "receiver" ? (tale.orders.get(attempts) ?? []) : [];
  const isAcknowledged =
    !ended.isLetter &&
    orders.some(({ kind, answer }) => kind === "acknowledge" && answer !== "failed");
  const isWritten = history.journal.pull.sends.some(
    ({ taken, deliveries }) =>
      taken !== null &&
      deliveries.some(
        ({ event, id }) => event.systemId === systemId && id.subscription === queue.id,
      ),
  );
  const isToldAsWell = drops.length > 0 && isAcknowledged && orders.length === 1;
  if (isToldAsWell) yield finding(tale, "acknowledged, and told as dropped");
  if (isAcknowledged || isWritten || drops.length > 0) return;
  if (!history.diedOver(gone)) yield finding(tale, "gone without a word");
}

/** A receive that ends empty, although something could be had for as long as it takes to see it. */
function* served(history: History): Iterable<Finding> {
  const { journal, pullTales } = history;
  const tales = Map.groupBy(pullTales, ({ queue }) => queue.id);
  for (const { queue, asked, answered, got } of journal.pull.visits) {
    if (answered === null || got.length > 0) continue;
    for (const tale of tales.get(queue) ?? []) {
      for (const { from, until } of tale.available) {
        const began = Math.max(from.at, asked.at);
        const isSeen = excuse(began, journal.diskTroubles) + slackMs < answered.at;
        const isThere = until === null || until.at >= answered.at;
        const isFree = until === null || until.seq > answered.seq;
        if (isSeen && isThere && isFree) {
          const words = `available since ${journal.clockOf(from.at)}, and a receive ended empty`;
          yield finding(tale, `${words} at ${journal.clockOf(answered.at)}`);
        }
      }
    }
  }
}
