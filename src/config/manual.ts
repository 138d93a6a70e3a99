// The help of the command line and the page docs/configuration.md, both generated from the table of
// settings.

import { unusedKeys } from "../edge/environment-keys.ts";
import type { Setting } from "./setting.ts";
import { settingList } from "./settings.ts";

const columnsMax = 90;

export function helpText(): string {
  return `Run the broker, or show the settings it would run with.

Usage:
  posthorn serve [options]         run the broker
  posthorn config list [options]   show the settings in force, and where each comes from
  posthorn config doc              write the page about settings, as Markdown
  posthorn help                    show all other commands

Options:
${settingList
  .filter(({ isOption }) => isOption)
  .map(helpEntry)
  .join("\n")}

Each option is also an environment variable (POSTHORN_ and the name in capitals, - as _) and a
key of the JSON file given by --config. An option wins over the environment, the environment
over the file. docs/configuration.md describes every setting.
`;
}

function helpEntry({ name, kind, default: byDefault, about }: Setting<unknown>): string {
  const initial = byDefault === null ? "" : ` [${byDefault}]`;
  return [`  --${name}${initial}`, ...wrap(`${about} Allowed: ${kind.allowed}.`, 6)].join("\n");
}

function wrap(text: string, indent: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && indent + line.length + 1 + word.length > columnsMax) {
      lines.push(line);
      line = "";
    }
    line = line === "" ? word : `${line} ${word}`;
  }
  return [...lines, line].map((full) => " ".repeat(indent) + full);
}

/** With every setting a topic and a subscription can have in the file. */
const fileExample = {
  "log-level": "debug",
  storageAccounts: { letters: { folder: "./dead-letters" } },
  topics: {
    orders: {
      key1: "local-key-1",
      key2: "local-key-2",
      profile: "azure",
      subscriptions: {
        billing: {
          destination: {
            endpointType: "WebHook",
            properties: {
              endpointUrl: "http://127.0.0.1:9000/hook",
              maxEventsPerBatch: 10,
              preferredBatchSizeInKilobytes: 64,
            },
          },
          filter: {
            includedEventTypes: ["Order.Placed"],
            subjectBeginsWith: "/orders/",
            subjectEndsWith: "",
            isSubjectCaseSensitive: false,
          },
          retryPolicy: { maxDeliveryAttempts: 30, eventTimeToLiveInMinutes: 1440 },
          deadLetterDestination: {
            endpointType: "StorageBlob",
            properties: {
              resourceId:
                "/subscriptions/0/resourceGroups/any/providers/Microsoft.Storage/storageAccounts/letters",
              blobContainerName: "undeliverable",
            },
          },
        },
      },
    },
  },
};

const storageExample = {
  storageAccounts: {
    letters: {
      folder: "./dead-letters",
      subscriptions: {
        alarm: {
          destination: {
            endpointType: "WebHook",
            properties: { endpointUrl: "http://127.0.0.1:9000/undeliverable" },
          },
          filter: { subjectBeginsWith: "/blobServices/default/containers/undeliverable/" },
        },
      },
    },
    "/subscriptions/1/resourceGroups/shop/providers/Microsoft.Storage/storageAccounts/shopletters":
      {
        connectionString:
          "DefaultEndpointsProtocol=https;AccountName=shopletters;AccountKey=…;EndpointSuffix=core.windows.net",
      },
  },
};

export function configurationDoc(): string {
  return `<!-- Made by \`posthorn config doc\` from src/config/settings.ts. Change it there. -->

# Configuration

Every setting can be given in three ways. An option wins over the environment, the environment over the file, the
file over the default.

| way | form | example |
| --- | --- | --- |
| option | \`--name value\` or \`--name=value\` after \`posthorn serve\` | \`--log-level debug\` |
| environment | \`POSTHORN_\` and the name in capitals, \`-\` as \`_\`; an empty value counts as not set | \`POSTHORN_LOG_LEVEL=debug\` |
| file | a key of the JSON object in the file that \`config\` names | \`"log-level": "debug"\` |

Relative paths start at the broker's working directory. An option, a variable that begins with \`POSTHORN_\` or a
key that is not listed here is refused with one line and exit code 2, and so is a value that is not allowed. \`posthorn
config list\` shows the values in force and where each comes from, also when the broker would not start with them.

## Settings

| name | environment | default | allowed | meaning |
| --- | --- | --- | --- | --- |
${settingList.filter(isOrdinary).map(docRow).join("\n")}

## Environment only

The keys of the IoT Edge module.

| name | environment | default | allowed | meaning |
| --- | --- | --- | --- | --- |
${settingList
  .filter((known) => !isOrdinary(known))
  .map(docRow)
  .join("\n")}

They are case-insensitive, \`:\` may be written instead of \`__\`, and \`brokers__\` is taken as \`broker__\`. Keys that the module does
not have, and these, which have no effect here, are logged at start as \`setting.idle\`:

| name | why it has no effect |
| --- | --- |
${unusedKeys.map(({ name, why }) => `| \`${name}\` | ${why} |`).join("\n")}

