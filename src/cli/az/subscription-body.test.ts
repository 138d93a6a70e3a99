import assert from "node:assert/strict";
import { test } from "node:test";
import { Refusal } from "../../core/refusal.ts";
import { readOptions } from "../option.ts";
import { accessOptions, schemaOptions, termsOptions } from "../options.ts";
import { changedTerms, newTerms } from "./subscription-body.ts";
import { topicBody } from "./topic-body.ts";

const group = "/subscriptions/S/resourceGroups/rg1/providers";
const plain = {
  filter: { isSubjectCaseSensitive: false },
  retryPolicy: { maxDeliveryAttempts: 30, eventTimeToLiveInMinutes: 1440 },
};
const dead = `${group}/Microsoft.Storage/storageAccounts/letters`;
const deadLetterDestination = {
  endpointType: "StorageBlob",
  properties: { resourceId: dead, blobContainerName: "dead" },
};

const read = (words: string) => readOptions(words.split(" ").filter(Boolean), termsOptions);

/** Bodies recorded from az 2.45 for the same options. */
const recorded: [string, object][] = [
  [
    "--endpoint http://a/hook",
    {
      destination: { endpointType: "WebHook", properties: { endpointUrl: "http://a/hook" } },
      ...plain,
    },
  ],
  [
    "--endpoint http://a/hook?code=abc --max-events-per-batch 10 " +
      "--preferred-batch-size-in-kilobytes 128 --event-ttl 60 --max-delivery-attempts 5 " +
      "--included-event-types a b --subject-begins-with x --subject-ends-with y " +
      "--subject-case-sensitive --enable-advanced-filtering-on-arrays " +
      "--advanced-filter data.amount NumberInRange 1,2 3,4 --advanced-filter data.b BoolEquals true " +
      "--advanced-filter data.c StringIn a b --advanced-filter data.d NumberGreaterThan 5 " +
      "--advanced-filter data.e IsNotNull --delivery-attribute-mapping X-S static val true " +
      "--delivery-attribute-mapping X-D dynamic data.foo --labels a b " +
      `--deadletter-endpoint ${dead}/blobServices/default/containers/dead ` +
      "--expiration-date 2030-01-01 --event-delivery-schema eventgridschema",
    {
      destination: {
        endpointType: "WebHook",
        properties: {
          endpointUrl: "http://a/hook?code=abc",
          maxEventsPerBatch: 10,
          preferredBatchSizeInKilobytes: 128,
          deliveryAttributeMappings: [
            { name: "X-S", type: "Static", properties: { value: "val", isSecret: true } },
            { name: "X-D", type: "Dynamic", properties: { sourceField: "data.foo" } },
          ],
        },
      },
      filter: {
        subjectBeginsWith: "x",
        subjectEndsWith: "y",
        includedEventTypes: ["a", "b"],
        isSubjectCaseSensitive: true,
        enableAdvancedFilteringOnArrays: true,
        advancedFilters: [
          {
            operatorType: "NumberInRange",
            key: "data.amount",
            values: [
              [1, 2],
              [3, 4],
            ],
          },
          { operatorType: "BoolEquals", key: "data.b", value: true },
          { operatorType: "StringIn", key: "data.c", values: ["a", "b"] },
          { operatorType: "NumberGreaterThan", key: "data.d", value: 5 },
          { operatorType: "IsNotNull", key: "data.e" },
        ],
      },
      labels: ["a", "b"],
      expirationTimeUtc: "2030-01-01T00:00:00.000Z",
      eventDeliverySchema: "EventGridSchema",
      retryPolicy: { maxDeliveryAttempts: 5, eventTimeToLiveInMinutes: 60 },
      deadLetterDestination,
    },
  ],
  [
    "--endpoint-type storagequeue --storage-queue-msg-ttl 300 " +
      `--endpoint ${group}/Microsoft.Storage/storageAccounts/acc/queueServices/default/queues/q1`,
    {
      destination: {
        endpointType: "StorageQueue",
        properties: {
          resourceId: `${group}/Microsoft.Storage/storageAccounts/acc`,
          queueName: "q1",
          queueMessageTimeToLiveInSeconds: 300,
        },
      },
      ...plain,
    },
  ],
  [
    `--endpoint-type eventhub --endpoint ${group}/Microsoft.EventHub/namespaces/n/eventhubs/h ` +
      "--delivery-attribute-mapping A static b",
    {
      destination: {
        endpointType: "EventHub",
        properties: {
          resourceId: `${group}/Microsoft.EventHub/namespaces/n/eventhubs/h`,
          deliveryAttributeMappings: [
            { name: "A", type: "Static", properties: { value: "b", isSecret: false } },
          ],
        },
      },
      ...plain,
    },
  ],
  [
    "--delivery-identity systemassigned --delivery-identity-endpoint-type servicebusqueue " +
      `--delivery-identity-endpoint ${group}/Microsoft.ServiceBus/namespaces/n/queues/q ` +
      "--deadletter-identity systemassigned " +
      `--deadletter-identity-endpoint ${dead}/blobServices/default/containers/dead`,
    {
      deliveryWithResourceIdentity: {
        identity: { type: "SystemAssigned" },
        destination: {
          endpointType: "ServiceBusQueue",
          properties: { resourceId: `${group}/Microsoft.ServiceBus/namespaces/n/queues/q` },
        },
      },
      ...plain,
      deadLetterWithResourceIdentity: {
        identity: { type: "SystemAssigned" },
        deadLetterDestination,
      },
    },
  ],
];

