// Reads blobs of a storage account: the entries below a prefix, and the bytes of one. The client is
// the same as for writing (blob-writer.ts). A container is never listed flat, only one folder at a
// time.

import type {
  BlobServiceClient,
  ContainerListBlobHierarchySegmentResponse,
  RestError,
} from "@azure/storage-blob";
import type { BlobContainer, Listing, NotRead } from "../../core/deadletter/letter-store.ts";
import { wordsOf } from "../http/message.ts";
import { type BlobReader, blobBytesMax, notRead, tooLarge } from "./reader.ts";

/** The service's maximum. */
const namesPerPage = 5_000;

const empty = { kind: "read", bytes: new Uint8Array(), modifiedAt: 0 } as const;

export function openBlobReader(connected: () => Promise<BlobServiceClient>): BlobReader {
  const open = async ({ container }: BlobContainer) =>
    (await connected()).getContainerClient(container);
  return {
    async list(container, { prefix, after }, signal) {
      try {
        const folders = (await open(container))
          .listBlobsByHierarchy("/", { prefix, abortSignal: signal })
          .byPage({
            maxPageSize: namesPerPage,
            ...(after === null ? {} : { continuationToken: after }),
          });
        const { value } = await folders.next();
        const page = value as ContainerListBlobHierarchySegmentResponse;
        const { blobItems, blobPrefixes = [] } = page.segment;
        return {
          kind: "listed",
          folders: blobPrefixes.map(({ name }) => name.slice(prefix.length, -1)),
          blobs: blobItems.map(({ name: path, properties }) => ({
            path,
            bytes: properties.contentLength ?? 0,
            modifiedAt: properties.lastModified.getTime(),
          })),
          next: page.continuationToken || null,
        } satisfies Listing;
      } catch (error) {
        return notReadOf(error as Error);
      }
    },
    async read(container, path, signal) {
      try {
        const blob = (await open(container)).getBlobClient(path);
        const answer = await blob.download(0, blobBytesMax + 1, { abortSignal: signal });
        const chunks: Uint8Array[] = [];
        for await (const chunk of answer.readableStreamBody ?? []) {
          chunks.push(chunk as unknown as Uint8Array);
        }
        const bytes = Buffer.concat(chunks);
        if (bytes.length > blobBytesMax) return tooLarge;
        const modifiedAt = answer.lastModified?.getTime() ?? 0;
        return { kind: "read", bytes, modifiedAt };
      } catch (error) {
        // An empty blob has no first byte to begin with.
        if ((error as RestError).statusCode === 416) return empty;
        return notReadOf(error as Error);
      }
    },
    async whyUnreachable(container, signal) {
      try {
        await (await open(container)).getProperties({ abortSignal: signal });
        return null;
      } catch (error) {
        return notReadOf(error as Error).why;
      }
    },
  };
}

/** The client's own message may quote the request; its code does not. */
function notReadOf(error: Error & Partial<Pick<RestError, "statusCode" | "code">>): NotRead {
  const { statusCode, code } = error;
  if (statusCode === undefined) return notRead(`The store gave no answer: ${wordsOf(error)}`);
  const detail = code === undefined ? "" : ` (${code})`;
  return { ...notRead(`The store answered ${statusCode}${detail}`), isMissing: statusCode === 404 };
}
