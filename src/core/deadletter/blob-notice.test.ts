import assert from "node:assert/strict";
import { test } from "node:test";
import { topicDraft } from "../../../test/contract/fixture.ts";
import { filterForAll } from "../routing/filter.ts";
import { Directory } from "../routing/route.ts";
import { plainSubscription } from "../subscription.ts";
import { localGroup, type Topic } from "../topic.ts";
import { noticeOf } from "./blob-notice.ts";

const place = { ...localGroup, subscriptionId: "s", resourceGroup: "rg" };
const topic: Topic = { ...topicDraft({ kind: "storage", name: "letters", place }), revision: 1 };
const path = "BILLING/2030/1/1/0/guid.json";
const url = `https://letters.blob.core.windows.net/box/${path}`;
const written = { container: "box", path, url, etag: '"0x1"', bytes: 42 };
const notice = noticeOf(written, { topic, id: "n-1", at: Date.UTC(2030, 0, 1, 0, 5) });

test("a blob that was written is shown as by a storage account (L-5)", () => {
  const id =
    "/subscriptions/s/resourceGroups/rg/providers/Microsoft.Storage/storageAccounts/letters";
  assert.deepEqual(JSON.parse(notice.event.text), {
    id: "n-1",
    topic: id,
    subject: `/blobServices/default/containers/box/blobs/${path}`,
    data: {
      api: "PutBlob",
      requestId: "n-1",
      eTag: '"0x1"',
      contentType: "application/json; charset=utf-8",
      contentLength: 42,
      blobType: "BlockBlob",
      url,
      sequencer: "0000000000000000000001b8daca47e0",
    },
    eventType: "Microsoft.Storage.BlobCreated",
    eventTime: "2030-01-01T00:05:00.000Z",
    dataVersion: "",
    metadataVersion: "1",
  });
  assert.equal(notice.event.topic, "letters");
  assert.equal(notice.event.publishedAt, Date.UTC(2030, 0, 1, 0, 5));
  assert.equal(notice.event.hops, 0);
});

test("it is filtered like any other event: by container, and by what is in its data (L-5)", () => {
  const wanted = (subjectBeginsWith: string) => ({ ...filterForAll, subjectBeginsWith });
  const destination = { kind: "webhook", url: "http://127.0.0.1:9/" } as const;
  const subscriptions = [
    wanted("/blobServices/default/containers/box/"),
    wanted("/blobServices/default/containers/other/"),
    { ...filterForAll, includedEventTypes: ["Microsoft.Storage.BlobCreated"] },
    { ...filterForAll, includedEventTypes: ["Microsoft.Storage.BlobDeleted"] },
  ].map((filter, index) => ({
    ...{ ...plainSubscription, topic: "letters", name: `sub-${index}`, destination, filter },
    ...({ origin: "api", id: index, revision: 1 } as const),
  }));
  const directory = new Directory({ topics: [topic], subscriptions });
  assert.deepEqual([...(directory.entry("letters")?.route(notice.fields) ?? [])].sort(), [0, 2]);
});
