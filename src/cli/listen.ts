// `posthorn listen`: a receiver that does what it is told, agrees to both handshakes, shows what
// arrives, and says at its end what came how often. It can subscribe itself to a topic.

import { isSigningSecret } from "../core/signing.ts";
import { refuseValue } from "../core/wording.ts";
import { type Arrival, drawEvents, readArrival } from "./arrival.ts";
import { type Client, openClient, pathTo } from "./client.ts";
import type { CommandOutside, Run } from "./command.ts";
import { Complaint } from "./complaint.ts";
import { drawLedger, Ledger } from "./ledger.ts";
import type { Given } from "./option.ts";
import { painter } from "./paint.ts";
import type { Arrived, Response } from "./receiver.ts";
import { type Deed, Player, type Script, scriptIn } from "./script.ts";
import { whyUnsigned } from "./signature.ts";
import { sourceIn, subscriptionId } from "./source.ts";
import { lengthOf } from "./span.ts";
import { newTerms } from "./terms.ts";
import { fail } from "./topics.ts";

const portDefault = 9000;
const allowedRateDefault = "*";

export const listen: Run = async (given, outside) => {
  const show = openShow(given, outside);
  const done = Promise.withResolvers<void>();
  const ignore = outside.onSignal(() => done.resolve());
  const count = given.whole("count");
  const ledger = new Ledger();
  const respond = responding(given, outside, {
    show,
    ledger,
    stop: done.promise,
    onTaken: () => {
      if (count !== null && ledger.accepted >= count) done.resolve();
    },
  });
  const lastMs = given.one("for") === null ? null : lengthOf(given.one("for") ?? "", "--for");
  const host = given.one("host") ?? "127.0.0.1";
  const receiver = await outside.openReceiver({
    host,
    port: given.whole("port") ?? portDefault,
    respond,
  });
  try {
    const url = given.one("url") ?? `${receiver.url}/`;
    show.line(`listening on ${receiver.url}`);
    const leave = given.has("subscribe") ? await subscribe(given, outside, { url, show }) : null;
    if (lastMs !== null) void outside.sleep(lastMs).then(done.resolve);
    await done.promise;
    await leave?.();
  } finally {
    ignore();
    await receiver.close();
  }
  const view = ledger.view();
  if (outside.form === "table") outside.print(drawLedger(view));
  else outside.print(`${JSON.stringify({ kind: "ledger", ...view })}\n`);
  const isShort = count !== null && view.accepted < count;
  return { exitCode: isShort || view.signatures.bad > 0 ? 1 : 0 };
};

interface Show {
  line(text: string): void;
  arrival(arrived: Arrived, arrival: Arrival, what: string): void;
}

/** Lines for people, or an object on each line. */
function openShow(given: Given, outside: CommandOutside): Show {
  const paint = painter(outside);
  const isShort = given.isOn("quiet") === true;
  const isLines = outside.form === "table";
  return {
    // What is said about itself is not part of what a program reads.
    line: (text) => (isLines ? outside.print : outside.tell)(`${text}\n`),
    arrival(arrived, arrival, what) {
      const at = new Date(outside.now()).toISOString();
      const events = arrival.kind === "events" ? arrival.events : [];
      if (!isLines) {
        const { method, path, headers } = arrived;
        outside.print(
          `${JSON.stringify({ at, method, path, headers, ...arrival, answer: what })}\n`,
        );
        return;
      }
      const name = arrived.headers["aeg-subscription-name"];
      const from = name === undefined ? "" : ` for ${name}`;
      const number = arrived.headers["aeg-delivery-count"];
      const again = number === undefined || number === "0" ? "" : `, sent ${number} times before`;
      const said =
        arrival.kind === "events"
          ? `${arrival.schema}, ${wordsOfCount(events.length)}${from}${again}`
          : wordsOf(arrival);
      const colour = /^20\d/.test(what) ? "green" : "yellow";
      const head = `${paint("dim", at.slice(11, 23))} ${arrived.method} ${arrived.path}  ${said} → ${paint(colour, what)}`;
      outside.print(`${[head, ...drawEvents(events, { paint, isShort })].join("\n")}\n`);
    },
  };
}

function wordsOfCount(count: number): string {
  return count === 1 ? "1 event" : `${count} events`;
}

function wordsOf(arrival: Exclude<Arrival, { kind: "events" }>): string {
  switch (arrival.kind) {
    case "validation":
      return "the validation event";
    case "options":
      return "the handshake of CloudEvents";
    case "deletion":
      return "the subscription is deleted";
    case "unknown":
      return arrival.why;
    default:
      return arrival satisfies never;
  }
}

