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

/** So many whole letters are held at a time, of so many blobs. */
const lettersAhead = 100;
const blobsAhead = 8;

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
 * Letters with their events, and how often each has been redriven. Some are read ahead together, a
 * blob once for all of its letters that follow one another.
 */
export async function* lettersAt(
  deps: LetterDeps,
  places: readonly LetterPath[],
  ear: Ear,
): AsyncGenerator<{ readonly letter: WholeLetter; readonly times: number }, void, void> {
  for (let from = 0; from < places.length; ) {
    const blobs = nextBlobs(places.slice(from, from + lettersAhead));
    from += blobs.flat().length;
    const read = (await Promise.all(blobs.map((some) => readBlob(deps, some)))).flat();
    const found = read.flatMap((each) => ("letter" in each ? each.letter : []));
    const times = await timesRedriven(deps, found);
    if (ear.signal.aborted) return;
    for (const each of read) {
      if ("why" in each) ear.skip(each.why);
      else yield { letter: each.letter, times: times[found.indexOf(each.letter)] ?? 0 };
    }
  }
}

/** Places that follow one another in one blob, for the first few blobs. */
function nextBlobs(places: readonly LetterPath[]): readonly LetterPath[][] {
  const blobs: LetterPath[][] = [];
  for (const place of places) {
    const last = blobs.at(-1);
    if (last?.[0] !== undefined && isSameBlob(last[0], place)) last.push(place);
    else if (blobs.length < blobsAhead) blobs.push([place]);
    else break;
  }
  return blobs;
}

type Read = { readonly letter: WholeLetter } | { readonly why: string };

async function readBlob(deps: LetterDeps, places: readonly LetterPath[]): Promise<readonly Read[]> {
  const [first] = places as [LetterPath];
  const indexes = places.map(({ index }) => index);
  const found = await lettersIn(deps, first, first.path, indexes);
  return places.map(({ account, container, path, index }): Read => {
    const name = `${account}/${container}/${path}, record ${index}`;
    if ("why" in found) return { why: `${name}: ${found.why}` };
    const letter = found.letters.find(({ place }) => place.index === index);
    if (letter !== undefined) return { letter };
    const remark = found.remarks.find((each) => each.index === index);
    return { why: remark?.words ?? `${name}: There is no such record.` };
  });
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
