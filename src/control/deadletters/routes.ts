// Routes of dead letters: pages from the newest hour back, groups by reason, and a single one with
// its record. A page reads a bounded number of blobs: if a query matches little, it may be short
// and still have a `next`.

import type { DeadLetterQuery } from "../../core/api/orders.ts";
import type { DeadLetterGroup, DeadLetterPage } from "../../core/api/views.ts";
import type { LetterPath } from "../../core/deadletter/letter-path.ts";
import {
  type Bookmark,
  bookmarkOf,
  parseBookmark,
  parseLetterId,
} from "../../core/deadletter/letter-path.ts";
import { letterQueryOf } from "../../core/deadletter/letter-query.ts";
import type { Instant } from "../../core/ports.ts";
import { Refusal } from "../../core/refusal.ts";
import { endpointOf } from "../../core/subscription.ts";
import { isoInstant } from "../../core/text/time.ts";
import type { Handlers } from "../api/serve.ts";
import {
  type FoundLetter,
  findLetters,
  type LetterDeps,
  lettersIn,
  timesRedriven,
  viewOf,
  viewsOf,
  type WholeLetter,
} from "./find-letters.ts";

/** Blobs that one page, or one answer of groups, reads. */
const pageBlobsMax = 500;
const groupBlobsMax = 2_000;
const groupsMax = 1_000;
const usualLimit = 100;
const remarksMax = 20;

export function deadLetterHandlers(
  deps: LetterDeps,
): Pick<Handlers, "findDeadLetters" | "groupDeadLetters" | "showDeadLetter"> {
  // Requests for the same groups while they are being counted share the answer.
  const counting = new Map<string, Promise<readonly DeadLetterGroup[]>>();
  return {
    findDeadLetters: ({ query: { after, limit, ...query } }) =>
      showPage(deps, query, { after, limit: limit ?? usualLimit }),
    groupDeadLetters({ query }) {
      const key = JSON.stringify(query);
      const groups =
        counting.get(key) ?? showGroups(deps, query).finally(() => counting.delete(key));
      counting.set(key, groups);
      return groups;
    },
    async showDeadLetter({ params }) {
      const found = await needLetter(deps, parseLetterId(params.id));
      const [times = 0] = await timesRedriven(deps, [found]);
      return { ...viewOf(found, times), record: found.record };
    },
  };
}

async function showPage(
  deps: LetterDeps,
  asked: DeadLetterQuery,
  { after, limit }: { readonly after: string | undefined; readonly limit: number },
): Promise<DeadLetterPage> {
  const query = letterQueryOf(asked);
  const from = after === undefined ? null : parseBookmark(after, "after");
  const letters: FoundLetter[] = [];
  const remarks: string[] = [];
  let blobs = 0;
  let shown: Bookmark | null = null;
  let next: Bookmark | null = null;
  for await (const { letters: found, remarks: said, bookmark } of findLetters(deps, query, from)) {
    remarks.push(...said.slice(0, remarksMax).map(({ words }) => words));
    const some = found.slice(0, limit - letters.length);
    letters.push(...some);
    const last = some.at(-1);
    if (last !== undefined && bookmark !== null) shown = { ...bookmark, ...last.place };
    if (some.length < found.length) next = shown;
    else if (bookmark !== null && ++blobs === pageBlobsMax) next = bookmark;
    if (next !== null) break;
  }
  return {
    value: await viewsOf(deps, letters),
    next: next && bookmarkOf(next),
    remarks: remarks.slice(0, remarksMax),
  };
}

type Group = Omit<DeadLetterGroup, "oldestAt" | "newestAt" | "isPartial"> & {
  readonly oldestAt: Instant;
  readonly newestAt: Instant;
};

async function showGroups(
  deps: LetterDeps,
  asked: DeadLetterQuery,
): Promise<readonly DeadLetterGroup[]> {
  const query = letterQueryOf(asked);
  const groups = new Map<string, Group>();
  let blobs = 0;
  let isPartial = false;
  for await (const { letters, bookmark } of findLetters(deps, query)) {
    for (const found of letters) {
      if (!addTo(groups, found)) isPartial = true;
    }
    if (bookmark === null || ++blobs < groupBlobsMax) continue;
    isPartial = true;
    break;
  }
  return [...groups.values()]
    .toSorted((one, other) => other.count - one.count)
    .map(({ oldestAt, newestAt, ...group }) => ({
      ...{ ...group, oldestAt: isoInstant(oldestAt), newestAt: isoInstant(newestAt), isPartial },
    }));
}

/** False: there are too many groups already. */
function addTo(groups: Map<string, Group>, found: FoundLetter): boolean {
  const { letter, home, subscription, topic, writtenAt } = found;
  const { reason, outcome } = letter;
  const endpoint = home.kind === "known" ? endpointOf(home.subscription.destination) : null;
  const key = JSON.stringify([reason, outcome, subscription, topic, endpoint]);
  const known = groups.get(key);
  if (known === undefined && groups.size >= groupsMax) return false;
  groups.set(key, {
    ...{ reason, outcome, subscription, topic, endpoint },
    count: (known?.count ?? 0) + 1,
    oldestAt: Math.min(known?.oldestAt ?? writtenAt, writtenAt),
    newestAt: Math.max(known?.newestAt ?? writtenAt, writtenAt),
  });
  return true;
}

/** Refusals: NotFound, Conflict for a record that cannot be read, Unavailable for its store. */
async function needLetter(deps: LetterDeps, place: LetterPath): Promise<WholeLetter> {
  const { account, container, path, index } = place;
  const found = await lettersIn(deps, { account, container }, path, [index]);
  if ("why" in found) {
    throw new Refusal(found.isMissing ? "NotFound" : "Unavailable", found.why);
  }
  const [letter] = found.letters;
  if (letter !== undefined) return letter;
  const [remark] = found.remarks;
  if (remark !== undefined) throw new Refusal("Conflict", remark.words);
  throw new Refusal("NotFound", `The blob has no record ${index}.`);
}
