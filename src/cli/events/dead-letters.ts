// Dead letters: list, show and redrive. A redrive runs in the broker; this command shows its
// progress, and an interrupt stops it.

import type { DeadLetterView, RedriveView } from "../../core/api/views.ts";
import { Refusal } from "../../core/refusal.ts";
import { type BrokerReply, type Client, openClient } from "../client.ts";
import type { CommandOutside, Result, Row, Run } from "../command.ts";
import type { ParsedOptions } from "../option.ts";
import { openProgress } from "../print/progress.ts";
import { rateOf } from "../rates.ts";

const pollMs = 500;

const queryOptions: Readonly<Record<string, string>> = {
  account: "account",
  container: "container",
  "topic-name": "topic",
  name: "subscription",
  reason: "reason",
  outcome: "outcome",
  type: "type",
  from: "from",
  to: "to",
};

function queryIn(given: ParsedOptions): Record<string, string | boolean> {
  const redriven = given.isOn("redriven");
  const query: Record<string, string | boolean> = redriven === null ? {} : { redriven };
  for (const [option, name] of Object.entries(queryOptions)) {
    const value = given.one(option);
    if (value !== null) query[name] = value;
  }
  return query;
}

export const listDeadLetters: Run = async (given, outside) => {
  const client = openClient(given, outside);
  const query = new URLSearchParams(
    Object.entries(queryIn(given)).map(([name, value]): [string, string] => [name, String(value)]),
  );
  if (given.isOn("groups") === true) {
    const { value } = await client.get(`/api/v1/dead-letters/groups?${query}`);
    return { value: Array.isArray(value) ? value : [] };
  }
  const limit = given.whole("limit") ?? 100;
  const letters: DeadLetterView[] = [];
  const remarks = new Set<string>();
  query.set("limit", String(Math.min(limit, 100)));
  for (let after: string | null = null; letters.length < limit; ) {
    if (after !== null) query.set("after", after);
    const page = await client.get(`/api/v1/dead-letters?${query}`);
    letters.push(...((Array.isArray(page.value) ? page.value : []) as DeadLetterView[]));
    for (const each of Array.isArray(page.remarks) ? page.remarks : []) remarks.add(String(each));
    if (typeof page.next !== "string") break;
    after = page.next;
  }
  // What could not be read is listed after the results.
  for (const each of remarks) outside.tell(`posthorn: ${each}\n`);
  const shown = letters.slice(0, limit);
  const wide = shown.map((letter) => ({ ...rowOf(letter), ...restOf(letter) }));
  return { value: shown, rows: shown.map(rowOf), wide };
};

function rowOf(letter: DeadLetterView): Row {
  return {
    Event: letter.eventId,
    Subscription: letter.subscription,
    Type: letter.type,
    Reason: letter.reason,
    Outcome: letter.outcome,
    Attempts: letter.attempts,
    Written: letter.writtenAt,
    Redriven: letter.redriven,
  };
}

/** Too long for most terminals. */
function restOf({ subject, topic, id }: DeadLetterView): Row {
  return { Topic: topic, Subject: subject, Id: id };
}

export const showDeadLetter: Run = async (given, outside) => {
  const path = `/api/v1/dead-letters/${encodeURIComponent(given.operands[0] ?? "")}`;
  const letter = await openClient(given, outside).get(path);
  return { value: letter };
};

export const redriveDeadLetters: Run = async (given, outside) => {
  const client = openClient(given, outside);
  const order = orderIn(given);
  return follow(given, outside, client, () => client.send("POST", "/api/v1/redrives", order));
};

export const resumeRedrive: Run = async (given, outside) => {
  const client = openClient(given, outside);
  const path = `/api/v1/redrives/${encodeURIComponent(given.operands[0] ?? "")}/resume`;
  return follow(given, outside, client, () => client.send("POST", path));
};

