// Topics and subscriptions as Azure Resource Manager shows them. Without secrets: a URL without its
// query, a secret header without its value.

import { policyOf } from "../../core/delivery/policy.ts";
import { type ProfileName, profiles } from "../../core/delivery/profile.ts";
import { renderFilter } from "../../core/routing/filter/render.ts";
import type {
  ProvisioningState,
  Subscription,
  SubscriptionTerms,
} from "../../core/subscription.ts";
import { isoInstant } from "../../core/text/time.ts";
import { armTypes, type Topic, topicArmId } from "../../core/topic.ts";
import { guidOf, renderTraitsAround, renderTraitsInside } from "../properties/azure-traits.ts";
import { renderDeadLetter } from "../properties/dead-letter.ts";
import { renderSending } from "../properties/delivery.ts";
import { renderExtension } from "../properties/extension.ts";
import { renderInputMapping } from "../properties/input-mapping.ts";
import { renderNamespaceTerms } from "../properties/namespace-subscription.ts";
import { tenantId } from "../signin/azure-signin.ts";
import { renderNamespace, renderNamespaceTopic } from "./namespaces.ts";
import type { Form } from "./path.ts";

export interface TopicView {
  /** `scheme://host[:port]` as the client used it. */
  readonly baseUrl: string;
  readonly state: "Creating" | "Updating" | "Succeeded";
}

export function renderTopic(topic: Topic, view: TopicView): object {
  const { baseUrl, state } = view;
  if (topic.kind === "namespace") return renderNamespace(topic, view);
  if (topic.kind === "namespaceTopic") return renderNamespaceTopic(topic, state);
  const { kind, name, place, mapping, domain, port, profile, inboundIpRules } = topic;
  const { azure = {} } = topic;
  return {
    properties: {
      provisioningState: state,
      endpoint: `${baseUrl}/topics/${name}/api/events`,
      inputSchema: topic.inputSchema,
      ...(mapping !== null && { inputSchemaMapping: renderInputMapping(mapping) }),
      metricResourceId: guidOf(topicArmId(topic)),
      publicNetworkAccess: topic.publicNetworkAccess ? "Enabled" : "Disabled",
      ...(inboundIpRules.length > 0 && {
        inboundIpRules: inboundIpRules.map((ipMask) => ({ ipMask, action: "Allow" })),
      }),
      disableLocalAuth: topic.disableLocalAuth,
      ...renderTraitsInside(azure),
      ...(domain !== null && {
        autoCreateTopicWithFirstSubscription: domain.autoCreateTopics,
        autoDeleteTopicWithLastSubscription: domain.autoDeleteTopics,
      }),
      ...((port ?? profile) !== null && {
        posthorn: { ...(port !== null && { port }), ...(profile !== null && { profile }) },
      }),
    },
    ...renderTraitsAround(azure, { id: topicArmId(topic), isTopic: kind === "topic", tenantId }),
    systemData: null,
    location: place.location,
    tags: place.tags,
    id: topicArmId(topic),
    name,
    type: armTypes[kind],
  };
}

export function renderDomainTopic(
  domain: Topic,
  name: string,
  provisioningState: TopicView["state"],
): object {
  return {
    properties: { provisioningState },
    systemData: null,
    id: `${topicArmId(domain)}/topics/${name}`,
    name,
    type: "Microsoft.EventGrid/domains/topics",
  };
}

/** ARM id of a subscription's source. */
export function sourceArmId(topic: Topic, domainTopic: string | null): string {
  const id = topicArmId(topic);
  return domainTopic === null ? id : `${id}/topics/${domainTopic}`;
}

/** Those of namespaces have only the nested form. */
export function subscriptionArmId(topic: Topic, subscription: Subscription, form: Form): string {
  const source = sourceArmId(topic, subscription.domainTopic);
  const isNested = form === "nested" || topic.kind === "namespaceTopic";
  const provider = isNested ? "" : "/providers/Microsoft.EventGrid";
  return `${source}${provider}/eventSubscriptions/${subscription.name}`;
}

export interface SubscriptionView {
  readonly topic: Topic;
  readonly form: Form;
  /** The broker's, if the topic has none of its own. */
  readonly profile: ProfileName;
}

/** The settings last written, whether or not they are active. */
export function wantedTerms(subscription: Subscription): SubscriptionTerms {
  return subscription.handshake?.pending ?? subscription;
}

export function renderSubscription(
  subscription: Subscription,
  { topic, form, profile }: SubscriptionView,
): object {
  const { name, domainTopic, state } = subscription;
  const wanted = wantedTerms(subscription);
  const posthorn = renderExtension(wanted, subscription);
  if (topic.kind === "namespaceTopic") {
    const { expiresAt } = wanted;
    return {
      properties: {
        provisioningState: state satisfies ProvisioningState,
        ...renderNamespaceTerms(wanted, topic),
        ...(expiresAt !== null && { expirationTimeUtc: isoInstant(expiresAt) }),
        ...(posthorn !== null && { posthorn }),
      },
      systemData: null,
      id: subscriptionArmId(topic, subscription, form),
      name,
      type: `${armTypes.namespaceTopic}/eventSubscriptions`,
    };
  }
  const nested = `${topic.kind}s/${domainTopic === null ? "" : "topics/"}eventSubscriptions`;
  return {
    properties: {
      topic: lowerProvider(sourceArmId(topic, domainTopic)),
      provisioningState: state satisfies ProvisioningState,
      ...renderTerms(wanted, topic.profile ?? profile),
      ...(posthorn !== null && { posthorn }),
    },
    systemData: null,
    id: subscriptionArmId(topic, subscription, form),
    name,
    type: `Microsoft.EventGrid/${form === "scope" ? "eventSubscriptions" : nested}`,
  };
}

/** The service shows the topic with its provider and type in lower case. */
function lowerProvider(id: string): string {
  return id.replace(/\/providers\/Microsoft\.EventGrid\/(topics|domains)\//, (found) =>
    found.toLowerCase(),
  );
}

function renderTerms(terms: SubscriptionTerms, profile: ProfileName): object {
  const { labels, expiresAt, destination } = terms;
  const { attemptsMax, ttlMs } = policyOf(terms, profiles[profile]);
  return {
    ...(destination.kind !== "pull" && renderSending({ ...terms, destination })),
    filter: renderFilter(terms.filter),
    labels: labels.length === 0 ? null : labels,
    ...(expiresAt !== null && { expirationTimeUtc: isoInstant(expiresAt) }),
    eventDeliverySchema: terms.deliverySchema,
    retryPolicy: {
      ...(attemptsMax !== null && { maxDeliveryAttempts: attemptsMax }),
      eventTimeToLiveInMinutes: Math.floor(ttlMs / 60_000),
    },
    ...renderDeadLetter(terms.deadLetter),
  };
}
