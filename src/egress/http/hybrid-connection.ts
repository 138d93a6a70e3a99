// A hybrid connection: the relay takes an ordinary HTTPS request, checks a token in a header of its
// own, and passes the request to the listener at the other end, which answers it. So it is a
// webhook at the relay's address. `Authorization` stays free for the listener. Imitates
// https://learn.microsoft.com/azure/azure-relay/relay-hybrid-connections-protocol.

import { createHmac } from "node:crypto";
import type { KeyedNamespace } from "../../core/azure/resources.ts";
import type { Instant } from "../../core/ports.ts";
import type { Address } from "./webhook.ts";

const tokenLifeMs = 3_600_000;

export function relayAddress(namespace: KeyedNamespace, connection: string, now: Instant): Address {
  const { host, isPlain } = namespace;
  const path = `${host}/${encodeURIComponent(connection)}`;
  const token = tokenFor(namespace, `http://${path}`, now + tokenLifeMs);
  return {
    kind: "webhook",
    url: `${isPlain ? "http" : "https"}://${path}`,
    headers: { servicebusauthorization: token },
  };
}

/** The key is used as written, and not decoded, unlike the keys of topics. */
function tokenFor(
  { keyName, accessKey }: KeyedNamespace,
  resource: string,
  until: Instant,
): string {
  const [sr, se] = [encodeURIComponent(resource.toLowerCase()), Math.floor(until / 1000)];
  const signature = createHmac("sha256", accessKey).update(`${sr}\n${se}`).digest("base64");
  const sig = encodeURIComponent(signature);
  return `SharedAccessSignature sr=${sr}&sig=${sig}&se=${se}&skn=${encodeURIComponent(keyName)}`;
}
