// Authorities to trust beside the usual ones, for the whole process. Webhooks are told theirs, but
// Azure's clients take them from Node alone.

import { createSecureContext, getCACertificates, setDefaultCACertificates } from "node:tls";

/** `ca` as PEM. Throws for what is no certificate. */
export function trustAlso(ca: readonly string[]): void {
  if (ca.length === 0) return;
  createSecureContext({ ca: [...ca] });
  setDefaultCACertificates([...getCACertificates("default"), ...ca]);
}
