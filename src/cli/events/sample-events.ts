// Sample events of Azure's own services, as `posthorn trigger` publishes them: the type, subject,
// version and members that the services send, with made-up values. A test holds the members against
// Microsoft's SDK. https://learn.microsoft.com/azure/event-grid/system-topics

export interface SampleEvent {
  readonly subject: string;
  readonly dataVersion: string;
  readonly data: object;
}

export interface SampleStamp {
  /** As in ISO 8601. */
  readonly now: string;
  /** A new one at each call. */
  readonly id: () => string;
}

type Sample = (stamp: SampleStamp) => SampleEvent;

const azureSubscription = "11111111-2222-3333-4444-555555555555";
const group = `/subscriptions/${azureSubscription}/resourceGroups/shop`;
const blobUrl = "https://shopstore.blob.core.windows.net/photos/2030/cat.jpg";
const blobSubject = "/blobServices/default/containers/photos/blobs/2030/cat.jpg";
const folderUrl = "https://shopstore.dfs.core.windows.net/photos/2030";
const folderSubject = "/blobServices/default/containers/photos/blobs/2030";
const sequencer = "00000000000004420000000000028963";

function storage(subject: string, api: string, members: object): Sample {
  return ({ id }) => ({
    subject,
    dataVersion: "",
    data: {
      ...{ api, clientRequestId: id(), requestId: id(), ...members, sequencer },
      storageDiagnostics: { batchId: id() },
    },
  });
}

const blob = { contentType: "image/jpeg", contentLength: 524_288, blobType: "BlockBlob" };
const eTag = "0x8D4BCC2E4835CD0";

const storageSamples: Readonly<Record<string, Sample>> = {
  "Microsoft.Storage.BlobCreated": storage(blobSubject, "PutBlob", { eTag, ...blob, url: blobUrl }),
  "Microsoft.Storage.BlobDeleted": storage(blobSubject, "DeleteBlob", {
    ...{ contentType: blob.contentType, blobType: blob.blobType, url: blobUrl },
  }),
  "Microsoft.Storage.BlobTierChanged": storage(blobSubject, "SetBlobTier", {
    ...{ ...blob, accessTier: "Cool", previousTier: "Hot", url: blobUrl },
  }),
  "Microsoft.Storage.BlobRenamed": storage(blobSubject, "RenameFile", {
    ...{ sourceUrl: `${folderUrl}/cat.tmp`, destinationUrl: `${folderUrl}/cat.jpg` },
  }),
  "Microsoft.Storage.AsyncOperationInitiated": storage(blobSubject, "SetBlobTier", {
    ...{ ...blob, url: blobUrl },
  }),
  "Microsoft.Storage.DirectoryCreated": storage(folderSubject, "CreateDirectory", {
    ...{ eTag, url: folderUrl },
  }),
  "Microsoft.Storage.DirectoryDeleted": storage(folderSubject, "DeleteDirectory", {
    ...{ url: folderUrl, recursive: "true" },
  }),
  "Microsoft.Storage.DirectoryRenamed": storage(folderSubject, "RenameDirectory", {
    ...{ sourceUrl: `${folderUrl}-draft`, destinationUrl: folderUrl },
  }),
  "Microsoft.Storage.BlobInventoryPolicyCompleted": ({ now, id }) => ({
    subject: "BlobDataManagement/BlobInventory",
    dataVersion: "1.0",
    data: {
      ...{ scheduleDateTime: now, accountName: "shopstore", ruleName: "daily" },
      ...{ policyRunStatus: "Succeeded", policyRunStatusMessage: "Inventory run succeeded" },
      policyRunId: id(),
      manifestBlobUrl: "https://shopstore.blob.core.windows.net/inventory/manifest.json",
    },
  }),
  "Microsoft.Storage.LifecyclePolicyCompleted": ({ now }) => {
    const summary = { totalObjectsCount: 16, successCount: 16, errorList: "" };
    return {
      subject: "BlobDataManagement/LifeCycleManagement/SummaryReport",
      dataVersion: "1",
      data: {
        ...{ scheduleTime: now, deleteSummary: summary },
        ...{ tierToCoolSummary: summary, tierToArchiveSummary: summary },
      },
    };
  },
};

