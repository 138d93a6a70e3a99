// Load on a topic: a number of events at a rate, several requests at once, and the results.

import { Refusal } from "../../core/refusal.ts";
import { isObject } from "../../core/template/expression.ts";
import { BrokerError } from "../broker-error.ts";
import type { Client } from "../client.ts";
import type { CommandOutside } from "../command.ts";
import type { ParsedOptions } from "../option.ts";
import { openProgress } from "../print/progress.ts";
import { rateOf } from "../rates.ts";
import { bodyIn, makeEvent, send, type Target } from "./publish-request.ts";

const sendsDefault = 8;

/** What only a load has. */
const loadOptions = ["rate", "batch", "parallel", "size"];

/** No option is ignored. Refusal: InvalidSetting. */
export function checkLoad(given: ParsedOptions): void {
  const refuse = (words: string) => new Refusal("InvalidSetting", words);
  if (!given.has("count")) {
    const extra = loadOptions.find((name) => given.has(name));
    if (extra !== undefined) throw refuse(`--${extra} must be left out without --count`);
    return;
  }
  if (given.operands.length > 0) throw refuse("--count must be left out with files");
  if (given.has("id")) throw refuse("--id must be left out with --count: ids are RUN-1, RUN-2, …");
  if ((given.whole("size") ?? 0) > 0 && !isObject(bodyIn(given))) {
    throw refuse("--body must be a JSON object with --size, which adds a member to it");
  }
}

/** A number of events at a rate, with several requests in flight. Returns the results. */
export async function load(
  client: Client,
  target: Target,
  { given, outside, count }: { given: ParsedOptions; outside: CommandOutside; count: number },
): Promise<object> {
  const perRequest = given.whole("batch") ?? 1;
  const sends = given.whole("parallel") ?? sendsDefault;
  const rate = given.one("rate") === null ? null : rateOf(given.one("rate") ?? "", "--rate");
  const size = given.whole("size") ?? 0;
  const body = given.has("body") ? bodyIn(given) : null;
  const run = outside.makeId().slice(0, 8);
  const startedAt = outside.now();
  const progress = openProgress(outside);
  const counts = { published: 0, refused: 0, requests: 0 };
  let next = 1;
  let complaint: Error | null = null;
  const work = async () => {
    while (next <= count) {
      const first = next;
      const until = Math.min(count, first + perRequest - 1);
      next = until + 1;
      // Each request has its scheduled time, so that quick answers make up for a slow one.
      const dueAt = rate === null ? 0 : startedAt + ((first - 1) / rate) * 1_000;
      const waitMs = dueAt - outside.now();
      if (waitMs > 0) await outside.sleep(waitMs);
      const events = Array.from({ length: until - first + 1 }, (_, index) => {
        const number = first + index;
        const own = given.has("body") ? body : { number };
        const data = size > 0 ? { ...(own as object), fill: "x".repeat(size) } : own;
        return makeEvent(given, outside, target, { id: `${run}-${number}`, data });
      });
      counts.requests += 1;
      try {
        await send(client, target, events);
        counts.published += events.length;
      } catch (error) {
        if (!(error instanceof BrokerError)) throw error;
        complaint ??= error;
        counts.refused += events.length;
      }
      progress.tell(counts.published + counts.refused, count, speed(counts, startedAt, outside));
    }
  };
  try {
    await Promise.all(Array.from({ length: Math.min(sends, count) }, work));
  } finally {
    progress.end();
  }
  if (counts.published === 0 && complaint !== null) throw complaint;
  const seconds = Math.max(0.001, (outside.now() - startedAt) / 1_000);
  return {
    topic: given.one("topic-name"),
    run,
    ...counts,
    seconds,
    perSecond: Math.round(counts.published / seconds),
    ...(complaint !== null && { firstRefusal: (complaint as Error).message }),
  };
}

function speed({ published }: { published: number }, startedAt: number, { now }: CommandOutside) {
  const seconds = Math.max(0.001, (now() - startedAt) / 1_000);
  return `${Math.round(published / seconds)}/s`;
}
