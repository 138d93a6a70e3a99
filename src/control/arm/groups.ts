// Resource groups: a group's own properties are a small record of the store. A group also exists
// without one while something is in it. *Differs:* a topic may be created in a group that was not
// created before, and any id works as an Azure subscription.

import { Refusal } from "../../core/refusal.ts";
import type { Reply } from "../../core/request.ts";
import type { Memos } from "../../core/steering.ts";
import { isSameName } from "../../core/text/compare.ts";
import { refuseValue } from "../../core/text/wording.ts";
import { localGroup, type Topic } from "../../core/topic.ts";
import { checkTags, type Tags } from "../properties/tags.ts";
import { readMembers } from "./body.ts";
import { type ArmContext, type Call, isInGroup } from "./find-topic.ts";
import type { Group } from "./path.ts";
import { reply } from "./reply.ts";

/** As stored. */
export interface ResourceGroup extends Group {
  readonly location: string;
  readonly tags: Tags | null;
}

const memoKind = "resourceGroup";

/** Azure's. */
const nameRule = /^[\p{L}\p{N}_().-]{0,89}[\p{L}\p{N}_()-]$/u;

function keyOf({ subscriptionId, resourceGroup }: Group): string {
  return `${subscriptionId}/${resourceGroup}`.toLowerCase();
}

async function kept({ memos }: { readonly memos: Memos }): Promise<readonly ResourceGroup[]> {
  return (await memos.notes(memoKind)).map(({ record }) => record as ResourceGroup);
}

export async function putGroupRecord({ memos }: ArmContext, group: ResourceGroup): Promise<void> {
  await memos.putMemo(memoKind, keyOf(group), group);
}

/** Those that were created, those with something in them, and the default one. */
export async function groupsIn(
  context: ArmContext,
  subscriptionId: string,
): Promise<readonly ResourceGroup[]> {
  const made = await kept(context);
  const implied = context.catalog().topics.map(({ place }) => ({ ...place, tags: null }));
  const local = { ...localGroup, tags: null };
  const all = new Map<string, ResourceGroup>();
  for (const { resourceGroup, location, tags, ...group } of [...made, ...implied, local]) {
    if (!isSameName(group.subscriptionId, subscriptionId)) continue;
    const one = { subscriptionId: group.subscriptionId, resourceGroup, location, tags };
    if (!all.has(keyOf(one))) all.set(keyOf(one), one);
  }
  return [...all.values()].toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
}

export async function findGroup(context: ArmContext, group: Group): Promise<ResourceGroup | null> {
  const all = await groupsIn(context, group.subscriptionId);
  return all.find(({ resourceGroup }) => isSameName(resourceGroup, group.resourceGroup)) ?? null;
}

/** In Azure Resource Manager's wording. */
export function refuseNoGroup({ resourceGroup }: Group): Refusal {
  return new Refusal("NotFound", `Resource group '${resourceGroup}' could not be found.`);
}

function render({ subscriptionId, resourceGroup, location, tags }: ResourceGroup): object {
  return {
    id: `/subscriptions/${subscriptionId}/resourceGroups/${resourceGroup}`,
    name: resourceGroup,
    type: "Microsoft.Resources/resourceGroups",
    location,
    ...(tags !== null && { tags }),
    properties: { provisioningState: "Succeeded" },
  };
}

export async function listGroups(
  context: ArmContext,
  call: Call,
  subscriptionId: string,
): Promise<Reply> {
  const { $filter } = call.request.query;
  const isWanted = $filter ? readTagFilter($filter) : () => true;
  const groups = await groupsIn(context, subscriptionId);
  return reply(200, { value: groups.filter(isWanted).map(render) });
}

/** `tagName eq 'a'`, with `and tagValue eq 'b'` or without. Refusal: InvalidSetting. */
function readTagFilter(text: string): (group: ResourceGroup) => boolean {
  const form = /^\s*tagName eq '([^']*)'(?:\s+and\s+tagValue eq '([^']*)')?\s*$/i;
  const [, name, value] = form.exec(text) ?? [];
  if (name === undefined) {
    const allowed = "tagName eq 'a', with and tagValue eq 'b' after it or without";
    throw refuseValue({ field: "$filter", value: text, allowed });
  }
  return ({ tags }) => {
    const found = tags?.[name];
    return found !== undefined && (value === undefined || found === value);
  };
}

/** For a HEAD request Azure only says whether the group exists. */
export async function getGroup(context: ArmContext, call: Call, group: Group): Promise<Reply> {
  const found = await findGroup(context, group);
  const isHead = call.request.method === "HEAD";
  if (found === null && !isHead) throw refuseNoGroup(group);
  if (found === null) return { status: 404 };
  return isHead ? { status: 204 } : reply(200, render(found));
}

export async function putGroup(context: ArmContext, call: Call, group: Group): Promise<Reply> {
  const known = ["location", "tags", "properties", "managedBy", "id", "name", "type"];
  const { location, tags } = readMembers(call.request, known);
  if (!nameRule.test(group.resourceGroup)) {
    const allowed = "1 to 90 letters, digits, hyphens, underscores, dots and brackets";
    throw refuseValue({ field: "resourceGroupName", value: group.resourceGroup, allowed });
  }
  if (typeof location !== "string" || location === "") {
    throw refuseValue({ field: "location", value: location, allowed: "a location" });
  }
  const folded = location.toLowerCase().replaceAll(" ", "");
  const old = (await kept(context)).find((each) => keyOf(each) === keyOf(group));
  if (old !== undefined && old.location !== folded) {
    const words = `The resource group '${old.resourceGroup}' is in the location '${old.location}'`;
    throw new Refusal("Conflict", `${words} and cannot move to '${folded}'.`, {
      target: "location",
    });
  }
  const { subscriptionId, resourceGroup } = old ?? group;
  const written = { subscriptionId, resourceGroup, location: folded, tags: checkTags(tags) };
  await putGroupRecord(context, written);
  return reply(old === undefined ? 201 : 200, render(written));
}

export async function patchGroup(context: ArmContext, call: Call, group: Group): Promise<Reply> {
  const members = readMembers(call.request, ["tags", "name", "properties", "managedBy"]);
  const old = await findGroup(context, group);
  if (old === null) throw refuseNoGroup(group);
  const written = "tags" in members ? { ...old, tags: checkTags(members.tags) } : old;
  await putGroupRecord(context, written);
  return reply(200, render(written));
}

/**
 * With everything in it, as in Azure. Subscriptions of storage accounts are managed by the file.
 */
export async function removeGroup(
  context: ArmContext,
  group: Group,
  remove: { topic(topic: Topic): Promise<void>; rest(): Promise<void> },
): Promise<Reply> {
  const found = await findGroup(context, group);
  if (found === null) throw refuseNoGroup(group);
  const inside = context.catalog().topics.filter((topic) => isInGroup(topic, group));
  for (const topic of inside) if (topic.kind !== "storage") await remove.topic(topic);
  await remove.rest();
  await context.memos.putMemo(memoKind, keyOf(group), null);
  return { status: 200 };
}
