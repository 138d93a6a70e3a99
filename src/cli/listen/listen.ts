// `posthorn listen`: a scripted receiver that agrees to both handshakes, shows what arrives, and
// prints counts at the end. It can subscribe itself to a topic.

import { parseLength } from "../../core/text/time.ts";
import { sourceIn, subscriptionId } from "../az/resource-names.ts";
import { newTerms } from "../az/subscription-body.ts";
import { fail } from "../az/topics.ts";
import { BrokerError } from "../broker-error.ts";
import { type Client, openClient, pathTo } from "../client.ts";
import type { CommandOutside, Run } from "../command.ts";
import type { ParsedOptions } from "../option.ts";
import { drawReceivedIds, ReceivedIds } from "./received-ids.ts";
import { responding } from "./respond.ts";
import { openShow, type Show } from "./show.ts";

const portDefault = 9000;

export const listen: Run = async (given, outside) => {
  const show = openShow(given, outside);
  const done = Promise.withResolvers<void>();
  const ignore = outside.onSignal(() => done.resolve());
  const count = given.whole("count");
  const receivedIds = new ReceivedIds();
  const respond = responding(given, outside, {
    show,
    receivedIds,
    stop: done.promise,
    onTaken: () => {
      if (count !== null && receivedIds.accepted >= count) done.resolve();
    },
  });
  const lastMs = given.one("for") === null ? null : parseLength(given.one("for") ?? "", "--for");
  const host = given.one("host") ?? "127.0.0.1";
  const receiver = await outside.openReceiver({
    host,
    port: given.whole("port") ?? portDefault,
    respond,
  });
  try {
    const url = given.one("url") ?? `${receiver.url}/`;
    show.line(`listening on ${receiver.url}`);
    const leave = given.has("subscribe")
      ? await subscribe(given, outside, { url, show, port: new URL(receiver.url).port })
      : null;
    if (lastMs !== null) void outside.sleep(lastMs).then(done.resolve);
    await done.promise;
    await leave?.();
  } finally {
    ignore();
    await receiver.close();
  }
  const view = receivedIds.view();
  if (outside.form === "table") outside.print(drawReceivedIds(view));
  else outside.print(`${JSON.stringify({ kind: "ledger", ...view })}\n`);
  const isShort = count !== null && view.accepted < count;
  return { exitCode: isShort || view.signatures.bad > 0 ? 1 : 0 };
};

/** Creates a subscription that sends here. The result deletes it. Throws Complaint. */
async function subscribe(
  given: ParsedOptions,
  outside: CommandOutside,
  { url, show, port }: { readonly url: string; readonly show: Show; readonly port: string },
): Promise<() => Promise<void>> {
  const client = openClient(given, outside);
  // A kept one is reused by the next listener on this port; otherwise each would leave one behind.
  const mark = given.isOn("keep") === true ? port : outside.makeId().slice(0, 8);
  const name = given.one("name") ?? `listen-${mark}`;
  const topic = given.one("subscribe") ?? "";
  const source = sourceIn(withOne(given, "source-resource-id", topic), outside.env);
  const id = subscriptionId(source, name);
  const terms = newTerms(withOne(given, "endpoint", url));
  const written = await client.send("PUT", pathTo(id), terms).catch((error) => {
    const isMissing = error instanceof BrokerError && error.status === 404 && !topic.includes("/");
    if (!isMissing) throw error;
    const message = `there is no topic "${topic}"; posthorn topic create -n ${topic} creates it`;
    throw new BrokerError(404, { error: { message } });
  });
  const why = await client.follow(written);
  if (why !== null) fail(why);
  show.line(`subscribed to ${topic} as ${name}`);
  return async () => {
    if (given.isOn("keep") === true) return;
    await leave(client, id);
    show.line(`the subscription ${name} is removed`);
  };
}

async function leave(client: Client, id: string): Promise<void> {
  const answer = await client.ask("DELETE", pathTo(id));
  if (answer.status >= 300 && answer.status !== 404)
    throw new BrokerError(answer.status, answer.body);
}

/** The same, with one option more. */
function withOne(given: ParsedOptions, option: string, value: string): ParsedOptions {
  return {
    ...given,
    has: (name) => name === option || given.has(name),
    one: (name) => (name === option ? value : given.one(name)),
  };
}
