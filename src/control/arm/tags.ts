// Tags of topics, domains and resource groups as a resource of their own, for `az tag`. Imitates
// https://learn.microsoft.com/rest/api/resources/tags.

import { Refusal } from "../../core/refusal.ts";
import type { Reply } from "../../core/request.ts";
import { checkMembers, refuseValue } from "../../core/text/wording.ts";
import type { TopicDraft } from "../../core/topic.ts";
import { checkTags, type Tags } from "../properties/tags.ts";
import { readMembers } from "./body.ts";
import { type ArmContext, type Call, changing, needTopic } from "./find-topic.ts";
import { findGroup, groupsIn, putGroupRecord, refuseNoGroup } from "./groups.ts";
import type { Tagged } from "./path.ts";
import { reply } from "./reply.ts";

export async function getTags(context: ArmContext, call: Call, of: Tagged): Promise<Reply> {
  return show(call, await read(context, of));
}

export async function putTags(context: ArmContext, call: Call, of: Tagged): Promise<Reply> {
  const { properties } = readMembers(call.request, ["properties", "id", "name", "type"]);
  return show(call, await write(context, call, of, () => tagsIn(properties)));
}

export async function patchTags(context: ArmContext, call: Call, of: Tagged): Promise<Reply> {
  const { operation, properties } = readMembers(call.request, ["operation", "properties"]);
  const tags = tagsIn(properties);
  const change = changes[typeof operation === "string" ? operation.toLowerCase() : ""];
  if (change === undefined) {
    throw refuseValue({
      ...{ field: "operation", value: operation, allowed: "Merge, Replace or Delete" },
    });
  }
  return show(call, await write(context, call, of, (old) => change(old, tags)));
}

export async function removeTags(context: ArmContext, call: Call, of: Tagged): Promise<Reply> {
  await write(context, call, of, () => ({}));
  return { status: 200 };
}

const changes: Readonly<Record<string, (old: Tags, given: Tags) => Tags>> = {
  replace: (_, given) => given,
  merge: (old, given) => ({ ...old, ...given }),
  delete: (old, given) =>
    Object.fromEntries(Object.entries(old).filter(([name]) => !(name in given))),
};

function tagsIn(properties: unknown): Tags {
  const { tags } = checkMembers(properties ?? {}, "properties", ["tags"]);
  return checkTags(tags, "properties.tags") ?? {};
}

async function read(context: ArmContext, of: Tagged): Promise<Tags> {
  if (of.kind === "source") return needTopic(context.catalog(), of.source).place.tags ?? {};
  if (of.kind === "subscription") return {};
  const group = await findGroup(context, of.group);
  if (group === null) throw refuseNoGroup(of.group);
  return group.tags ?? {};
}

async function write(
  context: ArmContext,
  call: Call,
  of: Tagged,
  change: (old: Tags) => Tags,
): Promise<Tags> {
  if (of.kind === "subscription") {
    const words = "A subscription of Azure's has no tags here; resource groups and topics have.";
    throw new Refusal("InvalidSetting", words, { target: "scope" });
  }
  if (of.kind === "group") {
    const group = await findGroup(context, of.group);
    if (group === null) throw refuseNoGroup(of.group);
    const tags = checkTags(change(group.tags ?? {}), "properties.tags") ?? {};
    await putGroupRecord(context, { ...group, tags });
    return tags;
  }
  const written = await changing(context, call.request, async () => {
    const { revision, ...draft } = needTopic(context.catalog(), of.source);
    const tags = checkTags(change(draft.place.tags ?? {}), "properties.tags");
    const changed: TopicDraft = { ...draft, place: { ...draft.place, tags }, origin: "api" };
    return await context.registry.putTopic(changed, revision);
  });
  await context.refresh();
  return written.place.tags ?? {};
}

function show({ path }: Call, tags: Tags): Reply {
  return reply(200, {
    id: path,
    name: "default",
    type: "Microsoft.Resources/tags",
    properties: { tags },
  });
}

/** Every name used in an Azure subscription, with its values and how often. */
export async function listTagNames(context: ArmContext, subscriptionId: string): Promise<Reply> {
  const counts = new Map<string, Map<string, number>>();
  const groups = await groupsIn(context, subscriptionId);
  const topics = context
    .catalog()
    .topics.filter(({ place }) => place.subscriptionId === subscriptionId)
    .map(({ place }) => place);
  for (const { tags } of [...groups, ...topics]) {
    for (const [name, value] of Object.entries(tags ?? {})) {
      const values = counts.get(name) ?? new Map<string, number>();
      counts.set(name, values.set(value, (values.get(value) ?? 0) + 1));
    }
  }
  const base = `/subscriptions/${subscriptionId}/tagNames`;
  const value = [...counts].map(([tagName, values]) => ({
    id: `${base}/${tagName}`,
    tagName,
    count: { type: "Total", value: [...values.values()].reduce((sum, each) => sum + each, 0) },
    values: [...values].map(([tagValue, count]) => ({
      id: `${base}/${tagName}/tagValues/${tagValue}`,
      tagValue,
      count: { type: "Total", value: count },
    })),
  }));
  return reply(200, { value });
}