test("a subscription's options make the body that az was seen to send (M-1)", () => {
  for (const [words, properties] of recorded) {
    assert.deepEqual(newTerms(read(words)), { properties });
  }
});

test("every type of event is what leaving the types out means", () => {
  const body = newTerms(read("--endpoint http://a --included-event-types All"));
  assert.deepEqual(body.properties, {
    destination: { endpointType: "WebHook", properties: { endpointUrl: "http://a" } },
    ...plain,
    filter: { isSubjectCaseSensitive: false, includedEventTypes: null },
  });
});

test("our own settings travel under posthorn, and only when they are said", () => {
  const own = (words: string) =>
    (newTerms(read(`--endpoint http://a ${words}`)).properties as { posthorn?: object }).posthorn;
  assert.equal(own(""), undefined);
  assert.deepEqual(own("--split-on-failure"), { splitOnFailure: true });
  assert.deepEqual(own("--signing"), { signing: {} });
  assert.deepEqual(own("--signing false"), { signing: null });
  assert.deepEqual(own("--signing-secret whsec_a --signing-secret whsec_b"), {
    signing: { secrets: [{ secret: "whsec_a" }, { secret: "whsec_b" }] },
  });
});

test("a change sends what it changes, and the rest of the filter with it", () => {
  const shown = {
    properties: {
      filter: { subjectBeginsWith: "x", includedEventTypes: ["a"] },
      retryPolicy: { maxDeliveryAttempts: 5, eventTimeToLiveInMinutes: 60 },
    },
  };
  assert.deepEqual(changedTerms(read("--subject-ends-with .jpg"), shown), {
    filter: { subjectBeginsWith: "x", includedEventTypes: ["a"], subjectEndsWith: ".jpg" },
  });
  assert.deepEqual(changedTerms(read("--event-ttl 30"), shown), {
    retryPolicy: { maxDeliveryAttempts: 5, eventTimeToLiveInMinutes: 30 },
  });
  assert.deepEqual(changedTerms(read("--labels a"), shown), { labels: ["a"] });
});

test("options that cannot go together, or not alone, are refused in words", () => {
  const table: [string, RegExp][] = [
    ["", /^--endpoint must be given: --endpoint URL, or the id of a resource$/],
    ["--endpoint http://a --delivery-identity systemassigned", /^--delivery-identity must be left/],
    [
      "--endpoint http://a --aad-tenant-id t",
      /^--azure-active-directory-application-id-or-uri mus/,
    ],
    ["--endpoint http://a --deadletter-identity systemassigned", /^--deadletter-identity-endpoint/],
    [
      "--endpoint http://a --storage-queue-msg-ttl 5",
      /^--storage-queue-msg-ttl must be left out: i/,
    ],
    [
      "--endpoint http://a --deadletter-endpoint x",
      /^--deadletter-endpoint must be …\/storageAcco/,
    ],
    [
      "--endpoint x --endpoint-type storagequeue",
      /^--endpoint must be …\/storageAccounts\/ACCOUNT\//,
    ],
    [
      "--endpoint x --endpoint-type eventhub --max-events-per-batch 5",
      /^--max-events-per-batch must/,
    ],
    [
      "--endpoint http://a --expiration-date soon",
      /^--expiration-date must be a date or an instant/,
    ],
    [
      "--endpoint http://a --signing false --signing-secret s",
      /^--signing-secret must be left out w/,
    ],
  ];
  for (const [words, message] of table) {
    assert.throws(
      () => newTerms(read(words)),
      (error) => error instanceof Refusal && message.test(error.message),
      words,
    );
  }
});

test("a topic's options make the body that az was seen to send", () => {
  const topic = (words: string) =>
    topicBody(
      readOptions(words.split(" ").filter(Boolean), { ...schemaOptions, ...accessOptions }),
      "topics",
    );
  const usual = { sku: { name: "Basic" }, identity: { type: "None" }, kind: "Azure" };
  assert.deepEqual(topic(""), {
    ...usual,
    properties: { inputSchema: "EventGridSchema", disableLocalAuth: false },
  });
  const all =
    "--tags a=b c=d --input-schema customeventschema --input-mapping-fields id=myid eventtype=t " +
    "subject=s --input-mapping-default-values dataversion=1.0 --inbound-ip-rules 10.0.0.0/8 Allow " +
    "--inbound-ip-rules 127.0.0.1 allow --public-network-access disabled";
  assert.deepEqual(topic(all), {
    tags: { a: "b", c: "d" },
    ...usual,
    properties: {
      inputSchema: "CustomEventSchema",
      disableLocalAuth: false,
      inputSchemaMapping: {
        inputSchemaMappingType: "Json",
        properties: {
          id: { sourceField: "myid" },
          eventType: { sourceField: "t" },
          subject: { sourceField: "s" },
          dataVersion: { defaultValue: "1.0" },
        },
      },
      publicNetworkAccess: "Disabled",
      inboundIpRules: [
        { ipMask: "10.0.0.0/8", action: "Allow" },
        { ipMask: "127.0.0.1", action: "Allow" },
      ],
    },
  });
  assert.deepEqual(topic("--mi-system-assigned --profile ga-2018 --port 8080"), {
    ...usual,
    identity: { type: "SystemAssigned" },
    properties: {
      inputSchema: "EventGridSchema",
      disableLocalAuth: false,
      posthorn: { profile: "ga-2018", port: 8080 },
    },
  });
});
