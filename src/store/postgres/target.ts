// The connection string as the driver needs it: core/text/connection-string.ts reads it.

import { readFileSync } from "node:fs";
import type { Target } from "../../core/text/connection-string.ts";

export { type Host, parseTarget, type Target } from "../../core/text/connection-string.ts";

/** The options of TLS as Node takes them; false: none. */
export function tlsOf({ ssl }: Target, host: string): object | false {
  if (ssl.mode === "disable") return false;
  const isChecked = ssl.mode === "verify-ca" || ssl.mode === "verify-full";
  const file = (path: string | null) => (path === null ? undefined : readFileSync(path, "utf8"));
  const ca = file(ssl.rootCertFile);
  const cert = file(ssl.certFile);
  const key = file(ssl.keyFile);
  return {
    rejectUnauthorized: isChecked,
    // An address is no name that could be told to the server.
    ...(/^[\d.:a-f]*$/i.test(host) ? {} : { servername: host }),
    ...(ssl.mode === "verify-ca" && { checkServerIdentity: () => undefined }),
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
  };
}