/** To its end, unless nobody wants to wait for it. */
async function follow(
  given: ParsedOptions,
  outside: CommandOutside,
  client: Client,
  begin: () => Promise<BrokerReply>,
): Promise<Result> {
  // An interrupt counts from the order on: the redrive may begin before its answer is here.
  const left = { isLeft: false };
  const ignore = outside.onSignal(() => {
    left.isLeft = true;
  });
  const begun = (await begin()).body as unknown as RedriveView;
  const isOver = begun.state !== "running" || given.isOn("no-wait") === true;
  const ended = isOver ? begun : await watch(client, begun, { outside, left });
  ignore();
  if (ended.state === "stopped") {
    outside.tell(`posthorn: stopped; go on with \`posthorn redrive resume ${ended.id}\`\n`);
  }
  return shown(ended);
}

function shown(redrive: RedriveView): Result {
  const { id, state, to, total, sent, failed, skipped } = redrive;
  const rows = [
    { Id: id, State: state, To: to, Total: total, Sent: sent, Failed: failed, Skipped: skipped },
  ];
  const isBad = state === "failed" || (failed > 0 && state !== "dryRun");
  return { value: redrive, rows, ...(isBad && { exitCode: 1 }) };
}

/** Refusal: InvalidSetting, when no option selects any. */
function orderIn(given: ParsedOptions): object {
  const ids = given.operands;
  const query = queryIn(given);
  const hasQuery = Object.keys(query).length > 0;
  const isAll = given.isOn("all") === true;
  if (ids.length > 0 && hasQuery) {
    throw new Refusal("InvalidSetting", "either ids or filters must be given, not both");
  }
  if (ids.length === 0 && !hasQuery && !isAll) {
    const right = "ids, filters such as --name SUBSCRIPTION, or --all";
    throw new Refusal("InvalidSetting", `which dead letters must be given: ${right}`);
  }
  const rate = given.one("rate");
  return {
    ...(ids.length > 0 ? { ids } : { query }),
    ...toIn(given),
    ...(rate !== null && { perSecond: rateOf(rate, "--rate") }),
    ...(given.isOn("dry-run") === true && { dryRun: true }),
    ...(given.isOn("force") === true && { force: true }),
  };
}

function toIn(given: ParsedOptions): object {
  const [url, name, topic] = [
    given.one("to-url"),
    given.one("to-name"),
    given.one("to-topic-name"),
  ];
  const domainTopic = given.one("to-domain-topic-name");
  if (url !== null && (name ?? topic) !== null) {
    throw new Refusal("InvalidSetting", "--to-url must be left out with --to-topic-name");
  }
  if (url !== null) return { to: { url } };
  if (name === null && topic === null) return {};
  if (name === null || topic === null) {
    throw new Refusal("InvalidSetting", "--to-topic-name and --to-name must be given together");
  }
  return { to: { topic, subscription: name, ...(domainTopic !== null && { domainTopic }) } };
}

async function watch(
  client: Client,
  begun: RedriveView,
  {
    outside,
    left,
  }: { readonly outside: CommandOutside; readonly left: { readonly isLeft: boolean } },
): Promise<RedriveView> {
  const path = `/api/v1/redrives/${encodeURIComponent(begun.id)}`;
  const progress = openProgress(outside);
  try {
    for (let view = begun; ; ) {
      const { sent, failed, skipped, total, perSecond } = view;
      progress.tell(sent + failed + skipped, total, `${perSecond}/s, ${failed} failed`);
      if (view.state !== "running") return view;
      if (left.isLeft) await client.send("DELETE", path);
      else await outside.sleep(pollMs);
      view = (await client.get(path)) as unknown as RedriveView;
    }
  } finally {
    progress.end();
  }
}

export const listRedrives: Run = async (given, outside) => {
  const { value } = await openClient(given, outside).get("/api/v1/redrives");
  const all = (Array.isArray(value) ? value : []) as RedriveView[];
  return { value: all, rows: all.flatMap((each) => shown(each).rows ?? []) };
};

export const stopRedrive: Run = async (given, outside) => {
  const path = `/api/v1/redrives/${encodeURIComponent(given.operands[0] ?? "")}`;
  const { body } = await openClient(given, outside).send("DELETE", path);
  return Object.keys(body).length === 0 ? {} : shown(body as unknown as RedriveView);
};
