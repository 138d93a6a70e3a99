// The table of profiles for people, made from the profiles themselves, so that the page that shows
// it cannot grow old.

import {
  type Profile,
  profileNames,
  profiles,
  type SmallestWaits,
} from "../../src/core/delivery/profile.ts";
import type { Range } from "../../src/core/text/check.ts";

type Cell = (profile: Profile) => string;

const rows: readonly (readonly [what: string, id: string, cell: Cell])[] = [
  ["success codes", "P-1", ({ succeeds }) => listed(succeeds)],
  ["wait for an answer", "P-2", ({ waitMs }) => `${waitMs / 1_000} s`],
  ["a late answer counts until", "P-3", ({ lateMs }) => (lateMs === 0 ? "–" : lengthOf(lateMs))],
  ["waits between attempts; the last repeats", "P-4", ({ scheduleMs }) => steps(scheduleMs)],
  ["time to live", "P-5", ({ ttlMs }) => lengthOf(ttlMs.default)],
  ["… and per subscription", "P-5", ({ ttlMs }) => range(ttlMs.range, minutes)],
  ["attempts", "P-6", ({ attemptsMax }) => `${attemptsMax.default ?? "unlimited"}`],
  ["… and per subscription", "P-6", ({ attemptsMax }) => range(attemptsMax.range, String)],
  ["limits set for all", "P-5, P-6", ({ limitsForAll }) => yes(limitsForAll)],
  ["never retried, webhook", "P-7", ({ neverRetried }) => listed(neverRetried.webhook)],
  ["never retried, cloud resource", "P-7", ({ neverRetried }) => listed(neverRetried.resource)],
  ["smallest wait, webhook", "P-8", ({ smallestWaitMs }) => waits(smallestWaitMs.webhook)],
  ["smallest wait, cloud resource", "P-8", ({ smallestWaitMs }) => waits(smallestWaitMs.resource)],
  ["`Retry-After` counts", "P-8", ({ retryAfter }) => yes(retryAfter)],
  ["output batching", "P-9", ({ batching }) => yes(batching)],
  ["delayed delivery", "P-10", ({ delayedDelivery }) => yes(delayedDelivery)],
  ["dead letters", "P-11", ({ deadLettering }) => (deadLettering ? "yes" : "no: dropped")],
  ["custom delivery headers", "P-12", ({ deliveryHeaders }) => yes(deliveryHeaders)],
  ["survives a restart", "P-13", () => "yes"],
];

export function conformanceTable(): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [
    line(["", ...profileNames.map((name) => `\`${name}\``)]),
    line(["---", ...profileNames.map(() => "---")]),
    ...rows.map(([what, id, cell]) =>
      line([`${what} (${id})`, ...profileNames.map((name) => cell(profiles[name]))]),
    ),
  ].join("\n");
}

function yes(is: boolean): string {
  return is ? "yes" : "no";
}

/** `200–204`, `200, 202`, `–` */
function listed(codes: readonly number[]): string {
  if (codes.length === 0) return "–";
  const isRun = codes.length > 2 && codes.every((code, index) => code === (codes[0] ?? 0) + index);
  return isRun ? `${codes[0]}–${codes.at(-1)}` : codes.join(", ");
}

function range(bounds: Range | null, words: (value: number) => string): string {
  return bounds === null ? "–" : `${words(bounds.min)} to ${words(bounds.max)}`;
}

function minutes(ms: number): string {
  return `${ms / 60_000} min`;
}

function steps(scheduleMs: readonly number[]): string {
  return scheduleMs.map(lengthOf).join(", ");
}

function waits({ byStatus, others }: SmallestWaits): string {
  if (others === 0) return "–";
  const each = Object.entries(byStatus).map(([status, ms]) => `${status}: ${lengthOf(ms)}`);
  return [...each, `others: ${lengthOf(others)}`].join(", ");
}

const units = [
  ["h", 3_600_000],
  ["min", 60_000],
  ["s", 1_000],
] as const;

/** In the largest unit that gives a whole number. */
function lengthOf(ms: number): string {
  const [unit, size] = units.find(([, each]) => ms % each === 0) ?? ["ms", 1];
  return `${ms / size} ${unit}`;
}
