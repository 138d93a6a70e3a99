// Member names are case-insensitive in the module. Its own samples write `operatorType` and
// `OperatorType`, `topic` and `Topic`. A body is first converted to one spelling, so that all other
// code compares names exactly.

import { Refusal } from "../core/refusal.ts";
import type { Members } from "../core/text/wording.ts";
import { shownAs } from "../core/text/wording.ts";

const spellings: ReadonlyMap<string, string> = new Map(
  [
    ...["id", "name", "type", "properties", "inputSchema", "endpoint"],
    ...["topic", "topicName", "eventDeliverySchema", "retryPolicy", "persistencePolicy"],
    ...["maxDeliveryAttempts", "eventExpiryInMinutes", "isPersisted", "destination", "filter"],
    ...["endpointType", "endpointUrl", "endpointBaseUrl", "outputName", "sasKey"],
    ...["connectionString", "queueName", "maxEventsPerBatch", "preferredBatchSizeInKilobytes"],
    ...["subjectBeginsWith", "subjectEndsWith", "isSubjectCaseSensitive", "includedEventTypes"],
    ...["advancedFilters", "operatorType", "key", "value", "values"],
  ].map((name) => [name.toLowerCase(), name]),
);

/** Unknown names stay as they are, and are refused later. */
export function respelt(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(respelt);
  if (typeof value !== "object" || value === null) return value;
  const respelled: Record<string, unknown> = Object.create(null);
  for (const [given, member] of Object.entries(value as Members)) {
    const name = spellings.get(given.toLowerCase()) ?? given;
    if (name in respelled) {
      const words = `The body has the member ${shownAs(name)} twice, in letters of other case.`;
      throw new Refusal("InputJsonInvalid", words);
    }
    respelled[name] = respelt(member);
  }
  return { ...respelled };
}
