// Checks the Standard Webhooks signature of a request on the receiver's side. The broker's side is
// in egress/; this is written from the specification independently, so that each checks the other.
// https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md

import { createHmac, timingSafeEqual } from "node:crypto";
import type { Arrived } from "../../core/receiver.ts";

const toleranceMs = 5 * 60_000;

/** Null if one of the secrets has signed it, otherwise why not. */
export function whyUnsigned(
  { headers, body }: Pick<Arrived, "headers" | "body">,
  secrets: readonly string[],
  now: number,
): string | null {
  const id = headers["webhook-id"];
  const timestamp = headers["webhook-timestamp"];
  const given = headers["webhook-signature"];
  if (id === undefined || timestamp === undefined || given === undefined) return "is not signed";
  if (Math.abs(now - Number(timestamp) * 1_000) > toleranceMs) return "is signed at another time";
  const signatures = given.split(" ").flatMap((each) => {
    const [version, text = ""] = each.split(",");
    return version === "v1" ? [Buffer.from(text, "base64")] : [];
  });
  const isGood = secrets.some((secret) => {
    const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
    const right = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest();
    return signatures.some((each) => each.length === right.length && timingSafeEqual(each, right));
  });
  return isGood ? null : "is signed with another secret";
}
