// The routes of the virtual clock: what time it is, when something is next due, and moving on. They
// exist only with `--clock virtual`.

import type { Instant } from "../core/ports.ts";
import { Refusal } from "../core/refusal.ts";
import type { Reply, Route } from "../core/request.ts";
import { isoInstant, parseInstant, parseLength } from "../core/text/time.ts";
import { checkMembers, refuseValue } from "../core/text/wording.ts";

/** A clock that moves on request, and only when nothing is in progress. */
export interface MovableClock {
  now(): Instant;
  /** Once everything is idle; null when nothing is due at all. */
  nextDueAt(): Promise<Instant | null>;
  /** Refusal: InvalidSetting, for a moment that has passed. */
  advance(target: Target): Promise<Instant>;
}

export type Target = { readonly to: Instant | "next" } | { readonly byMs: number };

/** What has happened since the broker started. */
export interface Tally {
  readonly attempts: number;
  readonly delivered: number;
  readonly deadLettered: number;
  readonly dropped: number;
}

export function clockRoutes({
  clock,
  tally,
}: {
  readonly clock: MovableClock;
  readonly tally: () => Tally;
}): Route[] {
  // One advance at a time, so that each counts what happened during itself.
  let turn: Promise<unknown> = Promise.resolve();
  const advance = async (target: Target) => {
    // What is still in progress from before belongs to before.
    await clock.nextDueAt();
    const before = tally();
    await clock.advance(target);
    const after = tally();
    return reply({
      ...(await timesOf(clock)),
      attempts: after.attempts - before.attempts,
      delivered: after.delivered - before.delivered,
      deadLettered: after.deadLettered - before.deadLettered,
      dropped: after.dropped - before.dropped,
    });
  };
  return [
    { method: "GET", path: "/clock", handle: async () => reply(await timesOf(clock)) },
    {
      method: "POST",
      path: "/clock",
      handle(request) {
        const target = parseTarget(request.body);
        const answer = turn.then(() => advance(target));
        turn = answer.catch(() => {});
        return answer;
      },
    },
  ];
}

async function timesOf(clock: MovableClock) {
  const nextDueAt = await clock.nextDueAt();
  return {
    now: isoInstant(clock.now()),
    nextDueAt: nextDueAt === null ? null : isoInstant(nextDueAt),
  };
}

/** `{"advance": "30s"}`, `{"to": "2030-01-01T00:00:00Z"}` or `{"to": "next"}`. */
function parseTarget(body: Uint8Array): Target {
  const members = checkMembers(parseJson(body), "the request", ["advance", "to"]);
  const { advance, to } = members;
  if ((advance === undefined) === (to === undefined)) {
    const found = advance === undefined ? "neither" : "both";
    throw new Refusal("InvalidSetting", `the request must have advance or to, and has ${found}`);
  }
  if (to === "next") return { to };
  if (typeof to === "string") return { to: parseInstant(to, "to") };
  if (typeof advance === "string") return { byMs: parseLength(advance, "advance") };
  throw to === undefined
    ? refuseValue({ field: "advance", value: advance, allowed: "a duration such as 12h or PT12H" })
    : refuseValue({ field: "to", value: to, allowed: "an ISO 8601 instant, or next" });
}

function parseJson(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(body));
  } catch {
    const example = `{"advance":"30s"}`;
    throw new Refusal("InputJsonInvalid", `the request must be a JSON object such as ${example}`);
  }
}

function reply(body: object): Reply {
  return {
    status: 200,
    headers: { "content-type": "application/json; charset=utf-8" },
    body: JSON.stringify(body),
  };
}
