// Dead letters, shown: in pages from the newest hour back, in groups by what became of them, and
// one alone with its record. A page is a bounded look: where a query matches little, it may have
// fewer letters than asked for and yet a `next`.

import type { DeadLetterGroup, DeadLetterPage, DeadLetterView } from "../../core/api/views.ts";
import type { LetterPath } from "../../core/deadletter/letter-path.ts";
import { bookmarkOf, parseBookmark, parseLetterId } from "../../core/deadletter/letter-path.ts";
import {
  type LetterQuery,
  letterQueryNames,
  parseLetterQuery,
} from "../../core/deadletter/letter-query.ts";
import { Refusal } from "../../core/refusal.ts";
import type { Reply, Request, Route } from "../../core/request.ts";
import { endpointOf } from "../../core/subscription.ts";
import { refuseName } from "../../core/text/wording.ts";
import { apiHeaders, numberIn } from "../api/names.ts";
import { reply } from "../arm/reply.ts";
import { type FoundLetter, findLetters, type LetterDeps, lettersIn } from "./find-letters.ts";

/** Blobs that one page, and one answer of groups, looks into. */
const pageBlobsMax = 500;
const groupBlobsMax = 2_000;
const limitRange = { min: 1, max: 1_000, usual: 100 };
const remarksMax = 20;

export function deadLetterRoutes(deps: LetterDeps): Route[] {
  const headers = apiHeaders;
  const path = "/api/v1/dead-letters";
  return [
    { method: "GET", path, headers, handle: (request) => showPage(deps, request) },
    {
      method: "GET",
      path: `${path}/groups`,
      headers,
      handle: (request) => showGroups(deps, request),
    },
    { method: "GET", path: `${path}/:id`, headers, handle: (request) => showOne(deps, request) },
  ];
}

async function showPage(deps: LetterDeps, request: Request): Promise<Reply> {
  const query = queryOf(request, ["after", "limit"]);
  const { after } = request.query;
  const limit = numberIn(request, "limit", limitRange);
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
  const page: DeadLetterPage = { value, next, remarks: remarks.slice(0, remarksMax) };
  return reply(200, page);
}

async function showGroups(deps: LetterDeps, request: Request): Promise<Reply> {
  const query = queryOf(request, []);
  const groups = new Map<string, DeadLetterGroup>();
  let blobs = 0;
  for await (const found of findLetters(deps, query)) {
    if (found.kind === "letter") addTo(groups, found);
    if (found.kind === "blob") blobs += 1;
    if (blobs === groupBlobsMax) break;
  }
  const isPartial = blobs === groupBlobsMax;
  const shown = [...groups.values()].map((group) => ({ ...group, isPartial }));
  return reply(
    200,
    shown.toSorted((one, other) => other.count - one.count),
  );
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

async function showOne(deps: LetterDeps, { params }: Request): Promise<Reply> {
  const { view, record } = await needLetter(deps, parseLetterId(params.id ?? ""));
  return reply(200, { ...view, record } satisfies DeadLetterView);
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

/** Refusal: InvalidSetting, for a word that is none of the query's. */
function queryOf({ query }: Request, others: readonly string[]): LetterQuery {
  const known = [...letterQueryNames, ...others];
  for (const name of Object.keys(query)) {
    if (!known.includes(name)) throw refuseName({ what: "parameter", name, known });
  }
  return parseLetterQuery(query);
}
