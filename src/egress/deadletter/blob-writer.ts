// Writes blobs to an Azure storage account, or to an emulator. The client is Azure's own, loaded
// with the first blob: it takes a while, and most brokers never need it. It makes one attempt; the
// retry rules decide about the next.
//
// A missing container is not created, as in the service: its name is more likely misspelt.

import type { BlobServiceClient } from "@azure/storage-blob";
import type { StorageStore } from "../../core/azure/storage.ts";
import { inTurn, once, storageClientOptions, storageOutcome } from "../azure/client.ts";
import { managedIdentity } from "../azure/managed-identity.ts";
import { openBlobReader } from "./blob-reader.ts";
import type { BlobStore } from "./sink.ts";

/** *Differs:* the service's content type is not documented; this is what the blobs contain. */
const blobContentType = "application/json; charset=utf-8";

export function openBlobs(store: Exclude<StorageStore, { kind: "folder" }>): BlobStore {
  const connected = once(async (): Promise<BlobServiceClient> => {
    const { BlobServiceClient: Client } = await inTurn(() => import("@azure/storage-blob"));
    if (store.kind === "blob") {
      return Client.fromConnectionString(store.connectionString, storageClientOptions);
    }
    const credential = await managedIdentity(store.clientId);
    return new Client(store.blobEndpoint, credential, storageClientOptions);
  });
  return {
    ...openBlobReader(connected),
    async put({ container, path, text }, signal) {
      const bytes = Buffer.byteLength(text);
      try {
        const blob = (await connected()).getContainerClient(container).getBlockBlobClient(path);
        const answer = await blob.upload(text, bytes, {
          abortSignal: signal,
          blobHTTPHeaders: { blobContentType },
        });
        const written = { container, path, url: bareUrl(blob.url), etag: answer.etag ?? "", bytes };
        return { kind: "answered", status: answer._response.status, written };
      } catch (error) {
        return storageOutcome(error as Error);
      }
    },
  };
}

/** A shared access signature is in the query. */
function bareUrl(url: string): string {
  return url.split("?", 1)[0] ?? url;
}
