// `posthorn clock`: looks at and moves the clock of a broker that runs with `--clock virtual`.

import { Refusal } from "../../core/refusal.ts";
import { parseInstant, parseLength } from "../../core/text/time.ts";
import type { Members } from "../../core/text/wording.ts";
import { BrokerError } from "../broker-error.ts";
import { type BrokerReply, openClient } from "../client.ts";
import type { Run } from "../command.ts";

export const showClock: Run = async (given, outside) => ({
  value: bodyOf(await openClient(given, outside).ask("GET", "/clock")),
});

export const advanceClock: Run = async (given, outside) => {
  const order = orderOf(given.operands[0] ?? "");
  return { value: bodyOf(await openClient(given, outside).ask("POST", "/clock", order)) };
};

/** Refusal: InvalidSetting. */
function orderOf(text: string): object {
  if (text === "next") return { to: text };
  if (/^\d{4}-/.test(text)) {
    parseInstant(text, "HOW-FAR");
    return { to: text };
  }
  parseLength(text, "HOW-FAR");
  return { advance: text };
}

/** Throws Complaint. Refusal: Conflict, for a broker whose clock cannot be moved. */
function bodyOf({ status, body }: BrokerReply): Members {
  if (status < 300) return body;
  if (status !== 404) throw new BrokerError(status, body);
  const words = "this broker runs on real time; one started with --clock virtual can be moved";
  throw new Refusal("Conflict", words);
}
