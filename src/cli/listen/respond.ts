// How a scripted receiver answers: handshakes correctly, deliveries as its script says, and a 401
// for a wrong signature. Everything is counted.

import { isSigningSecret } from "../../core/delivery/signing.ts";
import { type ReceivedRequest, readReceived } from "../../core/received-request.ts";
import type { Arrived, Response } from "../../core/receiver.ts";
import { refuseValue } from "../../core/text/wording.ts";
import type { CommandOutside } from "../command.ts";
import type { ParsedOptions } from "../option.ts";
import { whyUnsigned } from "./check-signature.ts";
import { forwardingTo } from "./forward.ts";
import type { ReceivedIds } from "./received-ids.ts";
import { type Deed, Player, type Script, scriptIn } from "./script.ts";
import type { Show } from "./show.ts";

const allowedRateDefault = "*";

function secretsIn(given: ParsedOptions): readonly string[] {
  const secrets = given.all("secret");
  if (secrets.every(isSigningSecret)) return secrets;
  const allowed = "whsec_ and the base64 of 24 to 64 bytes";
  throw refuseValue({ field: "--secret", value: secrets[0], allowed, secret: true });
}

/** Refusal: InvalidSetting, for an invalid script. */
export function responding(
  given: ParsedOptions,
  outside: CommandOutside,
  context: {
    readonly show: Show;
    readonly receivedIds: ReceivedIds;
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
  const forward = forwardingTo(given, outside);
  let number = 0;
  return async (arrived) => {
    const received = readReceived(arrived);
    if (received.kind !== "events") {
      const response = greet(received, {
        agrees,
        rate: given.one("allowed-rate") ?? allowedRateDefault,
      });
      context.show.received(arrived, received, saidOf(response));
      return response;
    }
    number += 1;
    const why = secrets.length === 0 ? null : whyUnsigned(arrived, secrets, outside.now());
    if (secrets.length > 0) context.receivedIds.noteSignature(why === null);
    const drawn = chance === null ? outside.chance() : chance.draw(`drop/${number}`);
    const played = player.next(outside.now(), drawn);
    const deed: Deed = why === null ? played : { kind: "answer", status: 401 };
    if (script.delayMs > 0) await Promise.race([outside.sleep(script.delayMs), context.stop]);
    const passed = forward !== null && isSuccess(deed) ? await forward(arrived) : null;
    const response = passed?.response ?? responseTo(deed, script);
    const isTaken = response.kind === "answer" && isSuccess(response);
    context.receivedIds.note(
      received.events.map(({ id }) => id),
      isTaken,
    );
    const words = why === null ? wordsOfDeed(deed) : `401, because it ${why}`;
    context.show.received(arrived, received, passed?.words ?? words);
    if (isTaken) context.onTaken();
    if (deed.kind === "hang") await context.stop;
    return response;
  };
}

function isSuccess(answer: Deed | Extract<Response, { kind: "answer" }>): boolean {
  return answer.kind === "answer" && answer.status >= 200 && answer.status <= 204;
}

/** What is not a delivery is answered correctly, whatever the script says. */
function greet(
  received: Exclude<ReceivedRequest, { kind: "events" }>,
  { agrees, rate }: { readonly agrees: boolean; readonly rate: string },
): Response {
  const answer = (status: number, headers: Record<string, string>, body = ""): Response => ({
    kind: "answer",
    status,
    headers,
    body,
  });
  switch (received.kind) {
    case "validation":
      return agrees
        ? answer(
            200,
            { "content-type": "application/json" },
            JSON.stringify({ validationResponse: received.code }),
          )
        : answer(200, {});
    case "options":
      return agrees
        ? answer(200, { "webhook-allowed-origin": received.origin, "webhook-allowed-rate": rate })
        : answer(200, {});
    case "deletion":
      return answer(200, {});
    case "unknown":
      return answer(400, {});
    default:
      return received satisfies never;
  }
}

function saidOf(response: Response): string {
  return response.kind === "answer" ? String(response.status) : "connection closed";
}

function responseTo(deed: Deed, { retryAfter }: Script): Response {
  if (deed.kind !== "answer") return { kind: "drop" };
  const asks = retryAfter !== null && (deed.status === 429 || deed.status === 503);
  const headers: Record<string, string> = asks ? { "retry-after": String(retryAfter) } : {};
  return { kind: "answer", status: deed.status, headers, body: "" };
}

function wordsOfDeed(deed: Deed): string {
  if (deed.kind === "answer") return String(deed.status);
  return deed.kind === "drop" ? "connection closed" : "no answer";
}
