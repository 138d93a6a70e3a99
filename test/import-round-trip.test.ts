// What one broker exports and another imports is the same: the real commands against the real
// program, over the wire.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { Ran } from "./fixtures/command-line.ts";
import { hookTo, linesOf, openScene, quiet, type Scene } from "./fixtures/import-scene.ts";

const everyHeader = [
  {
    name: "x-plain",
    type: "Static",
    properties: { value: "[not an expression]", isSecret: false },
  },
  { name: "x-token", type: "Static", properties: { value: "hush-token", isSecret: true } },
  { name: "x-key", type: "Dynamic", properties: { sourceField: "data.key" } },
];

const signingSecrets = ["1", "2", "3"].map(
  (fill) => `whsec_${Buffer.alloc(24, `hush-${fill}`).toString("base64")}`,
);

/** With something of everything; in the group that import chooses by itself, and in another. */
const everything = {
  $schema: "https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#",
  contentVersion: "1.0.0.0",
  resources: [
    {
      type: "Microsoft.EventGrid/topics",
      name: "orders",
      location: "westeurope",
      tags: { team: "a", odd: "[[x]" },
      properties: { key1: "orders-key-1", inboundIpRules: [{ ipMask: "127.0.0.0/8" }] },
    },
    {
      type: "Microsoft.EventGrid/eventSubscriptions",
      scope: "Microsoft.EventGrid/topics/orders",
      name: "billing",
      properties: {
        destination: {
          endpointType: "WebHook",
          properties: {
            endpointUrl: "https://example.test/hook?code=hush-url",
            maxEventsPerBatch: 10,
            preferredBatchSizeInKilobytes: 128,
            deliveryAttributeMappings: everyHeader.with(0, {
              ...everyHeader[0],
              properties: { value: "[[not an expression]", isSecret: false },
            } as (typeof everyHeader)[number]),
          },
        },
        filter: {
          includedEventTypes: ["Order.Placed"],
          subjectBeginsWith: "/orders/",
          isSubjectCaseSensitive: true,
          enableAdvancedFilteringOnArrays: true,
          advancedFilters: [
            { operatorType: "NumberInRange", key: "data.n", values: [[1, 2]] },
            { operatorType: "IsNotNull", key: "data.m" },
          ],
        },
        labels: ["one", "two"],
        expirationTimeUtc: "2099-01-01T00:00:00Z",
        eventDeliverySchema: "CloudEventSchemaV1_0",
        retryPolicy: { maxDeliveryAttempts: 5, eventTimeToLiveInMinutes: 60 },
        posthorn: {
          splitOnFailure: true,
          signing: {
            secrets: [
              { secret: signingSecrets[0] },
              { secret: signingSecrets[1], expiresAt: "2099-01-01T00:00:00.000Z" },
            ],
          },
        },
      },
    },
    { type: "Microsoft.EventGrid/domains", name: "shop", properties: {} },
    { type: "Microsoft.EventGrid/domains/topics", name: "shop/europe" },
    {
      type: "Microsoft.EventGrid/domains/topics/eventSubscriptions",
      name: "shop/asia/audit",
      properties: {
        ...hookTo("https://example.test/audit"),
        posthorn: { signing: { secrets: [{ secret: signingSecrets[2] }] } },
      },
    },
    {
      type: "Microsoft.Resources/deployments",
      name: "elsewhere",
      subscriptionId: "S",
      resourceGroup: "rg1",
      properties: {
        template: {
          resources: [
            {
              type: "Microsoft.EventGrid/topics",
              name: "custom",
              properties: {
                inputSchema: "CustomEventSchema",
                inputSchemaMapping: {
                  inputSchemaMappingType: "Json",
                  properties: {
                    eventType: { sourceField: "kind" },
                    subject: { sourceField: "about", defaultValue: "none" },
                    dataVersion: { defaultValue: "1" },
                  },
                },
                disableLocalAuth: true,
                publicNetworkAccess: "Disabled",
                profile: "azure-2020",
              },
            },
            {
              type: "Microsoft.EventGrid/topics/eventSubscriptions",
              name: "custom/billing",
              properties: hookTo("https://example.test/custom?code=hush-too"),
            },
          ],
        },
      },
    },
  ],
};

const everyLine = [
  "topic orders",
  "topic custom",
  "domain shop",
  "domain topic shop/europe",
  "subscription orders/billing",
  "subscription shop/asia/audit",
  "subscription custom/billing",
];

