// Counts the ids a receiver got: how often each came, which were accepted more than once, and which
// are missing from a sequence such as `a-1, a-2, a-4`. Pure.

export interface ReceivedIdsView {
  readonly requests: number;
  /** Events in requests, each time they came. */
  readonly arrived: number;
  /** Different events that were accepted. */
  readonly accepted: number;
  /** Events that came and were never accepted. */
  readonly refused: number;
  /** The first of those. */
  readonly refusedIds: readonly string[];
  /** Accepted more than once, the most frequent first. */
  readonly duplicates: readonly { readonly id: string; readonly times: number }[];
  readonly gaps: readonly { readonly from: string; readonly to: string; readonly count: number }[];
  readonly signatures: { readonly good: number; readonly bad: number };
  /** More came than could be remembered. */
  readonly isCut: boolean;
}

/** Beyond this only counts are kept. */
const idsMax = 1_000_000;
const shownMax = 100;

export class ReceivedIds {
  readonly #accepted = new Map<string, number>();
  readonly #refused = new Set<string>();
  #requests = 0;
  #arrived = 0;
  #good = 0;
  #bad = 0;
  #isCut = false;

  get accepted(): number {
    return this.#accepted.size;
  }

  note(ids: readonly string[], isAccepted: boolean): void {
    this.#requests += 1;
    this.#arrived += ids.length;
    for (const id of ids) {
      const isKnown = this.#accepted.has(id) || this.#refused.has(id);
      if (!isKnown && this.#accepted.size + this.#refused.size >= idsMax) {
        this.#isCut = true;
        continue;
      }
      if (isAccepted) {
        this.#accepted.set(id, (this.#accepted.get(id) ?? 0) + 1);
        this.#refused.delete(id);
      } else if (!this.#accepted.has(id)) this.#refused.add(id);
    }
  }

  noteSignature(isGood: boolean): void {
    if (isGood) this.#good += 1;
    else this.#bad += 1;
  }

  view(): ReceivedIdsView {
    const duplicates = [...this.#accepted]
      .filter(([, times]) => times > 1)
      .map(([id, times]) => ({ id, times }))
      .toSorted((one, other) => other.times - one.times);
    return {
      requests: this.#requests,
      arrived: this.#arrived,
      accepted: this.#accepted.size,
      refused: this.#refused.size,
      refusedIds: [...this.#refused].slice(0, shownMax),
      duplicates: duplicates.slice(0, shownMax),
      gaps: gapsIn([...this.#accepted.keys()]).slice(0, shownMax),
      signatures: { good: this.#good, bad: this.#bad },
      isCut: this.#isCut,
    };
  }
}

/** Sequences of ids that differ only in the number at their end. */
export function gapsIn(ids: readonly string[]): ReceivedIdsView["gaps"] {
  const rows = new Map<string, number[]>();
  for (const id of ids) {
    const [, name, digits] = /^(.*?)(\d{1,15})$/s.exec(id) ?? [];
    // A number at the end of a generated id, such as a GUID, is not a sequence.
    if (name === undefined || digits === undefined || (name !== "" && !/[-_/.:#]$/.test(name))) {
      continue;
    }
    const row = rows.get(name);
    if (row === undefined) rows.set(name, [Number(digits)]);
    else row.push(Number(digits));
  }
  return [...rows].flatMap(([name, numbers]) => {
    const sorted = numbers.toSorted((one, other) => one - other);
    return sorted.flatMap((number, index) => {
      const before = sorted[index - 1];
      if (before === undefined || number - before <= 1) return [];
      const [from, to] = [before + 1, number - 1];
      return [{ from: `${name}${from}`, to: `${name}${to}`, count: to - from + 1 }];
    });
  });
}

export function drawReceivedIds(view: ReceivedIdsView): string {
  const { requests, arrived, accepted, refusedIds, duplicates, gaps, signatures, isCut } = view;
  const signed = signatures.good + signatures.bad;
  const lines = [
    `${count(requests, "request")} with ${count(arrived, "event")}, ${count(accepted, "different id")} accepted`,
    ...(refusedIds.length === 0 ? [] : [`never accepted: ${refusedIds.join(", ")}`]),
    duplicates.length === 0
      ? "no duplicates"
      : `duplicates: ${duplicates.map(({ id, times }) => `${id} (${times} times)`).join(", ")}`,
    gaps.length === 0
      ? "no gaps"
      : `gaps: ${gaps.map(({ from, to }) => (from === to ? from : `${from} to ${to}`)).join(", ")}`,
    ...(signed === 0 ? [] : [`signatures: ${signatures.good} good, ${signatures.bad} bad`]),
    ...(isCut ? ["more came than could be remembered"] : []),
  ];
  return `${lines.join("\n")}\n`;
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? "" : "s"}`;
}
