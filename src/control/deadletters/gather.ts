// Collects the dead letters of a redrive: by a walk through the stores, or by their ids. What
// cannot be read is reported and not thrown.

import type { LetterPath } from "../../core/deadletter/letter-path.ts";
import type { DeadLetterReader, NotRead } from "../../core/deadletter/letter-store.ts";
import {
  type FoundLetter,
  findLetters,
  type LetterDeps,
  lettersIn,
  timesRedriven,
  type WholeLetter,
} from "./find-letters.ts";
import type { Order } from "./redrive-order.ts";

/** Whole letters of a large blob are held so many at a time. */
const lettersPerRead = 100;

/** Gets reports on the way. */
export interface Ear {
  readonly signal: AbortSignal;
  remark(words: string): void;
  /** About a store, or a part of one, that could not be read. */
  miss(words: string): void;
  /** About one selected dead letter. */
  skip(words: string): void;
}

/** The heads of what an order means, blob by blob. */
export async function* gatherLetters(
  deps: LetterDeps,
  { letters }: Order,
  ear: Ear,
): AsyncGenerator<readonly FoundLetter[], void, void> {
  if (letters.kind === "ids") {
    for await (const { letter } of lettersAt(deps, letters.places, ear)) yield [letter];
    return;
  }
  for await (const found of findLetters(deps, letters.query)) {
    if (ear.signal.aborted) return;
    for (const { index, words } of found.remarks) {
      if (index === null) ear.miss(words);
      else ear.remark(words);
    }
    yield found.letters;
  }
}

/**
 * Letters with their events, and how often each has been redriven. A blob is read once for some
 * hundred letters that follow one another.
 */
export async function* lettersAt(
  deps: LetterDeps,
  places: readonly LetterPath[],
  ear: Ear,
): AsyncGenerator<{ readonly letter: WholeLetter; readonly times: number }, void, void> {
  for (let from = 0; from < places.length; ) {
    const first = places[from] as LetterPath;
    const ahead = places.slice(from, from + lettersPerRead);
    const beyond = ahead.findIndex((place) => !isSameBlob(first, place));
    const some = beyond < 0 ? ahead : ahead.slice(0, beyond);
    from += some.length;
    const indexes = some.map(({ index }) => index);
    const found = await lettersIn(deps, first, first.path, indexes);
    const times = "why" in found ? [] : await timesRedriven(deps, found.letters);
    if (ear.signal.aborted) return;
    for (const { account, container, path, index } of some) {
      const name = `${account}/${container}/${path}, record ${index}`;
      if ("why" in found) {
        ear.skip(`${name}: ${found.why}`);
        continue;
      }
      const at = found.letters.findIndex(({ place }) => place.index === index);
      const letter = found.letters[at];
      if (letter !== undefined) yield { letter, times: times[at] ?? 0 };
      else {
        const remark = found.remarks.find((each) => each.index === index);
        ear.skip(remark?.words ?? `${name}: There is no such record.`);
      }
    }
  }
}

/** The same reader, which waits for no store once the signal has aborted. */
export function heeding(reader: DeadLetterReader, signal: AbortSignal): DeadLetterReader {
  const unlessStopped = async <T>(work: Promise<T>): Promise<T | NotRead> => {
    const stopped = Promise.withResolvers<NotRead>();
    const stop = () => stopped.resolve(notAnyMore);
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) stop();
    try {
      return await Promise.race([work, stopped.promise]);
    } finally {
      signal.removeEventListener("abort", stop);
    }
  };
  return {
    list: (container, page) => unlessStopped(reader.list(container, page)),
    read: (container, path, wanted) => unlessStopped(reader.read(container, path, wanted)),
    whyUnreachable: (container) => reader.whyUnreachable(container),
  };
}

const notAnyMore: NotRead = {
  kind: "notRead",
  why: "The redrive was stopped.",
  isMissing: false,
};

function isSameBlob(one: LetterPath, other: LetterPath): boolean {
  return (
    one.path === other.path && one.container === other.container && one.account === other.account
  );
}
