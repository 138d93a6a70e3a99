// Blobs in a storage account of Azure's, or of an emulator of it. The client is Azure's own, loaded
// when the first blob comes: it takes a while, and most brokers never need it. It makes one try;
// when the next one is made is the law's to say.
//
// A container that is not there is not made, as the service does not: who gives the name of one
// that does not exist has more likely misspelt it.

import type { BlobServiceClient, RestError } from "@azure/storage-blob";
import type { Outcome } from "../core/outcome.ts";
import { shelfOfAccount } from "./blobshelf.ts";
import type { BlobStore } from "./deadletter.ts";
import { silent } from "./exchange.ts";
import { silenceOf, wordsOf } from "./wire.ts";

/** *Differs:* what type the service gives its blobs is not told; this is what they are. */
const blobContentType = "application/json; charset=utf-8";

export function openBlobs({ connectionString }: { readonly connectionString: string }): BlobStore {
  let client: Promise<BlobServiceClient> | null = null;
  const connect = async () => {
    const { BlobServiceClient: Client } = await import("@azure/storage-blob");
    return Client.fromConnectionString(connectionString, {
      retryOptions: { maxTries: 1 },
      userAgentOptions: { userAgentPrefix: "posthorn" },
    });
  };
  const connected = () => {
    client ??= connect().catch((error) => {
      client = null;
      throw error;
    });
    return client;
  };
  return {
    ...shelfOfAccount(connected),
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
        return outcomeOf(error as Error);
      }
    },
  };
}

/** A shared access signature is in the query. */
function bareUrl(url: string): string {
  return url.split("?", 1)[0] ?? url;
}

/** The client's own words of an answer may quote the request; its code does not. */
function outcomeOf(error: Error & Partial<Pick<RestError, "statusCode" | "code">>): Outcome {
  const { statusCode, code } = error;
  if (statusCode === undefined) return silent(silenceOf(error), wordsOf(error));
  return { kind: "answered", status: statusCode, detail: code ?? error.name };
}
