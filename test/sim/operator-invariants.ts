// The promises about operators: a pause costs nothing and is kept, a skip drops what was there and
// counts it, a batch that is spoilt is halved and nothing else.

import { aboutSend, aboutTale, type Finding, type Invariant } from "./finding.ts";
import type { History } from "./history.ts";

export const invariants: Readonly<Record<string, Invariant>> = {
  "nothing is sent while a subscription is paused": quiet,
  "a skip drops what waited, and counts it": skipsCounted,
  "what is skipped is not sent any more": notAfterSkip,
  "only an event that was alone is given up for what a batch was told": lonely,
};

function* quiet(history: History): Iterable<Finding> {
  for (const send of history.journal.sends) {
    if (send.stage !== "deliver") continue;
    const { seq } = send.begun;
    const possible = history.flows.possible(send.subscription.id, seq, seq);
    const isPaused = possible.length > 0 && possible.every(({ flow }) => flow.kind === "paused");
    if (isPaused) yield aboutSend(history, send, `${send.subscription.name} is paused`);
  }
}

/** Two at the same time share what they drop; together they count all of it. */
function* skipsCounted(history: History): Iterable<Finding> {
  const skips = history.journal.acts.filter(({ kind }) => kind === "skip");
  for (const [id, acts] of Map.groupBy(skips, ({ subscription }) => subscription)) {
    if (acts.some(({ answered }) => answered === null)) continue;
    const skipped = history.tales.filter(
      (tale) => tale.subscription === id && tale.skipped !== null,
    );
    const told = acts.reduce((sum, { count }) => sum + (count ?? 0), 0);
    if (skipped.length === told) continue;
    const words = `${skipped.length} were skipped for ${id}, and ${told} told`;
    yield { words, publication: skipped[0]?.publication.number ?? null };
  }
}

function* notAfterSkip(history: History): Iterable<Finding> {
  for (const tale of history.tales) {
    const { skipped, sent } = tale;
    if (skipped === null) continue;
    // What was in hand may go out while the skip is under way.
    const act = history.journal.acts.find(
      ({ kind, subscription, asked }) =>
        kind === "skip" && subscription === tale.subscription && asked.seq < skipped.seq,
    );
    const over = act?.answered?.seq ?? Number.POSITIVE_INFINITY;
    if (sent.some(({ send }) => send.begun.seq > Math.max(over, skipped.seq))) {
      yield aboutTale(tale, `sent after it was skipped for ${tale.subscription}`);
    }
  }
}

function* lonely(history: History): Iterable<Finding> {
  for (const tale of history.tales) {
    for (const step of tale.steps) {
      if (step.kind !== "settled" || !step.isCounted || step.send === null) continue;
      const { settlement, send } = step;
      const isBack = settlement.kind === "back";
      if (history.isHalved(send) && !isBack) {
        yield aboutTale(tale, `${settlement.kind} with ${send.deliveries.length} others`);
      }
    }
  }
}
