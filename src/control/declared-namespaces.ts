// Namespaces declared in the configuration file, with their topics and event subscriptions:
// `namespaces.shop.topics.orders.subscriptions.billing`.

import { plainSubscription, subscriptionNameRule } from "../core/subscription.ts";
import { checkMembers } from "../core/text/wording.ts";
import { namespaceTopicName, plainTopic, topicNameRule } from "../core/topic.ts";
import type { DeclarationRules, DeclaredTopic, Resource } from "./declaration.ts";
import { namedIn } from "./declared-names.ts";
import {
  checkNamespace,
  checkRetention,
  namespaceMembers,
  namespaceTopicMembers,
  newNamespace,
  plainNamespaceTopic,
} from "./properties/namespace.ts";
import { checkNamespaceTerms } from "./properties/namespace-subscription.ts";
import { checkKey } from "./properties/topic.ts";

const keyNames = ["key1", "key2"] as const;

/** The namespace itself, and its topics. Refusal: InvalidSetting, naming the field. */
export function parseNamespace(
  given: unknown,
  name: string,
  rules: DeclarationRules,
): readonly Resource[] {
  const field = `namespaces.${name}`;
  const members = checkMembers(given, field, [...keyNames, ...namespaceMembers, "topics"]);
  const topic: DeclaredTopic = {
    ...plainTopic,
    ...checkNamespace(members, field, newNamespace),
    kind: "namespace",
    name,
    ...keysIn(members, field, { ...rules, isRequired: rules.auth }),
    lockKey: rules.makeKey(),
    origin: "file",
  };
  const topics = namedIn(members.topics ?? {}, `${field}.topics`, topicNameRule);
  return [
    { topic, subscriptions: [] },
    ...topics.map(([each, inside]) =>
      parseTopic(inside, namespaceTopicName(name, each), `${field}.topics.${each}`, rules),
    ),
  ];
}

/** Its keys may be left out: those of the namespace open it, too. */
function parseTopic(
  given: unknown,
  name: string,
  field: string,
  rules: DeclarationRules,
): Resource {
  const known = [...keyNames, ...namespaceTopicMembers, "subscriptions"];
  const members = checkMembers(given, field, known);
  const topic: DeclaredTopic = {
    ...plainNamespaceTopic,
    name,
    ...keysIn(members, field, { ...rules, isRequired: false }),
    retentionDays: checkRetention(members, field, undefined),
    origin: "file",
  };
  const inside = `${field}.subscriptions`;
  const named = namedIn(members.subscriptions ?? {}, inside, subscriptionNameRule);
  return {
    topic,
    subscriptions: named.map(([each, terms]) => ({
      ...plainSubscription,
      ...checkNamespaceTerms(terms, `${inside}.${each}`, {
        ...{ profile: "namespace", inputSchema: topic.inputSchema, azure: rules.azure },
        ...{ batchDefaults: rules.batch, stored: null, keepsRest: false, now: null, topic },
      }),
      topic: name,
      name: each,
      origin: "file",
    })),
  };
}

function keysIn(
  members: Readonly<Record<string, unknown>>,
  field: string,
  { isRequired, makeKey }: { readonly isRequired: boolean; readonly makeKey: () => string },
): Pick<DeclaredTopic, "key1" | "key2" | "isMadeUp"> {
  const key1 = checkKey(members.key1, { field: `${field}.key1`, isRequired });
  const key2 = checkKey(members.key2, { field: `${field}.key2`, isRequired: false });
  return {
    key1: key1 ?? makeKey(),
    key2: key2 ?? makeKey(),
    isMadeUp: { key1: key1 === null, key2: key2 === null },
  };
}
