// `posthorn event resend`: sends a kept event again, and says who gets it.

import type { ResentView } from "../../core/api/views.ts";
import { openClient } from "../client.ts";
import type { Run } from "../command.ts";
import { quoted, sayMatched } from "./matched.ts";

export const resendEvent: Run = async (given, outside) => {
  const path = `/api/v1/events/${encodeURIComponent(given.operands[0] ?? "")}/resend`;
  const names = given.all("name");
  const order = names.length === 0 ? {} : { subscriptions: names };
  const { body } = await openClient(given, outside).send("POST", path, order);
  const resent = body as unknown as ResentView;
  if (outside.form !== "table" || given.has("query")) return { value: resent };
  const lines = [
    `sent ${resent.id} to ${resent.topic} again`,
    sayMatched(resent.subscriptions),
    `next: posthorn explain ${quoted(resent.event)}`,
  ];
  outside.print(`${lines.join("\n")}\n`);
  return {};
};
