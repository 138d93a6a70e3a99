// Tokens of a managed identity, which the platform gives this program: a virtual machine, App
// Service or Kubernetes. Azure's library knows how each provides them.

import type { TokenCredential } from "@azure/identity";
import { inTurn } from "./client.ts";

/** `clientId`: which one, if the program has several; null: its only one. */
export async function managedIdentity(clientId: string | null): Promise<TokenCredential> {
  const { ManagedIdentityCredential } = await inTurn(() => import("@azure/identity"));
  const retryOptions = { maxRetries: 0 };
  return clientId === null
    ? new ManagedIdentityCredential({ retryOptions })
    : new ManagedIdentityCredential({ clientId, retryOptions });
}