test("what one broker exports, an empty one imports and exports again, keys and secrets included", async (t) => {
  const [first, second, third] = await Promise.all([
    openScene(t, quiet),
    openScene(t, quiet),
    openScene(t, quiet),
  ]);
  const imported = await first.run(["import", first.write("all.json", everything)]);
  assert.deepEqual(
    linesOf(imported),
    everyLine.map((line) => `created    ${line}`),
  );
  assert.deepEqual([imported.code, imported.err], [0, ""]);
  for (const [scene, format] of [
    [second, "arm"],
    [third, "az"],
  ] as const) {
    const exported = await first.run(["export", "--with-secrets", "--format", format]);
    assert.equal(exported.code, 0, exported.err);
    for (const secret of [
      "orders-key-1",
      "hush-url",
      "hush-token",
      "hush-too",
      ...signingSecrets,
    ]) {
      assert.ok(exported.out.includes(secret), `${format}: ${secret}`);
    }
    const taken = await scene.run(["import", "-"], exported.out);
    assert.deepEqual([taken.code, taken.err], [0, ""], taken.out);
    // Addresses of the brokers are the one thing that differs.
    const again = await scene.run(["export", "--with-secrets", "--format", format]);
    assert.equal(again.out.replaceAll(scene.http, first.http), exported.out);
    const twice = await scene.run(["import", "-"], exported.out);
    assert.equal(twice.code, 0);
    assert.ok(
      linesOf(twice).every((line) => line.startsWith("unchanged")),
      twice.out,
    );
  }
});

test("subscriptions of the module, pauses and what only Azure gives a meaning survive the round trip", async (t) => {
  const open = [...quiet, "--auth", "off"];
  const [first, second, third] = await Promise.all([
    openScene(t, open),
    openScene(t, open),
    openScene(t, open),
  ]);
  const send = async (scene: Scene, method: string, path: string, body: object = {}) => {
    const init = { method, body: JSON.stringify(body) };
    const answer = await fetch(`${scene.http}${path}`, init);
    assert.ok(answer.ok, `${method} ${path}: ${await answer.text()}`);
  };
  const local = "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/posthorn";
  await send(first, "PUT", `${local}/providers/Microsoft.EventGrid/domains/shop`, {
    sku: { name: "Premium" },
    identity: { type: "SystemAssigned, UserAssigned", userAssignedIdentities: { "/a/b": {} } },
    properties: { dataResidencyBoundary: "WithinRegion", minimumTlsVersionAllowed: "1.2" },
  });
  const version = "?api-version=2019-01-01-preview";
  await send(first, "PUT", `/topics/edge${version}`, { properties: {} });
  const subscriptions = "/topics/edge/eventSubscriptions";
  for (const name of ["batched", "paused", "drained"]) {
    const properties = { endpointUrl: "http://127.0.0.1:9/?a=b", maxEventsPerBatch: 3 };
    const destination = { endpointType: "WebHook", properties };
    await send(first, "PUT", `${subscriptions}/${name}${version}`, { properties: { destination } });
  }
  const own = "/api/v1/topics/edge/subscriptions";
  await send(first, "POST", `${own}/paused/pause`);
  await send(first, "POST", `${own}/drained/pause`);
  await send(first, "POST", `${own}/drained/drain`, { perSecond: 0.5 });
  const shown = await fetch(`${first.http}${local}/providers/Microsoft.EventGrid${subscriptions}`);
  const { value } = (await shown.json()) as { value: { properties: { destination: Ran } }[] };
  assert.match(JSON.stringify(value), /"preferredBatchSizeInKilobytes":1024/);
  for (const [scene, format] of [
    [second, "arm"],
    [third, "az"],
  ] as const) {
    const exported = await first.run(["export", "--with-secrets", "--format", format]);
    assert.match(exported.out, /"preferredBatchSizeInBytes": 1058576/);
    const taken = await scene.run(["import", "-"], exported.out);
    assert.deepEqual([taken.code, taken.err], [0, ""], taken.out);
    const again = await scene.run(["export", "--with-secrets", "--format", format]);
    assert.equal(again.out.replaceAll(scene.http, first.http), exported.out);
    const twice = await scene.run(["import", "-"], exported.out);
    assert.ok(
      linesOf(twice).every((line) => line.startsWith("unchanged")),
      twice.out,
    );
    await send(scene, "POST", `${own}/paused/resume`);
    const paused = await scene.run(["import", "-"], exported.out);
    assert.ok(linesOf(paused).includes("updated    subscription edge/paused"), paused.out);
    const third = await scene.run(["export", "--with-secrets", "--format", format]);
    assert.equal(third.out.replaceAll(scene.http, first.http), exported.out);
  }
});

