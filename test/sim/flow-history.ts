// How each subscription was let run, as far as the broker could know: the records that the store
// had, one after the other, and from when on each was in effect for certain. Between a write and
// that moment the broker may go by the record before or by the new one.

import type { FlowState } from "../../src/core/delivery/flow.ts";
import type { SubscriptionId } from "../../src/core/subscription.ts";
import type { Span } from "./history.ts";
import type { Journal, Mark } from "./journal.ts";

interface Phase {
  readonly flowState: FlowState;
  readonly written: Mark;
  readonly certain: Mark;
}

const steered = [
  ...["subscription.paused", "subscription.resumed"],
  ...["subscription.draining", "subscription.drained"],
];
const never: Mark = { seq: Number.POSITIVE_INFINITY, at: Number.POSITIVE_INFINITY };

export class FlowHistory {
  readonly #phases = new Map<SubscriptionId, Phase[]>();

  constructor(journal: Journal) {
    for (const { record, seq, at } of journal.records) {
      const known = this.#phases.get(record.id) ?? [];
      this.#phases.set(record.id, known);
      const { flow, pauses, name } = record;
      const before = known.at(-1)?.flowState;
      if (before !== undefined && sameFlow(before, { flow, pauses })) continue;
      const certain = known.length === 0 ? { seq, at } : certainAfter(journal, name, seq);
      known.push({ flowState: { flow, pauses }, written: { seq, at }, certain });
    }
  }

  /** Those by which the broker may have gone at some time from one mark to the other. */
  possible(id: SubscriptionId, from: number, until: number): readonly FlowState[] {
    const phases = this.#phases.get(id) ?? [];
    return phases.flatMap(({ flowState, written }, index) => {
      const next = phases[index + 1]?.certain.seq ?? Number.POSITIVE_INFINITY;
      return written.seq <= until && next >= from ? [flowState] : [];
    });
  }

  /** When it was paused or drained, which explains that something was not sent. */
  held(id: SubscriptionId): readonly Span[] {
    const phases = this.#phases.get(id) ?? [];
    return phases.flatMap(({ flowState: { flow }, written }, index) => {
      if (flow.kind === "running") return [];
      const from = flow.kind === "paused" ? flow.since : written.at;
      return { from, until: phases[index + 1]?.certain.at ?? never.at };
    });
  }
}

function sameFlow(one: FlowState, other: FlowState): boolean {
  return JSON.stringify([one.flow, one.pauses]) === JSON.stringify([other.flow, other.pauses]);
}

/** The broker has said so, or has restarted since. */
function certainAfter(journal: Journal, name: string, seq: number): Mark {
  const told = journal.facts.find(
    (fact) => fact.seq > seq && steered.includes(fact.name) && fact.fields.subscription === name,
  );
  const begun = journal.lives.find(({ started }) => started.seq > seq)?.started;
  const marks = [told, begun].filter((mark) => mark !== undefined);
  return marks.toSorted((a, b) => a.seq - b.seq)[0] ?? never;
}
