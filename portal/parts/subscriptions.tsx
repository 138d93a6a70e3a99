// Subscriptions as a table, those with problems first.

import { useMemo } from "react";
import type { FigureSeries, SubscriptionView } from "../../src/core/api/views.ts";
import { sparkKey } from "../figures/figures.ts";
import { sparkColumns } from "../figures/sparkline.tsx";
import { Badge } from "../fluent.ts";
import { subscriptionPath, topicPath } from "../route.ts";
import { sayShort } from "../words.ts";
import { To } from "./link.tsx";
import { type Column, Rows } from "./table.tsx";
import { Address, Age, HealthBadge, Long } from "./texts.tsx";

/** What it is searched by. */
export function wordsOf({ name, topic, destination }: SubscriptionView): string {
  return `${name} ${topic} ${destination.endpoint}`;
}

/** The problem, in one word; null: none. */
export function troubleOf({
  provisioningState,
  isActive,
  flow,
  health,
}: SubscriptionView): { readonly words: string; readonly color: "danger" | "warning" } | null {
  if (provisioningState === "Failed") return { words: "handshake failed", color: "danger" };
  if (provisioningState === "AwaitingManualAction") {
    return { words: "awaits validation", color: "warning" };
  }
  if (!isActive) return { words: provisioningState.toLowerCase(), color: "warning" };
  if (flow.kind === "paused") return { words: "paused", color: "warning" };
  if (flow.kind === "draining") {
    return { words: `draining, ${flow.perSecond}/s`, color: "warning" };
  }
  // On a phone this is all that is seen of it.
  if (health.kind === "unhealthy" || health.kind === "closed") {
    return { words: `endpoint ${health.kind}`, color: "danger" };
  }
  if (health.failures > 0) return { words: "endpoint failing", color: "warning" };
  return null;
}

/** The unhealthiest first, then by the number of waiting events; a thousand every other second. */
function byHealth(subscriptions: readonly SubscriptionView[]): readonly SubscriptionView[] {
  return subscriptions
    .map((each) => ({
      each,
      rank: (each.health.kind === "healthy" ? 0 : 2) + (troubleOf(each) === null ? 0 : 1),
    }))
    .sort(
      (one, other) =>
        other.rank - one.rank ||
        other.each.waiting - one.each.waiting ||
        (one.each.name < other.each.name ? -1 : 1),
    )
    .map(({ each }) => each);
}

type Sparks = ReadonlyMap<string, FigureSeries> | null;

export function SubscriptionRows({
  subscriptions,
  showsTopic,
  sparks,
}: {
  readonly subscriptions: readonly SubscriptionView[];
  readonly showsTopic: boolean;
  readonly sparks: Sparks;
}) {
  const columns = useMemo(() => columnsWith(sparks, showsTopic), [sparks, showsTopic]);
  const rows = useMemo(() => byHealth(subscriptions), [subscriptions]);
  return <Rows label="Subscriptions" rows={rows} keyOf={({ armId }) => armId} columns={columns} />;
}

function columnsWith(sparks: Sparks, showsTopic: boolean): readonly Column<SubscriptionView>[] {
  const topic: Column<SubscriptionView> = {
    title: "Topic",
    show: (each) => (
      <To to={topicPath(each.topic)}>
        <Long>{each.domainTopic === null ? each.topic : `${each.topic}/${each.domainTopic}`}</Long>
      </To>
    ),
  };
  return [
    {
      title: "Name",
      show: (each) => (
        <To to={subscriptionPath(each)}>
          <Long>{each.name}</Long>
        </To>
      ),
    },
    ...(showsTopic ? [topic] : []),
    {
      title: "Goes to",
      isExtra: true,
      show: ({ destination }) => <Address>{destination.endpoint}</Address>,
    },
    { title: "State", width: "150px", show: (each) => <FlowBadge subscription={each} /> },
    ...sparkColumns((each: SubscriptionView) => sparks?.get(sparkKey(each))),
    {
      title: "Waiting",
      width: "60px",
      align: "right",
      show: ({ waiting }) => sayShort(waiting),
    },
    {
      title: "Oldest",
      width: "70px",
      align: "right",
      isWideOnly: true,
      show: ({ oldestAt }) => <Age at={oldestAt} isShort />,
    },
  ];
}

/** Nothing is known of an endpoint that has not agreed to get events. */
export function OwnHealth({ subscription }: { readonly subscription: SubscriptionView }) {
  if (subscription.isActive) return <HealthBadge health={subscription.health} />;
  return (
    <Badge appearance="tint" color="informative">
      not tried
    </Badge>
  );
}

export function FlowBadge({ subscription }: { readonly subscription: SubscriptionView }) {
  const trouble = troubleOf(subscription);
  return (
    <Badge appearance="tint" color={trouble?.color ?? "success"}>
      {trouble?.words ?? "running"}
    </Badge>
  );
}
