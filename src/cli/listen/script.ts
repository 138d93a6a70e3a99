// What a scripted receiver does, from options: steps in order, each for a number of requests or a
// time, the last one without end. Pure.
//
//   503*3     three requests get a 503        503:10m   for ten minutes every request does
//   ok        a success                       drop      the connection is closed
//   hang      no answer at all

import { Refusal } from "../../core/refusal.ts";
import { parseLength } from "../../core/text/time.ts";
import { refuseValue } from "../../core/text/wording.ts";
import type { ParsedOptions } from "../option.ts";
import { shareOf } from "../rates.ts";

export type Deed =
  | { readonly kind: "answer"; readonly status: number }
  | { readonly kind: "drop" }
  | { readonly kind: "hang" };

export interface Step {
  readonly deed: Deed;
  /** Null: it does not end by itself. */
  readonly ends: { readonly count: number } | { readonly ms: number } | null;
}

export interface Script {
  readonly steps: readonly Step[];
  readonly delayMs: number;
  readonly dropShare: number;
  /** Seconds, sent with a 429 or a 503. */
  readonly retryAfter: number | null;
}

const failureDefault = "503";
const allowed =
  "STATUS, ok, drop or hang, with *COUNT or :LENGTH behind it, such as 503*3 or 503:10m";

/** Refusal: InvalidSetting. */
export function scriptIn(given: ParsedOptions): Script {
  const [status, fail, drop] = [given.one("status"), given.whole("fail"), given.one("drop")];
  const first: Step[] = [];
  if (fail !== null) {
    const { deed, ends } = stepOf(status ?? failureDefault, "--status");
    if (ends !== null) {
      throw new Refusal("InvalidSetting", "--status must be a status alone with --fail COUNT");
    }
    first.push({ deed, ends: { count: fail } });
  } else if (status !== null) first.push(stepOf(status, "--status"));
  const steps = [...first, ...given.all("then").map((text) => stepOf(text, "--then"))];
  const endless = steps.slice(0, -1).find(({ ends }) => ends === null);
  if (endless !== undefined) {
    const words = "a step that another follows must say how long it lasts, as in 503*3 or 503:10m";
    throw new Refusal("InvalidSetting", words);
  }
  const last = steps.at(-1);
  const isOpen = last !== undefined && last.ends === null;
  const asked = given.one("retry-after");
  const delay = given.one("delay");
  return {
    steps: isOpen ? steps : [...steps, { deed: { kind: "answer", status: 200 }, ends: null }],
    delayMs: delay === null ? 0 : parseLength(delay, "--delay"),
    dropShare: drop === null ? 0 : shareOf(drop, "--drop"),
    retryAfter:
      asked === null
        ? null
        : /^\d+$/.test(asked)
          ? Number(asked)
          : Math.ceil(parseLength(asked, "--retry-after") / 1_000),
  };
}

function stepOf(text: string, field: string): Step {
  const [, does = "", count, length] = /^([a-z0-9]+)(?:\*(\d{1,9})|:(.+))?$/i.exec(text) ?? [];
  const ends =
    count !== undefined
      ? { count: Number(count) }
      : length !== undefined
        ? { ms: parseLength(length, field) }
        : null;
  return { deed: deedOf(does.toLowerCase(), text, field), ends };
}

function deedOf(does: string, text: string, field: string): Deed {
  if (does === "ok") return { kind: "answer", status: 200 };
  if (does === "drop" || does === "hang") return { kind: does };
  const status = /^[1-5]\d\d$/.test(does) ? Number(does) : 0;
  if (status >= 200) return { kind: "answer", status };
  throw refuseValue({ field, value: text, allowed });
}

/** Runs a script: called with each request, returns what to do. */
export class Player {
  readonly #script: Script;
  #place = 0;
  #made = 0;
  #since: number | null = null;

  constructor(script: Script) {
    this.#script = script;
  }

  /** `chance` is in [0, 1). */
  next(now: number, chance: number): Deed {
    this.#since ??= now;
    let step = this.#step();
    while (step.ends !== null && this.#isOver(step.ends, now)) {
      this.#since = "ms" in step.ends ? this.#since + step.ends.ms : now;
      this.#place += 1;
      this.#made = 0;
      step = this.#step();
    }
    this.#made += 1;
    return chance < this.#script.dropShare ? { kind: "drop" } : step.deed;
  }

  #isOver(ends: NonNullable<Step["ends"]>, now: number): boolean {
    return "count" in ends ? this.#made >= ends.count : now - (this.#since ?? now) >= ends.ms;
  }

  /** The last one has no end. */
  #step(): Step {
    return this.#script.steps[this.#place] as Step;
  }
}
