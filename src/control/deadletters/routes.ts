// Dead letters, shown: in pages from the newest hour back, in groups by what became of them, and
// one alone with its record. A page is a bounded look: where a query matches little, it may have
// fewer letters than asked for and yet a `next`.

import type { DeadLetterQuery } from "../../core/api/orders.ts";
import type { DeadLetterGroup, DeadLetterPage } from "../../core/api/views.ts";
import type { LetterPath } from "../../core/deadletter/letter-path.ts";
import { bookmarkOf, parseBookmark, parseLetterId } from "../../core/deadletter/letter-path.ts";
import { letterQueryOf } from "../../core/deadletter/letter-query.ts";
import { Refusal } from "../../core/refusal.ts";
import { endpointOf } from "../../core/subscription.ts";
import type { Handlers } from "../api/serve.ts";
import { type FoundLetter, findLetters, type LetterDeps, lettersIn } from "./find-letters.ts";

/** Blobs that one page, and one answer of groups, looks into. */
const pageBlobsMax = 500;
const groupBlobsMax = 2_000;
const usualLimit = 100;
const remarksMax = 20;

export function deadLetterHandlers(
  deps: LetterDeps,
): Pick<Handlers, "findDeadLetters" | "groupDeadLetters" | "showDeadLetter"> {
  return {
    findDeadLetters: ({ query: { after, limit, ...query } }) =>
      showPage(deps, query, { after, limit: limit ?? usualLimit }),
    groupDeadLetters: ({ query }) => showGroups(deps, query),
    async showDeadLetter({ params }) {
      const { view, record } = await needLetter(deps, parseLetterId(params.id));
      return { ...view, record };
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
  let next: string | null = null;
  for await (const found of findLetters(deps, query, from)) {
    if (found.kind === "remark") remarks.push(found.words);
    else if (found.kind === "letter" && letters.length < limit) letters.push(found);
    else if (found.kind === "letter") {
      next = bookmarkOf((letters.at(-1) as FoundLetter).bookmark);
      break;
    } else if (++blobs === pageBlobsMax) {
      next = bookmarkOf(found.bookmark);
      break;
    }
  }
  const value = letters.map(({ view }) => view);
  return { value, next, remarks: remarks.slice(0, remarksMax) };
}

async function showGroups(
  deps: LetterDeps,
  asked: DeadLetterQuery,
): Promise<readonly DeadLetterGroup[]> {
  const query = letterQueryOf(asked);
  const groups = new Map<string, DeadLetterGroup>();
  let blobs = 0;
  for await (const found of findLetters(deps, query)) {
    if (found.kind === "letter") addTo(groups, found);
    if (found.kind === "blob") blobs += 1;
    if (blobs === groupBlobsMax) break;
  }
  const isPartial = blobs === groupBlobsMax;
  const shown = [...groups.values()].map((group) => ({ ...group, isPartial }));
  return shown.toSorted((one, other) => other.count - one.count);
}

function addTo(groups: Map<string, DeadLetterGroup>, { view, home }: FoundLetter): void {
  const { reason, outcome, subscription, topic, writtenAt } = view;
  const endpoint = home.kind === "known" ? endpointOf(home.subscription.destination) : null;
  const key = JSON.stringify([reason, outcome, subscription, topic, endpoint]);
  const known = groups.get(key);
  const earlier = (one: string, other: string) => (one < other ? one : other);
  groups.set(key, {
    ...{ reason, outcome, subscription, topic, endpoint },
    count: (known?.count ?? 0) + 1,
    oldestAt: earlier(known?.oldestAt ?? writtenAt, writtenAt),
    newestAt: known === undefined || known.newestAt < writtenAt ? writtenAt : known.newestAt,
    isPartial: false,
  });
}

/** Refusals: NotFound, Conflict for a record that cannot be read, Unavailable for its store. */
async function needLetter(deps: LetterDeps, place: LetterPath): Promise<FoundLetter> {
  const { account, container, path, index } = place;
  const found = await lettersIn(deps, { account, container }, path);
  if ("why" in found) {
    throw new Refusal(found.isMissing ? "NotFound" : "Unavailable", found.why);
  }
  for (const each of found) {
    if (each.kind === "letter" && each.place.index === index) return each;
    if (each.kind === "remark" && each.index === index) throw new Refusal("Conflict", each.words);
  }
  throw new Refusal("NotFound", `The blob has no record ${index}.`);
}
