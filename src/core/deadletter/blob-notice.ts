// The notice of a blob that was written, as an Azure storage account raises it (L-5). Imitates
// https://learn.microsoft.com/azure/event-grid/event-schema-blob-storage.
//
// To react to dead letters, subscribe to the account they go to. If dead letters of such a
// subscription raised notices too, it could loop for ever; so they do not.
//
// *Differs:* we have no id of a request to the store, so the notice's own id is used.

import type { Written } from "../delivery/outcome.ts";
import type { Published } from "../event.ts";
import type { Instant } from "../ports.ts";
import { isoInstant } from "../text/time.ts";
import { type Topic, topicArmId } from "../topic.ts";

const eventType = "Microsoft.Storage.BlobCreated";

/**
 * Of two notices about one blob the later one has the greater value, compared as text; hexadecimal.
 */
const sequencerDigits = 32;

export function noticeOf(
  { container, path, url, etag, bytes }: Written,
  told: { readonly topic: Topic; readonly id: string; readonly at: Instant },
): Published {
  const { id, at } = told;
  const topic = topicArmId(told.topic);
  const subject = `/blobServices/default/containers/${container}/blobs/${path}`;
  const value = {
    id,
    topic,
    subject,
    data: {
      api: "PutBlob",
      requestId: id,
      eTag: etag,
      contentType: "application/json; charset=utf-8",
      contentLength: bytes,
      blobType: "BlockBlob",
      url,
      sequencer: at.toString(16).padStart(sequencerDigits, "0"),
    },
    eventType,
    eventTime: isoInstant(at),
    dataVersion: "",
    metadataVersion: "1",
  };
  return {
    event: {
      systemId: id,
      topic: told.topic.name,
      publishedAt: at,
      schema: "EventGridSchema",
      dataVersion: "",
      text: JSON.stringify(value),
      envelope: null,
      trace: null,
      hops: 0,
    },
    fields: {
      ...{ id, subject, eventType, topic, dataVersion: "" },
      schema: "EventGridSchema",
      parsed: value,
    },
    domainTopic: null,
  };
}
