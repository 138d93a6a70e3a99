// `posthorn export`: the resources of a running broker, as an ARM template or as the Azure CLI
// would list them. Import takes both. Secrets become parameters of the template, or are left out of
// the lists, unless requested.

import { isSameName } from "../../core/text/compare.ts";
import type { Members } from "../../core/text/wording.ts";
import { refuseValue } from "../../core/text/wording.ts";
import { type Client, openClient, pathTo, secretsOf } from "../client.ts";
import type { Run } from "../command.ts";
import { type Exported, type ExportedSubscription, listedOf, templateOf } from "./export-text.ts";

/** Refusals: InvalidSetting, Unavailable, Unauthorized. */
export const exportResources: Run = async (options, outside) => {
  const format = options.one("format") ?? "arm";
  if (format !== "arm" && format !== "az") {
    throw refuseValue({ field: "--format", value: format, allowed: "arm or az" });
  }
  const client = openClient(options, outside);
  const exported = await readAll(client, options.one("resource-group"));
  const print = format === "arm" ? templateOf : listedOf;
  const choice = {
    showsSecrets: options.has("with-secrets"),
    isOneGroup: options.has("resource-group"),
  };
  outside.print(`${JSON.stringify(print(exported, choice), null, 2)}\n`);
  return {};
};

async function readAll(client: Client, onlyGroup: string | null): Promise<Exported> {
  const [topics, domainTopics, subscriptions]: [Members[], Members[], Members[]] = [[], [], []];
  for (const { id } of await client.list("/subscriptions")) {
    const base = `${id}/providers/Microsoft.EventGrid`;
    const list = (what: string) => client.list(`${base}/${what}?$top=100`);
    const domains = await list("domains");
    topics.push(...(await list("topics")), ...domains);
    for (const domain of domains) {
      domainTopics.push(...(await client.list(`${pathTo(String(domain.id))}/topics?$top=100`)));
    }
    subscriptions.push(...(await list("eventSubscriptions")));
    for (const namespace of await list("namespaces")) {
      topics.push(namespace);
      const inside = await client.list(`${pathTo(String(namespace.id))}/topics?$top=100`);
      topics.push(...inside);
      for (const topic of inside) {
        const path = `${pathTo(String(topic.id))}/eventSubscriptions?$top=100`;
        subscriptions.push(...(await client.list(path)));
      }
    }
  }
  const isWanted = ({ id }: Members) =>
    onlyGroup === null ||
    isSameName(/\/resourceGroups\/([^/]+)\//i.exec(String(id))?.[1] ?? "", onlyGroup);
  return {
    topics: await inTurn(topics.filter(isWanted), async (shown) => ({
      shown,
      keys: (await client.ask("POST", `${pathTo(String(shown.id))}/listKeys`)).body,
    })),
    domainTopics: domainTopics.filter(isWanted),
    subscriptions: await inTurn(
      subscriptions.filter(isWanted),
      async (shown): Promise<ExportedSubscription> => ({
        shown,
        secrets: await secretsOf(client, String(shown.id)),
      }),
    ),
  };
}

/** One after the other, to keep the load on the broker low. */
async function inTurn<T, R>(all: readonly T[], make: (one: T) => Promise<R>): Promise<R[]> {
  const made: R[] = [];
  for (const one of all) made.push(await make(one));
  return made;
}