const vm = `${group}/providers/Microsoft.Compute/virtualMachines/web1`;
const verbs = { Write: ["write", "PUT"], Delete: ["delete", "DELETE"] } as const;
const actions = { ...verbs, Action: ["restart/action", "POST"] } as const;
const ends = { Success: "Succeeded", Failure: "Failed", Cancel: "Canceled" } as const;

function resource(action: readonly [string, string], status: string): Sample {
  const [verb, method] = action;
  const operation = `Microsoft.Compute/virtualMachines/${verb}`;
  return ({ id }) => ({
    subject: vm,
    dataVersion: "2",
    data: {
      authorization: { scope: vm, action: operation, evidence: { role: "Contributor" } },
      claims: { name: "Ada Lovelace", appid: id() },
      correlationId: id(),
      httpRequest: {
        ...{ clientRequestId: id(), clientIpAddress: "203.0.113.7", method },
        url: `https://management.azure.com${vm}?api-version=2024-07-01`,
      },
      ...{ resourceProvider: "Microsoft.Compute", resourceUri: vm, operationName: operation },
      ...{ status, subscriptionId: azureSubscription, resourceGroup: "shop", tenantId: id() },
    },
  });
}

const resourceSamples = Object.fromEntries(
  Object.entries(actions).flatMap(([action, how]) =>
    Object.entries(ends).map(([end, status]) => [
      `Microsoft.Resources.Resource${action}${end}`,
      resource(how, status),
    ]),
  ),
);

function vault(objectType: "Certificate" | "Key" | "Secret"): Sample {
  const plural = `${objectType.toLowerCase()}s`;
  return ({ id, now }) => {
    const version = id().replaceAll("-", "");
    const seconds = Math.floor(Date.parse(now) / 1_000);
    return {
      subject: `shop-${plural}`,
      dataVersion: "1",
      data: {
        Id: `https://shopvault.vault.azure.net/${plural}/shop-${plural}/${version}`,
        ...{ VaultName: "shopvault", ObjectType: objectType, ObjectName: `shop-${plural}` },
        ...{ Version: version, NBF: seconds - 86_400, EXP: seconds + 30 * 86_400 },
      },
    };
  };
}

const vaultSamples = Object.fromEntries([
  ...(["Certificate", "Key", "Secret"] as const).flatMap((type) =>
    ["NewVersionCreated", "NearExpiry", "Expired"].map((end) => [
      `Microsoft.KeyVault.${type}${end}`,
      vault(type),
    ]),
  ),
  [
    "Microsoft.KeyVault.VaultAccessPolicyChanged",
    () => ({
      subject: "shopvault",
      dataVersion: "1",
      data: {
        ...{ Id: `${group}/providers/Microsoft.KeyVault/vaults/shopvault` },
        ...{ VaultName: "shopvault", ObjectType: "Vault", ObjectName: "shopvault" },
        ...{ Version: null, NBF: null, EXP: null },
      },
    }),
  ],
]) as Readonly<Record<string, Sample>>;

const digest = "sha256:213bbc182920ab41e18edc2001e06abcca6735d87782d9cef68abd83941cf0e5";

function image(action: "push" | "delete", mediaType: string): Sample {
  return ({ id, now }) => ({
    subject: "orders:1.4.2",
    dataVersion: "1.0",
    data: {
      ...{ id: id(), timestamp: now, action },
      target: {
        ...{ mediaType, size: 3_023, digest, length: 3_023, repository: "orders" },
        ...(action === "push" && { tag: "1.4.2" }),
      },
      request: {
        ...{ id: id(), host: "shop.azurecr.io", method: action === "push" ? "PUT" : "DELETE" },
        useragent: "docker/27.0",
      },
    },
  });
}

