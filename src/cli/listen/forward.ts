// `listen --forward-to`: passes deliveries on to an application, and its answers to the broker.

import type { Arrived, Response } from "../../core/receiver.ts";
import { Refusal } from "../../core/refusal.ts";
import type { CommandOutside } from "../command.ts";
import type { ParsedOptions } from "../option.ts";

/** Of one connection only, or changed by reading the body. */
const ofConnection = [
  ...["connection", "content-encoding", "content-length", "expect", "host", "keep-alive"],
  ...["proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"],
];

export interface Passed {
  readonly response: Response;
  readonly words: string;
}

/** Null: nothing is passed on. Refusal: InvalidSetting. */
export function forwardingTo(
  given: ParsedOptions,
  { fetch, now }: CommandOutside,
): ((arrived: Arrived) => Promise<Passed>) | null {
  const text = given.one("forward-to");
  if (text === null) return null;
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    const words = `--forward-to must be a URL such as http://localhost:3000/hook, and is`;
    throw new Refusal("InvalidSetting", `${words} ${JSON.stringify(text)}`);
  }
  return async ({ method, headers, body }) => {
    const startedAt = now();
    try {
      const init = { method, headers: passable(Object.entries(headers)), body };
      const answer = await fetch(url, { ...init, redirect: "manual" });
      const content = await answer.text();
      const tookMs = Math.round(now() - startedAt);
      return {
        response: {
          ...{ kind: "answer", status: answer.status, body: content },
          headers: passable(answer.headers),
        },
        words: `${answer.status} from ${url.host} in ${tookMs} ms`,
      };
    } catch (error) {
      const { cause, message } = error as { cause?: { code?: string; message?: string } } & Error;
      const why = `${url.host} cannot be reached (${cause?.code ?? cause?.message ?? message})`;
      const headers = { "content-type": "text/plain" };
      return {
        response: { kind: "answer", status: 502, headers, body: why },
        words: `502, because ${why}`,
      };
    }
  };
}

function passable(headers: Iterable<readonly [string, string]>): Record<string, string> {
  const kept = [...headers].filter(([name]) => !ofConnection.includes(name.toLowerCase()));
  return Object.fromEntries(kept);
}
