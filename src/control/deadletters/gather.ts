// The letters that an order means, gathered: by a walk through the stores, or from the places it
// names. What cannot be had is told and not thrown.

import type { LetterPath } from "../../core/deadletter/letter-path.ts";
import type { DeadLetterReader, NotRead } from "../../core/deadletter/letter-store.ts";
import { redriveLimits } from "../../core/deadletter/redrive.ts";
import {
  type Found,
  type FoundLetter,
  findLetters,
  type LetterDeps,
  lettersIn,
} from "./find-letters.ts";
import type { Order } from "./redrive-order.ts";

/** Who is told on the way. */
export interface Ear {
  readonly signal: AbortSignal;
  remark(words: string): void;
  /** Of a store, or a part of one, that may hold letters nobody knows of. */
  miss(words: string): void;
  /** Of one letter that was meant. */
  skip(words: string): void;
}

/** As far as one redrive goes. */
export async function* gatherLetters(
  deps: LetterDeps,
  { letters }: Order,
  ear: Ear,
): AsyncGenerator<FoundLetter, void, void> {
  if (letters.kind === "ids") {
    yield* lettersAt(deps, letters.places, ear);
    return;
  }
  const { lettersMax } = redriveLimits;
  let count = 0;
  for await (const found of findLetters(deps, letters.query)) {
    if (ear.signal.aborted) return;
    if (found.kind === "remark") tellRemark(found, ear);
    if (found.kind !== "letter") continue;
    if (count === lettersMax) {
      ear.remark(`More than ${lettersMax} match; the rest is for another redrive.`);
      return;
    }
    count += 1;
    yield found;
  }
}

/** A blob is read once for all of its letters that follow one another. */
export async function* lettersAt(
  deps: LetterDeps,
  places: readonly LetterPath[],
  ear: Ear,
): AsyncGenerator<FoundLetter, void, void> {
  let open: LetterPath | null = null;
  let found: Awaited<ReturnType<typeof lettersIn>> = [];
  for (const place of places) {
    if (open === null || !isSameBlob(open, place)) {
      found = await lettersIn(deps, place, place.path);
      open = place;
    }
    if (ear.signal.aborted) return;
    const { account, container, path, index } = place;
    const name = `${account}/${container}/${path}, record ${index}`;
    if ("why" in found) {
      ear.skip(`${name}: ${found.why}`);
      continue;
    }
    const one = found.find((each) => isRecord(each, index));
    if (one?.kind === "letter") yield one;
    else ear.skip(one?.kind === "remark" ? one.words : `${name}: There is no such record.`);
  }
}

function tellRemark({ index, words }: Extract<Found, { kind: "remark" }>, ear: Ear): void {
  if (index === null) ear.miss(words);
  else ear.remark(words);
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
    read: (container, path) => unlessStopped(reader.read(container, path)),
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

/** A remark on the whole of a blob is one on each of its records. */
function isRecord(each: Found, index: number): boolean {
  if (each.kind === "letter") return each.place.index === index;
  return each.kind === "remark" && (each.index === index || each.index === null);
}
