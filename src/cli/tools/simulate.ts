// `posthorn simulate`: runs a what-if from options in this process, and draws its result. Needs no
// broker.
//
//   --outage FROM..UNTIL[:DOES]   what the endpoint does in that time; default: refused
//   --then DOES:LENGTH            what it does after that, and for how long
//
// DOES is a status or a silence; `200@45s` is an answer that takes so long.

import { endpointDoes, type SimulateOrder } from "../../core/api/orders.ts";
import { Refusal } from "../../core/refusal.ts";
import { parseLength } from "../../core/text/time.ts";
import { refuseValue } from "../../core/text/wording.ts";
import type { Run } from "../command.ts";
import type { ParsedOptions } from "../option.ts";
import { painter } from "../print/output.ts";
import { drawSimulation } from "./simulation-text.ts";

export const simulateOutage: Run = async (given, outside) => {
  const order = orderIn(given);
  const simulation = await inOptions(() => outside.simulate(order));
  const isDrawn = outside.form === "table" && !given.has("query");
  if (!isDrawn) return { value: simulation };
  outside.print(drawSimulation(order, simulation, { paint: painter(outside), ...outside }));
  return {};
};

type Spell = SimulateOrder["outage"][number];

/** Refusal: InvalidSetting. */
function orderIn(given: ParsedOptions): SimulateOrder {
  const destination = given.one("destination");
  const whole = (option: string, name: string) => {
    const value = given.whole(option);
    return value === null ? {} : { [name]: value };
  };
  const batch = {
    ...whole("max-events-per-batch", "maxEventsPerBatch"),
    ...whole("preferred-batch-size-in-kilobytes", "preferredBatchSizeInKilobytes"),
  };
  const answer = given.one("answer");
  return {
    // The simulation checks the words.
    profile: (given.one("profile") ?? "azure") as SimulateOrder["profile"],
    ...(destination !== null && { destination: destination as "webhook" | "resource" }),
    ...whole("max-delivery-attempts", "maxDeliveryAttempts"),
    ...whole("event-ttl", "eventTimeToLiveInMinutes"),
    outage: spellsIn(given),
    ...whole("backlog", "backlog"),
    ...deadLetterIn(given),
    ...(Object.keys(batch).length > 0 && { batch }),
    ...(answer !== null && { answerMs: parseLength(answer, "--answer") }),
    ...whole("event-size", "eventBytes"),
    ...whole("allowed-rate", "allowedRate"),
    ...whole("seed", "seed"),
  };
}

/** Whoever says what the store does has one. */
function deadLetterIn(given: ParsedOptions): Partial<SimulateOrder> {
  const spells = given
    .all("dead-letter-outage")
    .map((text) => outageIn(text, "--dead-letter-outage"));
  const outage = spells.length > 0 ? { deadLetterOutage: spells } : {};
  const isOn = given.isOn("dead-letter") === true || spells.length > 0;
  return isOn ? { deadLetter: true, ...outage } : {};
}

function spellsIn(given: ParsedOptions): readonly Spell[] {
  const asked = given.one("retry-after");
  // Seconds, as in the header, or a duration.
  const retryAfterMs =
    asked === null
      ? {}
      : {
          retryAfterMs: /^\d+$/.test(asked)
            ? Number(asked) * 1_000
            : parseLength(asked, "--retry-after"),
        };
  const spells: Spell[] = given
    .all("outage")
    .map((text) => ({ ...outageIn(text, "--outage"), ...retryAfterMs }));
  for (const text of given.all("then")) {
    const before = spells.at(-1);
    if (before?.untilMs === null) {
      throw new Refusal(
        "InvalidSetting",
        "--then must be left out after an --outage without an end",
      );
    }
    const fromMs = before?.untilMs ?? 0;
    const [, does = "", length = ""] = /^([^:]+):(.+)$/.exec(text) ?? [];
    if (does === "") {
      throw refuseValue({ field: "--then", value: text, allowed: "DOES:LENGTH such as 503:10m" });
    }
    const untilMs = fromMs + parseLength(length, "--then");
    spells.push({ fromMs, untilMs, ...doesIn(does, "--then"), ...retryAfterMs });
  }
  return spells;
}

function outageIn(text: string, option: string): Spell {
  const [, from, until, does = "refused"] = /^([^.:]*)\.\.([^:]*)(?::(.+))?$/.exec(text) ?? [];
  if (from === undefined || until === undefined) {
    const allowed = "FROM..UNTIL such as 0s..2h, with :503 behind it for a status";
    throw refuseValue({ field: option, value: text, allowed });
  }
  return {
    fromMs: from === "" ? 0 : parseLength(from, option),
    untilMs: until === "" ? null : parseLength(until, option),
    ...doesIn(does, option),
  };
}

/** `503`, `timeout`, `200@45s`. */
function doesIn(text: string, option: string): Pick<Spell, "does" | "answerMs"> {
  const [, status, length] = /^(\d+)(?:@(.+))?$/.exec(text) ?? [];
  if (status === undefined) return { does: endpointDoes.check(text, option) };
  return {
    does: endpointDoes.check(Number(status), option),
    ...(length !== undefined && { answerMs: parseLength(length, option) }),
  };
}

const optionNames: Readonly<Record<string, string>> = {
  maxDeliveryAttempts: "--max-delivery-attempts",
  eventTimeToLiveInMinutes: "--event-ttl",
  deadLetter: "--dead-letter",
  deadLetterOutage: "--dead-letter-outage",
  maxEventsPerBatch: "--max-events-per-batch",
  preferredBatchSizeInKilobytes: "--preferred-batch-size-in-kilobytes",
  batch: "--max-events-per-batch and its like",
  backlog: "--backlog",
  outage: "--outage",
  answerMs: "--answer",
  eventBytes: "--event-size",
  allowedRate: "--allowed-rate",
  seed: "--seed",
};

/** A refusal names members of the request; here they are options. */
async function inOptions<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const words = error.message.replace(/^(?:order\.)?(?:batch\.)?([A-Za-z]+)/, (found, name) => {
      return optionNames[name as string] ?? found;
    });
    throw new Refusal(error.code, words, { cause: error });
  }
}