function secretsIn(given: Given): readonly string[] {
  const secrets = given.all("secret");
  if (secrets.every(isSigningSecret)) return secrets;
  const allowed = "whsec_ and the base64 of 24 to 64 bytes";
  throw refuseValue({ field: "--secret", value: secrets[0], allowed, secret: true });
}

function responding(
  given: Given,
  outside: CommandOutside,
  desk: {
    readonly show: Show;
    readonly ledger: Ledger;
    readonly stop: Promise<void>;
    readonly onTaken: () => void;
  },
): (arrived: Arrived) => Promise<Response> {
  const script = scriptIn(given);
  const player = new Player(script);
  const secrets = secretsIn(given);
  const seed = given.whole("seed");
  const chance = seed === null ? null : outside.seeded(seed);
  const agrees = given.isOn("no-handshake") !== true;
  let number = 0;
  return async (arrived) => {
    const arrival = readArrival(arrived);
    if (arrival.kind !== "events") {
      const response = greet(arrival, {
        agrees,
        rate: given.one("allowed-rate") ?? allowedRateDefault,
      });
      desk.show.arrival(arrived, arrival, saidOf(response));
      return response;
    }
    number += 1;
    const why = secrets.length === 0 ? null : whyUnsigned(arrived, secrets, outside.now());
    if (secrets.length > 0) desk.ledger.noteSignature(why === null);
    const drawn = chance === null ? outside.chance() : chance.draw(`drop/${number}`);
    const played = player.next(outside.now(), drawn);
    const deed: Deed = why === null ? played : { kind: "answer", status: 401 };
    if (script.delayMs > 0) await Promise.race([outside.sleep(script.delayMs), desk.stop]);
    const isTaken = deed.kind === "answer" && deed.status >= 200 && deed.status <= 204;
    desk.ledger.note(
      arrival.events.map(({ id }) => id),
      isTaken,
    );
    const response = responseTo(deed, script);
    desk.show.arrival(
      arrived,
      arrival,
      why === null ? wordsOfDeed(deed) : `401, because it ${why}`,
    );
    if (isTaken) desk.onTaken();
    if (deed.kind === "hang") await desk.stop;
    return response;
  };
}

/** What is no delivery is answered as a good receiver would, whatever the script says. */
function greet(
  arrival: Exclude<Arrival, { kind: "events" }>,
  { agrees, rate }: { readonly agrees: boolean; readonly rate: string },
): Response {
  const answer = (status: number, headers: Record<string, string>, body = ""): Response => ({
    kind: "answer",
    status,
    headers,
    body,
  });
  switch (arrival.kind) {
    case "validation":
      return agrees
        ? answer(
            200,
            { "content-type": "application/json" },
            JSON.stringify({ validationResponse: arrival.code }),
          )
        : answer(200, {});
    case "options":
      return agrees
        ? answer(200, { "webhook-allowed-origin": arrival.origin, "webhook-allowed-rate": rate })
        : answer(200, {});
    case "deletion":
      return answer(200, {});
    case "unknown":
      return answer(400, {});
    default:
      return arrival satisfies never;
  }
}

function saidOf(response: Response): string {
  return response.kind === "answer" ? String(response.status) : "connection broken off";
}

function responseTo(deed: Deed, { retryAfter }: Script): Response {
  if (deed.kind !== "answer") return { kind: "drop" };
  const asks = retryAfter !== null && (deed.status === 429 || deed.status === 503);
  const headers: Record<string, string> = asks ? { "retry-after": String(retryAfter) } : {};
  return { kind: "answer", status: deed.status, headers, body: "" };
}

function wordsOfDeed(deed: Deed): string {
  if (deed.kind === "answer") return String(deed.status);
  return deed.kind === "drop" ? "connection broken off" : "no answer";
}

/** Makes a subscription that sends here. The answer takes it away again. Throws Complaint. */
async function subscribe(
  given: Given,
  outside: CommandOutside,
  { url, show }: { readonly url: string; readonly show: Show },
): Promise<() => Promise<void>> {
  const client = openClient(given, outside);
  const name = given.one("name") ?? `listen-${outside.makeId().slice(0, 8)}`;
  const topic = given.one("subscribe") ?? "";
  const source = sourceIn(withOne(given, "source-resource-id", topic), outside.env);
  const id = subscriptionId(source, name);
  const written = await client.send("PUT", pathTo(id), newTerms(withOne(given, "endpoint", url)));
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
    throw new Complaint(answer.status, answer.body);
}

/** The same, with one option more. */
function withOne(given: Given, option: string, value: string): Given {
  return {
    ...given,
    has: (name) => name === option || given.has(name),
    one: (name) => (name === option ? value : given.one(name)),
  };
}
