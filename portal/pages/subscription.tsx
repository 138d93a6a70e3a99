// One subscription: its state, its actions, its settings, the handshake with its endpoint, its
// secrets, and its filter tried on an event.

import type { Page, SubscriptionView, TopicView } from "../../src/core/api/views.ts";
import { apiPath, subscriptionApi, useAsked } from "../api.ts";
import type { PageProps } from "../app.tsx";
import { FigureStrip } from "../figures/strip.tsx";
import { makeStyles, Tab, TabList, tokens } from "../fluent.ts";
import { DryRun } from "../forms/events.tsx";
import { Schedule } from "../forms/policy.tsx";
import { EditQueue } from "../forms/queue.tsx";
import { useNow, useTick } from "../live.ts";
import { To } from "../parts/link.tsx";
import { Answer, Card, Empty, Note, PageHead } from "../parts/page.tsx";
import { FlowBadge, OwnHealth } from "../parts/subscriptions.tsx";
import { Age, Facts, Mono, sayHealth, When, Words } from "../parts/texts.tsx";
import { concerning, ProblemCards } from "../problems/cards.tsx";
import { go, pathTo, type SubscriptionName, subscriptionPath, topicPath } from "../route.ts";
import { EditSubscription } from "../subscription/edit.tsx";
import { FlowControls } from "../subscription/flow.tsx";
import { HandshakeCard } from "../subscription/handshake.tsx";
import { ReceiveCards } from "../subscription/receive.tsx";
import { SigningCard } from "../subscription/signing.tsx";
import { sayCount, sayLength, sayMany, saySchema } from "../words.ts";

const useStyles = makeStyles({
  tabs: { marginBottom: tokens.spacingVerticalL, flexWrap: "wrap" },
  cards: {
    display: "grid",
    gridTemplateColumns: "repeat(2, minmax(0, 1fr))",
    columnGap: tokens.spacingHorizontalL,
    alignItems: "start",
    "@media (max-width: 1100px)": { gridTemplateColumns: "minmax(0, 1fr)" },
  },
});

const tabs = [
  ["state", "State"],
  ["receive", "Receive"],
  ["settings", "Settings"],
  ["handshake", "Handshake"],
  ["filter", "Filter dry run"],
  ["signing", "Signing"],
] as const;

/** A queue is received from, and an endpoint is sent to. */
function tabsOf(subscription: SubscriptionView | undefined) {
  const isQueue = subscription !== undefined && subscription.queue !== null;
  const foreign = isQueue ? ["handshake", "signing"] : ["receive"];
  return tabs.filter(([value]) => !foreign.includes(value));
}

export function SubscriptionPage({ names, query }: PageProps) {
  const styles = useStyles();
  const named: SubscriptionName = {
    topic: names.topic ?? "",
    domainTopic: query.get("domainTopic"),
    name: names.name ?? "",
  };
  const tick = useTick(["catalog", "overview", "endpoint", "ended"]);
  const asked = useAsked<SubscriptionView>(subscriptionApi(named), tick);
  const topics = useAsked<Page<TopicView>>(apiPath(["topics"]));
  const topic = topics.value?.value.find(
    ({ name }) => name.toLowerCase() === named.topic.toLowerCase(),
  );
  const tab = query.get("tab") ?? "state";
  return (
    <>
      <PageHead
        title={named.name}
        subtitle={
          <>
            Subscription of <To to={topicPath(named.topic)}>{named.topic}</To>
            {named.domainTopic !== null && ` / ${named.domainTopic}`}
          </>
        }
        actions={
          asked.value !== undefined && (
            <FlowControls subscription={asked.value} onDone={asked.again} />
          )
        }
      />
      <TabList
        className={styles.tabs}
        selectedValue={tab}
        onTabSelect={(_, { value }) =>
          go(subscriptionPath(named, String(value)), { replace: true })
        }
      >
        {tabsOf(asked.value).map(([value, words]) => (
          <Tab key={value} value={value}>
            {words}
          </Tab>
        ))}
      </TabList>
      <Answer asked={asked} what="one subscription">
        {(subscription) => (
          <>
            {tab === "state" && (
              <>
                <ProblemCards concerns={concerning(subscription)} />
                <OwnFigures subscription={subscription} />
                <State subscription={subscription} />
              </>
            )}
            {tab === "receive" && subscription.queue !== null && (
              <>
                <OwnFigures subscription={subscription} />
                <ReceiveCards subscription={subscription} onDone={asked.again} />
              </>
            )}
            {tab === "settings" &&
              topic !== undefined &&
              (topic.kind === "namespaceTopic" ? (
                <EditQueue subscription={subscription} onSaved={asked.again} />
              ) : (
                <EditSubscription subscription={subscription} topic={topic} onSaved={asked.again} />
              ))}
            {tab === "handshake" && <HandshakeCard named={named} tick={tick} />}
            {tab === "filter" && (
              <Card title="Would this event match?">
                {topic === undefined ? (
                  <Empty title="The topic is gone" />
                ) : (
                  <DryRun topic={topic} subscription={subscription} />
                )}
              </Card>
            )}
            {tab === "signing" && <SigningCard named={named} />}
          </>
        )}
      </Answer>
    </>
  );
}

