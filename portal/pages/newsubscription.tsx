// Subscribing an endpoint to a topic.

import { useCallback, useState } from "react";
import type { InboxView, Page, TopicView } from "../../src/core/api/views.ts";
import { apiPath, ask, useAsked } from "../api.ts";
import type { PageProps } from "../app.tsx";
import { type ArmSubscription, askArm, subscriptionId } from "../arm.ts";
import { Button, makeStyles } from "../fluent.ts";
import { type Draft, inboxType, plainDraft, propertiesOf } from "../forms/draft.ts";
import { SubscriptionForm } from "../forms/subscription.tsx";
import { useSay } from "../frame/toasts.tsx";
import { refreshOverview } from "../live.ts";
import { ChoiceField, FieldRow, TextField, useOrder } from "../parts/form.tsx";
import { Answer, Card, Empty, PageHead } from "../parts/page.tsx";
import { useUnsaved } from "../parts/steps.tsx";
import { go, subscriptionPath } from "../route.ts";

const useStyles = makeStyles({ form: { maxWidth: "960px" } });

export function NewSubscriptionPage({ query }: PageProps) {
  const styles = useStyles();
  const asked = useAsked<Page<TopicView>>(apiPath(["topics"]));
  // Namespaces have event subscriptions of another kind, with a form of their own.
  const usable = (topics: readonly TopicView[]) =>
    topics.filter(({ kind }) => kind !== "namespaceTopic");
  return (
    <>
      <PageHead
        title="New subscription"
        subtitle="Choose which events of a topic go to which endpoint."
      />
      <Card className={styles.form}>
        <Answer asked={asked} what="its topics">
          {({ value }) =>
            usable(value).length === 0 ? (
              <Empty
                title="There is no topic to subscribe to yet"
                actions={
                  <Button appearance="primary" onClick={() => go("/portal/topics?new=topic")}>
                    Create a topic
                  </Button>
                }
              />
            ) : (
              <NewSubscription
                topics={usable(value)}
                wanted={query.get("topic")}
                inbox={query.get("inbox")}
              />
            )
          }
        </Answer>
      </Card>
    </>
  );
}

function NewSubscription({
  topics,
  wanted,
  inbox,
}: {
  readonly topics: readonly TopicView[];
  readonly wanted: string | null;
  /** The test inbox that it is for, if it is for one. */
  readonly inbox: string | null;
}) {
  const say = useSay();
  const { refused, run } = useOrder();
  // Storage accounts have subscriptions, too, but nobody means them who says nothing.
  const usual = topics.find(({ kind }) => kind !== "storage") ?? topics[0];
  const [topicName, setTopicName] = useState(wanted ?? usual?.name ?? "");
  const [domainTopic, setDomainTopic] = useState("");
  const [name, setName] = useState(inbox ?? "");
  const [draft, setDraft] = useState<Draft>(() =>
    inbox === null ? plainDraft : { ...plainDraft, endpointType: inboxType, inbox },
  );
  const [isDone, setDone] = useState(false);
  const change = useCallback(
    (changes: Partial<Draft>) => setDraft((before) => ({ ...before, ...changes })),
    [],
  );
  const isTyped = name !== (inbox ?? "") || draft.endpointUrl !== "" || draft.eventTypes !== "";
  useUnsaved(isTyped && !isDone, "This subscription is not created yet.");
  const topic = topics.find((each) => each.name === topicName) ?? (topics[0] as TopicView);
  const create = () =>
    void run(async () => {
      const named = {
        topic: topic.name,
        domainTopic: domainTopic.trim() || null,
        name: name.trim() || " ",
      };
      const id = subscriptionId(topic.armId, named);
      const { properties } = await askArm<ArmSubscription>("PUT", id, {
        properties: propertiesOf(await withInbox(draft)),
      });
      setDone(true);
      await refreshOverview();
      if (properties.provisioningState === "Succeeded") {
        say.done(`The subscription ${named.name} has been created`);
      } else {
        const more = "Nothing is sent before it agrees. Its answer is shown here.";
        say.note(`The endpoint of ${named.name} is being asked`, more);
      }
      go(subscriptionPath(named));
    });
  return (
    <SubscriptionForm
      topic={topic}
      draft={draft}
      change={change}
      refused={refused}
      submitWords="Create"
      onSubmit={create}
      onCancel={() => history.back()}
      basics={
        <FieldRow>
          <TextField
            label="Name"
            path="eventSubscriptionName"
            isRequired
            value={name}
            placeholder="billing"
            onChange={setName}
          />
          <ChoiceField
            label="Topic"
            value={topic.name}
            choices={topics.map((each) => [each.name, each.name] as const)}
            onChange={setTopicName}
          />
          {topic.kind === "domain" && (
            <TextField
              label="Topic within the domain"
              path="domainTopicName"
              hint="Empty: events of all its topics."
              value={domainTopic}
              onChange={setDomainTopic}
            />
          )}
        </FieldRow>
      }
    />
  );
}

/** An inbox is made if there is none of its name; from then on it is a webhook like any other. */
async function withInbox(draft: Draft): Promise<Draft> {
  if (draft.endpointType !== inboxType) return draft;
  const { url } = await ask<InboxView>("POST", apiPath(["inboxes"]), { name: draft.inbox.trim() });
  return { ...draft, endpointType: "WebHook", endpointUrl: url };
}
