// What is kept of a request and its answer, for whoever looks into an attempt: the beginning
// of the body, and headers without their secrets.

import type { Exchanged } from "../delivery/outcome.ts";
import type { Subscription } from "../subscription.ts";

type Header = readonly [name: string, value: string];

export interface KeptWire {
  readonly method: string;
  readonly headers: readonly Header[];
  readonly body: string;
  /** Of the whole body, in characters. */
  readonly size: number;
  readonly answer: readonly Header[];
}

const bodyCharsMax = 1_024;
const headersMax = 40;
const valueCharsMax = 200;

export function keepWire(
  { request, head }: Exchanged,
  { headers }: Pick<Subscription, "headers">,
): KeptWire {
  const own = headers.flatMap((header) =>
    header.kind === "static" && header.isSecret ? [header.name.toLowerCase()] : [],
  );
  const { method, body } = request;
  const keep = (lines: readonly Header[]) =>
    lines.slice(0, headersMax).map(([name, value]) => shown(name, value, own));
  return {
    ...{ method, headers: keep(Object.entries(request.headers)) },
    ...{ body: body.slice(0, bodyCharsMax), size: body.length },
    answer: keep(linesIn(head ?? "")),
  };
}

/** Names that carry secrets, whoever sends them. */
const secretRule = /authorization|cookie|secret|token|signature|password|(^|-)key$/i;

function shown(name: string, value: string, secrets: readonly string[]): Header {
  if (secretRule.test(name) || secrets.includes(name.toLowerCase())) return [name, "(hidden)"];
  return [name, value.length > valueCharsMax ? `${value.slice(0, valueCharsMax)}…` : value];
}

/** Without the first line, which has the status. */
function linesIn(head: string): Header[] {
  return head
    .split("\r\n")
    .slice(1)
    .flatMap((line) => {
      const colon = line.indexOf(":");
      return colon < 1 ? [] : [[line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]];
    });
}