function OwnFigures({ subscription }: { readonly subscription: SubscriptionView }) {
  const { topic, domainTopic, name } = subscription;
  return <FigureStrip scope={{ kind: "subscription", topic, domainTopic, name }} />;
}

/** What is due and not yet sent waits for its turn, or for somebody who holds it back. */
function NextAttempt({ subscription }: { readonly subscription: SubscriptionView }) {
  const now = useNow();
  const { nextDueAt, flow, health, isActive } = subscription;
  if (nextDueAt === null) return "none is due";
  if (!isActive) return "when the endpoint has agreed";
  if (flow.kind === "paused") return "when it is resumed";
  if (health.kind === "closed") return "when the endpoint is opened";
  return Date.parse(nextDueAt) <= now ? "now" : <When at={nextDueAt} />;
}

function State({ subscription }: { readonly subscription: SubscriptionView }) {
  const styles = useStyles();
  const { health, topic, name, queue } = subscription;
  const isAwaited = subscription.provisioningState === "AwaitingManualAction";
  return (
    <>
      {isAwaited && (
        <Note intent="warning" title="The endpoint has not agreed yet.">
          Nothing is sent until its validation URL is opened:{" "}
          <To to={subscriptionPath(subscription, "handshake")}>see the handshake</To>.
        </Note>
      )}
      {subscription.provisioningState === "Failed" && (
        <Note intent="error" title="The endpoint did not agree.">
          <To to={subscriptionPath(subscription, "handshake")}>See its answer, and ask again</To>.
        </Note>
      )}
      <div className={styles.cards}>
        <Card title="Now">
          <Facts
            facts={[
              ["State", <FlowBadge key="state" subscription={subscription} />],
              ["Goes to", <Mono key="to">{subscription.destination.endpoint}</Mono>],
              ...(queue === null
                ? [
                    [
                      "Endpoint",
                      <span key="health">
                        <OwnHealth subscription={subscription} />{" "}
                        {subscription.isActive && health.words !== health.kind && (
                          <Words>{sayHealth(health)}</Words>
                        )}
                      </span>,
                    ] as const,
                  ]
                : []),
              [
                "Waiting",
                <To
                  key="waiting"
                  to={pathTo(["deliveries"], { topic, subscription: name, state: "waiting" })}
                >
                  {sayCount(subscription.waiting)}
                </To>,
              ],
              ...(queue === null
                ? []
                : ([
                    [
                      "Queue",
                      `${sayCount(queue.locked)} locked, ${sayCount(queue.available)} available, ` +
                        `${sayMany(queue.receivers, "receiver")} waiting`,
                    ],
                  ] as const)),
              ["Oldest", <Age key="oldest" at={subscription.oldestAt} none="nothing waits" />],
              ...(queue === null
                ? [
                    [
                      "Next attempt",
                      <NextAttempt key="next" subscription={subscription} />,
                    ] as const,
                  ]
                : []),
              ["Dead letters to be written", sayCount(subscription.waitingDeadLetters)],
            ]}
          />
        </Card>
        {subscription.profile === "namespace" ? (
          <Handover subscription={subscription} />
        ) : (
          <Policy subscription={subscription} />
        )}
      </div>
    </>
  );
}

function Policy({ subscription }: { readonly subscription: SubscriptionView }) {
  const { policy } = subscription;
  return (
    <Card title="Retry policy">
      <Facts
        facts={[
          ["Profile", subscription.profile],
          ["Maximum attempts", policy.maxDeliveryAttempts?.toString() ?? "without limit"],
          ["Time to live", sayLength(policy.ttlMs)],
          ["Timeout", sayLength(policy.waitMs)],
          ["Undeliverable events", policy.deadLetters ? "dead-lettered" : "dropped"],
          ["Delivered as", saySchema(subscription.deliverySchema)],
        ]}
      />
      <Schedule
        profile={subscription.profile}
        draft={{
          maxAttempts: policy.maxDeliveryAttempts?.toString() ?? "",
          ttlMinutes: (policy.ttlMs / 60_000).toString(),
          deadLetterId: policy.deadLetters ? "yes" : "",
          endpointType: subscription.destination.kind,
        }}
      />
    </Card>
  );
}

/** Namespaces have a schedule of their own, and queues none. */
function Handover({ subscription }: { readonly subscription: SubscriptionView }) {
  const { policy, queue } = subscription;
  return (
    <Card title={queue === null ? "Retry policy" : "Delivery"}>
      <Facts
        facts={[
          ...(queue === null ? [] : [["A lock lasts", sayLength(queue.lockMs)] as const]),
          ["Maximum delivery count", policy.maxDeliveryAttempts?.toString() ?? "without limit"],
          ["Time to live", sayLength(policy.ttlMs)],
          ...(queue === null
            ? [["Schedule", `${policy.scheduleMs.map(sayLength).join(", ")}, and so on`] as const]
            : []),
          ["Undeliverable events", policy.deadLetters ? "dead-lettered" : "dropped"],
          ["Delivered as", saySchema(subscription.deliverySchema)],
        ]}
      />
    </Card>
  );
}
