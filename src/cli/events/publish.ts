// `posthorn publish`: events from files or standard input, one made from options, or a number at a
// rate. They are published like those of any client, with the topic's own key.

import type { TopicView } from "../../core/api/views.ts";
import { Refusal } from "../../core/refusal.ts";
import { isObject } from "../../core/template/expression.ts";
import { refuseName } from "../../core/text/wording.ts";
import { type Client, openClient, pathTo } from "../client.ts";
import type { CommandOutside, Run } from "../command.ts";
import { readNamed } from "../find-broker.ts";
import type { ParsedOptions } from "../option.ts";
import { openProgress } from "../print/progress.ts";
import { eventsIn } from "./event-file.ts";
import { checkLoad, load } from "./load.ts";
import { drawPublished, matchedBy } from "./matched.ts";
import { completed, makeEvent, send, type Target } from "./publish-request.ts";

/** The limits of one request. */
const eventsPerRequestMax = 5_000;
const requestCharsMax = 900_000;

export const publish: Run = async (given, outside) => {
  checkLoad(given);
  const client = openClient(given, outside);
  const target = await targetOf(client, given);
  const count = given.whole("count");
  if (count !== null) {
    return { value: await load(client, target, { given, outside, count }) };
  }
  const events = await wantedEvents(given, outside, target);
  const progress = openProgress(outside);
  let published = 0;
  try {
    for (const request of cut(events)) {
      await send(client, target, request);
      published += request.length;
      if (published < events.length) progress.tell(published, events.length);
    }
  } finally {
    progress.end();
  }
  const ids = events.map(idOf);
  const matched = await matchedBy(client, target.name, events);
  if (outside.form === "table" && !given.has("query")) {
    outside.print(drawPublished(target.name, ids, matched));
    return {};
  }
  const { subscriptions } = matched ?? {};
  return { value: { topic: given.one("topic-name"), published, ids, subscriptions } };
};

/** Throws Complaint. Refusal: NotFound, for a topic that does not exist. */
export async function targetOf(client: Client, given: ParsedOptions): Promise<Target> {
  const name = given.one("topic-name") ?? "";
  const { value } = await client.get("/api/v1/topics");
  const topics = (Array.isArray(value) ? value : []) as TopicView[];
  const topic = topics.find((each) => each.name.toLowerCase() === name.toLowerCase());
  if (topic === undefined) {
    const known = topics.map((each) => each.name);
    const { message } = refuseName({ what: "topic", name, known });
    throw new Refusal("NotFound", message);
  }
  const key = given.one("topic-key") ?? (await keyOf(client, topic.armId));
  return {
    name: topic.name,
    path: `/topics/${encodeURIComponent(topic.name)}/api/events?api-version=2018-01-01`,
    key,
    schema: topic.inputSchema.toLowerCase(),
    isDomain: topic.kind === "domain",
  };
}

async function keyOf(client: Client, armId: string): Promise<string> {
  const { body } = await client.send("POST", `${pathTo(armId)}/listKeys`);
  return String(body.key1);
}

async function wantedEvents(
  given: ParsedOptions,
  outside: CommandOutside,
  target: Target,
): Promise<unknown[]> {
  if (given.operands.length === 0) return [makeEvent(given, outside, target)];
  const events: unknown[] = [];
  for (const file of given.operands) {
    const isInput = file === "-";
    const text = isInput ? await outside.readInput() : readNamed(file, outside.readFile);
    events.push(...eventsIn(text, isInput ? "the input" : file));
  }
  return events.map((event) => completed(event, outside));
}

/** As many requests as the limits require. */
function cut(events: readonly unknown[]): unknown[][] {
  const requests: unknown[][] = [];
  let chars = 0;
  for (const event of events) {
    const size = JSON.stringify(event).length + 1;
    const last = requests.at(-1);
    if (
      last === undefined ||
      last.length >= eventsPerRequestMax ||
      chars + size > requestCharsMax
    ) {
      requests.push([event]);
      chars = size;
    } else {
      last.push(event);
      chars += size;
    }
  }
  return requests;
}

function idOf(event: unknown): unknown {
  return isObject(event) ? (event.id ?? null) : null;
}
