// Waits for the handshake with an endpoint and shows it as it goes: what was asked, what came, when
// the next try is. An interrupt ends the wait and not the handshake, and says how to go on.

import type { HandshakeView } from "../../core/api/views.ts";
import { wordsOfMs } from "../../core/text/time.ts";
import type { BrokerReply, Client, Outside } from "../client.ts";
import { apiPathOf, type Source } from "./resource-names.ts";

export type HandshakeEnd =
  | { readonly kind: "done" }
  | { readonly kind: "failed"; readonly why: string }
  /** The person did not want to wait any longer. */
  | { readonly kind: "left" };

export interface AskedSubscription {
  readonly source: Source;
  readonly name: string;
  /** Its name as options of a command. */
  readonly words: string;
}

const lookMs = 500;

/** Throws Complaint. */
export async function followHandshake(
  client: Client,
  outside: Outside,
  { written, ...asked }: AskedSubscription & { readonly written: BrokerReply },
): Promise<HandshakeEnd> {
  const left = Promise.withResolvers<HandshakeEnd>();
  const ignore = outside.onSignal(() => left.resolve({ kind: "left" }));
  const over = client
    .follow(written)
    .then((why): HandshakeEnd => (why === null ? { kind: "done" } : { kind: "failed", why }));
  const watch = watching(client, outside, asked);
  try {
    for (;;) {
      const end = await Promise.race([over, left.promise, outside.sleep(lookMs)]);
      if (end?.kind === "left") {
        // The failure of a wait that nobody wants any more is not shown.
        over.catch(() => {});
        outside.tell(`posthorn: no longer waiting, the broker goes on; ${howToGoOn(asked)}\n`);
        return end;
      }
      await watch(end?.kind === "done");
      if (end) return end;
    }
  } finally {
    ignore();
  }
}

/** Shows what is new, except for the last answer, which is the result. */
function watching(client: Client, { tell, now }: Outside, { source, name }: AskedSubscription) {
  let shown = 0;
  return async (isDone: boolean): Promise<void> => {
    const { status, body } = await client.ask("GET", apiPathOf(source, name, "handshake"));
    if (status !== 200) return;
    const { exchanges, nextAt, validationUrl } = body as unknown as HandshakeView;
    for (const { request, answer, verdict } of exchanges.slice(shown)) {
      const isLast = shown === exchanges.length - 1;
      if (isLast && nextAt === null) break;
      shown += 1;
      const next =
        isLast && nextAt !== null ? `; next try in ${waitOf(Date.parse(nextAt) - now())}` : "";
      tell(`posthorn: asked ${request}: ${saidOf(answer, verdict)}${next}\n`);
    }
    if (isDone && validationUrl !== null) {
      tell(`posthorn: a person has to agree: open ${validationUrl}\n`);
    }
  };
}

function saidOf(answer: string, verdict: string): string {
  const words = /^\d{3}/.test(answer) ? verdict : answer;
  return words.replace(/\.$/, "");
}

function waitOf(ms: number): string {
  return wordsOfMs(Math.max(0, Math.round(ms / 1_000) * 1_000));
}

export function howToGoOn({ words }: AskedSubscription): string {
  const of = (verb: string) => `posthorn event-subscription ${verb} ${words}`;
  return `look with \`${of("show")}\`, ask again with \`${of("validate")}\``;
}
