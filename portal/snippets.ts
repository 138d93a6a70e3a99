// How to publish to a topic from elsewhere, ready to paste, with its real address. The key is
// inserted only on demand.

export interface SnippetTopic {
  readonly name: string;
  readonly kind: string;
  readonly endpoint: string;
  readonly inputSchema: string;
  readonly armId: string;
}

export interface Snippet {
  readonly title: string;
  readonly text: string;
}

const keyPlace = "<key1>";

/** The JSON of one event in the topic's schema. */
export function exampleEvent(
  { inputSchema, kind }: Pick<SnippetTopic, "inputSchema" | "kind">,
  { id, now }: { readonly id: string; readonly now: string },
): object {
  const data = { amount: 42, currency: "EUR" };
  if (inputSchema === "CloudEventSchemaV1_0") {
    return {
      specversion: "1.0",
      id,
      source: kind === "domain" ? "my-topic" : "/shop",
      type: "Shop.Ordered",
      subject: "/orders/1",
      time: now,
      data,
    };
  }
  if (inputSchema === "CustomEventSchema") {
    return { id, myType: "Shop.Ordered", mySubject: "/orders/1", at: now, data };
  }
  return {
    id,
    ...(kind === "domain" && { topic: "my-topic" }),
    eventType: "Shop.Ordered",
    subject: "/orders/1",
    eventTime: now,
    dataVersion: "1.0",
    data,
  };
}

/** Where one posts to: namespaces want to be told the version of their API. */
export function publishUrl({ endpoint, kind }: Pick<SnippetTopic, "endpoint" | "kind">): string {
  return kind === "namespaceTopic" ? `${endpoint}?api-version=2024-06-01` : endpoint;
}

export function snippetsOf(topic: SnippetTopic, key: string | null): readonly Snippet[] {
  const { endpoint } = topic;
  const isCloud = topic.inputSchema === "CloudEventSchemaV1_0";
  const shown = key ?? keyPlace;
  const event = exampleEvent(topic, { id: "1", now: "2030-01-01T00:00:00Z" });
  const curl = { title: "curl", text: curlOf({ topic, key: shown, event, isCloud }) };
  if (topic.kind === "namespaceTopic") {
    return [curl, { title: "JavaScript", text: senderOf({ endpoint, key: shown, event }) }];
  }
  return [
    curl,
    { title: "JavaScript", text: javascriptOf({ endpoint, key: shown, event, topic }) },
    { title: "C#", text: csharpOf({ endpoint, key: shown, isCloud }) },
    { title: "Python", text: pythonOf({ endpoint, key: shown, isCloud }) },
    { title: "Azure CLI", text: azOf(topic) },
  ];
}

interface Written {
  readonly endpoint: string;
  readonly key: string;
  readonly isCloud: boolean;
}

/** Publishes one event. */
export function curlOf({
  topic,
  key,
  event,
  isCloud,
}: Omit<Written, "endpoint"> & {
  readonly topic: Pick<SnippetTopic, "endpoint" | "kind">;
  readonly event: object;
}): string {
  const type = isCloud ? "application/cloudevents+json" : "application/json";
  const body = JSON.stringify(isCloud ? event : [event], null, 2).replaceAll("'", "'\\''");
  return `curl -X POST '${publishUrl(topic)}' \\
  -H 'aeg-sas-key: ${key}' -H 'content-type: ${type}' \\
  -d '${body}'`;
}

/** The client of namespaces wants the address of the namespace, and the topic's name beside it. */
function senderOf({
  endpoint,
  key,
  event,
}: {
  readonly endpoint: string;
  readonly key: string;
  readonly event: object;
}): string {
  const [, base = endpoint, name = ""] = /^(.*)\/topics\/(.*):publish$/.exec(endpoint) ?? [];
  const plain = endpoint.startsWith("http:") ? ", { allowInsecureConnection: true }" : "";
  const { specversion, time, ...rest } = event as Record<string, unknown>;
  void [specversion, time];
  return `import { AzureKeyCredential, EventGridSenderClient } from "@azure/eventgrid-namespaces";

const key = new AzureKeyCredential("${key}");
const client = new EventGridSenderClient("${base}", key, "${name}"${plain});
await client.sendEvents(${JSON.stringify(rest, null, 2)});`;
}

const modelNames: Readonly<Record<string, string>> = {
  EventGridSchema: "EventGrid",
  CloudEventSchemaV1_0: "CloudEvent",
  CustomEventSchema: "Custom",
};

function javascriptOf({
  endpoint,
  key,
  event,
  topic,
}: {
  readonly endpoint: string;
  readonly key: string;
  readonly event: object;
  readonly topic: SnippetTopic;
}): string {
  const plain = endpoint.startsWith("http:") ? "\n  { allowInsecureConnection: true }," : "";
  const { specversion, eventTime, time, ...rest } = event as Record<string, unknown>;
  void [specversion, eventTime, time];
  const sent = JSON.stringify(rest, null, 2);
  return `import { AzureKeyCredential, EventGridPublisherClient } from "@azure/eventgrid";

const client = new EventGridPublisherClient(
  "${endpoint}",
  "${modelNames[topic.inputSchema] ?? "EventGrid"}",
  new AzureKeyCredential("${key}"),${plain}
);
await client.send([${sent}]);`;
}

function csharpOf({ endpoint, key, isCloud }: Written): string {
  const made = isCloud
    ? 'new CloudEvent("/shop", "Shop.Ordered", new { amount = 42 })'
    : 'new EventGridEvent("/orders/1", "Shop.Ordered", "1.0", new { amount = 42 })';
  return `using Azure;
using Azure.Messaging;
using Azure.Messaging.EventGrid;

var client = new EventGridPublisherClient(
    new Uri("${endpoint}"), new AzureKeyCredential("${key}"));
await client.SendEventAsync(${made});`;
}

function pythonOf({ endpoint, key, isCloud }: Written): string {
  const [module, made] = isCloud
    ? [
        "azure.core.messaging import CloudEvent",
        'CloudEvent(source="/shop", type="Shop.Ordered", data={"amount": 42})',
      ]
    : [
        "azure.eventgrid import EventGridEvent",
        'EventGridEvent(subject="/orders/1", event_type="Shop.Ordered",\n' +
          '    data_version="1.0", data={"amount": 42})',
      ];
  return `from azure.core.credentials import AzureKeyCredential
from azure.eventgrid import EventGridPublisherClient
from ${module}

client = EventGridPublisherClient(
    "${endpoint}", AzureKeyCredential("${key}"))
client.send(${made})`;
}

function azOf({ armId, kind }: SnippetTopic): string {
  const [, , , , group = "", , , , name = ""] = armId.split("/");
  const noun = kind === "domain" ? "domain" : "topic";
  return `az eventgrid ${noun} show -g ${group} -n ${name}
az eventgrid ${noun} key list -g ${group} -n ${name}
az eventgrid event-subscription create --name my-subscription \\
  --source-resource-id ${armId} \\
  --endpoint 'https://example.com/hook'
# once: az cloud register, az cloud set and az login, as docs/clients.md tells`;
}
