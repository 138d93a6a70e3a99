// The form of a subscription loses nothing: what the broker shows, read into the form and written
// back without a change, is what was in force.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { ArmSubscription } from "../../portal/arm.ts";
import { draftOf, plainDraft, propertiesOf } from "../../portal/forms/draft.ts";
import { renderSubscription } from "../../src/control/arm/render.ts";
import { checkTerms, type TermsContext } from "../../src/control/properties/subscription.ts";
import { parseAzure } from "../../src/core/azure/resources.ts";
import { batchDefaults } from "../../src/core/delivery/batch.ts";
import { plainSubscription, type Subscription } from "../../src/core/subscription.ts";
import { plainTopic } from "../../src/core/topic.ts";

const group = "/subscriptions/s/resourceGroups/g/providers";
const account = `${group}/Microsoft.Storage/storageAccounts/letters`;
const bus = "Endpoint=sb://b/;SharedAccessKeyName=n;SharedAccessKey=a2V5";

const context: TermsContext = {
  profile: "azure",
  inputSchema: "EventGridSchema",
  azure: parseAzure({
    storageAccounts: { letters: { connectionString: "UseDevelopmentStorage=true" } },
    serviceBusNamespaces: { bus: { connectionString: bus } },
  }),
  batchDefaults,
  stored: null,
  keepsRest: false,
  now: Date.UTC(2030, 0, 1),
  makeKey: () => "a".repeat(43).concat("="),
};

const hook = (properties: object = {}) => ({
  endpointType: "WebHook",
  properties: { endpointUrl: "https://example.com/hook?code=secret", ...properties },
});
const letters = {
  endpointType: "StorageBlob",
  properties: { resourceId: account, blobContainerName: "given-up" },
};
const header = (name: string, type: string, properties: object) => ({ name, type, properties });

const written: Readonly<Record<string, object>> = {
  "a plain webhook": { destination: hook() },
  "batches and headers": {
    destination: hook({
      maxEventsPerBatch: 50,
      preferredBatchSizeInKilobytes: 128,
      deliveryAttributeMappings: [
        header("x-a", "Static", { value: "text", isSecret: false }),
        header("x-b", "Static", { value: "hush", isSecret: true }),
        header("x-c", "Dynamic", { sourceField: "data.customer" }),
      ],
    }),
  },
  "every setting beside": {
    destination: hook(),
    eventDeliverySchema: "CloudEventSchemaV1_0",
    retryPolicy: { maxDeliveryAttempts: 4, eventTimeToLiveInMinutes: 90 },
    deadLetterDestination: letters,
    labels: ["one", "two words"],
    expirationTimeUtc: "2031-01-01T00:00:00Z",
    posthorn: { splitOnFailure: true, signing: {} },
  },
  "every kind of filter": {
    destination: hook(),
    filter: {
      includedEventTypes: ["Shop.Ordered", "Shop.Returned"],
      subjectBeginsWith: "/orders/",
      subjectEndsWith: ".json",
      isSubjectCaseSensitive: true,
      enableAdvancedFilteringOnArrays: true,
      advancedFilters: [
        { operatorType: "NumberGreaterThan", key: "data.amount", value: 10.5 },
        { operatorType: "NumberIn", key: "data.amount", values: [1, -2] },
        {
          operatorType: "NumberInRange",
          key: "data.amount",
          values: [
            [1, 5],
            [-3.5, 9],
          ],
        },
        { operatorType: "BoolEquals", key: "data.isPaid", value: false },
        { operatorType: "StringContains", key: "subject", values: ["a b", "c"] },
        { operatorType: "IsNotNull", key: "data.customer" },
      ],
    },
  },
  "a storage queue": {
    destination: {
      endpointType: "StorageQueue",
      properties: {
        resourceId: account,
        queueName: "orders",
        queueMessageTimeToLiveInSeconds: 60,
      },
    },
  },
  "a bus, reached with an identity": {
    deliveryWithResourceIdentity: {
      identity: { type: "SystemAssigned" },
      destination: {
        endpointType: "ServiceBusQueue",
        properties: { resourceId: `${group}/Microsoft.ServiceBus/namespaces/bus/queues/orders` },
      },
    },
    deadLetterWithResourceIdentity: {
      identity: { type: "SystemAssigned" },
      deadLetterDestination: letters,
    },
  },
};

for (const [what, properties] of Object.entries(written)) {
  test(`a form that nobody changes changes nothing: ${what}`, () => {
    const terms = checkTerms(properties, "properties", context);
    const subscription: Subscription = {
      ...plainSubscription,
      ...terms,
      ...{ id: 1, revision: 1, topic: "orders", name: "billing", origin: "api" },
    };
    const topic = { ...plainTopic, name: "orders", key1: "", key2: "", revision: 1 } as const;
    const shown = renderSubscription(subscription, {
      topic: { ...topic, origin: "api" },
      form: "scope",
      profile: "azure",
    }) as ArmSubscription;
    const again = propertiesOf(draftOf(shown), shown);
    const readAgain = checkTerms(again, "properties", { ...context, stored: terms });
    const usual = { maxDeliveryAttempts: 30, eventTimeToLiveMs: 86_400_000 };
    const { maxDeliveryAttempts, eventTimeToLiveMs } = terms.retryPolicy;
    assert.deepEqual(readAgain, {
      ...terms,
      // What the service shows as its default is written back as such.
      retryPolicy: {
        maxDeliveryAttempts: maxDeliveryAttempts ?? usual.maxDeliveryAttempts,
        eventTimeToLiveMs: eventTimeToLiveMs ?? usual.eventTimeToLiveMs,
      },
    });
  });
}

test("an empty form asks for a URL and nothing else", () => {
  assert.throws(() => checkTerms(propertiesOf(plainDraft), "properties", context), {
    target: "properties.destination.properties.endpointUrl",
  });
  const draft = { ...plainDraft, endpointUrl: "https://example.com" };
  const terms = checkTerms(propertiesOf(draft), "properties", context);
  assert.deepEqual(
    terms,
    checkTerms(
      { destination: hook({ endpointUrl: "https://example.com" }) },
      "properties",
      context,
    ),
  );
});