## Topics and subscriptions in the file

The file may also declare topics, domains and their subscriptions, with Event Grid's own property names:

\`\`\`json
${JSON.stringify(fileExample, null, 2)}
\`\`\`

The broker applies this at every start. Applying the same file again changes nothing. What an earlier file declared
and this one no longer does is removed, together with its waiting events; what was created over HTTP is never touched.
Without the sections \`topics\`, \`domains\`, \`namespaces\` and \`storageAccounts\` nothing is removed, so a start without the
file is safe.

- \`key1\` is required while \`auth\` is on. A \`key2\` that is not given is generated once and kept.
- \`profile\` overrides the broker's for the topic.
- A topic may also have \`inputSchema\`, \`inputSchemaMapping\`, \`disableLocalAuth\`, \`publicNetworkAccess\` and
  \`inboundIpRules\`, as in Event Grid, and a \`port\` of its own for clients that keep only host and port.
- A domain takes what a topic takes, and \`autoCreateTopicWithFirstSubscription\`,
  \`autoDeleteTopicWithLastSubscription\` and \`topics\`, each of which may have \`subscriptions\`.
- A namespace takes \`key1\`, \`key2\`, \`port\`, \`publicNetworkAccess\`, \`inboundIpRules\` and \`topics\`. Each of these takes
  \`eventRetentionInDays\`, keys of its own and \`subscriptions\`, whose members are those of namespaces: see [pull.md](pull.md).
- Of a subscription only \`destination\` with its \`endpointUrl\` is required. Everything else has the default of
  the profile; batching is off unless one of its two settings is given.
- A subscription may also have \`labels\`, \`expirationTimeUtc\`, \`eventDeliverySchema\` and, in the destination's
  properties, \`deliveryAttributeMappings\`.
- A setting that the topic's profile does not support (such as a retry policy under \`ga-2018\`) is refused.

## Storage accounts in the file

A subscription names the storage account for its dead letters, or that of a queue, by its resource id, as in Azure. The section
\`storageAccounts\` says how to reach it; an account that is not in it is refused when the subscription is written.

\`\`\`json
${JSON.stringify(storageExample, null, 2)}
\`\`\`

- A member's name is the resource id of an account, or its name alone, which then matches in any resource group.
- \`connectionString\` is for a storage account, or for an emulator of one. A missing container is not created.
- \`managedIdentity\`, \`true\` or \`{ "clientId": "…" }\`, replaces the connection string, with \`blobEndpoint\` and
  \`queueEndpoint\` where these are not Azure's usual ones ([more](destinations.md#managed-identities)).
- \`folder\` needs no Azure: each container is a folder in it, each blob a file, and missing folders are created. It has no
  queues.
- \`queueEncoding\` is \`base64\`, as in the service, or \`text\`.
- \`subscriptions\` get an event for each dead-letter blob that is written to the account. They can also be created over HTTP,
  with the account's resource id as their scope; for an account given by its name alone, in any
  group.

## Namespaces and function apps in the file

Other Azure destinations are named by their resource ids, too. Four more sections say how to reach them
([more](destinations.md#in-the-file)):

| section | its members have |
| --- | --- |
| \`serviceBusNamespaces\`, \`eventHubNamespaces\` | \`connectionString\`; or \`managedIdentity\`, with \`host\` and \`endpoint\` where these are not the usual ones |
| \`relayNamespaces\` | \`connectionString\` |
| \`functionApps\` | \`url\`, if it is not \`https://<name>.azurewebsites.net\`, and \`key\`, if the host requires one |
`;
}

function isOrdinary(known: Setting<unknown>): boolean {
  return known.isOption;
}

function docRow(known: Setting<unknown>): string {
  const { name, env, kind, about, example, isKey, isOption } = known;
  const cells = [
    `\`${name}\``,
    `\`${env}\``,
    known.default === null ? "–" : `\`${known.default}\``,
    kind.allowed,
    `${about}${isOption && !isKey ? " Not in the file itself." : ""} Example: \`${example}\`.`,
  ];
  return `| ${cells.join(" | ")} |`;
}
