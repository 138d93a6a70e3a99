// What happened to each event of a pull queue, replayed step by step from what the store did: who
// had it, how often it was handed out, and how it ended.

import type { Instant, Settlement } from "../../src/core/ports.ts";
import type { Subscription } from "../../src/core/subscription.ts";
import type { Append, Journal, Mark, Publication, SettleNote } from "./journal.ts";
import type { Handing, Order } from "./pull-journal.ts";

/** What holds of an event before a step. */
export interface PullStanding {
  readonly count: number;
  /** The end of the lock or of the delay; until then nobody gets it. */
  readonly dueAt: Instant;
  readonly ended: PullEnd | null;
}

export type PullStep =
  | { readonly kind: "handed"; readonly before: PullStanding; readonly handing: Handing }
  | { readonly kind: "settled"; readonly before: PullStanding; readonly settle: SettleNote }
  | TakenBack;

/** It is as if it had not been handed out: whoever it was for had gone (N-44). */
export interface TakenBack {
  readonly kind: "takenBack";
  readonly before: PullStanding;
  readonly handing: Handing;
  readonly settle: SettleNote;
}

/** It is in the queue no more: gone, or a dead letter. */
export interface PullEnd extends Mark {
  readonly life: number;
  readonly isLetter: boolean;
  readonly handing: Handing | undefined;
}

export interface PullTale {
  readonly publication: Publication;
  readonly queue: Subscription;
  readonly append: Append;
  readonly expiresAt: Instant;
  readonly steps: readonly PullStep[];
  /** By the count of the delivery that they are about. */
  readonly orders: ReadonlyMap<number, readonly Order[]>;
  /** When it could be had, from one time to another. */
  readonly available: readonly { readonly from: Mark; readonly until: Mark | null }[];
  readonly ended: PullEnd | null;
  /** When the last of it was gone from the store, with the lease under which it was. */
  readonly gone: SettleNote | null;
}

export function countMaxOf({ retryPolicy }: Subscription): number {
  return retryPolicy.maxDeliveryAttempts ?? Number.POSITIVE_INFINITY;
}

export function tellPullTales({ pull, publications }: Journal): readonly PullTale[] {
  const byNumber = new Map(publications.map((one) => [one.number, one]));
  const storeNumbers = new Map(
    pull.handings.map(({ delivery }) => [delivery.event.systemId, delivery.id.event]),
  );
  const nameOf = (event: number | undefined, queue: number) => `${event}/${queue}`;
  const handings = Map.groupBy(pull.handings, ({ delivery: { id } }) =>
    nameOf(id.event, id.subscription),
  );
  const settles = Map.groupBy(pull.settles, ({ settlement: { delivery } }) =>
    nameOf(delivery.event, delivery.subscription),
  );
  const orders = Map.groupBy(pull.orders, ({ got, queue }) => nameOf(got.publication, queue));
  return pull.appends.flatMap((append) =>
    append.routed.to.flatMap((id) => {
      const publication = byNumber.get(append.publication);
      const queue = pull.queues.get(id);
      if (publication === undefined || queue === undefined) return [];
      const { systemId, publishedAt } = append.routed.event;
      const name = nameOf(storeNumbers.get(systemId), id);
      const expiresAt = publishedAt + (queue.retryPolicy.eventTimeToLiveMs ?? 0);
      const asked = orders.get(nameOf(publication.number, id)) ?? [];
      const mine = {
        ...{ append, expiresAt, countMax: countMaxOf(queue) },
        ...{ handings: handings.get(name) ?? [], settles: settles.get(name) ?? [] },
      };
      return {
        ...{ publication, queue, append, expiresAt },
        orders: Map.groupBy(asked, ({ got }) => got.count),
        ...replay(mine),
      };
    }),
  );
}

function replay(of: {
  readonly append: Append;
  readonly expiresAt: Instant;
  readonly countMax: number;
  readonly handings: readonly Handing[];
  readonly settles: readonly SettleNote[];
}): Pick<PullTale, "steps" | "available" | "ended" | "gone"> {
  const { append, expiresAt, countMax } = of;
  const steps: PullStep[] = [];
  const available: { from: Mark; until: Mark | null }[] = [];
  const byLease = new Map(of.handings.map((one) => [one.delivery.lease, one]));
  let count = 0;
  let dueAt = append.routed.event.publishedAt;
  let since: Mark = append;
  let ended: PullEnd | null = null;
  let gone: SettleNote | null = null;
  /** It could be had from its due time on, until this. */
  const close = (until: Mark | null) => {
    const from = { seq: since.seq, at: Math.max(since.at, dueAt) };
    const end = Math.min(until?.at ?? Number.POSITIVE_INFINITY, expiresAt);
    if (ended === null && count < countMax && from.at < end) {
      available.push({ from, until: { seq: until?.seq ?? Number.POSITIVE_INFINITY, at: end } });
    }
  };
  const all = [...of.handings, ...of.settles].toSorted((a, b) => a.seq - b.seq);
  for (const note of all) {
    const before: PullStanding = { count, dueAt, ended };
    const mark = { seq: note.seq, at: note.at };
    if ("delivery" in note) {
      steps.push({ kind: "handed", before, handing: note });
      close(mark);
      count = note.to === "receiver" ? count + 1 : count;
      dueAt = note.delivery.leasedUntil;
      since = mark;
      continue;
    }
    const { settlement, counted, life } = note;
    const handing = byLease.get(settlement.lease);
    if (counted && isTakenBack(settlement, handing)) {
      steps.push({ kind: "takenBack", before, handing, settle: note });
      count -= 1;
    } else steps.push({ kind: "settled", before, settle: note });
    if (!counted) continue;
    if (settlement.kind === "gone") gone ??= note;
    const isLetter = settlement.kind === "due" && settlement.stage === "deadLetter";
    if (ended === null) close(mark);
    if (settlement.kind === "gone" || isLetter) {
      ended ??= { ...mark, life, isLetter, handing };
    } else if (settlement.kind === "due") {
      dueAt = settlement.at;
      since = mark;
    }
  }
  close(null);
  return { steps, available, ended, gone };
}

function isTakenBack(settlement: Settlement, handing: Handing | undefined): handing is Handing {
  if (handing?.to !== "receiver" || settlement.kind !== "due") return false;
  return settlement.stage === "deliver" && settlement.attempts < handing.delivery.attempts;
}
