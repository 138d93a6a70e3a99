// `posthorn trigger`: publishes a sample event of a type: one of Azure's own, or one of your own
// from a file `TYPE.json` in the folder of samples. Without a type it lists them.

import { join } from "node:path";
import { Refusal } from "../../core/refusal.ts";
import { isObject } from "../../core/template/expression.ts";
import { nearest } from "../../core/text/wording.ts";
import { openClient } from "../client.ts";
import type { CommandOutside, Result, Run } from "../command.ts";
import type { ParsedOptions } from "../option.ts";
import { drawPublished, matchedBy } from "./matched.ts";
import { targetOf } from "./publish.ts";
import { bodyIn, makeEvent, send } from "./publish-request.ts";
import { type SampleEvent, sampleEvents } from "./sample-events.ts";

const folderDefault = "./posthorn-samples";

export const trigger: Run = async (given, outside) => {
  const asked = given.operands[0];
  if (asked === undefined) return listSamples(outside);
  const { type, sample } = sampleOf(asked, given, outside);
  if (!given.has("topic-name")) {
    throw new Refusal("InvalidSetting", "--topic-name must be given: --topic-name NAME");
  }
  const client = openClient(given, outside);
  const target = await targetOf(client, given);
  const options = { ...given, one: oneWith(given, { type, subject: sample.subject }) };
  const data = given.has("body") ? bodyIn(given) : sample.data;
  const made = makeEvent(options, outside, target, { data });
  const event = "dataVersion" in made ? { ...made, dataVersion: sample.dataVersion } : made;
  await send(client, target, [event]);
  const matched = await matchedBy(client, target.name, [event]);
  if (outside.form !== "table" || given.has("query")) {
    return { value: { topic: target.name, event, subscriptions: matched?.subscriptions } };
  }
  outside.print(drawPublished(target.name, [event.id], matched));
  return {};
};

function listSamples(outside: CommandOutside): Result {
  const types = Object.entries(sampleEvents).map(([type, make]) => {
    return { type, subject: make(stampOf(outside)).subject };
  });
  const rows = types.map(({ type, subject }) => ({ Type: type, Subject: subject }));
  return { value: types, rows };
}

/** Refusal: InvalidSetting. */
function sampleOf(
  asked: string,
  given: ParsedOptions,
  outside: CommandOutside,
): { readonly type: string; readonly sample: SampleEvent } {
  const own = ownSample(asked, given, outside);
  if (own !== null) return { type: asked, sample: own };
  const known = Object.keys(sampleEvents);
  const found = known.find((type) => isMeant(type, asked));
  const make = found === undefined ? undefined : sampleEvents[found];
  if (found !== undefined && make !== undefined) {
    return { type: found, sample: make(stampOf(outside)) };
  }
  if (given.has("body")) {
    return { type: asked, sample: { subject: "posthorn/trigger", dataVersion: "1.0", data: {} } };
  }
  const ends = known.map((type) => type.split(".").at(-1) ?? "");
  const near = nearest(asked, known) ?? known[ends.indexOf(nearest(asked, ends) ?? "")] ?? null;
  const hint = near === null ? "posthorn trigger lists the types" : `did you mean ${near}?`;
  const words = `there is no sample of the type ${JSON.stringify(asked)}; ${hint}`;
  throw new Refusal("InvalidSetting", `${words} Give --body for a type of your own`);
}

/** The whole type, or its end: `BlobCreated`. */
function isMeant(type: string, asked: string): boolean {
  const [whole, part] = [type.toLowerCase(), asked.toLowerCase()];
  return whole === part || whole.endsWith(`.${part}`);
}

/** An event, or only its data. Refusal: InvalidSetting, for a file that is not JSON. */
function ownSample(
  type: string,
  given: ParsedOptions,
  { readFile, exists }: CommandOutside,
): SampleEvent | null {
  const file = join(given.one("samples") ?? folderDefault, `${type}.json`);
  if (/[/\\]/.test(type) || !exists(file)) return null;
  const value = parse(readFile(file), file);
  const isEvent = isObject(value) && "data" in value;
  const { subject, dataVersion, data } = isEvent ? value : { data: value };
  return {
    subject: typeof subject === "string" ? subject : "posthorn/trigger",
    dataVersion: typeof dataVersion === "string" ? dataVersion : "1.0",
    data: data as object,
  };
}

function parse(text: string, file: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Refusal("InvalidSetting", `${file} must be JSON: an event, or its data`);
  }
}

/** The same options, with what the sample says where nothing was given. */
function oneWith(
  given: ParsedOptions,
  sample: { readonly type: string; readonly subject: string },
) {
  return (name: string) => {
    if (name === "type") return sample.type;
    return given.one(name) ?? (name === "subject" ? sample.subject : null);
  };
}

function stampOf({ now, makeId }: CommandOutside) {
  return { now: new Date(now()).toISOString(), id: makeId };
}