test("namespaces with their queues, pushes and keys survive the round trip", async (t) => {
  const namespaces = {
    shop: {
      ...{ key1: "shop-key-1", inboundIpRules: [{ ipMask: "127.0.0.0/8" }] },
      topics: {
        orders: {
          ...{ key1: "orders-key-1", eventRetentionInDays: 7 },
          subscriptions: {
            plain: { deliveryConfiguration: { deliveryMode: "Queue" } },
            billing: {
              deliveryConfiguration: {
                deliveryMode: "Queue",
                queue: {
                  ...{ receiveLockDurationInSeconds: 300, maxDeliveryCount: 3 },
                  eventTimeToLive: "P2D",
                  deadLetterDestination: {
                    endpointType: "StorageBlob",
                    properties: {
                      resourceId:
                        "/subscriptions/s/resourceGroups/g/providers/Microsoft.Storage/storageAccounts/box",
                      blobContainerName: "letters",
                    },
                  },
                },
              },
              filtersConfiguration: {
                includedEventTypes: ["placed"],
                filters: [{ operatorType: "StringBeginsWith", key: "subject", values: ["[a"] }],
              },
            },
            pushed: {
              deliveryConfiguration: {
                deliveryMode: "Push",
                push: {
                  maxDeliveryCount: 4,
                  destination: {
                    endpointType: "WebHook",
                    properties: {
                      endpointUrl: "http://127.0.0.1:9/hook?code=hush-url",
                      deliveryAttributeMappings: everyHeader,
                    },
                  },
                },
              },
            },
          },
        },
        returns: {},
      },
    },
  };
  const box = mkdtempSync(join(tmpdir(), "posthorn-import-"));
  t.after(() => rmSync(box, { recursive: true, force: true }));
  const storageAccounts = { box: { folder: box } };
  const [first, second, third] = await Promise.all([
    openScene(t, quiet, { storageAccounts, namespaces }),
    openScene(t, quiet, { storageAccounts }),
    openScene(t, quiet, { storageAccounts }),
  ]);
  const portOf = ({ http }: Scene) => `localhost:${new URL(http).port}`;
  for (const [scene, format] of [
    [second, "arm"],
    [third, "az"],
  ] as const) {
    const exported = await first.run(["export", "--with-secrets", "--format", format]);
    assert.equal(exported.code, 0, exported.err);
    for (const secret of ["shop-key-1", "orders-key-1", "hush-url", "hush-token"]) {
      assert.ok(exported.out.includes(secret), `${format}: ${secret}`);
    }
    const taken = await scene.run(["import", "-"], exported.out);
    assert.deepEqual([taken.code, taken.err], [0, ""], taken.out);
    assert.deepEqual(linesOf(taken), [
      "created    namespace shop",
      "created    namespace topic shop/orders",
      "created    namespace topic shop/returns",
      "created    subscription shop/orders/billing",
      "created    subscription shop/orders/plain",
      "created    subscription shop/orders/pushed",
    ]);
    const again = await scene.run(["export", "--with-secrets", "--format", format]);
    assert.equal(again.out.replaceAll(portOf(scene), portOf(first)), exported.out);
    const twice = await scene.run(["import", "-"], exported.out);
    assert.ok(
      linesOf(twice).every((line) => line.startsWith("unchanged")),
      twice.out,
    );
    const changed = exported.out.replace(
      '"receiveLockDurationInSeconds": 300',
      `"receiveLockDurationInSeconds": 60`,
    );
    const updated = await scene.run(["import", "-"], changed);
    const words = linesOf(updated).filter((line) => line.startsWith("updated"));
    assert.deepEqual(words, ["updated    subscription shop/orders/billing"]);
  }
  const hidden = await first.run(["export"]);
  assert.doesNotMatch(hidden.out, /hush|-key-1/);
  assert.match(hidden.out, /parameters\('shop_orders_pushed_endpointUrl'\)/);
});

test("an export hides secrets behind parameters, and import asks for each of them", async (t) => {
  const [first, second] = await Promise.all([openScene(t, quiet), openScene(t, quiet)]);
  await first.run(["import", first.write("all.json", everything)]);
  const exported = await first.run(["export"]);
  assert.doesNotMatch(exported.out, /hush|orders-key|whsec_/);
  const file = second.write("exported.json", exported.out);
  const refused = await second.run(["import", file]);
  assert.deepEqual([refused.code, refused.out], [2, ""]);
  assert.match(refused.err, /^posthorn: .*\[parameters\('orders_billing_endpointUrl'\)\].*\n$/);
  const parameters = second.write("parameters.json", {
    parameters: {
      orders_billing_endpointUrl: { value: "https://example.test/hook?code=hush-url" },
      orders_billing_x_token: { value: "hush-token" },
      orders_billing_signing_1: { value: signingSecrets[0] },
      orders_billing_signing_2: { value: signingSecrets[1] },
      shop_asia_audit_signing_1: { value: signingSecrets[2] },
    },
  });
  const taken = await second.run([
    ...["import", file, "--parameters", parameters],
    ...["--parameters", "custom_billing_endpointUrl=https://example.test/custom?code=hush-too"],
  ]);
  assert.equal(taken.code, 0, taken.err + taken.out);
  // With the topic of the domain that came with its first subscription.
  assert.equal(linesOf(taken).length, everyLine.length + 1);
  assert.equal((await second.run(["export"])).out, exported.out);
  const oneGroup = await first.run(["export", "--resource-group", "rg1"]);
  const { resources } = JSON.parse(oneGroup.out) as { resources: { name: string }[] };
  assert.deepEqual(
    resources.map(({ name }) => name),
    ["custom", "billing"],
  );
});