function chart(action: "chart_push" | "chart_delete"): Sample {
  return ({ id, now }) => ({
    subject: "orders",
    dataVersion: "1.0",
    data: {
      ...{ id: id(), timestamp: now, action },
      target: {
        ...{ mediaType: "application/vnd.acr.helm.chart", size: 25_265, digest },
        ...{ repository: "repo", tag: "orders-1.0.0.tgz", name: "orders", version: "1.0.0" },
      },
    },
  });
}

const manifest = "application/vnd.docker.distribution.manifest.v2+json";

const registrySamples: Readonly<Record<string, Sample>> = {
  "Microsoft.ContainerRegistry.ImagePushed": image("push", manifest),
  "Microsoft.ContainerRegistry.ImageDeleted": image("delete", manifest),
  "Microsoft.ContainerRegistry.ChartPushed": chart("chart_push"),
  "Microsoft.ContainerRegistry.ChartDeleted": chart("chart_delete"),
};

const twin = (now: string) => {
  const side = { metadata: { lastUpdated: now }, version: 1 };
  return {
    ...{ deviceId: "thermostat-7", etag: "AAAAAAAAAAE=", status: "enabled", version: 2 },
    ...{ statusUpdateTime: "0001-01-01T00:00:00", connectionState: "Disconnected" },
    ...{ lastActivityTime: "0001-01-01T00:00:00", cloudToDeviceMessageCount: 0 },
    authenticationType: "sas",
    x509Thumbprint: { primaryThumbprint: null, secondaryThumbprint: null },
    properties: { desired: side, reported: side },
  };
};

const device = (data: (stamp: SampleStamp) => object): Sample => {
  return (stamp) => ({ subject: "devices/thermostat-7", dataVersion: "", data: data(stamp) });
};
const hub = { deviceId: "thermostat-7", hubName: "shophub" };
const connection = () => ({
  ...hub,
  deviceConnectionStateEventInfo: {
    sequenceNumber: "000000000000000001D4132452F67CE200000002000000000000000000000001",
  },
});

const deviceSamples: Readonly<Record<string, Sample>> = {
  "Microsoft.Devices.DeviceCreated": device(({ now }) => ({ ...hub, twin: twin(now) })),
  "Microsoft.Devices.DeviceDeleted": device(({ now }) => ({ ...hub, twin: twin(now) })),
  "Microsoft.Devices.DeviceConnected": device(connection),
  "Microsoft.Devices.DeviceDisconnected": device(connection),
  "Microsoft.Devices.DeviceTelemetry": device(({ now }) => ({
    properties: { Status: "Active" },
    systemProperties: {
      ...{ "iothub-content-type": "application/json", "iothub-content-encoding": "utf-8" },
      ...{ "iothub-connection-device-id": hub.deviceId, "iothub-enqueuedtime": now },
      "iothub-message-source": "Telemetry",
    },
    body: { temperature: 21.4, humidity: 48 },
  })),
};

const setting = ({ id }: SampleStamp): SampleEvent => ({
  subject: "https://shopsettings.azconfig.io/kv/Features:Checkout?label=prod",
  dataVersion: "1",
  data: { key: "Features:Checkout", label: "prod", etag: id(), syncToken: "zAJw6V16=Mzo=;sn=3" },
});

const snapshot = ({ id }: SampleStamp): SampleEvent => ({
  subject: "https://shopsettings.azconfig.io/snapshots/release-14",
  dataVersion: "1",
  data: { name: "release-14", etag: id(), syncToken: "zAJw6V16=Mzo=;sn=3" },
});

const bus = "https://shopbus.servicebus.windows.net/orders";

function messages(path: string): Sample {
  return () => ({
    subject: `topics/orders/subscriptions/billing`,
    dataVersion: "1",
    data: {
      ...{ namespaceName: "shopbus", requestUri: `${bus}/subscriptions/billing/${path}` },
      ...{ entityType: "subscriber", queueName: null, topicName: "orders" },
      subscriptionName: "billing",
    },
  });
}

