// Tokens of a managed identity: whoever the platform says that this program is, be it a virtual
// machine, App Service or Kubernetes. What each of them offers is Azure's library's to know.

import type { TokenCredential } from "@azure/identity";
import { inTurn } from "./client.ts";

/** `clientId`: which one, where the program has several; null: the one it has. */
export async function managedIdentity(clientId: string | null): Promise<TokenCredential> {
  const { ManagedIdentityCredential } = await inTurn(() => import("@azure/identity"));
  const retryOptions = { maxRetries: 0 };
  return clientId === null
    ? new ManagedIdentityCredential({ retryOptions })
    : new ManagedIdentityCredential({ clientId, retryOptions });
}
