// All resources of an Azure subscription or a group, in short, for `az resource list`: topics and
// domains. Extensions of resources are not listed. Imitates
// https://learn.microsoft.com/rest/api/resources/resources/list.

import type { Reply } from "../../core/request.ts";
import { isSameName } from "../../core/text/compare.ts";
import { refuseValue } from "../../core/text/wording.ts";
import { armTypes, type Topic, topicArmId } from "../../core/topic.ts";
import { renderTraitsAround } from "../properties/azure-traits.ts";
import { tenantId } from "../signin/azure-signin.ts";
import type { ArmContext, Call } from "./find-topic.ts";
import { replyWithList } from "./listing.ts";
import type { Within } from "./path.ts";

export function listResources(context: ArmContext, call: Call, within: Within): Reply {
  const { subscriptionId, resourceGroup } = within;
  const { $filter } = call.request.query;
  const isWanted = $filter ? readFilter($filter) : () => true;
  const items = context
    .catalog()
    .topics.filter(
      (topic) =>
        (topic.kind === "topic" || topic.kind === "domain" || topic.kind === "namespace") &&
        isSameName(topic.place.subscriptionId, subscriptionId) &&
        (resourceGroup === null || isSameName(topic.place.resourceGroup, resourceGroup)) &&
        isWanted(topic),
    )
    .map((topic) => ({
      name: topic.name,
      key: topicArmId(topic).toLowerCase(),
      render: () => render(topic),
    }));
  return replyWithList(items, call.request, call.url, true);
}

function render(topic: Topic): object {
  const { kind, name, place, azure = {} } = topic;
  const id = topicArmId(topic);
  return {
    id,
    name,
    type: armTypes[kind],
    location: place.location,
    tags: place.tags ?? {},
    ...(kind !== "namespace" &&
      renderTraitsAround(azure, { id, isTopic: kind === "topic", tenantId })),
  };
}

type Test = (topic: Topic) => boolean;

const tests: Readonly<Record<string, (value: string) => Test>> = {
  resourcegroup: (value) => (topic) => isSameName(topic.place.resourceGroup, value),
  resourcetype: (value) => (topic) => isSameName(armTypes[topic.kind], value),
  name: (value) => (topic) => isSameName(topic.name, value),
  location: (value) => (topic) => isSameName(topic.place.location, value.replaceAll(" ", "")),
  tagname: (value) => (topic) => topic.place.tags?.[value] !== undefined,
  tagvalue: (value) => (topic) => Object.values(topic.place.tags ?? {}).includes(value),
};

/** Equalities joined by `and`. Refusal: InvalidSetting. */
function readFilter(text: string): Test {
  const parts = text.split(/\s+and\s+/i).map((part) => {
    const [, field = "", value = ""] = /^\s*(\w+)\s+eq\s+'([^']*)'\s*$/i.exec(part) ?? [];
    const test = tests[field.toLowerCase()];
    if (test !== undefined) return test(value);
    const known = "resourceGroup, resourceType, name, location, tagName and tagValue";
    const allowed = `equalities (name eq 'a') of ${known}, with and between them`;
    throw refuseValue({ field: "$filter", value: text, allowed });
  });
  return (topic) => parts.every((test) => test(topic));
}