const otherSamples: Readonly<Record<string, Sample>> = {
  "Microsoft.AppConfiguration.KeyValueModified": setting,
  "Microsoft.AppConfiguration.KeyValueDeleted": setting,
  "Microsoft.AppConfiguration.SnapshotCreated": snapshot,
  "Microsoft.AppConfiguration.SnapshotModified": snapshot,
  "Microsoft.ServiceBus.ActiveMessagesAvailableWithNoListeners": messages("messages/head"),
  "Microsoft.ServiceBus.DeadletterMessagesAvailableWithNoListeners": messages(
    "$deadletterqueue/messages/head",
  ),
  "Microsoft.EventHub.CaptureFileCreated": ({ now }) => ({
    subject: "eventhubs/telemetry",
    dataVersion: "1",
    data: {
      fileUrl: "https://shopstore.blob.core.windows.net/capture/shophubs/telemetry/1/00.avro",
      ...{ fileType: "AzureBlockBlob", partitionId: "1", sizeInBytes: 249_168, eventCount: 1_500 },
      ...{ firstSequenceNumber: 2_400, lastSequenceNumber: 3_899 },
      ...{ firstEnqueueTime: now, lastEnqueueTime: now },
    },
  }),
  "Microsoft.Communication.SMSReceived": ({ now, id }) => ({
    subject: "/phonenumber/15555550101",
    dataVersion: "1.0",
    data: {
      ...{ messageId: id(), from: "15555550102", to: "15555550101", message: "Is it ready?" },
      ...{ receivedTimestamp: now, segmentCount: 1 },
    },
  }),
  "Microsoft.Communication.SMSDeliveryReportReceived": ({ now, id }) => ({
    subject: "/phonenumber/15555550101",
    dataVersion: "1.0",
    data: {
      ...{ messageId: id(), from: "15555550101", to: "15555550102" },
      ...{ deliveryStatus: "Delivered", deliveryStatusDetails: "No error." },
      deliveryAttempts: [{ timestamp: now, segmentsSucceeded: 1, segmentsFailed: 0 }],
      ...{ receivedTimestamp: now, tag: "order-4711" },
    },
  }),
  "Microsoft.ContainerService.NewKubernetesVersionAvailable": () => ({
    subject: "shopcluster",
    dataVersion: "1",
    data: {
      ...{ latestSupportedKubernetesVersion: "1.34.1", latestStableKubernetesVersion: "1.33.5" },
      ...{ lowestMinorKubernetesVersion: "1.31.9", latestPreviewKubernetesVersion: "1.35.0" },
    },
  }),
  "Microsoft.Web.AppUpdated": ({ id }) => ({
    subject: `${group}/providers/Microsoft.Web/sites/shop`,
    dataVersion: "1",
    data: {
      ...{ appEventTypeDetail: { action: "Restarted" }, name: "shop", clientRequestId: id() },
      ...{ correlationRequestId: id(), requestId: id(), verb: "POST" },
      address: "http://shop.azurewebsites.net/websystems/WebSites/web/sites/shop/restart",
    },
  }),
  "Microsoft.PolicyInsights.PolicyStateChanged": ({ now, id }) => ({
    subject: `${group}/providers/Microsoft.Storage/storageAccounts/shopstore`,
    dataVersion: "1",
    data: {
      ...{ timestamp: now, policyDefinitionReferenceId: "", subscriptionId: azureSubscription },
      policyAssignmentId: `${group}/providers/microsoft.authorization/policyassignments/tls`,
      policyDefinitionId: `/providers/microsoft.authorization/policydefinitions/${id()}`,
      ...{ complianceState: "NonCompliant", complianceReasonCode: "" },
    },
  }),
};

/** By type, in the order in which they are listed. */
export const sampleEvents: Readonly<Record<string, Sample>> = {
  ...storageSamples,
  ...resourceSamples,
  ...vaultSamples,
  ...registrySamples,
  ...deviceSamples,
  ...otherSamples,
};
