// One topic or domain: publish a test event, its keys and snippets, its subscriptions, its
// settings.

import { useState } from "react";
import type { Page, SubscriptionView, TopicView } from "../../src/core/api/views.ts";
import { apiPath, useAsked } from "../api.ts";
import type { PageProps } from "../app.tsx";
import { type ArmTopic, armPath, askArm } from "../arm.ts";
import { useSparks } from "../figures/figures.ts";
import { useRange } from "../figures/range.ts";
import { FigureStrip } from "../figures/strip.tsx";
import { Button, makeStyles, Tab, TabList, tokens } from "../fluent.ts";
import { Publish } from "../forms/publish.tsx";
import { NewQueue } from "../forms/queue.tsx";
import { TopicForm } from "../forms/topic.tsx";
import { useSay } from "../frame/toasts.tsx";
import { DeleteRegular } from "../icons/drawings.tsx";
import { refreshOverview, useTick } from "../live.ts";
import { Confirm } from "../parts/dialogs.tsx";
import { DomainTopics } from "../parts/domaintopics.tsx";
import { KeysCard } from "../parts/keys.tsx";
import { Answer, Card, Empty, PageHead } from "../parts/page.tsx";
import { Sought } from "../parts/sought.tsx";
import { SubscriptionRows, wordsOf } from "../parts/subscriptions.tsx";
import { CopyButton, Facts, Mono } from "../parts/texts.tsx";
import { go, pathTo, topicPath } from "../route.ts";
import { kindWords, sayMany, saySchema } from "../words.ts";

const useStyles = makeStyles({ tabs: { marginBottom: tokens.spacingVerticalL, flexWrap: "wrap" } });

const tabs = [
  ["subscriptions", "Subscriptions"],
  ["topics", "Topics"],
  ["publish", "Publish"],
  ["keys", "Keys and snippets"],
  ["settings", "Settings"],
] as const;

export function TopicPage({ names, query }: PageProps) {
  const styles = useStyles();
  const name = names.topic ?? "";
  const tick = useTick(["catalog", "overview"], 2_000);
  const asked = useAsked<Page<TopicView>>(apiPath(["topics"]), tick);
  const tab = query.get("tab") ?? "subscriptions";
  const topic = asked.value?.value.find((each) => each.name.toLowerCase() === name.toLowerCase());
  if (topic === undefined) {
    return (
      <>
        <PageHead title={name} />
        <Answer asked={asked} what="its topics">
          {() => <Empty title="There is no such topic">It may have been deleted.</Empty>}
        </Answer>
      </>
    );
  }
  const shown = tabs.filter(
    ([value]) =>
      (topic.kind !== "storage" || value === "subscriptions") &&
      (topic.kind === "domain" || value !== "topics"),
  );
  const subscribe = () =>
    go(
      topic.kind === "namespaceTopic"
        ? topicPath(name, "subscriptions", { new: "queue" })
        : pathTo(["subscriptions", "new"], { topic: topic.name }),
    );
  return (
    <>
      <PageHead
        title={topic.name}
        subtitle={
          topic.kind === "storage" ? (
            "A storage account, with an event for each dead-letter blob written to it."
          ) : (
            <>
              <Mono>{topic.endpoint}</Mono>
              <CopyButton text={topic.endpoint} what="the address" />
            </>
          )
        }
        actions={
          <>
            <Button appearance="primary" onClick={subscribe}>
              {topic.kind === "namespaceTopic" ? "New queue" : "Subscribe"}
            </Button>
            {topic.kind !== "storage" && <DeleteTopic topic={topic} />}
          </>
        }
      />
      <TabList
        className={styles.tabs}
        selectedValue={tab}
        onTabSelect={(_, { value }) => go(topicPath(name, String(value)), { replace: true })}
      >
        {shown.map(([value, words]) => (
          <Tab key={value} value={value}>
            {words}
          </Tab>
        ))}
      </TabList>
      {tab === "subscriptions" && (
        <>
          <FigureStrip scope={{ kind: "topic", name: topic.name }} />
          <Subscribers topic={topic} tick={tick} subscribe={subscribe} />
        </>
      )}
      {tab === "topics" && <DomainTopics domain={topic} />}
      {tab === "publish" && <Publish topic={topic} copy={query.get("copy")} />}
      {tab === "keys" && <KeysCard topic={topic} />}
      {tab === "settings" && <Settings topic={topic} />}
      {query.get("new") === "queue" && (
        <NewQueue topic={topic} onClose={() => go(topicPath(name), { replace: true })} />
      )}
    </>
  );
}

function Subscribers({
  topic,
  tick,
  subscribe,
}: {
  readonly topic: TopicView;
  readonly tick: number;
  readonly subscribe: () => void;
}) {
  const path = apiPath(["topics", topic.name, "subscriptions"]);
  const asked = useAsked<Page<SubscriptionView>>(path, tick);
  const sparks = useSparks("subscription", useRange());
  return (
    <Card>
      <Answer asked={asked} what="subscriptions of a topic">
        {({ value }) =>
          value.length === 0 ? (
            <Empty
              title="No subscriptions yet"
              actions={
                <Button appearance="primary" onClick={subscribe}>
                  {topic.kind === "namespaceTopic" ? "Create a queue" : "Subscribe an endpoint"}
                </Button>
              }
            >
              Events published now are accepted but not delivered. A subscription says which of them
              go where.
            </Empty>
          ) : (
            <Sought rows={value} by="name or endpoint" textOf={wordsOf}>
              {(found) => (
                <SubscriptionRows subscriptions={found} showsTopic={false} sparks={sparks} />
              )}
            </Sought>
          )
        }
      </Answer>
    </Card>
  );
}

function Settings({ topic }: { readonly topic: TopicView }) {
  const isOfNamespace = topic.kind === "namespaceTopic";
  const asked = useAsked<ArmTopic>(isOfNamespace ? null : armPath(topic.armId));
  const kind = topic.kind === "domain" ? "domain" : "topic";
  return (
    <>
      <Card title="Chosen when it was created">
        <Facts
          facts={[
            ["Kind", kindWords[topic.kind]],
            ["Events are published as", saySchema(topic.inputSchema)],
            ["Managed by", topic.origin === "file" ? "the configuration file" : "the API"],
            ["Resource id", <Mono key="id">{topic.armId}</Mono>],
          ]}
        />
      </Card>
      {!isOfNamespace && (
        <Card title="Settings">
          <Answer asked={asked} what="settings of a topic">
            {(value) => <TopicForm topic={value} kind={kind} onSaved={asked.again} />}
          </Answer>
        </Card>
      )}
    </>
  );
}

function DeleteTopic({ topic }: { readonly topic: TopicView }) {
  const say = useSay();
  const [isAsking, setAsking] = useState(false);
  const remove = async () => {
    await askArm("DELETE", topic.armId);
    await refreshOverview();
    say.done(`The ${kindWords[topic.kind]} ${topic.name} has been deleted`);
    go("/portal/topics");
  };
  return (
    <>
      <Button icon={<DeleteRegular />} onClick={() => setAsking(true)}>
        Delete
      </Button>
      <Confirm
        title={`Delete ${topic.name}?`}
        isOpen={isAsking}
        words="Delete it"
        onYes={remove}
        onClose={() => setAsking(false)}
      >
        <p>
          {topic.subscriptions === 0
            ? "It has no subscriptions."
            : `Its ${sayMany(topic.subscriptions, "subscription")} and ` +
              `${sayMany(topic.waiting, "delivery", "deliveries")} that wait are deleted with it.`}{" "}
          This cannot be undone.
        </p>
      </Confirm>
    </>
  );
}
