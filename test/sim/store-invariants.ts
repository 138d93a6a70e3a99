// The store's side of the bargain, held against what it really did: leases are respected,
// settlements count only by the fence, and what is handed out is what was put in.

import { aboutTale, type Finding, type Invariant } from "./finding.ts";
import { type Claimed, excuse, type History, slackMs, type Tale } from "./history.ts";

export const invariants: Readonly<Record<string, Invariant>> = {
  "what is claimed is what was settled": faithful,
  "a lease keeps others away until it ends": exclusive,
  "a settlement counts if it names the latest lease, and only then": fenced,
  "what waits for a removed subscription is dropped and counted": removalsTold,
};

function* claimsOf(history: History): Iterable<{ tale: Tale; step: Claimed }> {
  for (const tale of history.tales) {
    for (const step of tale.steps) if (step.kind === "claimed") yield { tale, step };
  }
}

function* faithful(history: History): Iterable<Finding> {
  for (const { tale, step } of claimsOf(history)) {
    const { stage, dueAt, attempts, since } = step.delivery;
    const { before } = step;
    const isSame =
      stage === before.stage &&
      (dueAt === before.dueAt || (before.isHastened === true && dueAt < before.dueAt)) &&
      attempts === before.attempts &&
      since === before.since;
    if (!isSame) yield aboutTale(tale, `claimed as ${JSON.stringify({ stage, dueAt, attempts })}`);
    if (dueAt > step.mark.at) yield aboutTale(tale, `claimed ${dueAt - step.mark.at} ms too early`);
    const end = tale.gone?.mark ?? tale.skipped;
    if (end !== null && end.seq < step.mark.seq) yield aboutTale(tale, "claimed after its end");
  }
}

function* exclusive(history: History): Iterable<Finding> {
  for (const { tale, step } of claimsOf(history)) {
    const { lease, delivery, mark } = step;
    if (lease === null) continue;
    if (delivery.lease <= lease.number) yield aboutTale(tale, "a lease is used again");
    const isForgotten = history.weather.store !== "shared" && lease.life !== step.life;
    if (!lease.isOver && !isForgotten && lease.until > mark.at) {
      yield aboutTale(tale, `claimed ${lease.until - mark.at} ms before its lease was over`);
    }
  }
}

function* fenced(history: History): Iterable<Finding> {
  for (const tale of history.tales) {
    for (const step of tale.steps) {
      if (step.kind !== "settled") continue;
      const { settlement, lease, mark, isCounted } = step;
      const isThere =
        (tale.gone === null || tale.gone.mark.seq >= mark.seq) &&
        (tale.skipped === null || tale.skipped.seq > mark.seq) &&
        (tale.removed === null || tale.removed.seq > mark.seq);
      const isLatest = lease?.number === settlement.lease;
      const isUsedUp = settlement.kind === "back" && lease?.isOver === true;
      const shouldCount = isThere && isLatest && !isUsedUp;
      if (isCounted !== shouldCount) {
        const words = isCounted ? "counts" : "is ignored";
        yield aboutTale(tale, `a settlement of lease ${settlement.lease} ${words}`);
      }
    }
  }
}

function* removalsTold(history: History): Iterable<Finding> {
  const { journal } = history;
  for (const { subscription, seq, at } of journal.removals) {
    const waiting = history.tales.filter(
      (tale) =>
        tale.subscription === subscription &&
        tale.removed !== null &&
        (tale.gone === null || tale.gone.mark.seq > seq) &&
        (tale.skipped === null || tale.skipped.seq > seq),
    );
    const facts = journal.facts.filter(
      ({ name, fields }) => name === "deliveries.dropped" && fields.subscription === subscription,
    );
    const [told] = facts;
    const crashed = journal.lives.some(
      ({ ended }) =>
        ended?.how === "crash" && ended.at <= excuse(at, history.journal.diskTroubles) + slackMs,
    );
    if (told === undefined) {
      if (!crashed) yield { words: `${subscription} is removed silently`, publication: null };
    } else if (told.fields.count !== waiting.length || facts.length > 1) {
      const words = `${waiting.length} waited for ${subscription}, ${told.fields.count} dropped`;
      yield { words, publication: waiting[0]?.publication.number ?? null };
    }
  }
}
